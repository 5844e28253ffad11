"""Atomic output: single files, several files of a folder at once, or a whole folder.

Files are written to hidden names beside their place, which all begin with `.coterie-`, and renamed into place at the
end. A lock keeps two processes from writing the same output at once. Nothing hidden is left after a run; what a killed
run has left is finished or removed by the next command that opens its place.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

# What a file system without locks answers, such as some of NFS.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}

# Errors of writing, as opposed to those of a file that is read meanwhile.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

# Windows forbids others to read what is locked, so that this byte is far behind the text of a lock.
_LOCKED_BYTE = 1 << 40

# In a folder that is ready to replace another one: which of its files are new, and which of the other are dropped.
_PLAN = ".coterie-plan"

# A live process renames within an instant; others wait for it in attempts with a pause in seconds.
_ATTEMPTS, _PAUSE = 250, 0.02


def printable(text: object, keep: str = "") -> str:
    """Return a text with its control characters escaped, except those to `keep`: safe to print on a terminal.

    Names of columns and files and texts of tables and models come from others, who may put escape sequences there.
    """
    return "".join(c if c.isprintable() or c in keep else ascii(c)[1:-1] for c in str(text))


class OutputFolder:
    """Write the files of one run, which replace those of an earlier run at once when all are written.

    A context manager. Without `output` the folder is one run: a new folder is written beside it; at the end the old
    one is renamed aside, files of others are moved over, and the new one is renamed into place. With `output`, files
    are added to a folder that may hold anything: `output` is the file after which they are named, and different outputs
    of a folder may be written at once. After an exception everything is as it was. `replaced` are the names of files of
    an earlier run, which are removed with it.
    """

    def __init__(self, folder: Path, output: str = "") -> None:
        self.replaced: Iterable[str] = ()
        self._folder = folder
        self._is_whole = not output
        self._place = Path(folder, output) if output else Path(os.path.realpath(folder))
        self._lock = _Lock(_hidden("lock", self._place))
        self._new = _hidden("new", self._place)
        self._is_begun = False
        self._names: list[str] = []
        self._made: list[Path] = []

    def __enter__(self) -> OutputFolder:
        """Make a place for the files.

        If another process writes the same output, a BlockingIOError is raised; if the folder cannot be written or
        replaced, an OSError.
        """
        beside = self._place.parent
        try:
            self._made = _check_writable(beside)
            if self._is_whole and os.path.lexists(self._place):
                _check_replaceable(self._place, self._folder)
            while True:
                try:
                    beside.mkdir(parents=True, exist_ok=True)
                    self._lock.take()
                    break
                except FileNotFoundError:  # another run made the folder, and removed it as it failed
                    continue
            _finish(self._place)
            if self._lock.is_safe:
                shutil.rmtree(self._new, ignore_errors=True)
            try:
                self._new.mkdir()
                self._is_begun = True
            except FileExistsError:
                told = f"a file system without locks; if no run writes there, remove {self._new}"
                raise BlockingIOError(errno.EAGAIN, told, str(self._lock.path)) from None
        except BaseException:
            self.abandon()
            raise
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None and self._names:
                self._replace()
        finally:
            self.abandon()

    def check(self, *names: str) -> None:
        """Raise an IsADirectoryError now if a folder has the name of one of these files."""
        for name in names:
            if (self._folder / name).is_dir():
                raise IsADirectoryError(
                    errno.EISDIR, "Is a folder, not a file to write", str(self._folder / name)
                )

    def staged(self, name: str) -> Path:
        """Return the path of a file until all are written."""
        return self._new / name

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Give the path to write a file to; an OSError names the file by its place in the folder."""
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
        """End in the middle of any step: new files replace old ones if that was decided, else they are removed."""
        try:
            if self._lock.is_safe or self._is_begun:
                with suppress(OSError):
                    _finish(self._place)
                shutil.rmtree(self._new, ignore_errors=True)
        finally:
            self._lock.release()
        for folder in self._made:
            with suppress(OSError):  # not empty
                folder.rmdir()

    def _replace(self) -> None:
        """Decide by one rename, and do what follows from it."""
        self.check(*self._names)
        for name in self._names:
            _sync(self._new / name)
        if self._is_whole:
            plan = {"new": self._names, "replaced": sorted(set(self.replaced))}
            (self._new / _PLAN).write_text(json.dumps(plan), encoding="utf-8")
            _sync(self._new / _PLAN)
        _sync(self._new)
        os.rename(self._new, _hidden("folder" if self._is_whole else "files", self._place))
        _sync(self._place.parent)
        _finish(self._place)


