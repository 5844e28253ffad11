"""Centroids in the span of few clusters' means: the same problem in as few columns.

Where rows have fused to m clusters, the centroids of these and of all that they fuse to lie in the span of the m means.
Outside of it duals only need to take each row to the mean of its cluster, and do so at any larger gamma too: they are
kept as they are, and take their share of each edge's ball.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from coterie.arrays import Array, FloatArray, IntArray
from coterie.convex.norms import KernelNorm
from coterie.convex.problem import ConvexProblem

__all__ = ["SpanProblem", "missed_by_span", "parts_of_duals", "span_of_means"]


# Numbers that are looked at at a time: they stay in the cache.
_NUMBERS_AT_A_TIME = 1 << 18


class SpanProblem(ConvexProblem):
    """The part of a problem in a subspace. Its objectives and gaps are those of the whole problem.

    Parameters
    ----------
    whole : ConvexProblem
        With the Euclidean norm.
    basis : ndarray of shape (p, r), float64
        Orthonormal, of the subspace.
    taken : ndarray of shape (n_edges,)
        Squared lengths of what duals of the whole problem, feasible from some gamma on, are outside of the subspace:
        that stays.
    points : ndarray of shape (n, p)
        X + Delta of these.

    Attributes
    ----------
    missed : float
        What centroids in the subspace leave of the gap, for any gamma: half the squares of the points outside of it.
    """

    def __init__(self, whole: ConvexProblem, basis: FloatArray, taken: FloatArray, points: Array) -> None:
        columns = np.arange(basis.shape[1], dtype=np.int64)
        norm = KernelNorm(columns, np.array([0, len(columns)], dtype=np.int64))
        inside = (whole.rows @ basis).astype(whole.rows.dtype)
        super().__init__(inside, whole.edges, norm, step_size=whole.steps, n_threads=whole.n_threads)
        self.missed = missed_by_span(whole, basis, points)
        self._outside = 0.5 * float(_squares_outside(whole.rows, basis).sum())
        self._taken = taken.copy()
        if isinstance(whole, SpanProblem):
            self._outside += whole._outside
            self._taken += whole._taken
        self._gamma: float | None = None

    def objectives(self, gamma: float, points: Array) -> FloatArray:
        """See `ConvexProblem.objectives`."""
        return super().objectives(gamma, points) + self._outside

    def gap(self, gamma: float, candidate: Array, duals: Array, points: Array) -> float:
        """See `ConvexProblem.gap`."""
        return super().gap(gamma, candidate, duals, points) + self.missed

    def own_gap(self, gamma: float, candidate: Array, duals: Array, points: Array) -> float:
        """Return what of the gap better duals in the subspace could close."""
        whole, self._kernel = self._kernel, self._balls(gamma)
        try:
            return super().gap(gamma, candidate, duals, points)
        finally:
            self._kernel = whole

    def _balls(self, gamma: float) -> Any:
        if gamma != self._gamma:
            weights = self.edges.weights.astype(np.float64)
            left = np.sqrt(np.maximum(weights**2 - self._taken / gamma**2, 0.0))
            self._ball_edges = self._edges_of_weights(left.astype(self.edges.weights.dtype))
            self._gamma = gamma
        return self._ball_edges


def span_of_means(rows: Array, labels: IntArray, n_clusters: int) -> FloatArray:
    """Return an orthonormal basis of the span of the clusters' means.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        Around their mean, so that one of the means follows from the others.
    labels : ndarray of shape (n,)
        Clusters, from 0.
    n_clusters : int
        How many, at least 2 and at most p + 1.

    Returns
    -------
    ndarray of shape (p, n_clusters - 1), float64
    """
    counts = np.bincount(labels, minlength=n_clusters)
    order = np.argsort(labels, kind="stable")
    sums = np.add.reduceat(rows[order].astype(np.float64), np.cumsum(counts) - counts, axis=0)
    means = sums / counts[:, None]
    basis: FloatArray = scipy.linalg.qr(means[1:].T, mode="economic")[0]
    return np.ascontiguousarray(basis)


def missed_by_span(problem: ConvexProblem, basis: FloatArray, points: Array) -> float:
    """Return `SpanProblem.missed` of a basis."""
    before = problem.missed if isinstance(problem, SpanProblem) else 0.0
    return before + 0.5 * float(_squares_outside(points, basis).sum())


def parts_of_duals(duals: Array, basis: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the coordinates of the duals in the subspace, and the squared lengths of what they are outside of it.

    The latter by Pythagoras: they are compared with the squares of the balls' radii, and as exact as these.
    """
    inside, taken = np.empty((len(duals), basis.shape[1])), np.empty(len(duals))
    at_a_time = max(1, _NUMBERS_AT_A_TIME // duals.shape[1])
    for first in range(0, len(duals), at_a_time):
        of_edges = slice(first, first + at_a_time)
        part, coordinates = duals[of_edges], inside[of_edges]
        np.matmul(part, basis, out=coordinates)
        squares = np.einsum("ij,ij->i", part, part, dtype=np.float64)
        taken[of_edges] = squares - np.einsum("ij,ij->i", coordinates, coordinates)
    return inside, np.maximum(taken, 0.0, out=taken)


def _squares_outside(vectors: Array, basis: FloatArray) -> FloatArray:
    """Return the squared lengths of what the vectors are outside of the subspace."""
    squares = np.empty(len(vectors))
    at_a_time = max(1, _NUMBERS_AT_A_TIME // vectors.shape[1])
    for first in range(0, len(vectors), at_a_time):
        part = vectors[first : first + at_a_time]
        rest = part - (part @ basis) @ basis.T
        squares[first : first + at_a_time] = np.einsum("ij,ij->i", rest, rest, dtype=np.float64)
    return squares
