"""Rows against centroids, block by block: what the estimators of the k-means family share.

`FitRows` is the rows of a fit with what is worth knowing of them once: `Dataset` in their own order,
`ShuffledRows` in a random one. `PlainAssignment` and `BoundedAssignment` bring the label of every row
up to date with new centroids; they give the same labels, bit for bit. `ClusterSums` keeps the sum of every cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray, lanes_of
from coterie.rows import RowSource, as_rows

__all__ = [
    "BoundedAssignment",
    "CenterFrame",
    "ClusterSums",
    "Dataset",
    "FitRows",
    "PlainAssignment",
    "check_squares",
    "kernel_blocks",
    "kernel_rows",
    "nearest_centers",
    "nearest_labels",
    "own_square_distances",
]


# Rows that one call of a kernel takes: enough to occupy all threads, few enough that Ctrl-C is answered soon.
_BLOCK_BYTES = 96 << 20
_STREAM_BLOCK_BYTES = 16 << 20
_BLOCK_MULTIPLY_ADDS = 2e10

# A fit reads its rows once per iteration. What must be parsed or converted, and takes no more than this as floats,
# is converted once and kept. The bits are the same either way.
KEPT_BYTES = 1 << 30


def kernel_rows(block: Any) -> Any:
    """Wrap a block (C-contiguous array or CSR matrix, float32 or float64) for the kernels, without a copy."""
    if scipy.sparse.issparse(block):
        columns = block.indices.astype(np.int32, copy=False)
        starts = block.indptr.astype(np.int32, copy=False)
        return _kernels.sparse_rows(block.data, columns, starts, block.shape[1])
    return _kernels.dense_rows(block)


def dense(block: Any) -> Array:
    """Return a block of rows as an array."""
    return block.toarray() if scipy.sparse.issparse(block) else np.asarray(block)


def rows_per_block(rows: RowSource, n_clusters: int) -> int:
    """Return how many rows a call of a kernel takes: a multiple of the quantum in which partial sums are kept."""
    n_columns = rows.shape[1]
    if rows.is_sparse:
        n_columns = min(n_columns, 1024)
    by_memory = (_BLOCK_BYTES if rows.in_memory else _STREAM_BLOCK_BYTES) / (n_columns * rows.dtype.itemsize)
    by_work = _BLOCK_MULTIPLY_ADDS / (n_columns * n_clusters)
    quantum = _kernels.ROW_QUANTUM
    return max(quantum, int(min(by_memory, by_work)) // quantum * quantum)


def kept_in_memory(rows: RowSource) -> RowSource:
    """Return the rows as floats in memory if they would be parsed or converted in every pass and are small enough."""
    if rows.in_memory or rows.is_sparse or rows.shape[0] * rows.shape[1] * rows.dtype.itemsize > KEPT_BYTES:
        return rows
    return as_rows(rows.read())


def kernel_blocks(rows: RowSource, block_rows: int) -> Iterator[tuple[slice, Any]]:
    """Yield (slice of the rows, kernel rows) for each block of a source."""
    for start, block in rows.blocks(block_rows):
        yield slice(start, start + block.shape[0]), kernel_rows(block)


class FitRows:
    """The rows of a fit with what assignments and sums ask of them. A subclass says in which order they come.

    Parameters
    ----------
    rows : RowSource of shape (n, d)
        The data.
    sample_weight : ndarray of shape (n,) or None
        Non-negative weights; None for 1.
    n_clusters : int
        Sets the size of a block, so that one call of a kernel stays short.
    n_threads : int
        Threads of each kernel.

    Attributes
    ----------
    weights : ndarray of shape (n,) or None
        The weights, in the order of the blocks.
    total_weight : float
        Their sum.
    shift : ndarray of shape (d,), float64
        A point amid the rows (0 for sparse rows). Centroids are held relative to it, against cancellation.
    squares : ndarray of shape (n,), compute dtype
        Squared distance of each row to the shift, in the order of the blocks.
    """

    shift: FloatArray
    squares: Array

    def __init__(
        self, rows: RowSource, sample_weight: Array | None, *, n_clusters: int, n_threads: int
    ) -> None:
        self.rows = kept_in_memory(rows)
        self.n_rows, self.n_columns = rows.shape
        self.dtype = rows.dtype
        self.n_threads = n_threads
        self.weights = (
            None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=self.dtype)
        )
        self.total_weight = total_weight(self.n_rows, self.weights)
        self.block_rows = rows_per_block(self.rows, n_clusters)

    def weights_of(self, part: slice) -> Array | None:
        """Return the weights of some rows, None for 1."""
        return None if self.weights is None else self.weights[part]

    def _mean_row(self, blocks: Iterable[tuple[slice, Any]], n_rows: int) -> FloatArray:
        sums, mass = np.zeros((1, self.n_columns)), np.zeros(1)
        zero = np.zeros(self.n_columns)
        for part, x in blocks:
            labels = np.zeros(part.stop - part.start, dtype=np.int32)
            _kernels.add_to_clusters(x, labels, None, None, zero, sums, mass, self.n_threads)
        return sums[0] / n_rows


class Dataset(FitRows):
    """The rows of a fit in their own order, all of them measured at once.

    Attributes
    ----------
    shift : ndarray of shape (d,), float64
        The mean of the rows (0 for sparse rows).
    total_square : float
        Weighted sum of the squared distances to the shift, accumulated in float64.
    mean_variance : float
        Mean over the columns of their variances (unweighted, as scikit-learn scales `tol`).
    """

    def __init__(
        self, rows: RowSource, sample_weight: Array | None, *, n_clusters: int, n_threads: int
    ) -> None:
        super().__init__(rows, sample_weight, n_clusters=n_clusters, n_threads=n_threads)
        self._measure()

    @cached_property
    def _blocks_in_memory(self) -> list[tuple[slice, Any]]:
        return list(kernel_blocks(self.rows, self.block_rows))

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield (slice of the rows, kernel rows) for each block."""
        return (
            iter(self._blocks_in_memory) if self.rows.in_memory else kernel_blocks(self.rows, self.block_rows)
        )

    def _measure(self) -> None:
        sparse = self.rows.is_sparse
        mean = np.zeros(self.n_columns) if sparse else self._mean_row(self.blocks(), self.n_rows)
        self.shift = mean
        self.squares = np.empty(self.n_rows, dtype=self.dtype)
        exact = self.own_square_distances(self.shift[None, :], np.zeros(self.n_rows, dtype=np.int32))
        with np.errstate(over="ignore"):
            self.squares[:] = exact
        check_squares(self.squares)
        self.total_square = weighted_sum(exact, self.weights)
        if sparse:
            mean = self._mean_row(self.blocks(), self.n_rows)
        mean_square = float(np.sum((mean - self.shift) ** 2))
        self.mean_variance = (float(np.sum(exact)) / self.n_rows - mean_square) / self.n_columns

    def own_square_distances(self, centers: FloatArray, labels: IntArray) -> FloatArray:
        """Return the squared distance of every row to centers[label], accurately (one pass over the data)."""
        return _own_square_distances(self.blocks(), self.n_rows, centers, labels, self.n_threads)


