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
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_STAGED, _REPLACED = ".coterie-new-", ".coterie-old-"
_DAY = 24 * 60 * 60

# Errors of writing, as opposed to those of a file that is read meanwhile; NumPy gives no number.
_NOT_WRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, None}


def printable(text: object, keep: str = "") -> str:
    """Return a text with its control characters escaped, except those to `keep`: safe to print on a terminal.

    Names of columns and files and texts of tables and models come from others, who may put escape sequences there.
    """
    return "".join(c if c.isprintable() or c in keep else ascii(c)[1:-1] for c in str(text))


class OutputFolder:
    """A context manager for the files of one run, which appear together at its end; after an error nothing changes.

    Without `output` the folder is one run: it replaces an earlier one with the files `replaced`, and other files in it
    are kept. With `output`, the file after which the output is named, files are added to any folder.
    """

    def __init__(self, folder: Path, output: str = "") -> None:
        self.replaced: Iterable[str] = ()
        self._folder = folder
        self._is_whole = not output
        self._place = Path(os.path.realpath(folder)) if self._is_whole else Path(folder)
        beside = self._place.parent if self._is_whole else self._place
        self._new = beside / f"{_STAGED}{secrets.token_hex(6)}"
        self._old = beside / self._new.name.replace(_STAGED, _REPLACED)
        self._names: list[str] = []
        self._made: list[Path] = []

    def __enter__(self) -> OutputFolder:
        """Raise an OSError now if nothing could be written there later."""
        if self._is_whole and os.path.islink(self._folder) and not _is_own(self._folder):
            raise OSError(errno.EPERM, "Is a link of another user", str(self._folder))
        self._made = _check_writable(self._new.parent)
        if self._is_whole and os.path.lexists(self._place):
            _check_replaceable(self._place, self._folder)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None and self._names:
                self._replace()
        finally:
            self.abandon()

    def check(self, *names: str) -> None:
        """Raise an IsADirectoryError if a folder has the name of one of these files."""
        for name in names:
            _check_no_folder(self._folder / name)

    def staged(self, name: str) -> Path:
        """Return the path of a file until all are written."""
        if not self._new.exists():
            self._new.parent.mkdir(parents=True, exist_ok=True)
            remove_leftovers(self._new.parent)
            self._new.mkdir()
        return self._new / name

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Give the path to write a file to; an OSError names the file by its place in the folder."""
        with naming(self._folder / name):
            path = self.staged(name)
        with naming(self._folder / name, path):
            yield path
        self._names.append(name)

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write files of these contents by their names."""
        self.check(*files)
        for name, content in files.items():
            with self.writing(name) as path:
                path.write_bytes(content)

    def abandon(self) -> None:
        """End at any step: a replaced folder comes back, or gives its other files to the new one."""
        if os.path.lexists(self._old):
            with suppress(OSError):
                if os.path.lexists(self._place):
                    self._keep_others()
                else:
                    os.rename(self._old, self._place)
        shutil.rmtree(self._new, ignore_errors=True)
        for folder in self._made:
            with suppress(OSError):  # not empty
                folder.rmdir()

    def _replace(self) -> None:
        self.check(*self._names)
        for name in self._names:
            _sync(self._new / name)
        if not self._is_whole:
            for name in self._names:
                os.replace(self._new / name, self._place / name)
        elif os.path.lexists(self._place):
            os.chmod(self._new, stat.S_IMODE(self._place.stat().st_mode))
            os.rename(self._place, self._old)
            os.rename(self._new, self._place)
            self._keep_others()
        else:
            os.rename(self._new, self._place)

    def _keep_others(self) -> None:
        """Move what others have put into the replaced folder to the new one, and remove the rest."""
        for name in {*os.listdir(self._old)} - {*self.replaced, *self._names}:
            os.rename(self._old / name, self._place / name)
        shutil.rmtree(self._old)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name in the same folder with the same ending; rename it to `path` at the end.

    After an exception the file is removed. If it cannot be written, an OSError names `path`.
    """
    path = Path(path)
    temporary = path.with_name(f"{_STAGED}{secrets.token_hex(6)}.{path.name}")
    with naming(path, temporary):
        _check_no_folder(path)
        remove_leftovers(path.parent)
        try:
            with open(temporary, "xb"):  # follows no link
                pass
            yield temporary
            _sync(temporary)
            os.replace(temporary, path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


@contextmanager
def naming(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Make errors of writing name the final file instead of its temporary name."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and str(error.filename) != str(temporary):
            raise
        if error.errno in _NOT_WRITTEN:
            number = error.errno or errno.ENOSPC
            told = f"{os.strerror(number)}, so it was not written. Free some space, or write to another disk"
            raise OSError(number, told, str(path)) from error
        if error.filename is None and error.errno != errno.EROFS:
            raise
        raise OSError(error.errno, os.strerror(error.errno or errno.EIO), str(path)) from error


def remove_leftovers(folder: Path, prefix: str = _STAGED) -> None:
    """Remove what killed processes of this user have left in a folder under names of a prefix, after a day."""
    with suppress(OSError):
        for entry in [entry for entry in os.scandir(folder) if entry.name.startswith(prefix)]:
            found = entry.stat(follow_symlinks=False)
            if _is_own(entry.path) and time.time() - found.st_mtime > _DAY:
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)


def _is_own(path: str | os.PathLike[str]) -> bool:
    return not hasattr(os, "geteuid") or os.lstat(path).st_uid == os.geteuid()


def _check_no_folder(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a folder, not a file to write", str(path))


def _sync(path: Path) -> None:
    """Wait until a file is on the disk."""
    with open(path, "r+b") as file:
        os.fsync(file.fileno())


def _check_writable(folder: Path) -> list[Path]:
    """Raise an OSError if nothing can be written to a folder, or to the nearest one above it that exists.

    Returns the folders that are missing, innermost first.
    """
    missing = []
    existing = folder.absolute()
    while not os.path.lexists(existing):
        missing.append(existing)
        existing = existing.parent
    if not existing.is_dir():
        raise NotADirectoryError(
            errno.ENOTDIR, "Not a folder, so nothing can be written there", str(existing)
        )
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise OSError(error.errno, f"Cannot write to this folder ({error.strerror})", str(existing)) from None
    return missing


def _check_replaceable(place: Path, shown: Path) -> None:
    """Raise an OSError if a folder cannot be replaced: the current or the home folder or around it, a mount point."""
    _check_writable(place)
    needed = (Path.cwd(), Path(os.path.realpath(Path.home())))
    told = ""
    if any(place in (folder, *folder.parents) for folder in needed):
        told = "Is or contains the current folder or your home folder"
    if os.path.ismount(place):
        told = "Is a mount point"
    if told:
        told += ", so it cannot be replaced as a whole: choose a new folder in it"
        raise OSError(errno.EBUSY, told, str(shown))
    for entry in os.scandir(place):
        if entry.is_dir(follow_symlinks=False) and (os.path.ismount(entry) or not os.access(entry, os.W_OK)):
            raise OSError(
                errno.EACCES, "Cannot move this folder, so the one around it cannot be replaced", entry.path
            )
