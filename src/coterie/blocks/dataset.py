"""The rows of a fit with their weights, shift and squared lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.kernel_rows import dense, kept_rows, kernel_blocks, row_reader, rows_per_block
from coterie.cached import cached_property
from coterie.rows import Block, Rows

# Passes of fewer multiply-adds take less time than waking a thread.
_FEW_MULTIPLY_ADDS = 1 << 20


def useful_n_threads(n_multiply_adds: int, n_threads: int) -> int:
    """Return the number of threads for passes of this number of multiply-adds; results do not depend on it."""
    return 1 if n_multiply_adds < _FEW_MULTIPLY_ADDS else n_threads


class ChunkRows:
    """Consecutive rows in their own order with what assignments and sums need: all rows of a fit, or a chunk of them.

    The `source` has them as they are given, `rows` as they are read in every pass. `prepare` determines the size of a
    block, so that one call of a kernel stays short. `first` is the number of the first row, for errors. Centers are
    held relative to the `shift`, a point amid the rows (0 for sparse ones), against cancellation; `squares` are the
    squared distances of the rows to it, from `measure_from` on.
    """

    shift: FloatArray

    def __init__(
        self, source: Rows, sample_weight: Array | None = None, *, n_threads: int = 1, first: int = 0
    ) -> None:
        self.source, self.weights, self.most_threads, self.first = source, sample_weight, n_threads, first
        (self.n_rows, self.n_columns), self.dtype = source.shape, source.dtype
        self._n_clusters = 0

    @cached_property
    def rows(self) -> Rows:
        """The rows for repeated reads; see `coterie.blocks.kernel_rows.kept_rows`."""
        return kept_rows(self.source)

    def prepare(self, n_clusters: int) -> None:
        """Choose the size of blocks, and threads, for comparisons with this number of clusters, once."""
        if not self._n_clusters:
            self._n_clusters = n_clusters
            self.use_threads(self.most_threads)
            if self.weights is not None:
                self.weights = np.ascontiguousarray(self.weights, dtype=self.dtype)
            self.total_weight = total_weight(self.n_rows, self.weights)
            self.block_rows = rows_per_block(self.rows, n_clusters)
            self.squares = np.empty(self.n_rows, dtype=self.dtype)

    def use_threads(self, n_threads: int) -> None:
        """Use another number of threads, which changes no bit."""
        self.most_threads = n_threads
        self.n_threads = useful_n_threads(self.n_rows * self.n_columns * self._n_clusters, n_threads)

    def weights_of(self, part: slice) -> Array | None:
        """Return the weights of some rows, None for 1."""
        return None if self.weights is None else self.weights[part]

    def take(self, numbers: IndexArray) -> Block:
        """Return a few rows by their numbers, ascending."""
        return (self.rows if "rows" in vars(self) else self.source).take(numbers)

    @cached_property
    def reader(self) -> Callable[[IndexArray], Any]:
        """See `coterie.blocks.kernel_rows.row_reader`."""
        return row_reader(self.rows)

    @cached_property
    def _blocks_in_memory(self) -> list[tuple[slice, Any]] | None:
        return list(kernel_blocks(self.rows, self.block_rows)) if self.rows.in_memory else None

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield (slice of the rows, kernel rows) for each block."""
        known = self._blocks_in_memory
        return kernel_blocks(self.rows, self.block_rows) if known is None else iter(known)

    def sum_of(self, blocks: Iterable[tuple[slice, Any]]) -> FloatArray:
        """Return the sum of the rows of some blocks, without weights."""
        sums, mass, zero = np.zeros((1, self.n_columns)), np.zeros(1), np.zeros(self.n_columns)
        for part, x in blocks:
            labels = np.zeros(part.stop - part.start, dtype=np.int32)
            _kernels.add_to_clusters(x, labels, None, None, zero, sums, mass, self.n_threads)
        return sums[0]

    def measure_from(self, point: FloatArray) -> FloatArray:
        """Make a point the shift; return the squared distances of the rows to it in float64."""
        exact = self.own_square_distances(point[None, :], np.zeros(self.n_rows, dtype=np.int32))
        with np.errstate(over="ignore"):
            self.squares[:] = exact
        check_squares(self.squares, self.first)
        self.shift = point
        return exact

    def own_square_distances(self, centers: FloatArray, labels: IntArray) -> FloatArray:
        """Return the squared distance of every row to centers[label], accurately (one pass over the data)."""
        squares = np.empty(self.n_rows)
        for part, x in self.blocks():
            squares[part] = own_squares(x, labels[part], centers, self.n_threads)
        return squares


def own_squares(x: Any, labels: IntArray, centers: Array, n_threads: int) -> FloatArray:
    """Return the squared distance of each row of a block to the centroid of its label, in float64 for any dtype."""
    centers, squares = np.ascontiguousarray(centers, dtype=np.float64), np.empty(len(labels))
    lengths = np.einsum("ij,ij->i", centers, centers)
    _kernels.own_square_distances(x, centers, lengths, labels, squares, n_threads)
    return squares


def squares_to_point(x: Any, n_rows: int, point: FloatArray, n_threads: int) -> FloatArray:
    """Return the squared distance of each row of a block to one point, in float64."""
    squares = np.empty(n_rows)
    labels = np.zeros(n_rows, dtype=np.int32)
    _kernels.own_square_distances(x, point[None, :], np.array([np.sum(point**2)]), labels, squares, n_threads)
    return squares


def check_squares(squares: Array, numbers: IndexArray | int = 0) -> None:
    """Raise a ValueError if a squared distance of a row overflows; numbers: those of the rows, or of the first."""
    finite = np.isfinite(squares)
    if not finite.all():
        first = int(finite.reshape(len(squares), -1).all(axis=1).argmin())
        row = first + numbers if isinstance(numbers, int) else numbers[first]
        raise ValueError(
            f"X is too large for {squares.dtype}: squared distances overflow. First bad row: {row}."
        )


def check_vanishing(squares: Array, dtype: npt.DTypeLike, blocks: Iterable[Block]) -> None:
    """Raise a ValueError if rows differ, but squares of their differences vanish. `squares` are squared distances of
    the rows to any point amid them; only if they are next to 0 are the blocks compared.
    """
    if squares.max() >= np.finfo(dtype).tiny:
        return
    first = None
    for block in blocks:
        rows = dense(block)
        first = rows[:1] if first is None else first
        if np.any(rows != first):
            raise ValueError(
                f"The rows of X differ too little for {np.dtype(dtype)}: squared distances vanish. Multiply X by a "
                "large number, such as a power of 2."
            )


def total_weight(n_rows: int, weights: Array | None) -> float:
    """Return the sum of the weights of some rows, None for 1."""
    return float(n_rows) if weights is None else float(np.sum(weights, dtype=np.float64))


def weighted_sum(values: FloatArray, weights: Array | None) -> float:
    """Return sum(weights * values) in float64, in an order that depends only on the length."""
    return float((values if weights is None else values * weights).sum(dtype=np.float64))
