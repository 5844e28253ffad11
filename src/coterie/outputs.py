"""Outputs that appear complete or not at all, and text that is safe to print on a terminal.

Files are written under hidden names beside their place and renamed at the end. What a killed process leaves is never
used; if it is the user's own and older than a day, a later run removes it.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_STAGED, _REPLACED = ".coterie-new-", ".coterie-old-"
_DAY = 24 * 60 * 60

# Errors of writing, as opposed to those of a file that is read meanwhile; NumPy gives no number.
_NOT_WRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, None}


def printable(text: object, keep: str = "") -> str:
    """Return a text with its control characters escaped, except those to `keep`: safe to print on a terminal."""
    return "".join(c if c.isprintable() or c in keep else ascii(c)[1:-1] for c in str(text))


class OutputFolder:
    """A context manager for the files of one run, which appear together at its end; after an error nothing changes.
    Without `output` the run replaces the files `replaced` of an earlier one; with it, files are added.
    """

    def __init__(self, folder: Path, output: str = "") -> None:
        self.replaced: Iterable[str] = ()
        self._folder, self._is_whole = folder, not output
        self._place = Path(os.path.realpath(folder))
        beside = self._place.parent if self._is_whole else self._place
        while not os.path.lexists(beside):
            beside = beside.parent
        token = secrets.token_hex(6)
        self._new, self._old = beside / f"{_STAGED}{token}", beside / f"{_REPLACED}{token}"
        self._names: list[str] = []

    def __enter__(self) -> OutputFolder:
        """Raise an OSError now if nothing could be written there later."""
        remove_leftovers(self._new.parent)
        if self._is_whole:
            _check_replaceable(self._folder, self._place)
        try:
            self._new.mkdir()
        except OSError as error:
            told = f"Cannot write to this folder ({error.strerror})"
            raise OSError(error.errno, told, str(self._new.parent)) from None
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None and self._names:
                self._replace()
        finally:
            self.abandon()

    def check(self, *names: str) -> None:
        """Raise an IsADirectoryError if a folder has the name of one of these files."""
        for path in (self._folder / name for name in names):
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, "Is a folder, not a file to write", str(path))

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Give the path to write a file to; an OSError names the file by its place in the folder."""
        temporary = self._new / name
        try:
            yield temporary
        except OSError as error:
            if error.filename is None and error.errno in _NOT_WRITTEN:
                error.filename = temporary
            if str(error.filename) != str(temporary):
                raise
            told = os.strerror(error.errno or errno.ENOSPC)
            if error.errno in _NOT_WRITTEN:
                told += ", so it was not written. Free some space, or write to another disk"
            raise OSError(error.errno or errno.ENOSPC, told, str(self._folder / name)) from error
        self._names.append(name)

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write files of these contents by their names."""
        for name, content in files.items():
            with self.writing(name) as path:
                path.write_bytes(content)

    def abandon(self) -> None:
        """End at any step: a replaced folder comes back, or gives its other files to the new one."""
        with suppress(OSError):
            if os.path.lexists(self._place):
                self._keep_others()
            else:
                os.rename(self._old, self._place)
        shutil.rmtree(self._new, ignore_errors=True)

    def _replace(self) -> None:
        self.check(*self._names)
        for name in self._names:
            with open(self._new / name, "r+b") as file:
                os.fsync(file.fileno())
        if not self._is_whole:
            self._place.mkdir(parents=True, exist_ok=True)
            for name in self._names:
                os.replace(self._new / name, self._place / name)
        elif os.path.lexists(self._place):
            os.chmod(self._new, stat.S_IMODE(self._place.stat().st_mode))
            os.rename(self._place, self._old)
            os.rename(self._new, self._place)
            self._keep_others()
        else:
            self._place.parent.mkdir(parents=True, exist_ok=True)
            os.rename(self._new, self._place)

    def _keep_others(self) -> None:
        """Move what others have put into the replaced folder to the new one, and remove the rest."""
        for name in {*os.listdir(self._old)} - {*self.replaced, *self._names}:
            os.rename(self._old / name, self._place / name)
        shutil.rmtree(self._old)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path with the same name; the file replaces that of `path` at the end, but not after an error."""
    path = Path(path)
    if not path.parent.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    with OutputFolder(path.parent, path.name) as outputs:
        outputs.check(path.name)
        with outputs.writing(path.name) as temporary:
            yield temporary


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes of this user have left in a folder, after a day."""
    with suppress(OSError):
        for entry in [entry for entry in os.scandir(folder) if entry.name.startswith(_STAGED)]:
            is_old = time.time() - entry.stat(follow_symlinks=False).st_mtime > _DAY
            if is_old and _is_own(entry.path) and entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)


def _is_own(path: str | os.PathLike[str]) -> bool:
    return not hasattr(os, "geteuid") or os.lstat(path).st_uid == os.geteuid()


def _check_replaceable(folder: Path, place: Path) -> None:
    """Raise an OSError if a folder cannot be replaced by its owner, or somebody needs it where it is."""
    if os.path.islink(folder) and not _is_own(folder):
        raise OSError(errno.EPERM, "Is a link of another user", str(folder))
    if not os.path.lexists(place):
        return
    needed = (Path.cwd(), Path(os.path.realpath(Path.home())))
    if os.path.ismount(place) or any(other.is_relative_to(place) for other in needed):
        told = "Is a mount point, or contains the current or the home folder: choose a new folder in it"
        raise OSError(errno.EBUSY, told, str(folder))
    if not place.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    inner = (entry.path for entry in os.scandir(place) if entry.is_dir(follow_symlinks=False))
    for path in map(str, (place, *inner)):
        if os.path.ismount(path) or not os.access(path, os.W_OK):
            told = "Cannot move this folder, so that it can be replaced (Permission denied, or a mount point)"
            raise OSError(errno.EACCES, told, path)
