"""The outputs of one run in a folder, which change at once."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from coterie.outputs.journals import finish_commit, finish_commits, sync
from coterie.outputs.locks import FileLock
from coterie.outputs.names import COMMIT, LOCK, STAGED, hidden, hidden_entries
from coterie.outputs.single import naming, remove_dead_parts

__all__ = ["OutputFolder"]


class OutputFolder:
    """Writes files to a folder so that, once all are written, they replace older ones at once.

    A context manager: it makes the folder and keeps other runs of the same output away from it; at the end all files
    come to their places, or after an exception everything is as it was before. See `coterie.outputs.journals`.

    Parameters
    ----------
    folder : Path
        Where the files go.
    output : str, optional
        The file after which others of the same output are named; by default the output is the whole folder. Other
        outputs may be written at the same time.

    Attributes
    ----------
    is_guarded : bool
        Whether another run of the same output would notice this one, which it cannot where a file system has no locks.
    """

    def __init__(self, folder: Path, output: str = "") -> None:
        self._folder = folder
        self._output = output
        self._lock = FileLock(folder / hidden(LOCK, output))
        self._staged = folder / hidden(STAGED, output, unique=True)
        self._commit = folder / hidden(COMMIT, output)
        self._names: list[str] = []
        self._made: list[Path] = []

    @property
    def is_guarded(self) -> bool:
        return self._lock.is_safe

    def __enter__(self) -> OutputFolder:
        """Make the folder ready.

        Raises
        ------
        BlockingIOError
            If another run of the same output has not ended.
        OSError
            If nothing can be written to the folder.
        """
        try:
            self._made = check_writable(self._folder)
            self._folder.mkdir(parents=True, exist_ok=True)
            self._take_lock()
            finish_commits(self._folder)
            self._remove_leftovers()
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
        """Fail now if files could not be replaced later.

        Raises
        ------
        IsADirectoryError
            If a folder has the name of one of them.
        """
        for name in names:
            if (self._folder / name).is_dir():
                raise IsADirectoryError(21, "Is a folder, not a file to write", str(self._folder / name))

    def staged(self, name: str) -> Path:
        """Return where a file is until all are written."""
        return self._staged / name

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Give the path to write a file to.

        Raises
        ------
        OSError
            If it cannot be written; the message names the file by its place in the folder.
        """
        path = self.staged(name)
        with naming(self._folder / name, path):
            self._staged.mkdir(exist_ok=True)
            yield path
        self._names.append(name)

    def abandon(self) -> None:
        """Leave the folder as a run must that ends here, at whatever moment; once more is no harm.

        Either all new files come to their places, if that was decided, or none, and nothing else is left.
        """
        if self._names:
            with suppress(OSError):
                finish_commit(self._commit)
        shutil.rmtree(self._staged, ignore_errors=True)
        self._lock.give_back()
        for folder in self._made:
            with suppress(OSError):  # which is not empty
                folder.rmdir()

    def _take_lock(self) -> None:
        while True:
            try:
                return self._lock.take()
            except FileNotFoundError:
                # Another run made the folder and removed it, as it had failed.
                self._folder.mkdir(parents=True, exist_ok=True)

    def _replace(self) -> None:
        self.check(*self._names)
        for name in self._names:
            sync(self._staged / name)
        sync(self._staged)
        while True:
            finish_commits(self._folder)
            try:
                os.rename(self._staged, self._commit)
                break
            except OSError as error:
                # Without locks another run may have committed just now.
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or self.is_guarded:
                    raise
        sync(self._folder)
        finish_commit(self._commit)

    def _remove_leftovers(self) -> None:
        """Remove what killed runs left here, of this output and of others; who lives holds the lock of its own."""
        remove_dead_parts(self._folder)
        entries = hidden_entries(self._folder, STAGED, LOCK)
        for output in sorted({output for *_, output in entries}):
            is_own = output == self._output
            lock = self._lock if is_own else FileLock(self._folder / hidden(LOCK, output))
            with suppress(OSError):
                if not is_own:
                    lock.take()
                if lock.is_safe:
                    for path, _, of in hidden_entries(self._folder, STAGED):
                        if of == output:
                            shutil.rmtree(path, ignore_errors=True)
            if not is_own:
                lock.give_back()


def check_writable(folder: Path) -> list[Path]:
    """Fail now if nothing could be written to this folder later; gives those that are missing, innermost first.

    Raises
    ------
    OSError
        If the folder, or the nearest one above that exists, is no folder or takes no files.
    """
    missing = []
    existing = folder.absolute()
    while not os.path.lexists(existing):
        missing.append(existing)
        existing = existing.parent
    if not existing.is_dir():
        raise NotADirectoryError(20, "Not a folder, so nothing can be written there", str(existing))
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise OSError(error.errno, f"Cannot write to this folder ({error.strerror})", str(existing)) from None
    return missing
