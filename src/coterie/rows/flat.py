"""Rows of a file with the layout of an array, read piece by piece.

Files are not memory-mapped: if a mapped file is truncated, the process is killed (SIGBUS), and random access to the map
is slower than reads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, IndexArray
from coterie.limits.files import DamagedFileError
from coterie.rows.remote import RangedFile
from coterie.rows.source import RowSource

# Converted rows are read in portions that stay in the processor's cache; Fortran order and remote files in longer ones.
_PORTION_BYTES = 2**20
_COLUMNS_BYTES = 2**24

# Reading rows by number: gaps of at most this number of bytes are read too, and at most this number is read at a time.
_GAP_BYTES = 2**13
_RUN_BYTES = 2**20

# For systems without a call that reads at an offset.
_SEEK_LOCK = threading.Lock()


class FlatSource(RowSource):
    """Rows of an array in a file, read in each pass; a subclass opens the file.

    The numbers begin at the byte `begin`, in C or Fortran order; `stored` is their type.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        stored: npt.DTypeLike,
        *,
        begin: int = 0,
        is_fortran: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(shape, stored, **options)
        self._begin = begin
        self._stored = np.dtype(stored)
        self._is_fortran = is_fortran

    def opened(self) -> AbstractContextManager[IO[bytes]]:
        """Return a context manager of the unbuffered file."""
        raise NotImplementedError

    @property
    def is_compact(self) -> bool:
        return self._stored.itemsize < self.dtype.itemsize and not self._is_fortran and not self.is_parsed

    def unit_starts(self) -> IndexArray:
        return np.arange(0, self.shape[0], max(1, _RUN_BYTES // (self.shape[1] * self._stored.itemsize)))

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        if self._is_fortran or self._stored != self.dtype:
            portion = _COLUMNS_BYTES if self._is_fortran or self.is_parsed else _PORTION_BYTES
            rows = min(rows, max(1, portion // (self.shape[1] * self._stored.itemsize)))
        with self.opened() as file:
            for low in range(start, stop, rows):
                yield self._read(file, low, min(low + rows, stop))

    def take_rows(self, indices: IndexArray) -> Any:
        if self._is_fortran:
            return super().take_rows(indices)
        found = np.empty((len(indices), self.shape[1]), dtype=self._stored)
        with self.opened() as file:
            for low, high, are_neighbors in _runs(indices, self.shape[1] * self._stored.itemsize):
                first, last = int(indices[low]), int(indices[high - 1])
                if are_neighbors:
                    self._fill(file, first, found[low:high])
                else:
                    found[low:high] = self._read(file, first, last + 1)[indices[low:high] - first]
        return found

    def _read(self, file: IO[bytes], low: int, high: int) -> Array:
        order: Literal["F", "C"] = "F" if self._is_fortran else "C"
        piece = np.empty((high - low, self.shape[1]), dtype=self._stored, order=order)
        self._fill(file, low, piece)
        return piece

    def _fill(self, file: IO[bytes], low: int, piece: Array) -> None:
        """Read the rows from `low` on into a piece of the same memory order."""
        size = self._stored.itemsize
        if not self._is_fortran:
            _read_numbers(file, self._begin + low * self.shape[1] * size, piece)
            return
        for column, numbers in enumerate(piece.T):
            _read_numbers(file, self._begin + (column * self.shape[0] + low) * size, numbers)


def _runs(indices: IndexArray, row_bytes: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the start and end in `indices` of runs that are read at once, and whether a run is without gaps.

    A run ends before a large gap, and at a maximum length.
    """
    steps = np.diff(indices)
    skipped = steps > 1 + _GAP_BYTES // row_bytes
    is_long = np.diff(indices // max(1, _RUN_BYTES // row_bytes)) > 0
    cuts = np.concatenate([[0], np.flatnonzero(skipped | is_long) + 1, [len(indices)]])
    n_others = np.concatenate([[0], np.cumsum(steps != 1)])
    are_neighbors = n_others[cuts[1:] - 1] == n_others[cuts[:-1]]
    return zip(cuts[:-1].tolist(), cuts[1:].tolist(), are_neighbors.tolist())


def _read_numbers(file: IO[bytes], begin: int, numbers: Array) -> None:
    """Read contiguous numbers from an offset of an unbuffered file; raise an error if any are missing."""
    wanted = memoryview(numbers.view(np.uint8).reshape(-1).data)
    while len(wanted):  # a single call of the system may read less
        if hasattr(os, "preadv") and not isinstance(
            file, RangedFile
        ):  # one call of the system instead of two
            n_read = os.preadv(file.fileno(), (wanted,), begin)
        else:
            with _SEEK_LOCK:
                file.seek(begin)
                n_read = file.readinto(wanted)  # type: ignore[attr-defined]
        if not n_read:
            raise DamagedFileError(f"the file is truncated: {len(wanted)} bytes are missing.")
        begin, wanted = begin + n_read, wanted[n_read:]
