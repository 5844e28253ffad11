"""Centroids as kernels want them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray

__all__ = ["CenterFrame", "nearest_centers"]


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
        self._shift = shift

    def __len__(self) -> int:
        return len(self.centers)

    def some(self, numbers: IndexArray) -> CenterFrame:
        """Return the frame of some of the centroids."""
        return CenterFrame(self.centers[numbers], self._shift, self.n_threads)

    @cached_property
    def shift_norm(self) -> float:
        """Length of the shift."""
        return float(np.linalg.norm(self._shift))

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