def check_squares(squares: Array, numbers: IndexArray | None = None) -> None:
    """Raise a ValueError if a row is too far out for its float type; numbers are those of the rows."""
    too_large = np.flatnonzero(~np.isfinite(squares))
    if len(too_large):
        row = too_large[0] if numbers is None else numbers[too_large[0]]
        raise ValueError(
            f"X is too large for {squares.dtype}: squared distances overflow. First bad row: {row}."
        )


def total_weight(n_rows: int, weights: Array | None) -> float:
    """Return the sum of the weights of some rows, None for 1."""
    return float(n_rows) if weights is None else float(np.sum(weights, dtype=np.float64))


def weighted_sum(values: FloatArray, weights: Array | None) -> float:
    """Return sum(weights * values) in float64, in an order that depends on nothing but the length."""
    return float(np.sum(values if weights is None else values * weights, dtype=np.float64))


class CenterFrame:
    """Centroids as the kernels want them: relative to the shift, with the constant part of each score.

    Parameters
    ----------
    centers : ndarray of shape (k, d), compute dtype
        In the coordinates of the data.
    shift : ndarray of shape (d,), float64
        See `Dataset.shift`.
    n_threads : int
        Threads of the kernels.
    """

    def __init__(self, centers: Array, shift: FloatArray, n_threads: int = 1) -> None:
        self.centers: Array = np.ascontiguousarray(centers)
        self.n_threads = n_threads
        self.relative = np.empty_like(self.centers)
        self.squares = np.empty(len(centers))
        self.offsets = np.empty(len(centers), dtype=centers.dtype)
        _kernels.relate_centers(self.centers, shift, self.relative, self.squares, self.offsets, n_threads)
        self.shift_norm = float(np.linalg.norm(shift))

    def __len__(self) -> int:
        return len(self.centers)

    def nearest(self, x: Any, labels: IntArray, scores: Array) -> None:
        """Write the nearest centroid of each row and its score (see `_kernels.nearest`)."""
        nearest_centers(x, self, labels[:, None], scores[:, None], self.n_threads)

    def square_distances(self, other: CenterFrame) -> FloatArray:
        """Return how far each centroid is from the same one of another frame, squared, in float64."""
        dots, squares = np.empty(len(self)), np.empty(len(self))
        _kernels.compare_centers(self.relative, other.relative, dots, squares, self.n_threads)
        return squares

    def score_error(self) -> FloatArray:
        """Bound the rounding error of a score: e[0] * norm(x) + e[1] * norm(x - shift)**2 + e[2].

        A dot product of length d has an error of at most gamma * norm(x) * norm(c), with gamma close to d * eps / 2
        (Higham 2002, section 3.1); doubled for machines without fused multiply-add.
        """
        epsilon = float(np.finfo(self.centers.dtype).eps) / 2
        gamma = (2 * self.centers.shape[1] + 16) * epsilon
        largest = float(np.sqrt(self.squares.max(initial=0.0)))
        return np.array([2 * gamma * largest, 6 * epsilon, 6 * epsilon * float(np.abs(self.offsets).max())])


