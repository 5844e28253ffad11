"""Rows of given numbers, and random batches of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray
from coterie.blocks.dataset import check_squares, squares_to_point, total_weight
from coterie.blocks.kernel_rows import kernel_rows, rows_per_block
from coterie.cached import cached_property
from coterie.rows import Block, Rows


def draw_batch(n_rows: int, batch_size: int, run: int, random: np.random.RandomState) -> IndexArray:
    """Return the ascending numbers of about `batch_size` rows, drawn uniformly with replacement, run by run."""
    starts = random.randint(0, -(-n_rows // run), -(-batch_size // run)) * run
    numbers = np.sort((starts[:, None] + np.arange(run)).ravel())
    return numbers[numbers < n_rows]


class RowReader:
    """Rows of given numbers for the kernels: in place if they are in memory, else read.

    `first` is the number of the first row, for errors.
    """

    def __init__(self, rows: Rows, first: int = 0) -> None:
        self._rows, self._first = rows, first

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
        with np.errstate(over="ignore"):
            squares = squares_to_point(x, len(numbers), shift, n_threads).astype(self._rows.dtype)
        if not np.isfinite(squares).all():
            self._rows.take(np.sort(numbers))  # raises where a row holds a NaN or an infinity
            check_squares(squares, numbers + self._first)
        return squares


class Batch:
    """A batch of rows, by ascending numbers; `n_clusters` determines the size of a block."""

    def __init__(
        self, rows: Rows, weights: Array | None, numbers: IndexArray, reader: RowReader, n_clusters: int
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

    def take(self, positions: IndexArray) -> Block:
        """Return rows of ascending positions in the batch."""
        return self.rows.take(self.numbers[positions])

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
