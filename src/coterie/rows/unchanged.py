"""Detection of files that change while they are in use.

A pass over a file that is being written would mix rows of two versions, and passes would differ. So the state of each
file is recorded when it is opened, and compared before and after each read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

from coterie.arrays import IndexArray
from coterie.rows.checks import FileError
from coterie.rows.remote import RemoteFile
from coterie.rows.source import DerivedRows, MetadataColumns, RowSource

# Size, time of the last write in ns, inode, and whether it is a folder; None if there is no file.
_State = tuple[int, int, int, bool] | None


def _state_of(path: str | os.PathLike[str]) -> _State:
    """Return the state of a file, which changes if it is replaced or written to."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino, stat.S_ISDIR(found.st_mode)


class SeenFile:
    """A local file with its state when this was made."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._states = {"": _state_of(path)}

    def compare(self, name: str = "") -> None:
        """Raise a ValueError that names the file if it has changed."""
        path, before = self._path / name, self._states.get(name)
        now = _state_of(path)
        if now == before:
            return
        if now is not None and now[3]:
            told = "it is a folder"
        elif before is None or now is None:
            told = "it was not there" if before is None else "it is gone"
        elif before[0] != now[0]:
            told = f"size {before[0]} -> {now[0]}"
        elif before[1] != now[1]:
            told = f"written again at {datetime.fromtimestamp(now[1] / 1e9):%H:%M:%S}"
        else:
            told = "another file has its name"
        raise FileError(
            f"{path} changed while it was read ({told}). Run again, on a file that does not change."
        )

    @contextmanager
    def watched(self, *, only_errors: bool = False) -> Iterator[None]:
        """Compare the file before and after it is read, and after errors, which a change may have caused."""
        if not only_errors:
            self.compare()
        try:
            yield
        except Exception:
            for name in self._states:
                self.compare(name)
            raise
        if not only_errors:
            self.compare()


class SeenFolder(SeenFile):
    """The files of a folder, such as the chunks of an array, with their states when this was made.

    Missing files must stay missing: Zarr reads a missing chunk as fill values. `inside` is the relative path, with
    ``/``, of the part that is read; other files of the folder may change. Readers compare the files that they read.
    """

    def __init__(self, path: Path, inside: str = "") -> None:
        self._path = path
        self._inside = f"{inside}/" if inside else ""
        self._states = {}
        for folder, _, names in os.walk(path / inside, followlinks=True):
            for name in names:
                found = Path(folder, name)
                self._states[found.relative_to(path).as_posix()] = _state_of(found)

    def compare(self, name: str = "") -> None:
        """Raise a ValueError that names a file of the folder, existing or not, if it has changed."""
        if name.startswith(self._inside):
            super().compare(name)


class FileRows(DerivedRows):
    """The rows of a file, whose state is compared before and after each read.

    `Format` wraps the sources of all readers, so that none has to check this. `seen` is None if the reader does (remote
    files, folders).
    """

    def __init__(self, rows: RowSource, path: Path | RemoteFile, seen: SeenFile | None) -> None:
        metadata = rows.metadata_columns
        super().__init__(
            rows, metadata_columns=metadata and MetadataColumns(metadata.names, self._metadata_batches)
        )
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

    def _metadata_batches(self, positions: list[int]) -> Iterator[Any]:
        assert self.source.metadata_columns is not None
        with self._watched():
            yield from self.source.metadata_columns.batches(positions)

    def place_of(self, row: int) -> tuple[int, str]:
        if self._seen is not None:
            self._seen.compare()  # a row may be bad because the file has changed
        return row, str(self._path)
