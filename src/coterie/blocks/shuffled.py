"""Rows in random order: every prefix is a random sample.

Rows are drawn singly where the data are small (1 GiB as floats, or sparse). Of larger data they are drawn in runs of
neighboring rows, so that a file is read in pieces worth a read: see `run_length`. Which rows are drawn depends on the
shape and type of the data alone, not on how they are stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from coterie.arrays import Array, IndexArray
from coterie.blocks.dataset import ChunkRows, check_squares, squares_to_point
from coterie.blocks.kernel_rows import KEPT_BYTES, read_ahead, row_reader
from coterie.rows import Rows

# A read of a disk that costs little more than its first byte; and how many of them a batch should hold at least, to
# be a fair sample even of sorted rows.
_RUN_BYTES = 1 << 16
_RUNS_PER_BATCH = 256

# Rows at the beginning that stay in memory, where not all of them do: a third less time for small samples.
_HELD_BYTES = 256 << 20


def run_length(rows: Rows, batch_size: int, runs_per_batch: int = _RUNS_PER_BATCH) -> int:
    """Return the number of neighboring rows that are drawn together: 1 if the data are sparse or take at most 1 GiB."""
    row_bytes = rows.shape[1] * rows.dtype.itemsize
    if rows.is_sparse or rows.shape[0] * row_bytes <= KEPT_BYTES:
        return 1
    return max(1, min(_RUN_BYTES // row_bytes, batch_size // runs_per_batch))


def shuffled(n_rows: int, run: int, random: np.random.RandomState) -> IndexArray:
    """Return all row numbers in random order, in runs of adjacent rows."""
    if run == 1:
        return random.permutation(n_rows)
    starts = random.permutation(-(-n_rows // run)) * run
    order = (starts[:, None] + np.arange(run)).ravel()
    return order[order < n_rows]


class ShuffledRows(ChunkRows):
    """The rows of a fit in random order, of which `extend` grows a prefix of the length `size`. Blocks, weights and
    labels are in the order `order` (row numbers); rows that are added together are put in ascending order.
    """

    def __init__(
        self,
        rows: Rows,
        sample_weight: Array | None,
        order: IndexArray,
        *,
        n_clusters: int,
        n_threads: int,
        first: int = 0,
    ) -> None:
        super().__init__(rows, sample_weight, n_threads=n_threads, first=first)
        self.prepare(n_clusters)
        self.order, self.size = order, 0
        self._read = row_reader(self.rows)
        self._weights_by_row = self.weights
        self.weights = None if self.weights is None else np.empty_like(self.weights)
        self._cuts = [0]
        self._held: dict[int, Any] = {}

    def extend(self, size: int) -> slice:
        """Add the rows up to a position without measuring them; return their positions."""
        self.order[self.size : size].sort()
        new = slice(self.size, size)
        if self.weights is not None and self._weights_by_row is not None:
            self.weights[new] = self._weights_by_row[self.order[new]]
        # Rows that are read come in ascending order within each growth; for rows in memory, to be told old from new
        # is enough, which bounds need: sparse rows have none.
        own = [0, size] if self.rows.is_sparse else [0, new.start, size]
        self._cuts = own if self.rows.in_memory else [*self._cuts, size]
        self.size = size
        return new

    def measure(self, piece: slice) -> None:
        """Measure the rows of some positions from the shift; a ValueError where a square is not finite."""
        for part, x in self.blocks_of(piece):
            numbers = self.order[part]
            with np.errstate(over="ignore"):
                exact = squares_to_point(x, len(numbers), self.shift, self.n_threads)
                self.squares[part] = exact
            if not np.isfinite(self.squares[part]).all():
                self.rows.take(np.sort(numbers))  # raises where a row holds a NaN or an infinity
                check_squares(self.squares[part], numbers + self.first)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield (slice of positions, kernel rows) for each block of the prefix; none holds old and new dense rows."""
        for start, stop in zip(self._cuts, self._cuts[1:]):
            yield from self.blocks_of(slice(start, stop))

    def blocks_of(self, piece: slice) -> Iterator[tuple[slice, Any]]:
        """Yield (slice of positions, kernel rows) for each block of some positions."""
        starts = range(piece.start, piece.stop, self.block_rows)
        parts = [slice(start, min(start + self.block_rows, piece.stop)) for start in starts]
        blocks = ((part, self._kernel_rows(part)) for part in parts)
        return blocks if self.rows.in_memory or len(parts) == 1 else read_ahead(blocks)

    def _kernel_rows(self, part: slice) -> Any:
        if part.start in self._held:
            return self._held[part.start]
        x = self._read(self.order[part])
        if not self.rows.in_memory and part.stop * self.rows.row_bytes() <= _HELD_BYTES:
            self._held[part.start] = x
        return x
