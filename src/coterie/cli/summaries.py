"""The `summary.json` of a run: whose results a folder has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coterie.cli.errors import UsageError
from coterie.outputs import recovered
from coterie.rows.addresses import without_secrets

__all__ = ["SUMMARY", "check_files_of_no_run", "check_folder_of", "files_of_run", "read_summary"]

SUMMARY = "summary.json"


def read_summary(folder: Path) -> dict[str, Any] | None:
    """Return the summary of the run that wrote a folder, None if there is none of a run."""
    path = Path(recovered(folder / SUMMARY))
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):  # also damaged ones
        return None
    return summary if isinstance(summary, dict) and isinstance(summary.get("command"), str) else None


def check_folder_of(folder: Path, command: str, file: str | None) -> None:
    """Fail now if a folder has the results of another command, or of other rows, which would be replaced.

    Raises
    ------
    UsageError
        Which says whose results they are.
    """
    summary = read_summary(folder)
    if summary is None:
        return
    rows = summary.get("input")
    source = rows.get("file") if isinstance(rows, dict) else None
    wanted = None if file is None else without_secrets(file)
    if (summary["command"], source) != (command, wanted):
        raise UsageError(
            f"{folder} has the results of coterie {summary['command']}{f' {source}' if source else ''}: choose another "
            "--out, or replace them with --force."
        )


def files_of_run(folder: Path) -> set[str]:
    """Return the names of the files that the run of a folder has written, with its report if there is one."""
    files = (read_summary(folder) or {}).get("files")
    names = {Path(str(path)).name for path in files.values()} if isinstance(files, dict) else set()
    # `coterie report` writes these beside the run.
    return names | {"report.html", "report-run.toml"} if names else names


def check_files_of_no_run(names: Sequence[str], folder: Path) -> None:
    """Fail now if one of the files belongs to the run that wrote a folder.

    Raises
    ------
    UsageError
        Which names it.
    """
    own = files_of_run(folder)
    for name in names:
        if name in own:
            raise UsageError(
                f"{folder / name} is a result of the run that wrote {folder}: choose another --out, or replace it with "
                "--force."
            )
