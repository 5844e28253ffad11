"""The hidden names beside outputs."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

__all__ = ["COMMIT", "LOCK", "PART", "STAGED", "hidden", "hidden_entries"]

LOCK = "lock"
"""A file that says that somebody writes an output."""

STAGED = "staged"
"""A folder of files that are being written."""

COMMIT = "commit"
"""A folder of files that are whole, and on their way to their places."""

PART = "part"
"""A single file that is being written."""

_HIDDEN = re.compile(
    rf"\.coterie-({LOCK}|{STAGED}|{COMMIT}|{PART})(?:-[0-9a-f]{{12}})?(?:\.(.+))?", re.DOTALL
)


def hidden(kind: str, output: str, *, unique: bool = False) -> str:
    """Return the hidden name of a kind beside an output, which is the name of a file, or empty for a whole folder."""
    number = f"-{secrets.token_hex(6)}" if unique else ""
    return f".coterie-{kind}{number}{'.' if output else ''}{output}"


def hidden_entries(folder: Path, *kinds: str) -> list[tuple[Path, str, str]]:
    """Return path, kind and output of the hidden entries of a folder, none if there is no such folder."""
    try:
        with os.scandir(folder) as entries:
            found = [(entry.name, _HIDDEN.fullmatch(entry.name)) for entry in entries]
    except OSError:
        return []
    return [
        (folder / name, match[1], match[2] or "")
        for name, match in sorted(found)
        if match and match[1] in kinds
    ]
