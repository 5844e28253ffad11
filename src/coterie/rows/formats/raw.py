"""Arrays in .npy format: somewhere in a file here, read piece by piece; alone in one elsewhere, in ranges.

Nothing is mapped into memory: where a mapped file is cut short, its reader is killed (SIGBUS).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from coterie.arrays import Array, IndexArray
from coterie.limits.files import read_array_header
from coterie.rows.checks import check_shape, reading
from coterie.rows.memory import SlicedSource
from coterie.rows.ranged import RangedFile
from coterie.rows.remote import RemoteFile
from coterie.rows.source import RowSource

__all__ = ["RawSource", "open_remote_array", "read_header", "read_numbers"]

# What is converted is read in portions that stay in the processor's cache; columns of Fortran order in longer ones.
_PORTION_BYTES = 2**20
_COLUMNS_BYTES = 2**24

# Rows by number: so many bytes between two of them are rather read than skipped, and so many are read at a time.
_GAP_BYTES = 2**13
_RUN_BYTES = 2**20

_STRUCTURED = (
    "it is a structured array, X must hold numbers in two dimensions. Save "
    "numpy.lib.recfunctions.structured_to_unstructured(X), or a table of its fields."
)


class RawSource(RowSource):
    """Rows of an array in .npy format somewhere in a file, read anew in each pass.

    Parameters
    ----------
    path : Path
        The file.
    offset, size : int
        Where the array's header begins, and the bytes from there that belong to the array.
    description : str
        The file's format.
    """

    def __init__(self, path: Path, offset: int, size: int, description: str) -> None:
        with open(path, "rb") as file:
            file.seek(offset)
            shape, self._is_fortran, self._stored = read_header(file)
            self._begin = file.tell()
        n_bytes = math.prod(check_shape(shape)) * self._stored.itemsize
        if self._begin + n_bytes > offset + size or offset + size > path.stat().st_size:
            raise ValueError(f"the file is truncated: its array needs {n_bytes} bytes.")
        self._path = path
        super().__init__(shape, self._stored, description=description)

    @property
    def is_compact(self) -> bool:
        return self._stored.itemsize < self.dtype.itemsize and not self._is_fortran

    def unit_starts(self) -> IndexArray:
        return np.arange(0, self.shape[0], max(1, _RUN_BYTES // (self.shape[1] * self._stored.itemsize)))

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        if self._is_fortran or self._stored != self.dtype:
            portion = _COLUMNS_BYTES if self._is_fortran else _PORTION_BYTES
            rows = min(rows, max(1, portion // (self.shape[1] * self._stored.itemsize)))
        with self._opened() as file:
            for low in range(start, stop, rows):
                yield self._read(file, low, min(low + rows, stop))

    def take_rows(self, indices: IndexArray) -> Any:
        if self._is_fortran:
            return super().take_rows(indices)
        row_bytes = self.shape[1] * self._stored.itemsize
        found = np.empty((len(indices), self.shape[1]), dtype=self._stored)
        buffer = _bytes_of(found)
        with self._opened() as file:
            for low, high, are_neighbours in _runs(indices, row_bytes):
                first, last = int(indices[low]), int(indices[high - 1])
                if are_neighbours:
                    _read_bytes(
                        file, self._begin + first * row_bytes, buffer[low * row_bytes : high * row_bytes]
                    )
                else:
                    found[low:high] = self._read(file, first, last + 1)[indices[low:high] - first]
        return found

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        with reading(self._path), open(self._path, "rb", buffering=0) as file:
            yield file

    def _read(self, file: IO[bytes], low: int, high: int) -> Array:
        piece = np.empty(
            (high - low, self.shape[1]), dtype=self._stored, order="F" if self._is_fortran else "C"
        )
        self._fill(file, low, piece)
        return piece

    def _fill(self, file: IO[bytes], low: int, piece: Array) -> None:
        """Read the rows from `low` on into a piece of the same memory order."""
        size = self._stored.itemsize
        if not self._is_fortran:
            read_numbers(file, self._begin + low * self.shape[1] * size, piece)
            return
        for column, numbers in enumerate(piece.T):
            read_numbers(file, self._begin + (column * self.shape[0] + low) * size, numbers)


def _runs(indices: IndexArray, row_bytes: int) -> Iterator[tuple[int, int, bool]]:
    """Yield where in `indices` runs begin and end that are read at once, and whether they have all rows between.

    A run ends where much would be read for nothing, and where it becomes long.
    """
    steps = np.diff(indices)
    skipped = steps > 1 + _GAP_BYTES // row_bytes
    is_long = np.diff(indices // max(1, _RUN_BYTES // row_bytes)) > 0
    cuts = np.concatenate([[0], np.flatnonzero(skipped | is_long) + 1, [len(indices)]])
    n_others = np.concatenate([[0], np.cumsum(steps != 1)])
    are_neighbours = n_others[cuts[1:] - 1] == n_others[cuts[:-1]]
    return zip(cuts[:-1].tolist(), cuts[1:].tolist(), are_neighbours.tolist())


def read_numbers(file: IO[bytes], begin: int, numbers: Array) -> None:
    """Read contiguous numbers from a place of an unbuffered file on, all of them or none."""
    _read_bytes(file, begin, _bytes_of(numbers))


def _bytes_of(numbers: Array) -> memoryview:
    return memoryview(numbers.view(np.uint8).reshape(-1).data)


def _read_bytes(file: IO[bytes], begin: int, wanted: memoryview) -> None:
    n_bytes = _read_some(file, begin, wanted)
    while n_bytes < len(wanted):  # a single call of the system may read less
        n_read = _read_some(file, begin + n_bytes, wanted[n_bytes:])
        if not n_read:
            raise ValueError(f"the file is truncated: {len(wanted) - n_bytes} bytes are missing.")
        n_bytes += n_read


def _read_some(file: IO[bytes], begin: int, wanted: memoryview) -> int:
    if hasattr(os, "preadv"):  # one call of the system instead of two
        return os.preadv(file.fileno(), (wanted,), begin)
    file.seek(begin)
    return file.readinto(wanted)  # type: ignore[attr-defined, no-any-return]


def open_remote_array(path: RemoteFile, description: str) -> SlicedSource:
    """Open an array that is a whole file elsewhere; its rows are fetched slice by slice."""
    with path.opened() as file:
        shape, fortran, dtype = read_header(file)
        begin = file.tell()
        n_bytes = math.prod(check_shape(shape)) * dtype.itemsize
        if begin + n_bytes > file.size():
            raise ValueError(f"the file is truncated: its array needs {n_bytes} bytes.")
    if fortran:
        raise ValueError(
            "its numbers are column after column (Fortran order), so that no row lies in one piece. Copy the file to "
            "this machine first, or write it by numpy.ascontiguousarray."
        )
    store = partial(_remote_rows, path, begin, shape[1], dtype)
    return SlicedSource(shape, dtype, store, 1, description=description)


@contextmanager
def _remote_rows(path: RemoteFile, begin: int, n_columns: int, dtype: np.dtype[Any]) -> Iterator[_RemoteRows]:
    with reading(path), path.opened() as file:
        yield _RemoteRows(file, begin, n_columns, dtype)


class _RemoteRows:
    """Rows of an array in C order, behind the first `begin` bytes of a file."""

    def __init__(self, file: RangedFile, begin: int, n_columns: int, dtype: np.dtype[Any]) -> None:
        self._file = file
        self._begin = begin
        self._n_columns = n_columns
        self._dtype = dtype

    def __getitem__(self, rows: slice) -> Array:
        row_bytes = self._n_columns * self._dtype.itemsize
        self._file.seek(self._begin + rows.start * row_bytes)
        found = self._file.read((rows.stop - rows.start) * row_bytes)
        return np.frombuffer(found, self._dtype).reshape(-1, self._n_columns)


def read_header(file: IO[bytes] | RangedFile) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an array of numbers in .npy format: its shape, whether it is in Fortran order, its dtype."""
    shape, fortran, dtype = read_array_header(file)
    if dtype.names is not None:
        raise ValueError(_STRUCTURED)
    return shape, fortran, dtype
