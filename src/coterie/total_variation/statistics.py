"""Medians, distances to them and total variations of the columns of F, where rows count one or have weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray
from coterie.total_variation.graph import CutGraph

__all__ = ["ColumnStatistics", "RowStatistics", "WeightedStatistics"]


@dataclass(frozen=True)
class ColumnStatistics:
    """What an outer step needs to know of the columns f_r of F.

    Attributes
    ----------
    medians : ndarray of shape (R,)
        med(f_r), the (floor(N / (lambda_r + 1)) + 1)-st largest value; where rows have weights the largest value such
        that those of no smaller one weigh more than a part of 1 / (lambda_r + 1) of all.
    balances : ndarray of shape (R,), float64
        B(f_r), the asymmetric distance of f_r to its median.
    variations : ndarray of shape (R,), float64
        TV(f_r), each edge counted once.
    n_above, n_below, n_at : ndarray of shape (R,), int64 or float64
        Entries above, below and at the median, or what they weigh.
    """

    medians: Array
    balances: FloatArray
    variations: FloatArray
    n_above: Array
    n_below: Array
    n_at: Array

    @property
    def energies(self) -> FloatArray:
        """E(f_r) = TV / B."""
        return self.variations / self.balances

    @property
    def is_valid(self) -> bool:
        """Whether no column is constant."""
        return bool(np.all(self.balances > 0))


class RowStatistics:
    """Statistics where each row counts one.

    Parameters
    ----------
    graph : CutGraph
        The graph.
    asymmetries : ndarray of shape (R,)
        lambda of each column.
    n_threads : int
        Threads; they make no difference to the result.
    """

    def __init__(self, graph: CutGraph, asymmetries: FloatArray, n_threads: int) -> None:
        n = graph.n_vertices
        self._graph, self._asymmetries, self._n_threads = graph, asymmetries, n_threads
        self._ranks = np.minimum(n // (asymmetries + 1), n - 1).astype(np.int64)

    def of(self, memberships: Array) -> ColumnStatistics:
        """Return the statistics of memberships in padded rows."""
        R, n = len(self._asymmetries), self._graph.n_vertices
        medians, sums = np.empty(R, dtype=self._graph.dtype), np.empty((3, R))
        counts = np.empty((2, R), dtype=np.int64)
        _kernels.column_statistics(
            self._graph.kernel_graph, memberships, self._ranks, medians, sums, counts, self._n_threads
        )
        above, below, variations = sums
        balances = self._asymmetries * above + below
        n_above, n_below = counts
        return ColumnStatistics(
            medians, balances, variations * self._graph.unit, n_above, n_below, n - n_above - n_below
        )


class WeightedStatistics(RowStatistics):
    """Statistics where rows have weights.

    Parameters
    ----------
    graph, asymmetries, n_threads
        As of `RowStatistics`.
    weights : ndarray of shape (n,), float64
        Not negative, in the order of the graph, not all 0.
    """

    def __init__(self, graph: CutGraph, asymmetries: FloatArray, weights: FloatArray, n_threads: int) -> None:
        super().__init__(graph, asymmetries, n_threads)
        self._weights = weights
        self._quotas = weights.sum() / (asymmetries + 1)

    def of(self, memberships: Array) -> ColumnStatistics:
        """Return the statistics of memberships in padded rows."""
        R, weights = len(self._asymmetries), self._weights
        medians, balances = np.empty(R, dtype=self._graph.dtype), np.empty(R)
        weighing = np.empty((3, R))
        for r, (asymmetry, quota) in enumerate(zip(self._asymmetries, self._quotas)):
            column = np.ascontiguousarray(memberships[:, r])
            medians[r] = _weighted_median(column, weights, quota)
            distances = column.astype(np.float64) - float(medians[r])
            sides = distances > 0, distances < 0, distances == 0
            weighing[:, r] = [weights[side].sum() for side in sides]
            above, below = (np.sum(weights[side] * np.abs(distances[side])) for side in sides[:2])
            balances[r] = asymmetry * above + below
        return ColumnStatistics(medians, balances, super().of(memberships).variations, *weighing)


def _weighted_median(column: Array, weights: FloatArray, quota: float) -> float:
    """Return the largest value such that those of no smaller one weigh more than the quota."""
    # Most memberships are 0: only the others are sorted.
    inner = np.flatnonzero(column > 0)
    inner = inner[np.argsort(-column[inner], kind="stable")]
    crossed = np.flatnonzero(np.cumsum(weights[inner]) > quota)
    return float(column[inner[crossed[0]]] if len(crossed) > 0 else column[weights > 0].min())
