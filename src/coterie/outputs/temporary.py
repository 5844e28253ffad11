"""A folder for files that a process needs for a while; those of dead processes are removed by the next one."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from coterie.outputs.locks import FileLock
from coterie.outputs.names import LOCK, hidden

__all__ = ["TemporaryFolder"]


class TemporaryFolder:
    """A folder of this process alone; a context manager that makes it, and removes it in the end.

    Parameters
    ----------
    parent : str or path-like
        Where to make it, such as the folder for temporary files of all users.
    name : str
        How its name begins; folders of that name whose processes were killed are removed.

    Attributes
    ----------
    path : Path
        The folder.
    """

    def __init__(self, parent: str | os.PathLike[str], name: str) -> None:
        self.path = Path(parent, f"{name}-{secrets.token_hex(6)}")
        self._name = name
        self._lock = _lock_of(self.path)

    def __enter__(self) -> TemporaryFolder:
        for folder in self.path.parent.glob(f"{self._name}-*"):
            with suppress(OSError):
                _remove_if_dead(folder)
        self.path.mkdir(mode=0o700)
        self._lock.take()
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder, whatever was made of it by now; once more is no harm."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.give_back()


def _lock_of(folder: Path) -> FileLock:
    return FileLock(folder / hidden(LOCK, ""))


def _remove_if_dead(folder: Path) -> None:
    found, lock = os.lstat(folder), _lock_of(folder)
    # Others may write to the parent: a link leads elsewhere, and without its lock a folder may have just been made.
    is_own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    if stat.S_ISDIR(found.st_mode) and is_own and lock.path.exists():
        try:
            lock.take()
            if lock.is_safe:
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            lock.give_back()
