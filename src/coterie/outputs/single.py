"""A single file that appears whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from coterie.outputs.locks import is_at, lock_open_file
from coterie.outputs.names import PART, hidden, hidden_entries

__all__ = ["naming", "remove_dead_parts", "replacing"]

# What only a write can say, so that it is not about a file that is read meanwhile.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives a temporary name in the same folder; renames it to `path` at the end, or deletes it on failure.

    Parameters
    ----------
    path : str or path-like
        The file to make or to replace.

    Yields
    ------
    Path
        Name to write to, with the same ending as `path`; there is an empty file by now.

    Raises
    ------
    OSError
        If the file cannot be written; the message names it.
    """
    path = Path(path)
    temporary = path.with_name(hidden(PART, path.name, unique=True))
    with naming(path, temporary):
        if path.is_dir():
            raise IsADirectoryError(21, "Is a folder, not a file to write", str(path))
        remove_dead_parts(path.parent, path.name)
        file: int | None = None
        try:
            while file is None:
                file = _opened(temporary)
            yield temporary
            os.fsync(file)
            if sys.platform == "win32":  # where no open file can be renamed
                os.close(file)
                file = None
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        finally:
            if file is not None:
                os.close(file)


def remove_dead_parts(folder: Path, name: str | None = None) -> None:
    """Remove what processes left of files that they were writing when they were killed; by default of all names."""
    for path, _, output in hidden_entries(folder, PART):
        if name in (None, output):
            with suppress(OSError):
                _remove_if_dead(path)


def _remove_if_dead(path: Path) -> None:
    file = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        is_dead = lock_open_file(file)
        if is_dead and sys.platform != "win32":
            os.unlink(path)
    finally:
        os.close(file)
    if is_dead and sys.platform == "win32":
        os.unlink(path)


def _opened(temporary: Path) -> int | None:
    """Make and lock a file, which says that this process lives; None if another one took it for a leftover before."""
    file = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    with suppress(BlockingIOError):
        lock_open_file(file)
        if is_at(temporary, file):
            return file
    os.close(file)
    with suppress(FileNotFoundError):
        temporary.unlink()
    return None


@contextmanager
def naming(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Let errors of writing name the file that is written, instead of its temporary name or none."""
    try:
        yield
    except OSError as error:
        is_own = error.filename is None or str(error.filename) == str(temporary)
        # NumPy says how many numbers it wanted to write, and how many it did.
        if is_own and (error.errno in _NO_ROOM or re.search(r"requested and \d+ written", str(error))):
            number = error.errno or errno.ENOSPC
            told = f"{os.strerror(number)}, so it was not written. Free some room, or write to another disk"
            raise OSError(number, told, str(path)) from error
        if is_own and (error.filename is not None or error.errno == errno.EROFS):
            raise OSError(error.errno, os.strerror(error.errno or errno.EIO), str(path)) from error
        raise
