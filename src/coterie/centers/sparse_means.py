"""Means of sparse rows, whose steps cost in proportion to the entries of the votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray, aligned_zeros, lanes_of

__all__ = ["SparseMeans"]

NONE: IndexArray = np.empty(0, dtype=np.intp)


class SparseMeans:
    """Means of sparse rows; a step costs in proportion to the entries of its votes.

    The kernels see sums instead of centroids, so that a vote changes only its row's own columns, and one scale per
    centroid; see cpp/include/coterie/centers/sparse_means.hpp. A centroid without votes is kept as a sum of scale 1.
    Parameters and attributes as those of `DenseMeans`, with a shift of 0.
    """

    def __init__(self, centers: Array, shift: FloatArray, n_threads: int) -> None:
        k, d = centers.shape
        lanes = lanes_of(centers.dtype)
        n_panels = -(-k // lanes)
        n_slabs = -(-n_panels // _kernels.PANELS_BESIDE)
        self._n_beside = -(-n_panels // n_slabs)
        self._stride = self._n_beside * lanes
        self._panels = aligned_zeros(n_slabs * d * self._stride, centers.dtype)
        self._scales = aligned_zeros(n_slabs * self._stride, centers.dtype)
        self._offsets = aligned_zeros(n_slabs * self._stride, centers.dtype)
        self._waiting: list[tuple[Any, IntArray, IntArray | None, Array | None]] = []
        self._n_threads = n_threads
        self.sums = np.zeros((k, d))
        self.masses = np.zeros(k)
        # Squared norms of the sums, and of the centroids.
        self._sum_squares = np.zeros(k)
        self._squares = np.zeros(k)
        self._write_lanes(np.arange(k), centers)
        self._squares[:] = np.einsum("ij,ij->i", centers, centers, dtype=np.float64)
        self._rescale()

    def _lane(self, cluster: int) -> Array:
        return self._panels.reshape(-1, self.sums.shape[1], self._stride)[
            cluster // self._stride, :, cluster % self._stride
        ]

    def _write_lanes(self, clusters: IndexArray, vectors: Array) -> None:
        _kernels.write_lanes(
            np.ascontiguousarray(vectors), clusters.astype(np.int32), self._panels,
            len(self.masses), self._n_beside, self._n_threads,
        )  # fmt: skip

    def _rescale(self) -> None:
        k = len(self.masses)
        scales = np.divide(1.0, self.masses, out=np.ones(k), where=self.masses > 0)
        self._scales[:k] = -2 * scales
        self._offsets[:k] = self._squares
        self._offsets[k:] = np.inf

    @property
    def frame(self) -> SparseMeans:
        """What rows are compared with: these means themselves."""
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
        for cluster in np.flatnonzero(self.masses == 0):
            centers[cluster] = self._lane(int(cluster))
        _kernels.move_centers(self.sums, self.masses, np.zeros(d), centers, centers, self._n_threads)
        return centers

    def restore(self, sums: FloatArray, masses: FloatArray) -> None:
        """Take over votes whose means the centroids are already."""
        self.sums, self.masses = sums, masses
        voted = np.flatnonzero(masses > 0)
        self._write_lanes(voted, sums[voted])
        self._sum_squares[:] = np.einsum("ij,ij->i", sums, sums)
        self._squares[voted] = self._sum_squares[voted] / masses[voted] ** 2
        self._rescale()

    def nearest(self, x: Any, labels: IntArray, scores: Array) -> None:
        """Write the nearest centroid of each row and its score, the squared distance less that of the row to 0."""
        _kernels.nearest_mean(
            x, self._panels, self._n_beside, self._scales, self._offsets, labels, scores, self._n_threads
        )

    def vote(self, x: Any, labels: IntArray, before: IntArray | None, weights: Array | None) -> None:
        """Move votes from the labels before (-1, or None: from nowhere) to the labels now."""
        self._waiting.append((x, labels, before, weights))

    def move(self, squares: FloatArray, empty: IndexArray = NONE) -> tuple[FloatArray, FloatArray]:
        """Bring each centroid to the mean of its votes; see `DenseMeans.move`."""
        before = self.masses.copy()
        scales = np.divide(1.0, before, out=np.ones_like(before), where=before > 0)
        died = empty[before[empty] > 0]
        last_centers = self.sums[died] * scales[died, None]
        changes, with_sums, with_panels = self._take_votes()
        after = self.masses
        after[empty] = 0
        # Change of the sum, times the centroid before the move.
        cross = scales * np.where(before > 0, with_sums, with_panels)
        within = squares + after * self._squares - 2 * (scales * self._sum_squares + cross)
        # A mean moves by (change of its sum - change of its mass * mean) / its new mass.
        gained = after - before
        moved = np.maximum(changes - 2 * gained * cross + gained**2 * self._squares, 0)
        shifts = np.divide(np.sqrt(moved), after, out=np.zeros_like(after), where=after > 0)
        self._sum_squares += 2 * with_sums + changes
        born = np.flatnonzero((before == 0) & (after > 0))
        # All of them, at the first votes: without a copy.
        self._write_lanes(born, self.sums if len(born) == len(self.sums) else self.sums[born])
        self._hold(died, last_centers, 0.0)
        np.divide(self._sum_squares, after**2, out=self._squares, where=after > 0)
        self._rescale()
        return shifts, np.maximum(within, 0.0)

    def put(self, clusters: IndexArray, rows: Any, masses: float) -> None:
        """Place centroids at some rows, as if they were the means of that many votes."""
        self._hold(clusters, rows, masses)
        self._rescale()

    def _hold(self, clusters: IndexArray, centers: Array, mass: float) -> None:
        """Make centroids the means of that many votes; without any they stay where they are put."""
        centers = np.asarray(centers, dtype=np.float64)
        held = mass * centers if mass > 0 else centers
        self._write_lanes(clusters, held)
        self.masses[clusters] = mass
        self.sums[clusters] = mass * centers
        self._squares[clusters] = np.einsum("ij,ij->i", centers, centers)
        self._sum_squares[clusters] = mass**2 * self._squares[clusters]

    def _take_votes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        squares, with_sums, with_panels = (np.zeros(len(self.masses)) for _ in range(3))
        if self._waiting:
            blocks, *columns = zip(*self._waiting)
            self._waiting = []
            labels, before, weights = (_joined(column) for column in columns)
            _kernels.take_votes(
                list(blocks), labels, before, weights, self.sums, self.masses, self._panels, self._n_beside,
                squares, with_sums, with_panels, self._n_threads,
            )  # fmt: skip
        return squares, with_sums, with_panels


def _joined(parts: Sequence[Array | None]) -> Any:
    arrays = [part for part in parts if part is not None]
    return np.concatenate(arrays) if len(arrays) > 1 else arrays[0] if arrays else None
