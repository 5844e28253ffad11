"""Centroids that are fused, made of points that are nearly so, and the certificate that comes with them.

The points U = X + Delta of a dual iterate are never quite equal within a cluster, and the penalty counts their small
differences in full: the gap would only fall with the error of the duals. Means of sets that are about to fuse leave a
gap that falls with its square. A set of fused points moves as one, by the sum of all that pulls at it: its mean is the
mean of its points, whatever the duals inside are.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IntArray
from coterie.convex.problem import ConvexProblem

__all__ = ["Certificate", "Fuser"]


# The first length up to which ends are tried to be fused, relative to the spread of the rows, the others relative to
# it, and the shortest one.
_FIRST_LENGTH = 1e-3
_LADDER = (0.0, 0.3, 3.0)
_LEAST_LENGTH = 1e-9


@dataclass(frozen=True)
class Certificate:
    """Centroids with the clusters they belong to, and a bound of how much better any others can be.

    Attributes
    ----------
    centroids : ndarray of shape (n, p)
        U.
    labels : ndarray of shape (n,), int32
        Clusters, numbered in the order of their first nodes.
    n_clusters : int
        How many.
    objective : float
        F(U).
    gap : float
        F(U) - D, never negative.
    """

    centroids: Array
    labels: IntArray
    n_clusters: int
    objective: float
    gap: float

    @property
    def centers(self) -> Array:
        """What a callback sees."""
        return self.centroids


@dataclass(frozen=True)
class _Candidate:
    """Centroids, what each group of columns contributes to their objective, and the sets of each group."""

    centroids: Array
    objectives: FloatArray
    labels: list[IntArray]
    n_sets: list[int]


class Fuser:
    """Finds the fused centroids of dual iterates; remembers how short the edges were that had to fuse."""

    def __init__(self, problem: ConvexProblem) -> None:
        self._problem = problem
        spread = float(np.sqrt(2 * problem.energy / problem.rows.size))
        epsilon = float(np.finfo(problem.rows.dtype).eps)
        self._length, self._least_length = _FIRST_LENGTH * spread, max(_LEAST_LENGTH, 8 * epsilon) * spread
        # Differences that are rounding errors cannot be told from none.
        self._least_gap = (8 * epsilon) ** 2 * problem.energy

    def on(self, problem: ConvexProblem) -> Fuser:
        """Return one that remembers the same, for another problem of these edges."""
        other = copy(self)
        other._problem = problem
        return other

    def certify(self, gamma: float, points: Array, duals: Array, origin: Array, tol: float) -> Certificate:
        """Return the best centroids that can be made of the points.

        Sets that the duals say are fused (Eq. 3.11) are preferred if they are good enough for the tolerance.

        Parameters
        ----------
        gamma : float
            Strength of the penalty.
        points : ndarray of shape (n, p)
            Centroids that are not quite fused.
        duals : ndarray of shape (n_edges, p)
            Feasible for gamma.
        origin : ndarray of shape (n, p)
            X + Delta.
        tol : float
            Relative gap that is small enough.
        """
        problem = self._problem
        levels = self._levels(gamma, points, problem.split_lengths(gamma, points, duals))
        chosen = levels[0]
        gap = problem.gap(gamma, chosen.centroids, duals, origin)
        if gap > self.enough(float(chosen.objectives.sum()), tol):
            best = self._best(gamma, points, levels)
            if best is not chosen:
                chosen, gap = best, problem.gap(gamma, best.centroids, duals, origin)
        labels, n_clusters = self._common_sets(chosen.labels)
        return Certificate(chosen.centroids, labels, n_clusters, float(chosen.objectives.sum()), gap)

    def enough(self, objective: float, tol: float) -> float:
        """Return the gap that the tolerance allows."""
        return tol * objective + self._least_gap

    def _levels(self, gamma: float, points: Array, lengths: Array) -> list[_Candidate]:
        """Return what becomes of the points if ever longer edges fuse, first those of length 0 but for rounding."""
        problem = self._problem
        n_nodes, n_groups = len(points), problem.n_groups
        parents = [np.arange(n_nodes, dtype=np.int32) for _ in range(n_groups)]
        levels: list[_Candidate] = []
        low = -1.0
        for high in (max(self._least_length, self._length * step) for step in _LADDER):
            sets = [problem.join(lengths[g], low, high, parents[g]) for g in range(n_groups)]
            low = high
            n_sets = [n for _, n in sets]
            if levels and n_sets == levels[-1].n_sets:
                levels.append(levels[-1])
                continue
            means = points.copy()
            if min(n_sets) < n_nodes:
                self._take_means(points, sets, means)
            levels.append(
                _Candidate(means, problem.objectives(gamma, means), [labels for labels, _ in sets], n_sets)
            )
        self._remember(levels)
        return levels

    def _take_means(self, points: Array, sets: list[tuple[IntArray, int]], out: Array) -> None:
        """Write the means of the sets of each group of columns."""
        starts = self._problem.group_starts
        for (labels, n_sets), first, last in zip(sets, starts, starts[1:]):
            _kernels.set_means(points, labels, n_sets, first, last, out)

    def _remember(self, levels: list[_Candidate]) -> None:
        best = int(np.argmin([level.objectives.sum() for level in levels]))
        self._length = max(self._least_length, self._length * (_LADDER[best] or 0.5))

    def _best(self, gamma: float, points: Array, levels: list[_Candidate]) -> _Candidate:
        """Return the best of each group of columns; the points as they are, where fusing makes them worse."""
        if max(levels[-1].n_sets) == min(levels[-1].n_sets) == len(points):
            return levels[0]  # nothing is fused
        as_they_are = _Candidate(
            points, self._problem.objectives(gamma, points), levels[0].labels, levels[0].n_sets
        )
        candidates = [*levels, as_they_are]
        objectives = np.array([candidate.objectives for candidate in candidates])
        winners = objectives.argmin(axis=0)
        starts = self._problem.group_starts
        centroids = np.empty_like(points)
        for winner, first, last in zip(winners, starts, starts[1:]):
            centroids[:, first:last] = candidates[winner].centroids[:, first:last]
        return _Candidate(
            centroids,
            objectives.min(axis=0),
            [candidates[winner].labels[g] for g, winner in enumerate(winners)],
            [candidates[winner].n_sets[g] for g, winner in enumerate(winners)],
        )

    def _common_sets(self, labels: list[IntArray]) -> tuple[IntArray, int]:
        """Return the components of the edges whose ends are in one set in every group."""
        edges = self._problem.edges
        if len(labels) == 1:
            return labels[0], int(labels[0].max()) + 1
        split = np.zeros(len(edges), dtype=self._problem.rows.dtype)
        for label in labels:
            split[label[edges.heads] != label[edges.tails]] = 1
        parents = np.arange(edges.n_nodes, dtype=np.int32)
        return self._problem.join(split, -1.0, 0.0, parents)
