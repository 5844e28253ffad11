"""Locks that end with the process that holds them, however it ends."""

from __future__ import annotations

import errno
import os
import platform
import sys
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["FileLock", "is_at", "lock_open_file"]

# What a file system says that has no locks, such as some of NFS.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}

# Windows forbids others to read what is locked, so that this byte is far behind whatever a file holds.
_LOCKED_BYTE = 1 << 40

# Who clears up behind the dead holds their lock for an instant.
_ATTEMPTS, _PAUSE = 5, 0.02


def lock_open_file(file: int) -> bool:
    """Lock an open file until it is closed, or its process ends; False where the file system has no locks.

    Raises
    ------
    BlockingIOError
        If somebody else has locked it.
    """
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


def is_at(path: Path, file: int) -> bool:
    """Whether an open file is the one of that name: it may have been removed since, and there may be another one."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


class FileLock:
    """A lock that one process at a time can hold: a file that is there, and locked, as long as somebody does.

    Parameters
    ----------
    path : Path
        The file.

    Attributes
    ----------
    is_safe : bool
        Whether it keeps others out once it is taken, which it cannot where the file system has no locks.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_safe = False
        self._file: int | None = None

    def take(self) -> None:
        """Take the lock now.

        Raises
        ------
        BlockingIOError
            If another process, or another lock of this one, has it; the message says which.
        OSError
            If its file cannot be made.
        """
        for attempt in range(_ATTEMPTS):
            try:
                while not self._take():
                    pass
                return
            except BlockingIOError:
                if attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(_PAUSE)

    def give_back(self) -> None:
        """Remove the file; nothing happens where the lock is not held."""
        if self._file is None:
            return
        # Closed first, it could be locked by somebody before it is removed, and a new file of its name by yet another.
        # On Windows open files stay, and so does that of who has waited.
        is_own = self._is_own(self._file)
        if is_own and sys.platform != "win32":
            os.unlink(self.path)
        self._close()
        if is_own and sys.platform == "win32":
            with suppress(OSError):
                os.unlink(self.path)

    def _take(self) -> bool:
        """Try once; False if who had the lock removed its file meanwhile."""
        # No link is followed: this writes, and others may write to the folder.
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        self._file = os.open(self.path, flags, 0o666)
        try:
            self.is_safe = lock_open_file(self._file)
            if not is_at(self.path, self._file):
                self._close()
                return False
            os.ftruncate(self._file, 0)
            os.write(self._file, f"process {os.getpid()} on {platform.node()}".encode())
        except BlockingIOError:
            holder = os.read(self._file, 200).decode(errors="replace").strip()
            self._close()
            raise BlockingIOError(errno.EAGAIN, holder or "another process", str(self.path)) from None
        except OSError as error:  # such as a full disk, which names no file
            self.give_back()
            raise OSError(error.errno, os.strerror(error.errno or errno.EIO), str(self.path)) from error
        except BaseException:
            self.give_back()
            raise
        return True

    def _close(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
        self._file, self.is_safe = None, False

    def _is_own(self, file: int) -> bool:
        """Whether this may remove the file; in the midst of taking the lock, perhaps not."""
        if not is_at(self.path, file):
            return False
        try:
            if not self.is_safe:
                lock_open_file(file)
        except BlockingIOError:
            return False
        return True