def nearest_centers(x: Any, frame: CenterFrame, ids: IntArray, scores: Array, n_threads: int) -> None:
    """Write the ids.shape[1] nearest centroids of each row and their scores (see `_kernels.nearest`)."""
    _kernels.nearest(x, frame.relative, frame.offsets, ids, scores, n_threads)


def nearest_labels(rows: RowSource, centers: Array, shift: FloatArray, n_threads: int) -> IntArray:
    """Return the nearest centroid of every row, block by block: the labels of a fit with the same shift."""
    frame = CenterFrame(centers, shift, n_threads)
    block_rows = rows_per_block(rows, len(frame))
    labels = np.empty((rows.shape[0], 1), dtype=np.int32)
    scores = np.empty((min(block_rows, rows.shape[0]), 1), dtype=rows.dtype)
    for part, x in kernel_blocks(rows, block_rows):
        nearest_centers(x, frame, labels[part], scores[: part.stop - part.start], n_threads)
    return labels[:, 0]


def own_square_distances(rows: RowSource, centers: Array, labels: IntArray, n_threads: int) -> FloatArray:
    """Return the squared distance of every row to centers[label], accurately (one pass over the data)."""
    blocks = kernel_blocks(rows, rows_per_block(rows, 1))
    return _own_square_distances(blocks, rows.shape[0], centers, labels, n_threads)


def _own_square_distances(
    blocks: Iterable[tuple[slice, Any]], n_rows: int, centers: Array, labels: IntArray, n_threads: int
) -> FloatArray:
    centers = np.ascontiguousarray(centers, dtype=np.float64)
    center_squares = np.einsum("ij,ij->i", centers, centers)
    out = np.empty(n_rows)
    for part, x in blocks:
        _kernels.own_square_distances(x, centers, center_squares, labels[part], out[part], n_threads)
    return out


