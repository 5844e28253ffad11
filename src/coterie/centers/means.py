"""Centers that are the means of their rows, or the directions of these means: those of both mini-batch k-means.

`DenseMeans` and `SparseMeans` have the same interface: `add` takes rows in or moves them from cluster to cluster,
`move` brings each center to the mean of its rows, scaled to length 1 where rows are
compared by their angles.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.centers.frame import CenterFrame, moved_centers
from coterie.centers.sparse_means import NONE, SparseMeans


class DenseMeans:
    """Means of dense rows; a step costs O(k d) in addition to its rows.

    `sums` (k, d) are those of the rows of each cluster relative to the shift, `masses` (k,) those of their weights, and
    `frame` has the centroids; one without rows stays where it is. With `unit_length` centroids are scaled to length 1.
    """

    def __init__(
        self, centers: Array, shift: FloatArray, n_threads: int, *, unit_length: bool = False
    ) -> None:
        self.frame = CenterFrame(centers, shift, n_threads)
        self.sums = np.zeros(centers.shape)
        self.masses = np.zeros(len(centers))
        self._shift = shift
        self.n_threads = n_threads
        self.unit_length = unit_length

    @property
    def dtype(self) -> np.dtype[Any]:
        """The float type of the centroids."""
        return self.frame.centers.dtype

    @property
    def centers(self) -> Array:
        """The centroids, shape (k, d)."""
        return self.frame.centers

    def restore(self, sums: FloatArray, masses: FloatArray) -> None:
        """Restore sums and masses whose means are the current centroids."""
        self.sums, self.masses = sums, masses

    def add(self, x: Any, labels: IntArray, before: IntArray | None, weights: Array | None) -> None:
        """Move rows from the labels before (-1, or None: from nowhere) to the labels now."""
        _kernels.add_to_clusters(
            x, labels, before, weights, self._shift, self.sums, self.masses, self.n_threads
        )

    def move(self, squares: FloatArray, empty: IndexArray = NONE) -> tuple[FloatArray, FloatArray]:
        """Bring each centroid to the mean of its rows; return how far each has moved, and the squared errors before.

        `squares` (k,) are the weighted sums of the squared distances of each cluster's rows to the shift. `empty`
        clusters have no rows (any more): rounding may have left a little of theirs. The squared errors are the weighted
        sums of the squared distances of each cluster's rows to its centroid before the move.
        """
        self.sums[empty] = 0
        self.masses[empty] = 0
        before = self.frame
        cross, _ = np.empty(len(squares)), np.empty(len(squares))
        _kernels.compare_centers(self.sums, before.relative, cross, _, self.n_threads)
        within = np.maximum(squares + self.masses * before.squares - 2 * cross, 0.0)
        after = moved_centers(
            self.sums,
            self.masses,
            self._shift,
            before.centers,
            self.n_threads,
            unit_length=self.unit_length,
        )
        self.frame = CenterFrame(after, self._shift, self.n_threads)
        return np.sqrt(self.frame.square_distances(before)), within


Means: TypeAlias = DenseMeans | SparseMeans


def means_of(is_sparse: bool) -> type[DenseMeans] | type[SparseMeans]:
    """Return the class for dense or sparse rows."""
    return SparseMeans if is_sparse else DenseMeans
