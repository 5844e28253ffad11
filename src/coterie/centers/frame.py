"""Centers in the layout of the kernels, and their updates to the means of their rows, or the directions of these."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IntArray
from coterie.cached import cached_property

# Rows of length 1 whose sum is shorter than this part of their mass cancel out: what is left of it is rounding.
_CANCELED = 1e-12

# The order of centers that fill no more than a panel, where any is as fast.
_OF_A_PANEL = np.arange(8, dtype=np.int32)

_SPARSE = (_kernels.SparseRowsFloat32, _kernels.SparseRowsFloat64)


class CenterFrame:
    """Centroids (k, d) in the layout of the kernels: relative to the shift, with the constant part of each score."""

    def __init__(self, centers: Array, shift: FloatArray, n_threads: int = 1) -> None:
        self.centers: Array = np.ascontiguousarray(centers)
        self.n_threads = n_threads
        self.relative = np.empty_like(self.centers)
        self.squares = np.empty(len(centers))
        self.offsets = np.empty(len(centers), dtype=centers.dtype)
        _kernels.relate_centers(self.centers, shift, self.relative, self.squares, self.offsets, n_threads)
        self.shift = shift

    def __reduce__(self) -> Any:
        return CenterFrame, (self.centers, self.shift)

    def __len__(self) -> int:
        return len(self.centers)

    def nearest(
        self,
        x: Any,
        labels: IntArray,
        squares: FloatArray | None = None,
        *,
        known: Array | None = None,
        n_threads: int | None = None,
    ) -> int:
        """Write the exact nearest centroid of each row, and its squared distance into `squares`; `known` are those to
        the shift. Return the number of centroids compared in float64; see cpp/include/coterie/centers/assign.hpp.
        """
        return _kernels.assign(x, self.exact(x), labels, squares, n_threads or self.n_threads, 0, known)

    def exact(self, x: Any) -> Any:
        """Return the centroids for kernels that decide in float64, for rows such as x."""
        return self._exact_of_sparse if isinstance(x, _SPARSE) else self._exact_of_dense

    @cached_property
    def _exact_of_dense(self) -> Any:
        return self._exact(None)

    @cached_property
    def _exact_of_sparse(self) -> Any:
        if not self.shift.any():
            return self._exact(self.squares)
        return self._exact(np.einsum("ij,ij->i", self.centers, self.centers, dtype=np.float64))

    def _exact(self, own_squares: FloatArray | None) -> Any:
        order = _OF_A_PANEL[: len(self)]
        if len(self) > len(order):
            order = np.argsort(self.squares, kind="stable").astype(np.int32)
        return _kernels.exact_centers(
            self.centers, self.relative, self.offsets, self.squares, own_squares, self.shift, order
        )

    def square_distances(self, other: CenterFrame) -> FloatArray:
        """Return the squared distance of each centroid to the same one of another frame, in float64."""
        dots, squares = np.empty(len(self)), np.empty(len(self))
        _kernels.compare_centers(self.relative, other.relative, dots, squares, self.n_threads)
        return squares


def nearest_centers(x: Any, frame: CenterFrame, ids: IntArray, scores: Array, n_threads: int) -> None:
    """Write the ids.shape[1] nearest centroids of each row and their scores (see `_kernels.nearest`)."""
    _kernels.nearest(x, frame.relative, frame.offsets, ids, scores, n_threads, 0)


def moved_centers(
    sums: FloatArray,
    masses: FloatArray,
    shift: FloatArray,
    before: Array,
    n_threads: int,
    *,
    unit_length: bool = False,
) -> Array:
    """Return the centroids from the sums of their rows relative to the shift; one without mass or direction stays. With
    `unit_length` means are scaled to length 1 (Dhillon and Modha 2001, section 2.3).
    """
    if unit_length:
        sums = sums + masses[:, None] * shift
        shift = np.zeros_like(shift)
        masses = direction_lengths(np.einsum("ij,ij->i", sums, sums), masses)
    after = np.empty_like(before)
    _kernels.move_centers(sums, masses, shift, before, after, n_threads)
    return after


def direction_lengths(square_lengths: FloatArray, masses: FloatArray) -> FloatArray:
    """Return the lengths of sums of rows of length 1; 0 if the rows sum to zero, which has no direction."""
    lengths = np.sqrt(np.maximum(square_lengths, 0.0))
    return np.where(lengths > _CANCELED * masses, lengths, 0.0)


def unit_centers(centers: Array) -> Array:
    """Return centroids scaled to length 1; a ValueError if one of them is 0."""
    # The largest entry is taken out first: squares near the ends of the range overflow or vanish.
    scaled = centers.astype(np.float64)
    largest = np.abs(scaled).max(axis=1, keepdims=True)
    if not np.all(largest > 0):
        bad = int(np.argmin(largest))
        raise ValueError(f"The initial center {bad} is 0, which has no direction.")
    scaled /= largest
    scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)
    return scaled.astype(centers.dtype)
