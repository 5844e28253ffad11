"""Means of sparse rows, or their directions, whose steps cost in proportion to the entries of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray, aligned_zeros, lanes_of
from coterie.centers.frame import direction_lengths

NONE: IndexArray = np.empty(0, dtype=np.intp)

# Rows, labels now and before, and weights; see `SparseMeans.add`.
_Rows: TypeAlias = tuple[Any, IntArray, IntArray | None, Array | None]

# The squared length of a sum is updated by additions. If it is less than this part of the squared mass, their rounding
# errors could matter, and it is computed again.
_SHORT = 1e-4


class SparseMeans:
    """Means of sparse rows; a step costs in proportion to the entries of its rows.

    The kernels see sums instead of centroids, so that a row changes only its own columns, and one scale per
    centroid: 1 / mass, or 1 / length of the sum where centroids have length 1; see
    cpp/include/coterie/centers/sparse_means.hpp. A centroid without rows, or whose rows cancel out, is held: kept as
    a sum of scale 1. Parameters and attributes as those of `DenseMeans`, with a shift of 0.
    """

    def __init__(
        self, centers: Array, shift: FloatArray, n_threads: int, *, unit_length: bool = False
    ) -> None:
        k, d = centers.shape
        lanes = lanes_of(centers.dtype)
        n_panels = -(-k // lanes)
        n_slabs = -(-n_panels // _kernels.PANELS_BESIDE)
        self._n_beside = -(-n_panels // n_slabs)
        self._stride = self._n_beside * lanes
        self._panels = aligned_zeros(n_slabs * d * self._stride, centers.dtype)
        self._scales = aligned_zeros(n_slabs * self._stride, centers.dtype)
        self._offsets = aligned_zeros(n_slabs * self._stride, centers.dtype)
        self._waiting: list[_Rows] = []
        self.n_threads = n_threads
        self.unit_length = unit_length
        self._held = dict(enumerate(centers.copy()))
        self.sums = np.zeros((k, d))
        self.masses = np.zeros(k)
        # Squared norms of the sums, and of the centroids.
        self._sum_squares = np.zeros(k)
        self._squares = np.zeros(k)
        self._write_lanes(np.arange(k), centers)
        self._squares[:] = np.einsum("ij,ij->i", centers, centers, dtype=np.float64)
        self._rescale()

    def _write_lanes(self, clusters: IndexArray, vectors: Array) -> None:
        _kernels.write_lanes(
            np.ascontiguousarray(vectors), clusters.astype(np.int32), self._panels,
            len(self.masses), self._n_beside, self.n_threads,
        )  # fmt: skip

    def divisors(self) -> FloatArray:
        """Return the divisor of each sum that gives the centroid; 0 if the centroid is fixed."""
        if self.unit_length:
            return direction_lengths(self._sum_squares, self.masses)
        return self.masses.copy()

    def _rescale(self) -> None:
        k = len(self.masses)
        divisors = self.divisors()
        scales = np.divide(1.0, divisors, out=np.ones(k), where=divisors > 0)
        self._scales[:k] = -2 * scales
        self._offsets[:k] = self._squares
        self._offsets[k:] = np.inf

    @property
    def frame(self) -> SparseMeans:
        """Frame for the assignment of rows: these means themselves."""
        return self

    @property
    def dtype(self) -> np.dtype[Any]:
        """The float type of the centroids."""
        return self._panels.dtype

    @property
    def centers(self) -> Array:
        """The centroids, shape (k, d); computed at each call."""
        d = self.sums.shape[1]
        centers = np.empty(self.sums.shape, dtype=self._panels.dtype)
        for cluster, center in self._held.items():
            centers[cluster] = center
        _kernels.move_centers(self.sums, self.divisors(), np.zeros(d), centers, centers, self.n_threads)
        return centers

    def restore(self, sums: FloatArray, masses: FloatArray) -> None:
        """Take over sums and masses that the centroids are at already."""
        self.sums, self.masses = sums, masses
        self._sum_squares[:] = np.einsum("ij,ij->i", sums, sums)
        divisors = self.divisors()
        self._release(np.flatnonzero(divisors > 0))
        np.divide(self._sum_squares, divisors**2, out=self._squares, where=divisors > 0)
        self._rescale()

    def nearest(
        self, x: Any, labels: IntArray, scores: Array | None = None, *, n_threads: int | None = None
    ) -> None:
        """Write the nearest centroid of each row and its score, the squared distance less that of the row to 0."""
        scores = np.empty(len(labels), dtype=self.dtype) if scores is None else scores
        _kernels.nearest_mean(
            x, self._panels, self._n_beside, self._scales, self._offsets, labels, scores, self.n_threads
        )

    def add(self, x: Any, labels: IntArray, before: IntArray | None, weights: Array | None) -> None:
        """Move rows from the labels before (-1, or None: from nowhere) to the labels now."""
        self._waiting.append((x, labels, before, weights))

    def move(self, squares: FloatArray, empty: IndexArray = NONE) -> tuple[FloatArray, FloatArray]:
        """Bring each centroid to the mean of its rows; see `DenseMeans.move`."""
        before = self.divisors()
        scales = np.divide(1.0, before, out=np.ones_like(before), where=before > 0)
        died = empty[self.masses[empty] > 0]
        last_centers = self.sums[died] * scales[died, None]
        for place in np.flatnonzero(before[died] == 0):  # their rows canceled out
            last_centers[place] = self._held[int(died[place])]
        rows, self._waiting = self._waiting, []
        changes, with_sums, with_panels = self._take(rows)
        self.masses[empty] = 0
        # Change of the sum, times the centroid before the move.
        cross = scales * np.where(before > 0, with_sums, with_panels)
        within = squares + self.masses * self._squares - 2 * (scales * self._sum_squares + cross)
        grown = 2 * with_sums + changes
        self._sum_squares += grown
        self._hold(died, last_centers, 0.0)
        if self.unit_length:
            self._hold_canceled(before, scales, rows)
            after = self.divisors()
            moved = _moves_of_directions(before, after, changes, grown, cross, self._squares)
        else:
            after = self.divisors()
            # A mean moves by (change of its sum - change of its mass * mean) / its new mass.
            gained = after - before
            moved = np.maximum(changes - 2 * gained * cross + gained**2 * self._squares, 0)
        shifts = np.divide(np.sqrt(moved), after, out=np.zeros_like(after), where=after > 0)
        self._release(np.flatnonzero((before == 0) & (after > 0)))
        np.divide(self._sum_squares, after**2, out=self._squares, where=after > 0)
        self._rescale()
        return shifts, np.maximum(within, 0.0)

    def put(self, clusters: IndexArray, rows: Any, masses: float) -> None:
        """Place centroids at some rows, as if they were the means of rows of that mass."""
        self._hold(clusters, rows, masses)
        self._rescale()

    def _hold(self, clusters: IndexArray, centers: Array, mass: float) -> None:
        """Make centroids the means of rows of that mass; without any they stay where they are put."""
        centers = np.asarray(centers, dtype=np.float64)
        held = mass * centers if mass > 0 else centers
        self._write_lanes(clusters, held)
        self.masses[clusters] = mass
        self.sums[clusters] = mass * centers
        self._squares[clusters] = np.einsum("ij,ij->i", centers, centers)
        self._sum_squares[clusters] = mass**2 * self._squares[clusters]
        for cluster, center in zip(clusters.tolist(), centers):
            if mass > 0:
                self._held.pop(cluster, None)
            else:
                self._held[cluster] = center

    def _release(self, clusters: IndexArray) -> None:
        """Keep centroids that were held by the sums of their rows from now on."""
        # All of them, at the first rows: without a copy.
        self._write_lanes(clusters, self.sums if len(clusters) == len(self.sums) else self.sums[clusters])
        for cluster in clusters.tolist():
            self._held.pop(cluster, None)

    def _hold_canceled(self, before: FloatArray, scales: FloatArray, rows: list[_Rows]) -> None:
        """Keep centroids whose rows sum to zero at their previous positions."""
        short = np.flatnonzero((self.masses > 0) & (self._sum_squares <= _SHORT * self.masses**2))
        self._sum_squares[short] = np.einsum("ij,ij->i", self.sums[short], self.sums[short])
        for cluster in short[self.divisors()[short] == 0]:
            if before[cluster] > 0:
                center = scales[cluster] * (self.sums[cluster] - self._change_of_sum(cluster, rows))
            else:
                center = self._held[cluster]
            mass = self.masses[cluster]
            self._hold(np.array([cluster]), center[None, :], 0.0)
            self.masses[cluster] = mass

    def _change_of_sum(self, cluster: int, rows: list[_Rows]) -> FloatArray:
        """Return by how much rows have changed the sum of one cluster: all others count as one."""
        sums, masses = np.zeros((2, self.sums.shape[1])), np.zeros(2)
        for x, labels, before, weights in rows:
            now = (labels != cluster).astype(np.int32)
            then = None if before is None else np.where(before < 0, -1, before != cluster).astype(np.int32)
            zero = np.zeros(self.sums.shape[1])
            _kernels.add_to_clusters(x, now, then, weights, zero, sums, masses, self.n_threads)
        return sums[0]

    def _take(self, rows: list[_Rows]) -> tuple[FloatArray, FloatArray, FloatArray]:
        squares, with_sums, with_panels = (np.zeros(len(self.masses)) for _ in range(3))
        if rows:
            blocks, *columns = zip(*rows)
            labels, before, weights = (_joined(column) for column in columns)
            _kernels.move_sparse_rows(
                list(blocks), labels, before, weights, self.sums, self.masses, self._panels, self._n_beside,
                squares, with_sums, with_panels, self.n_threads,
            )  # fmt: skip
        return squares, with_sums, with_panels


def _moves_of_directions(
    before: FloatArray,
    after: FloatArray,
    changes: FloatArray,
    grown: FloatArray,
    cross: FloatArray,
    squares: FloatArray,
) -> FloatArray:
    """Return the squared movements of centroids of length 1, times the squared lengths of their sums after it.

    Of sums of lengths a and b that differ by D, the directions differ by (|D|^2 - (b - a)^2) / (a b), squared: the law
    of cosines. A centroid that was held has no sum before; c . D is its product with that of its first rows.
    """
    total = np.where(before > 0, before + after, 1.0)
    turned = (changes - (grown / total) ** 2) * np.divide(
        after, before, out=np.zeros_like(after), where=before > 0
    )
    first = after * (after * (1 + squares) - 2 * cross)
    return np.maximum(np.where(before > 0, turned, first), 0.0)


def _joined(parts: Sequence[Array | None]) -> Any:
    arrays = [part for part in parts if part is not None]
    return np.concatenate(arrays) if len(arrays) > 1 else arrays[0] if arrays else None
