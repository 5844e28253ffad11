"""Several files of a folder that change at once: a journal of what is on its way to its place.

Files are written to a folder of their own inside the one that they are for. Renaming it to `.coterie-commit` decides:
before, everything is as it was; afterwards the new files count, and whoever comes along moves them to their places.
Each move takes a file out of the journal, so that any number of processes may do this at a time, and once more.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from coterie.outputs.names import COMMIT, hidden_entries

__all__ = ["finish_commit", "finish_commits", "newest", "sync"]


def newest(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Return where to read a file, after what was decided for its folder was done.

    This is the path itself but where files cannot be moved, such as on a disk that is read-only by now: then the
    newest content may still be in a journal.

    Parameters
    ----------
    path : str or path-like
        A file, which need not exist.
    """
    place = Path(path)
    for commit in _commits(place.parent):
        with suppress(OSError):
            finish_commit(commit)
        if (commit / place.name).exists():
            return commit / place.name
    return path


def finish_commits(folder: Path) -> None:
    """Move all files to their places that interrupted runs have decided on.

    Raises
    ------
    OSError
        If one of them cannot be moved; the message says where it waits.
    """
    for commit in _commits(folder):
        finish_commit(commit)


def finish_commit(commit: Path) -> None:
    """Move the files of a journal to their places, and remove it; that somebody else does the same is no harm.

    Raises
    ------
    OSError
        If one of them cannot be moved; the message says where it waits.
    """
    folder = commit.parent
    try:
        names = sorted(os.listdir(commit))
    except FileNotFoundError:
        return
    for name in names:
        try:
            with suppress(FileNotFoundError):
                os.replace(commit / name, folder / name)
        except OSError as error:
            told = f"{error.strerror}, so that the new one waits in {commit}: make way for it and run coterie again"
            raise OSError(error.errno, told, str(folder / name)) from None
    sync(folder)
    try:
        os.rmdir(commit)
    except FileNotFoundError:
        pass
    except OSError as error:
        # Somebody else finished this one, and the next one of its name is there already.
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if path.is_dir():
        if sys.platform == "win32":  # which knows no such thing
            return
        flags = os.O_RDONLY
    else:
        flags = os.O_RDWR
    opened = os.open(path, flags)
    try:
        os.fsync(opened)
    except OSError as error:
        # Not every file system has this for folders.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        os.close(opened)


def _commits(folder: Path) -> Iterator[Path]:
    for path, *_ in hidden_entries(folder, COMMIT):
        # A link would empty the folder that it leads to.
        with suppress(OSError):
            if stat.S_ISDIR(os.lstat(path).st_mode):
                yield path
