"""Centers that are the means of their rows, or the directions of these means."""

from __future__ import annotations

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray
from coterie.centers.frame import CenterFrame, moved_centers


class Means:
    """Means of rows, of length 1 with `unit_length`; one without rows stays. `sums` (k, d) are relative to the
    shift, `masses` (k,) those of the weights.
    """

    def __init__(
        self, centers: Array, shift: FloatArray, n_threads: int, *, unit_length: bool = False
    ) -> None:
        self.frame = CenterFrame(centers, shift, n_threads)
        self.sums, self.masses = np.zeros(centers.shape), np.zeros(len(centers))
        self._shift, self.unit_length = shift, unit_length

    def move(self, squares: FloatArray, empty: IndexArray) -> tuple[FloatArray, FloatArray]:
        """Move each centroid to the mean of its rows, in O(k d) time; return the movements and the squared errors
        before, (k,). `squares` (k,) are weighted sums of squared distances to the shift; `empty` clusters have no
        rows left.
        """
        self.sums[empty], self.masses[empty] = 0, 0
        before, cross = self.frame, np.empty(len(squares))
        _kernels.compare_centers(self.sums, before.relative, cross, np.empty(len(squares)), before.n_threads)
        within = np.maximum(squares + self.masses * before.squares - 2 * cross, 0.0)
        after = moved_centers(
            self.sums,
            self.masses,
            self._shift,
            before.centers,
            before.n_threads,
            unit_length=self.unit_length,
        )
        self.frame = CenterFrame(after, self._shift, before.n_threads)
        return np.sqrt(self.frame.square_distances(before)), within
