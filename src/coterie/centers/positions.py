"""Where the centroids of clusters are: at the means of their rows, or in their directions, at length 1."""

from __future__ import annotations

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray

__all__ = ["direction_lengths", "moved_centers", "unit_centers"]

# Rows of length 1 whose sum is shorter than this part of their mass cancel out: what is left of it is rounding.
_CANCELLED = 1e-12


def moved_centers(
    sums: FloatArray,
    masses: FloatArray,
    shift: FloatArray,
    before: Array,
    n_threads: int,
    *,
    unit_length: bool = False,
) -> Array:
    """Return the centroids of clusters; one without mass, or without a direction, stays where it is.

    Parameters
    ----------
    sums : ndarray of shape (k, d), float64
        (Weighted) sum of the rows of each cluster, relative to the shift.
    masses : ndarray of shape (k,), float64
        Sum of their weights.
    shift : ndarray of shape (d,), float64
        See `coterie.blocks.dataset.FitRows`.
    before : ndarray of shape (k, d), compute dtype
        The centroids so far.
    n_threads : int
        Threads of the kernel.
    unit_length : bool
        Whether the mean of each cluster is scaled to length 1. Of all vectors of length 1 that one has the least sum
        of squared distances to the rows, if these have length 1 too (Dhillon and Modha 2001, section 2.3).

    Returns
    -------
    ndarray of shape (k, d), dtype of the centroids
    """
    if unit_length:
        sums = sums + masses[:, None] * shift
        shift = np.zeros_like(shift)
        masses = direction_lengths(np.einsum("ij,ij->i", sums, sums), masses)
    after = np.empty_like(before)
    _kernels.move_centers(sums, masses, shift, before, after, n_threads)
    return after


def direction_lengths(square_lengths: FloatArray, masses: FloatArray) -> FloatArray:
    """Return the lengths of sums of rows of length 1; 0 where the rows cancel out, so that there is no direction."""
    lengths = np.sqrt(np.maximum(square_lengths, 0.0))
    return np.where(lengths > _CANCELLED * masses, lengths, 0.0)


def unit_centers(centers: Array) -> Array:
    """Return centroids scaled to length 1.

    Raises
    ------
    ValueError
        If one of them is 0.
    """
    # The largest entry is taken out first: squares near the ends of the range overflow or vanish.
    scaled = centers.astype(np.float64)
    largest = np.abs(scaled).max(axis=1, keepdims=True)
    if not np.all(largest > 0):
        bad = int(np.argmin(largest))
        raise ValueError(f"The initial center {bad} is 0, which has no direction.")
    scaled /= largest
    scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)
    return scaled.astype(centers.dtype)
