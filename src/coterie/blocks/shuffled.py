"""Random parts of the rows: the growing prefixes of nested mini-batches, and batches drawn anew each time.

Rows are drawn singly where the data are small (1 GiB as floats, or sparse). Of larger data they are drawn in runs of
neighbouring rows, so that a file is read in pieces worth a read: see `run_length`. Which rows are drawn depends on the
shape and type of the data alone, not on how they are stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray
from coterie.centers.assignment import (
    KEPT_BYTES,
    FitRows,
    check_squares,
    kernel_rows,
    rows_per_block,
    total_weight,
)
from coterie.rows import RowSource

__all__ = ["Batch", "RowReader", "ShuffledRows", "draw_batch", "run_length", "shuffled"]


# A read of a disk that costs little more than its first byte; and how many of them a batch should hold at least, to
# be a fair sample even of sorted rows.
_RUN_BYTES = 1 << 16
_RUNS_PER_BATCH = 256

# How much of rows that must be read or converted stays in memory, where not all of them do.
_KEPT_PREFIX_BYTES = 256 << 20


def run_length(rows: RowSource, batch_size: int) -> int:
    """Return how many neighbouring rows are drawn together: 1 if the data are sparse or take at most 1 GiB."""
    row_bytes = rows.shape[1] * rows.dtype.itemsize
    if rows.is_sparse or rows.shape[0] * row_bytes <= KEPT_BYTES:
        return 1
    return max(1, min(_RUN_BYTES // row_bytes, batch_size // _RUNS_PER_BATCH))


def shuffled(n_rows: int, run: int, random: np.random.RandomState) -> IndexArray:
    """Return all row numbers in random order, but for runs of neighbours."""
    if run == 1:
        return random.permutation(n_rows)
    starts = random.permutation(-(-n_rows // run)) * run
    order = (starts[:, None] + np.arange(run)).ravel()
    return order[order < n_rows]


def draw_batch(n_rows: int, batch_size: int, run: int, random: np.random.RandomState) -> IndexArray:
    """Return the ascending numbers of about `batch_size` rows, drawn uniformly with replacement, run by run."""
    starts = random.randint(0, -(-n_rows // run), -(-batch_size // run)) * run
    numbers = np.sort((starts[:, None] + np.arange(run)).ravel())
    return numbers[numbers < n_rows]


class RowReader:
    """Rows of given numbers, as the kernels want them: where they lie if they are in memory, else read.

    Parameters
    ----------
    rows : RowSource of shape (n, d)
        The data.
    """

    def __init__(self, rows: RowSource) -> None:
        self._rows = rows

    @cached_property
    def _in_place(self) -> Any:
        return kernel_rows(self._rows.in_place())

    def read(self, numbers: IndexArray) -> tuple[Any, int]:
        """Return kernel rows, and the bytes that were read for them; numbers are ascending unless in memory."""
        if self._rows.in_memory:
            return _kernels.select_rows(self._in_place, numbers), 0
        block = self._rows.take(numbers)
        n_bytes = block.nbytes if isinstance(block, np.ndarray) else block.data.nbytes + block.indices.nbytes
        return kernel_rows(block), n_bytes

    def measure(self, x: Any, numbers: IndexArray, shift: FloatArray, n_threads: int) -> Array:
        """Return the squared distance of each row to the shift; raise a ValueError where it is not finite."""
        exact = np.empty(len(numbers))
        labels = np.zeros(len(numbers), dtype=np.int32)
        shift_square = np.array([np.sum(shift**2)])
        _kernels.own_square_distances(x, shift[None, :], shift_square, labels, exact, n_threads)
        with np.errstate(over="ignore"):
            squares = exact.astype(self._rows.dtype)
        if not np.all(np.isfinite(squares)):
            self._rows.take(np.sort(numbers))  # raises where a row holds a NaN or an infinity
            check_squares(squares, numbers)
        return squares


class Batch:
    """Rows that vote together.

    Parameters
    ----------
    rows : RowSource of shape (n, d)
        The data.
    weights : ndarray of shape (n,) or None
        Weights of all rows.
    numbers : ndarray of shape (b,), intp
        Which rows, ascending.
    reader : RowReader of the rows
        Reads them.
    n_clusters : int
        Sets the size of a block.
    """

    def __init__(
        self,
        rows: RowSource,
        weights: Array | None,
        numbers: IndexArray,
        reader: RowReader,
        n_clusters: int,
    ) -> None:
        self.rows = rows
        self.numbers = numbers
        self.n_rows = len(numbers)
        self.weights = None if weights is None else weights[numbers]
        self.reader = reader
        self._block_rows = rows_per_block(rows, n_clusters)
        self._squares: Array | None = None

    @property
    def mass(self) -> float:
        """Sum of the weights."""
        return total_weight(self.n_rows, self.weights)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield (slice of the batch, kernel rows) for each block; a batch of one block is read once."""
        if self.n_rows <= self._block_rows:
            yield slice(0, self.n_rows), self._only_block
            return
        for start in range(0, self.n_rows, self._block_rows):
            part = slice(start, min(start + self._block_rows, self.n_rows))
            yield part, self.reader.read(self.numbers[part])[0]

    def squares(self, shift: FloatArray, n_threads: int) -> Array:
        """Return the squared distance of each row to the shift; raise a ValueError where it is not finite."""
        if self._squares is None:
            self._squares = np.empty(self.n_rows, dtype=self.rows.dtype)
            for part, x in self.blocks():
                self._squares[part] = self.reader.measure(x, self.numbers[part], shift, n_threads)
        return self._squares

    @cached_property
    def _only_block(self) -> Any:
        return self.reader.read(self.numbers)[0]


