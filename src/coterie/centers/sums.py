"""The sum of the rows of every cluster, kept up to date as labels change."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, IntArray
from coterie.blocks.dataset import Dataset
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.frame import CenterFrame

__all__ = ["ClusterSums"]


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
        _kernels.compare_centers(self.sums, frame.relative, cross, distances, frame.n_threads)
        return max(0.0, self._data.total_square + float(np.sum(self.masses * frame.squares - 2 * cross)))
