"""Descent of the relaxed multiclass cut: outer and inner steps of Bresson et al. 2013, Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, BoolArray, FloatArray, IntArray, padded_rows
from coterie.fitting.deadline import UNHURRIED, Phase
from coterie.graphs.cuts import cut_of_edges
from coterie.total_variation.graph import CutGraph
from coterie.total_variation.statistics import ColumnStatistics, RowStatistics, WeightedStatistics
from coterie.total_variation.steps import FEWEST_ITERATIONS, PreconditionedSteps, Steps

__all__ = ["OuterResult", "TotalVariationDescent"]

# Updates of duals that one call of the kernel may take: some 50 ms, for Ctrl-C is answered between calls.
_CALL_DUALS = 5e7


@dataclass(frozen=True)
class OuterResult:
    """What an outer step did.

    Attributes
    ----------
    energy : float
        The relaxed energy, sum of E(f_r), after it.
    n_inner : int
        Inner iterations.
    descended : bool
        Whether the descent of Theorem 3 holds; it need not after the last iteration that was allowed.
    is_valid : bool
        Whether no column has become constant; else the energy is infinite.
    """

    energy: float
    n_inner: int
    descended: bool
    is_valid: bool


class TotalVariationDescent:
    """Memberships F in the simplex that descend the relaxed energy sum_r TV(f_r) / B(f_r).

    TV counts each undirected edge once, so that the energy of indicators is that of their partition, (P).

    Parameters
    ----------
    graph : CutGraph
        The graph.
    n_columns : int
        Number of clusters R, at least 2.
    asymmetry : float or ndarray of shape (R,), optional
        lambda of (P), or that of each column: how many times values above the median count in B. None: R - 1.
    weights : ndarray of shape (n,), float64, optional
        What vertices count in B, in the order of the graph: not negative, not all 0. None: 1 each.
    steps : Steps, optional
        How far inner iterations step and when they are tested; None: preconditioned.
    n_threads : int
        Threads of the kernels; they make no difference to the result.
    """

    def __init__(
        self,
        graph: CutGraph,
        n_columns: int,
        *,
        asymmetry: float | FloatArray | None = None,
        weights: FloatArray | None = None,
        steps: Steps | None = None,
        n_threads: int,
    ) -> None:
        n, dtype = graph.n_vertices, graph.dtype
        self._graph, self._n_columns, self._n_threads = graph, n_columns, n_threads
        self._asymmetries = np.empty(n_columns)
        self._asymmetries[:] = n_columns - 1 if asymmetry is None else asymmetry
        self._weights = weights
        if weights is None:
            self._statistics_of = RowStatistics(graph, self._asymmetries, n_threads)
            self._row_weights = None
        else:
            self._statistics_of = WeightedStatistics(graph, self._asymmetries, weights, n_threads)
            self._row_weights = weights.astype(dtype)
        self._steps = PreconditionedSteps(graph) if steps is None else steps
        self._memberships, self._extrapolated, self._spare, self._anchors = (
            padded_rows(n, n_columns, dtype) for _ in range(4)
        )
        self._duals = np.zeros((graph.n_duals, n_columns), dtype=dtype)
        self._outer = padded_rows(6, n_columns, dtype)
        self._fixed = np.zeros(n, dtype=np.uint8)
        self._squares = np.zeros(graph.n_blocks)
        self._row_steps = self._steps.rows.astype(dtype)
        self._tau = 0.0
        self._last_inner = 0

    def start(self, memberships: Array, fixed: BoolArray | None = None) -> float:
        """Begin with these memberships; return their energy, infinite if a column is constant.

        Parameters
        ----------
        memberships : ndarray of shape (n, R)
            F, rows in the simplex, in the order of the `CutGraph`, as all that follows.
        fixed : ndarray of shape (n,), bool, optional
            Rows that stay as they are.
        """
        self._memberships[:, : self._n_columns] = memberships
        self._fixed[:] = 0 if fixed is None else fixed
        self._duals[:] = 0
        self._tau = self._steps.first
        self._last_inner = 2 * FEWEST_ITERATIONS
        self.statistics = self._statistics()
        return float(self.statistics.energies.sum()) if self.statistics.is_valid else np.inf

    @property
    def memberships(self) -> Array:
        """F, a copy."""
        return self._memberships[:, : self._n_columns].copy()

    def rounded(self) -> tuple[IntArray, float]:
        """Return the column of the largest membership of each row, and the energy (P) of these clusters.

        Returns
        -------
        labels : ndarray of shape (n,), int32
        energy : float
            Infinite if a cluster is empty.
        """
        labels = self._memberships[:, : self._n_columns].argmax(axis=1).astype(np.int32)
        return labels, self.cut(labels)

    def cut(self, labels: IntArray) -> float:
        """Return the energy (P) of clusters, infinite if one is empty."""
        return cut_of_edges(self._graph.edges, labels, self._n_columns, self._asymmetries, self._weights)

    def outer_step(self, eps: float, most: int = Steps.most_inner, phase: Phase = UNHURRIED) -> OuterResult:
        """Linearise B around F, and take inner iterations until the energy has descended as Theorem 3 says.

        After 100 of them any descent will do, or whatever there is: see `Steps`.

        Parameters
        ----------
        eps : float
            How much less than in the theorem will do.
        most : int
            Inner iterations, at most.
        phase : Phase
            Late: there are no more of them.
        """
        before = self.statistics
        self._linearise(before)
        every = self._steps.until_test(self._last_inner)
        n_inner, descended = 0, False
        while n_inner < most and not descended:
            n_steps = min(every, most - n_inner)
            self._iterate(n_steps)
            n_inner += n_steps
            after = self._statistics()
            if not after.is_valid:
                return OuterResult(np.inf, n_inner, False, False)
            descended = self._fall(before, after) >= (1 - eps) * float(self._squares.sum())
            will_do = not self._steps.needs_descent or after.energies.sum() < before.energies.sum()
            if (n_inner >= self._steps.most_inner and will_do) or phase.is_late:
                break
        self.statistics, self._last_inner = after, n_inner
        return OuterResult(float(after.energies.sum()), n_inner, descended, True)

    def undo(self) -> None:
        """Return to the memberships before the last outer step."""
        self._memberships[:] = self._anchors
        self.statistics = self._statistics()

    def _fall(self, before: ColumnStatistics, after: ColumnStatistics) -> float:
        """Return Delta times the sum of (B / B before) (E before - E)."""
        weights = after.balances / before.balances
        falls = (before.energies - after.energies) / self._graph.unit
        return float(before.balances.max() * np.sum(weights * falls))

    def _linearise(self, statistics: ColumnStatistics) -> None:
        """Make F the anchor; write G - F, Gamma and the steps of the duals."""
        balances, R, lam = statistics.balances, self._n_columns, self._asymmetries
        largest = float(balances.max())
        at_median = (statistics.n_below - lam * statistics.n_above) / statistics.n_at
        slope = largest * statistics.energies / self._graph.unit / balances
        scales, dual_steps, medians, above, below, at = self._outer
        scales[:R], medians[:R] = largest / balances, statistics.medians
        dual_steps[:R] = self._steps.of_duals(balances)
        above[:R], below[:R], at[:] = lam * slope, -slope, -np.inf
        at[:R] = at_median * slope
        self._anchors[:] = self._memberships
        self._extrapolated[:] = self._memberships

    def _iterate(self, n_iterations: int) -> None:
        # An even number needs no copy at the end of a call.
        most = max(2, int(_CALL_DUALS / max(1, self._duals.size)) // 2 * 2)
        for first in range(0, n_iterations, most):
            self._tau = _kernels.iterate_primal_dual(
                self._graph.kernel_graph, self._duals, self._memberships, self._extrapolated, self._spare,
                self._anchors, self._fixed, self._row_steps, self._outer, self._steps.by_weight, self._tau,
                self._steps.convexity, min(most, n_iterations - first), self._squares, self._n_threads,
                self._row_weights,
            )  # fmt: skip

    def _statistics(self) -> ColumnStatistics:
        return self._statistics_of.of(self._memberships)