class ShuffledRows(FitRows):
    """The rows of a fit in random order: every prefix is a random sample, and holds all shorter ones.

    Positions in that order are what blocks, weights and labels go by. The prefix grows by `grow`; the rows that it
    gains are put in ascending order, so that memory and files are read forwards.

    Parameters
    ----------
    rows, sample_weight, n_clusters, n_threads
        See `FitRows`.
    order : ndarray of shape (n,), intp
        All row numbers, shuffled.
    shift : ndarray of shape (d,), float64, or None
        None: the mean of the rows that the first call of `grow` brings (0 for sparse rows).

    Attributes
    ----------
    order : ndarray of shape (n,), intp
        Which row is at each position.
    size : int
        Length of the prefix.
    """

    def __init__(
        self,
        rows: RowSource,
        sample_weight: Array | None,
        order: IndexArray,
        *,
        n_clusters: int,
        n_threads: int,
        shift: FloatArray | None = None,
    ) -> None:
        super().__init__(rows, sample_weight, n_clusters=n_clusters, n_threads=n_threads)
        self.order = order
        self._reader = RowReader(self.rows)
        self._weights_by_row, self.weights = self.weights, None
        if self._weights_by_row is not None:
            self.weights = np.empty_like(self._weights_by_row)
        self.squares = np.empty(self.n_rows, dtype=self.dtype)
        self.size = 0
        self._cuts = [0]
        self._kept: dict[int, Any] = {}
        self._room = _KEPT_PREFIX_BYTES
        self._shift_is_known = shift is not None
        self.shift = np.zeros(self.n_columns) if shift is None else shift

    def grow(self, size: int) -> None:
        """Take in the rows up to a position."""
        self.order[self.size : size].sort()
        new = slice(self.size, size)
        if self.weights is not None and self._weights_by_row is not None:
            self.weights[new] = self._weights_by_row[self.order[new]]
        # Rows that are read come in ascending order within each growth; for rows in memory, to be told old from new
        # is enough.
        self._cuts = [0, new.start, new.stop] if self.rows.in_memory else [*self._cuts, size]
        self.size = size
        if not self._shift_is_known and not self.rows.is_sparse:
            self.shift = self._mean_row(self._blocks_of(new), new.stop - new.start)
        self._shift_is_known = True
        for part, x in self._blocks_of(new):
            self.squares[part] = self._reader.measure(x, self.order[part], self.shift, self.n_threads)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield (slice of positions, kernel rows) for each block of the prefix; none holds old and new rows."""
        for start, stop in zip(self._cuts, self._cuts[1:]):
            yield from self._blocks_of(slice(start, stop))

    def _blocks_of(self, piece: slice) -> Iterator[tuple[slice, Any]]:
        for start in range(piece.start, piece.stop, self.block_rows):
            part = slice(start, min(start + self.block_rows, piece.stop))
            yield part, self._kernel_rows(part)

    def _kernel_rows(self, part: slice) -> Any:
        if part.start in self._kept:
            return self._kept[part.start]
        x, n_bytes = self._reader.read(self.order[part])
        self._room -= n_bytes
        if n_bytes and self._room >= 0:
            self._kept[part.start] = x
        return x
