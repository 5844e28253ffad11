"""Detection of files that change while they are in use.

A pass over a file that is being written would mix rows of two versions, and passes would differ. So the state of each
file is recorded when it is opened, and compared before and after each read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from coterie.arrays import IndexArray
from coterie.rows.checks import FileError
from coterie.rows.remote import RemoteFile
from coterie.rows.source import Carried, DerivedRows, RowSource

__all__ = ["FileRows", "SeenFile", "SeenFolder"]


@dataclass(frozen=True, slots=True)
class _State:
    """State of a file, which changes if it is replaced or written to."""

    size: int
    written_ns: int
    inode: int
    is_folder: bool

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> _State | None:
        """Return the state of a file, None if it does not exist."""
        try:
            return cls._of(os.stat(path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    @classmethod
    def _of(cls, found: os.stat_result) -> _State:
        return cls(found.st_size, found.st_mtime_ns, found.st_ino, stat.S_ISDIR(found.st_mode))


class SeenFile:
    """A local file with its state when it was opened.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._state = _State.of(path)

    def compare(self) -> None:
        """Raise a ValueError that names the file if it has changed."""
        _compare(self._path, self._state)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Compare the file before and after it is read, also after errors, which a change may have caused."""
        self.compare()
        try:
            yield
        except Exception:
            self.compare()
            raise
        self.compare()


class SeenFolder:
    """The files of a folder, such as the chunks of an array, with their states when it was opened.

    Missing files must stay missing: Zarr reads a missing chunk as fill values.

    Parameters
    ----------
    path : Path
        The folder that is opened.
    inside : str
        Relative path with ``/`` of the part that is read. Other files of the folder may change.
    """

    def __init__(self, path: Path, inside: str = "") -> None:
        self._path = path
        self._inside = f"{inside}/" if inside else ""
        self._states: dict[str, _State | None] = {}
        for folder, _, names in os.walk(path / inside, followlinks=True):
            within = Path(folder).relative_to(path)
            for name in names:
                key = name if within == Path() else f"{within.as_posix()}/{name}"
                self._states[key] = _State.of(os.path.join(folder, name))

    def compare(self, name: str) -> None:
        """Raise a ValueError that names a file of the folder, existing or not, if it has changed."""
        if name.startswith(self._inside):
            _compare(self._path / name, self._states.get(name))

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Compare all files after an error; readers compare those that they read."""
        try:
            yield
        except Exception:
            for name in self._states:
                self.compare(name)
            raise


def _compare(path: Path, before: _State | None) -> None:
    now = _State.of(path)
    if now != before:
        raise FileError(
            f"{path} changed while it was read ({_difference(before, now)}). Run again, on a file that does not change."
        )


def _difference(before: _State | None, now: _State | None) -> str:
    if now is not None and now.is_folder:
        return "it is a folder"
    if before is None:
        return "it was not there"
    if now is None:
        return "it is gone"
    if before.size != now.size:
        return f"size {before.size} -> {now.size}"
    if before.written_ns != now.written_ns:
        return f"written again at {datetime.fromtimestamp(now.written_ns / 1e9):%H:%M:%S}"
    return "another file has its name"


class FileRows(DerivedRows):
    """The rows of a file, whose state is compared before and after each read.

    `Format` wraps the sources of all readers, so that none has to check this.

    Parameters
    ----------
    rows : RowSource
        Source returned by the reader.
    path : Path or RemoteFile
        The file, for errors about its rows.
    seen : SeenFile or None
        The file with its state before it was opened. None if the reader compares it (remote files, folders).

    Attributes
    ----------
    source : RowSource
        The rows of the reader.
    """

    def __init__(self, rows: RowSource, path: Path | RemoteFile, seen: SeenFile | None) -> None:
        carried = rows.carried
        if carried is not None and seen is not None:
            carried = Carried(carried.names, _WatchedBatches(carried, seen))
        super().__init__(rows, carried=carried)
        self._path = path
        self._seen = seen

    def __repr__(self) -> str:
        return repr(self.source)

    @property
    def in_memory(self) -> bool:
        return self.source.in_memory

    @property
    def is_compact(self) -> bool:
        return self.source.is_compact

    def _watched(self) -> AbstractContextManager[None]:
        return nullcontext() if self._seen is None else self._seen.watched()

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        with self._watched():
            yield from self.source.pieces(start, stop, rows)

    def take_rows(self, indices: IndexArray) -> Any:
        with self._watched():
            return self.source.take_rows(indices)

    def place_of(self, row: int) -> tuple[int, str]:
        if self._seen is not None:
            self._seen.compare()  # a row may be bad because the file has changed
        return row, str(self._path)


class _WatchedBatches:
    """Reads metadata columns. A class, so that sources can be pickled."""

    def __init__(self, carried: Carried, seen: SeenFile) -> None:
        self._carried = carried
        self._seen = seen

    def __call__(self, positions: list[int]) -> Iterator[Any]:
        with self._seen.watched():
            yield from self._carried.batches(list(positions))