def recovered(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Return a path after finishing what a killed run had decided for it, or for the folder that it is in.

    It need not exist. An OSError is raised if this cannot be finished.
    """
    parent = Path(os.path.realpath(Path(path).parent))
    places = [Path(os.path.realpath(path)), parent]
    with suppress(OSError):
        names = [name for name in os.listdir(parent) if name.startswith(".coterie-files.")]
        places += [parent / name.removeprefix(".coterie-files.") for name in names]
    for place in places:
        for _ in range(_ATTEMPTS):
            if not any(_is_folder(_hidden(kind, place)) for kind in ("folder", "files", "old")):
                break
            lock = _Lock(_hidden("lock", place))
            try:
                lock.take()
                _finish(place)
            except BlockingIOError:  # its process lives and does the same
                time.sleep(_PAUSE)
            except OSError:
                if _is_folder(_hidden("files", place)) or not os.path.lexists(place):
                    raise
                break  # a folder that is there is one whole run
            finally:
                lock.release()
    return path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name in the same folder, of an empty file with the same ending; rename it to `path` at the end.

    After an exception it is removed. If the file cannot be written, an OSError names it.
    """
    path = Path(path)
    prefix = ".coterie-part-"
    temporary = path.with_name(f"{prefix}{secrets.token_hex(6)}.{path.name}")
    with naming(path, temporary):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "Is a folder, not a file to write", str(path))
        for left in path.parent.glob(f"{prefix}*"):
            if left.name[len(prefix) + 13 :] == path.name:
                _remove_if_dead(left)
        lock = _Lock(temporary)
        try:
            lock.take(text="")
            yield temporary
            _sync(temporary)
            if sys.platform == "win32":  # which renames no open file
                lock.release(remove=False)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        finally:
            lock.release(remove=False)


