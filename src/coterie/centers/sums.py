"""The sum of the rows of every cluster, kept up to date as labels change."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IntArray
from coterie.blocks.dataset import Dataset
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.frame import CenterFrame
from coterie.centers.positions import moved_centers

__all__ = ["ClusterSums", "Totals"]


class Totals:
    """The (weighted) sum of the rows of each cluster relative to the shift, and its mass, whoever has added them.

    Parameters
    ----------
    shape : tuple of int
        Number of clusters k and of columns d.
    shift : ndarray of shape (d,), float64
        See `coterie.blocks.dataset.FitRows`.
    total_square : float
        Weighted sum of the squared distances of all rows to it.
    n_threads : int
        Threads of the kernels.
    unit_length : bool
        Whether centroids have length 1; see `coterie.centers.positions.moved_centers`.

    Attributes
    ----------
    sums : ndarray of shape (k, d), float64
    masses : ndarray of shape (k,), float64
    inertia_scale : float
        What squared distances count in the inertia: half at length 1, where that is 1 - cos.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        shift: FloatArray,
        total_square: float,
        n_threads: int,
        *,
        unit_length: bool = False,
    ) -> None:
        self._shift = shift
        self._total_square = total_square
        self._n_threads = n_threads
        self._unit_length = unit_length
        self.inertia_scale = 0.5 if unit_length else 1.0
        self.sums = np.zeros(shape)
        self.masses = np.zeros(shape[0])

    def centers(self, before: Array) -> Array:
        """Return the centroid of each cluster; one without mass, or whose rows cancel out, keeps its old one."""
        return moved_centers(
            self.sums, self.masses, self._shift, before, self._n_threads, unit_length=self._unit_length
        )

    def inertia(self, frame: CenterFrame) -> float:
        """Return the inertia of the labels that the sums stand for with any centroids, without a pass over the data."""
        cross, distances = np.empty(len(frame)), np.empty(len(frame))
        _kernels.compare_centers(self.sums, frame.relative, cross, distances, frame.n_threads)
        return max(0.0, self._total_square + float(np.sum(self.masses * frame.squares - 2 * cross)))


class ClusterSums(Totals):
    """Sums of the clusters of rows at hand, in float64.

    Rows are added in their order in the data; later passes move only the rows whose label changed, so the sums do
    not depend on how the labels were found.

    Parameters
    ----------
    data : Dataset
        The rows.
    n_clusters : int
        Number of clusters k.
    unit_length : bool
        Whether centroids have length 1; see `coterie.centers.positions.moved_centers`.
    """

    def __init__(self, data: Dataset, n_clusters: int, *, unit_length: bool = False) -> None:
        shape = n_clusters, data.n_columns
        super().__init__(shape, data.shift, data.total_square, data.n_threads, unit_length=unit_length)
        self._data = data

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
