"""Rows that come through the standard input: `-` where a command takes a file."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coterie.cli.errors import UsageError
from coterie.cli.values import DASH, STANDARD_INPUT
from coterie.outputs import TemporaryFolder, naming, recovered
from coterie.rows.formats import formats
from coterie.rows.spool import has_room, spool_folder
from coterie_command import cleaned_up

__all__ = ["check_format", "local_file", "streamed_formats"]

_COPIED_BYTES = 4 * 2**20


def streamed_formats() -> list[str]:
    """Return the names of the formats that can be piped: all of single files."""
    return [known.name for known in formats() if not known.is_folder]


def check_format(file: str, format: str | None) -> None:
    """Fail now if the standard input has no format that is known, or a file is given one.

    Raises
    ------
    UsageError
        Which says what there is.
    """
    if file != DASH:
        if format is not None:
            raise UsageError(
                f"--format is for the standard input ({DASH}); {file} has the format of its ending."
            )
        return
    listed = ", ".join(streamed_formats())
    if format is None:
        raise UsageError(f"The standard input ({DASH}) needs --format, one of {listed}.")
    if _ending(format) is None:
        raise UsageError(f"--format must be one of {listed}, got {format!r}.")
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(f"Nothing is piped into the standard input ({DASH}).")
    if _is_endless():
        raise UsageError(f"The standard input ({DASH}) is a device, which has no end. Pipe a file into it.")


@contextmanager
def local_file(file: str, format: str | None) -> Iterator[tuple[str, str]]:
    """Give the path of a file to read, and what to call it.

    What comes through the standard input is copied to a temporary file, since fits read rows more than once and most
    formats are not read from the beginning to the end. It is removed in the end, also after Ctrl-C or SIGTERM;
    what a killed run has left the next one removes.

    Parameters
    ----------
    file : str
        A path, or `DASH`.
    format : str or None
        That of the standard input: see `check_format`.

    Raises
    ------
    OSError
        If the disk has no room.
    """
    if file != DASH:
        yield str(recovered(file)), file
        return
    folder = TemporaryFolder(spool_folder(), "coterie-input")
    with cleaned_up(folder.remove), folder:
        path = str(Path(folder.path, f"standard-input{_ending(str(format))}"))
        _copy(path)
        try:
            yield path, STANDARD_INPUT
        except (ValueError, ImportError) as error:
            told = str(error).replace(f"coterie fit {path}", f"coterie fit {DASH} --format {format}")
            raise type(error)(told.replace(path, STANDARD_INPUT)) from error


def _is_endless() -> bool:
    """Whether the standard input is a device such as /dev/zero; /dev/null has an end."""
    try:
        status = os.fstat(sys.stdin.fileno())
    except (OSError, ValueError):  # not of a file at all
        return False
    is_device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
    return is_device and status.st_rdev != os.stat(os.devnull).st_rdev


def _ending(format: str) -> str | None:
    """Return the ending of the files of a format, which is called by its name or by one of its endings."""
    offered = {known.name: known.extensions for known in formats() if not known.is_folder}
    if any(f".{format}" in extensions for extensions in offered.values()):
        return f".{format}"
    return offered[format][0] if format in offered else None


def _copy(path: str) -> None:
    copied = 0
    with naming(Path(path)), open(path, "wb") as file:
        while block := sys.stdin.buffer.read(_COPIED_BYTES):
            if not has_room(len(block)):
                raise OSError(
                    f"{spool_folder()} has no room for the standard input after {copied / 1e9:.1f} GB of it. The "
                    "environment variable TMPDIR names another folder."
                )
            file.write(block)
            copied += len(block)
    if not copied:
        raise ValueError("The standard input is empty.")