@contextmanager
def naming(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Make errors of writing name the final file instead of its temporary name."""
    try:
        yield
    except OSError as error:
        is_own = error.filename is None or str(error.filename) == str(temporary)
        # NumPy tells how many numbers it wanted to write, and how many it wrote.
        if is_own and (error.errno in _NO_ROOM or re.search(r"requested and \d+ written", str(error))):
            number = error.errno or errno.ENOSPC
            told = f"{os.strerror(number)}, so it was not written. Free some space, or write to another disk"
            raise OSError(number, told, str(path)) from error
        if is_own and (error.filename is not None or error.errno == errno.EROFS):
            raise OSError(error.errno, os.strerror(error.errno or errno.EIO), str(path)) from error
        raise


class TemporaryFolder:
    """A folder of this process alone; a context manager that makes `path` in `parent`, and removes it in the end.

    Folders of the same `name` whose processes were killed are removed.
    """

    def __init__(self, parent: str | os.PathLike[str], name: str) -> None:
        self.path = Path(parent, f"{name}-{secrets.token_hex(6)}")
        self._name = name
        self._lock = _Lock(self.path / ".coterie-lock")

    def __enter__(self) -> TemporaryFolder:
        for folder in self.path.parent.glob(f"{self._name}-*"):
            with suppress(OSError):
                found = os.lstat(folder)
                # Others may write to the parent: a link leads elsewhere, and a folder without its lock is just made.
                is_own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
                if stat.S_ISDIR(found.st_mode) and is_own and _remove_if_dead(folder / ".coterie-lock"):
                    shutil.rmtree(folder, ignore_errors=True)
        self.path.mkdir(mode=0o700)
        self._lock.take()
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder, which may be half made; twice is no error."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.release()


class _Lock:
    """A lock between processes: a file that is locked as long as its process lives.

    `is_safe` is False on file systems without locks, where it does not keep others out.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_safe = False
        self._file: int | None = None

    def take(self, *, text: str | None = None) -> None:
        """Take the lock now; a BlockingIOError names its holder if another process or lock of this one has it."""
        while self._file is None:
            # No link is followed: this writes, and others may write to the folder.
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
            try:
                is_safe = _lock(file)
                if _is_at(self.path, file):  # else its holder has removed it meanwhile
                    self._file, self.is_safe = file, is_safe
                    if text is None:
                        os.ftruncate(file, 0)
                        os.write(file, f"process {os.getpid()} on {platform.node()}".encode())
            except BlockingIOError:
                holder = os.read(file, 200).decode(errors="replace").strip()
                os.close(file)
                told = holder or "another process"
                raise BlockingIOError(errno.EAGAIN, told, str(self.path)) from None
            except OSError as error:  # such as a full disk, which names no file
                self._file = file
                self.release()
                raise OSError(error.errno, os.strerror(error.errno or errno.EIO), str(self.path)) from error
            if self._file is None:
                os.close(file)

    def release(self, *, remove: bool = True) -> None:
        """Release the lock and remove its file; nothing happens where it is not held."""
        try:
            self._end(remove)
        finally:  # again where a signal came between
            self._end(remove)

    def _end(self, remove: bool) -> None:
        if self._file is None:
            return
        # Removed before it is closed, or another process could lock a file that is about to go.
        with suppress(OSError):
            if remove and _is_at(self.path, self._file):
                os.unlink(self.path)
        file, self._file, self.is_safe = self._file, None, False
        with suppress(OSError):
            os.close(file)


def _lock(file: int) -> bool:
    """Lock an open file until it is closed or its process ends; False where the file system has no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            os.lseek(file, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return False
        if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            raise BlockingIOError(errno.EAGAIN, "Is locked") from None
        raise
    return True


def _is_at(path: Path, file: int) -> bool:
    """Return whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _remove_if_dead(path: Path) -> bool:
    """Remove a file that a living process would have locked; return whether it was removed."""
    if not path.exists():
        return False
    lock = _Lock(path)
    with suppress(OSError):
        lock.take(text="")
        is_dead = lock.is_safe
        lock.release(remove=is_dead)
        return is_dead
    return False


def _hidden(kind: str, place: Path) -> Path:
    """Return the hidden name beside an output of its lock, its new files, those ready to replace, or the old ones."""
    return place.parent / f".coterie-{kind}.{place.name}"


def _finish(place: Path) -> None:
    """Do what the last run has decided for a place, from whatever step it was killed at; its lock must be held.

    If that cannot be done, an OSError is raised, and a folder is as it was.
    """
    folder, files, old = (_hidden(kind, place) for kind in ("folder", "files", "old"))
    if _is_folder(folder):
        if (folder / _PLAN).exists():
            _move_over(place, folder, old)
        os.rename(folder, place)
        _sync(place.parent)
    if _is_folder(old):
        shutil.rmtree(old)
    if _is_folder(files):
        for name in sorted(os.listdir(files)):
            try:
                os.replace(files / name, place.parent / name)
            except OSError as error:
                told = f"{error.strerror}, so the new one was left in {files}: remove the old one and run coterie again"
                raise OSError(error.errno, told, str(place.parent / name)) from None
        _sync(place.parent)
        os.rmdir(files)


def _move_over(place: Path, folder: Path, old: Path) -> None:
    """Rename the present folder aside, and move the files of others to the new one."""
    plan = json.loads((folder / _PLAN).read_text(encoding="utf-8"))
    try:
        if os.path.lexists(place):
            with suppress(OSError):
                shutil.copystat(place, folder)
            os.rename(place, old)
        for name in os.listdir(old) if _is_folder(old) else ():
            if name not in plan["replaced"] and not os.path.lexists(folder / name):
                os.rename(old / name, folder / name)
    except OSError:
        for name in set(os.listdir(folder)) - {_PLAN, *plan["new"]}:
            os.rename(folder / name, old / name)
        if _is_folder(old):
            os.rename(old, place)
        shutil.rmtree(folder)
        raise
    (folder / _PLAN).unlink()


def _is_folder(path: Path) -> bool:
    """Return whether there is a folder; a link would lead to files of somebody else."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    is_folder = path.is_dir()
    if is_folder and sys.platform == "win32":  # which knows no such thing
        return
    opened = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    try:
        os.fsync(opened)
    except OSError as error:
        # Not every file system has this for folders.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        os.close(opened)


def _check_writable(folder: Path) -> list[Path]:
    """Raise an OSError now if nothing can be written to a folder, or to the nearest one above it that exists.

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
    """Raise an OSError now if a folder could not be replaced as a whole later.

    It must not be the current or the home folder, contain these, or be a mount point, and its folders must be movable.
    """
    _check_writable(place)
    kinds = {
        "the current folder": Path.cwd(),
        "your home folder": Path(os.path.realpath(os.path.expanduser("~"))),
    }
    told = "Is a mount point" if os.path.ismount(place) else ""
    for kind, folder in kinds.items():
        if not told and place in (folder, *folder.parents):
            told = f"Is {kind}" if place == folder else f"Contains {kind}"
    if told:
        told += ", so it cannot be replaced as a whole: choose a new folder in it"
        raise OSError(errno.EBUSY, told, str(shown))
    for entry in os.scandir(place):
        if entry.is_dir(follow_symlinks=False) and (os.path.ismount(entry) or not os.access(entry, os.W_OK)):
            raise OSError(
                errno.EACCES, "Cannot move this folder, so the one around it cannot be replaced", entry.path
            )