class Frame(Protocol):
    """Centroids that rows can be compared with."""

    def nearest(self, x: Any, labels: IntArray, scores: Array) -> None:
        """Write the nearest centroid of each row and its score."""


class PlainAssignment:
    """Lloyd's assignment: every row against every centroid."""

    def __init__(self, data: FitRows) -> None:
        self._data = data
        self._scores = np.empty(min(data.block_rows, data.n_rows), dtype=data.dtype)
        self.labels = np.full(data.n_rows, -1, dtype=np.int32)

    def start(self, frame: Frame) -> None:
        """Take the centroids of the coming pass."""
        self._frame = frame

    def assign(self, part: slice, x: Any) -> None:
        """Bring the labels of one block up to date."""
        n_rows = part.stop - part.start
        self._frame.nearest(x, self.labels[part], self._scores[:n_rows])

    def relabel(self, rows: IndexArray, labels: IntArray) -> None:
        """Give some rows labels that a distance did not choose."""
        self.labels[rows] = labels


class BoundedAssignment:
    """Assignment that skips distances by the triangle inequality; see cpp/include/coterie/bounded.hpp.

    Parameters
    ----------
    data : FitRows
        The rows.
    frame : CenterFrame
        The first centroids; they are sorted into panels of neighbours.
    n_groups : int or None
        Lower bounds per row: None for one per centroid (Elkan), 1 for Hamerly, more for Yinyang. Memory is
        n * (that number + 2) floats; panels of 16 (float32) or 8 (float64) centroids are never split.
    """

    def __init__(self, data: FitRows, frame: CenterFrame, n_groups: int | None) -> None:
        lanes = lanes_of(data.dtype)
        self._data = data
        self._order = panels_of_neighbors(frame.relative, lanes)
        self._slots = np.empty(len(frame), dtype=np.int32)
        filled = np.flatnonzero(self._order >= 0)
        self._slots[self._order[filled]] = filled
        n_panels = len(self._order) // lanes
        self._panels_per_group = 0 if n_groups is None else -(-n_panels // min(n_groups, n_panels))
        n_bounds = len(self._order) if n_groups is None else -(-n_panels // self._panels_per_group)
        self._cumulative_drift = np.zeros(n_bounds)
        self._frame: CenterFrame | None = None
        self._n_bounded = 0
        self.labels = np.full(data.n_rows, -1, dtype=np.int32)
        self._upper = np.empty(data.n_rows, dtype=data.dtype)
        self._lower = np.empty((data.n_rows, n_bounds), dtype=data.dtype)

    def start(self, frame: Frame) -> None:
        """Take the centroids of the coming pass and add how far they have moved."""
        assert isinstance(frame, CenterFrame)
        if self._frame is None:
            drift = np.zeros(len(frame))
        else:
            drift = np.sqrt(frame.square_distances(self._frame))
        self._frame = frame
        by_slot = np.zeros(len(self._order))
        by_slot[self._slots] = drift
        if self._panels_per_group:
            lanes = len(self._order) // (-(-len(self._order) * self._data.dtype.itemsize // 64))
            by_slot = np.maximum.reduceat(by_slot, np.arange(0, len(by_slot), lanes * self._panels_per_group))
        self._cumulative_drift += by_slot
        self._drift = self._rounded_up(drift)
        self._cumulative = self._rounded_up(self._cumulative_drift)
        self._error = frame.score_error().astype(self._data.dtype)

    def _rounded_up(self, values: FloatArray) -> Array:
        out = (values * (1 + 1e-12)).astype(self._data.dtype)
        return np.nextafter(out, np.array(np.inf, dtype=self._data.dtype))

    def assign(self, part: slice, x: Any) -> None:
        """Bring the labels and bounds of one block up to date.

        The rows that have bounds are always the first ones of the data: blocks are first met in ascending order.
        """
        assert self._frame is not None
        first = part.start >= self._n_bounded
        self._n_bounded = max(self._n_bounded, part.stop)
        _kernels.bounded_assign(
            x,
            self._frame.relative,
            self._frame.offsets,
            self._order,
            self._slots,
            self._panels_per_group,
            self._drift,
            self._cumulative,
            self._error,
            self._frame.shift_norm,
            first,
            self._data.squares[part],
            self.labels[part],
            self._upper[part],
            self._lower[part],
            self._data.n_threads,
        )

    def relabel(self, rows: IndexArray, labels: IntArray) -> None:
        """Give some rows labels that a distance did not choose; their bounds are forgotten."""
        self.labels[rows] = labels
        self._lower[rows] = -np.inf
        self._upper[rows] = np.inf


def panels_of_neighbors(centers: Array, lanes: int) -> IntArray:
    """Sort centroids into panels of neighbours, so that whole panels can be skipped.

    Splits at the median along the direction of greatest variance, again and again, at multiples of a panel.

    Parameters
    ----------
    centers : ndarray of shape (k, d)
        The centroids.
    lanes : int
        Centroids per panel.

    Returns
    -------
    ndarray of shape (ceil(k / lanes) * lanes,), int32
        Which centroid is in each slot, ascending within a panel; -1 for the empty slots of the last panel.
    """
    n_panels = -(-len(centers) // lanes)
    order = np.full(n_panels * lanes, -1, dtype=np.int32)
    waiting = [(np.arange(len(centers)), 0, n_panels)]
    while waiting:
        members, first, count = waiting.pop()
        if count == 1:
            order[first * lanes : first * lanes + len(members)] = np.sort(members)
            continue
        half = count // 2
        sorted_members = members[np.argsort(_principal_coordinate(centers[members]), kind="stable")]
        waiting.append((sorted_members[: half * lanes], first, half))
        waiting.append((sorted_members[half * lanes :], first + half, count - half))
    return order


def _principal_coordinate(points: Array) -> FloatArray:
    """Return the coordinate of each point along (about) the direction of greatest variance: a few power steps."""
    centered = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
    coordinate = centered @ centered[np.argmax(np.einsum("ij,ij->i", centered, centered))]
    for _ in range(8):
        direction = coordinate @ centered
        length = np.linalg.norm(direction)
        if length == 0:
            break
        coordinate = centered @ (direction / length)
    return coordinate


class ClusterSums:
    """The (weighted) sum of the rows of each cluster relative to the shift, and its mass, in float64.

    Rows are added in their order in the data; later passes move only the rows whose label changed, so the sums do
    not depend on how the labels were found.
    """

    def __init__(self, data: Dataset, n_clusters: int) -> None:
        self._data = data
        self.sums = np.zeros((n_clusters, data.n_columns))
        self.masses = np.zeros(n_clusters)

    def clear(self) -> None:
        """Forget all rows."""
        self.sums[:] = 0
        self.masses[:] = 0

    def add(self, part: slice, x: Any, labels: IntArray, before: IntArray | None) -> None:
        """Move the rows of a block from their labels before (None: from nowhere) to their labels now."""
        _kernels.add_to_clusters(
            x, labels, before, self._data.weights_of(part), self._data.shift, self.sums, self.masses,
            self._data.n_threads,
        )  # fmt: skip

    def move(self, row: int, source: int, target: int) -> None:
        """Move one row from one cluster to another."""
        x = kernel_rows(self._data.rows.take(np.array([row])))
        label = np.array([target], dtype=np.int32)
        self.add(slice(row, row + 1), x, label, np.array([source], dtype=np.int32))

    def means(self, centers: Array) -> Array:
        """Return the mean of each cluster as centroids; a cluster without mass keeps its old one."""
        out = np.empty_like(centers)
        _kernels.move_centers(self.sums, self.masses, self._data.shift, centers, out, self._data.n_threads)
        return out

    def inertia(self, frame: CenterFrame) -> float:
        """Return the inertia of the labels that the sums stand for, without a pass over the data."""
        cross, distances = np.empty(len(frame)), np.empty(len(frame))
        _kernels.compare_sums(self.sums, frame.relative, cross, distances, frame.n_threads)
        return max(0.0, self._data.total_square + float(np.sum(self.masses * frame.squares - 2 * cross)))
