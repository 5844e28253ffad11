"""Descent of the relaxed multiclass cut: outer and inner steps of Bresson et al. 2013, Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from coterie import _kernels
from coterie.arrays import Array, BoolArray, FloatArray, IntArray, padded_rows
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.graphs.cuts import cut_of_edges
from coterie.limits.memory import check_allocation
from coterie.total_variation.problem import CutGraph

# Dual updates of one call of the kernel, about 50 ms: Ctrl-C is handled between calls.
_CALL_DUALS = 5e7

# Least and largest number of iterations between tests of the inner stopping criterion (preconditioned steps).
_FEWEST_ITERATIONS, _MOST_ITERATIONS = 5, 25

# Initial step size of a run and its rate of decrease, relative to the average row. Large steps that decrease slowly
# take more iterations and find better clusters.
_FIRST_STEP, _CONVEXITY = 4.0, 0.05

# Up to this number of vertices all eigenvalues are computed for the norm of the gradient: Lanczos' method needs larger
# ones.
_FEW_VERTICES = 100


@dataclass(frozen=True)
class ColumnStatistics:
    """Statistics of the columns f_r of F for an outer step. med(f_r) is the (floor(N / (lambda_r + 1)) + 1)-st largest
    value, with weights the largest at or above which rows have more than 1 / (lambda_r + 1) of the weight.
    """

    medians: Array  # (R,): med(f_r)
    balances: FloatArray  # (R,), float64: B(f_r), the asymmetric distance of f_r to its median
    variations: FloatArray  # (R,), float64: TV(f_r), each edge counted once
    n_above: Array  # (R,): number, or total weight, of the entries above,
    n_below: Array  # below,
    n_at: Array  # and at the median

    @property
    def energies(self) -> FloatArray:
        """E(f_r) = TV / B."""
        return self.variations / self.balances

    @property
    def is_valid(self) -> bool:
        """Whether no column is constant."""
        return bool(np.all(self.balances > 0))


class RowStatistics:
    """Statistics where each row counts one; `balance_weights` are the lambda of the columns."""

    def __init__(self, graph: CutGraph, balance_weights: FloatArray, n_threads: int) -> None:
        n = graph.n_vertices
        self._graph, self._balance_weights, self._n_threads = graph, balance_weights, n_threads
        self._ranks = np.minimum(n // (balance_weights + 1), n - 1).astype(np.int64)

    def of(self, memberships: Array) -> ColumnStatistics:
        """Return the statistics of memberships in padded rows."""
        R, n = len(self._balance_weights), self._graph.n_vertices
        medians, sums = np.empty(R, dtype=self._graph.dtype), np.empty((3, R))
        counts = np.empty((2, R), dtype=np.int64)
        _kernels.column_statistics(
            self._graph.kernel_graph, memberships, self._ranks, medians, sums, counts, self._n_threads
        )
        above, below, variations = sums
        balances = self._balance_weights * above + below
        n_above, n_below = counts
        return ColumnStatistics(
            medians, balances, variations * self._graph.unit, n_above, n_below, n - n_above - n_below
        )


class WeightedStatistics(RowStatistics):
    """Statistics where rows have weights, (n,), non-negative and not all 0, in the order of the graph."""

    def __init__(
        self, graph: CutGraph, balance_weights: FloatArray, weights: FloatArray, n_threads: int
    ) -> None:
        super().__init__(graph, balance_weights, n_threads)
        self._weights = weights
        self._quotas = weights.sum() / (balance_weights + 1)

    def of(self, memberships: Array) -> ColumnStatistics:
        """Return the statistics of memberships in padded rows."""
        R, weights = len(self._balance_weights), self._weights
        medians, balances = np.empty(R, dtype=self._graph.dtype), np.empty(R)
        weighing = np.empty((3, R))
        for r, (balance_weight, quota) in enumerate(zip(self._balance_weights, self._quotas)):
            column = np.ascontiguousarray(memberships[:, r])
            medians[r] = _weighted_median(column, weights, quota)
            distances = column.astype(np.float64) - float(medians[r])
            sides = distances > 0, distances < 0, distances == 0
            weighing[:, r] = [weights[side].sum() for side in sides]
            above, below = (np.sum(weights[side] * np.abs(distances[side])) for side in sides[:2])
            balances[r] = balance_weight * above + below
        return ColumnStatistics(medians, balances, super().of(memberships).variations, *weighing)


def _weighted_median(column: Array, weights: FloatArray, quota: float) -> float:
    """Return the largest value at or above which the entries weigh more than the quota."""
    # Most memberships are 0: only the others are sorted.
    inner = np.flatnonzero(column > 0)
    inner = inner[np.argsort(-column[inner], kind="stable")]
    crossed = np.flatnonzero(np.cumsum(weights[inner]) > quota)
    return float(column[inner[crossed[0]]] if len(crossed) > 0 else column[weights > 0].min())


class PreconditionedSteps:
    """Steps in inverse proportion to the degree of a vertex and the scale of a column (Pock and Chambolle 2011)."""

    by_weight = False  # whether a dual steps in proportion to the weight of its edge
    needs_descent = True  # whether the energy must have decreased after `most_inner` iterations
    most_inner = 100  # after these an outer step may end without the descent of Theorem 3

    def __init__(self, graph: CutGraph) -> None:
        mean, largest = graph.degrees.mean(), graph.degrees.max()
        self._mean_degree = mean if mean > 0 else 1.0
        # Step of each row of F as a multiple of tau, which shrinks by sqrt(1 + 2 convexity tau) at each iteration.
        self.rows = np.divide(mean, graph.degrees, out=np.ones(graph.n_vertices), where=graph.degrees > 0)
        self.first = _FIRST_STEP / np.sqrt(2 * self._mean_degree)
        # No more than the smallest of those steps, for which the theory holds.
        self.convexity = min(_CONVEXITY, mean / largest) if largest > 0 else _CONVEXITY

    def of_duals(self, balances: FloatArray) -> FloatArray:
        """Return the step of the duals in each column, times tau and Gamma, for these B(f_r)."""
        return balances / (2 * self._mean_degree * float(balances.max()))

    def until_test(self, last_inner: int) -> int:
        """Return half as many iterations as the last outer step took, within bounds."""
        return int(np.clip(last_inner // 2, _FEWEST_ITERATIONS, _MOST_ITERATIONS))


class PaperSteps(PreconditionedSteps):
    """One step size for all rows and columns, tested after each iteration: sigma tau = (min B / (max B L))^2, L =
    ||K||_2, and tau = 1 / L at first. 100 inner iterations end an outer step.
    """

    by_weight = True
    needs_descent = False

    def __init__(self, graph: CutGraph) -> None:
        self._norm = _gradient_norm(graph)
        self.rows = np.ones(graph.n_vertices)
        self.first, self.convexity = 1 / self._norm, 1.0

    def of_duals(self, balances: FloatArray) -> FloatArray:
        """Return the step of the duals in each column."""
        smallest, largest = float(balances.min()), float(balances.max())
        return (smallest / (largest * self._norm)) ** 2 * largest / balances

    def until_test(self, last_inner: int) -> int:
        """Return one iteration."""
        return 1


STEPS = {"preconditioned": PreconditionedSteps, "paper": PaperSteps}


def _gradient_norm(graph: CutGraph) -> float:
    """Return L = ||K||_2, the root of the largest eigenvalue of K'K: the Laplacian of the squared weights."""
    edges, n = graph.edges, graph.n_vertices
    if len(edges) == 0:
        return 1.0
    squares = (edges.weights / graph.unit) ** 2
    ends = np.concatenate([edges.heads, edges.tails]), np.concatenate([edges.tails, edges.heads])
    weights = sp.csr_array((np.tile(squares, 2), ends), shape=(n, n))
    laplacian = sp.csr_array(sp.diags_array(weights.sum(axis=1)) - weights)
    if n <= _FEW_VERTICES:
        return float(np.sqrt(np.linalg.eigvalsh(laplacian.toarray())[-1]))
    start = np.random.RandomState(0).standard_normal(n)
    largest = eigsh(laplacian, k=1, which="LA", v0=start, tol=1e-6, return_eigenvectors=False)
    return float(np.sqrt(largest[0]))


@dataclass(frozen=True)
class OuterResult:
    """Result of an outer step."""

    energy: float  # the relaxed energy, sum of E(f_r), after it
    n_inner: int
    descended: bool  # whether the descent of Theorem 3 holds; not always at the limit of iterations
    is_valid: bool  # false if a column has become constant: the energy is infinite
    has_moved: bool = True  # whether any membership has changed


class TotalVariationDescent:
    """Memberships F in the simplex that descend sum_r TV(f_r) / B(f_r), where TV counts undirected edges once, so
    that indicators have the energy (P). By default lambda is R - 1, rows weigh 1 and steps are preconditioned.
    """

    def __init__(
        self,
        graph: CutGraph,
        n_columns: int,
        *,
        balance_weights: FloatArray | None = None,
        weights: FloatArray | None = None,
        steps: PreconditionedSteps | None = None,
        n_threads: int,
    ) -> None:
        n, dtype = graph.n_vertices, graph.dtype
        self._graph, self._n_columns, self._n_threads = graph, n_columns, n_threads
        if balance_weights is None:
            balance_weights = np.full(n_columns, n_columns - 1.0)
        self._balance_weights = balance_weights
        self._weights = weights
        if weights is None:
            self._statistics_of = RowStatistics(graph, self._balance_weights, n_threads)
            self._row_weights = None
        else:
            self._statistics_of = WeightedStatistics(graph, self._balance_weights, weights, n_threads)
            self._row_weights = weights.astype(dtype)
        self._steps = PreconditionedSteps(graph) if steps is None else steps
        self._memberships, self._extrapolated, self._spare, self._anchors = (
            padded_rows(n, n_columns, dtype) for _ in range(4)
        )
        check_allocation(
            float(graph.n_duals) * n_columns * np.dtype(dtype).itemsize,
            f"dual variables of all edges in {n_columns:,} clusters",
            "ask for fewer clusters or neighbors",
        )
        self._duals = np.zeros((graph.n_duals, n_columns), dtype=dtype)
        self._outer = padded_rows(6, n_columns, dtype)
        self._fixed = np.zeros(n, dtype=np.uint8)
        self._squares = np.zeros(graph.n_blocks)
        self._row_steps = self._steps.rows.astype(dtype)
        self._tau = 0.0
        self._last_inner = 0

    def start(self, memberships: Array, fixed: BoolArray | None = None) -> float:
        """Set the initial memberships (n, R) in graph order; return their energy (a constant column: infinite)."""
        self._memberships[:, : self._n_columns] = memberships
        self._fixed[:] = 0 if fixed is None else fixed
        self._duals[:] = 0
        self._tau = self._steps.first
        self._last_inner = 2 * _FEWEST_ITERATIONS
        self.statistics = self._statistics()
        return float(self.statistics.energies.sum()) if self.statistics.is_valid else np.inf

    @property
    def memberships(self) -> Array:
        """F, a copy."""
        return self._memberships[:, : self._n_columns].copy()

    def rounded(self) -> tuple[IntArray, float]:
        """Return the column of largest membership of each row, and (P) of these clusters (an empty one: infinite)."""
        labels = self._memberships[:, : self._n_columns].argmax(axis=1).astype(np.int32)
        return labels, self.cut(labels)

    def cut(self, labels: IntArray) -> float:
        """Return the energy (P) of clusters, infinite if one is empty."""
        return cut_of_edges(self._graph.edges, labels, self._n_columns, self._balance_weights, self._weights)

    def outer_step(
        self, eps: float, most: int = PreconditionedSteps.most_inner, deadline: Deadline = UNLIMITED
    ) -> OuterResult:
        """Linearize B around F, and iterate until the energy descends as in Theorem 3, with the relative slack `eps`.
        After `most_inner` iterations any or no descent is enough (see `PreconditionedSteps`).
        """
        before = self.statistics
        self._linearize(before)
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
            if (n_inner >= self._steps.most_inner and will_do) or deadline.is_over:
                break
        self.statistics, self._last_inner = after, n_inner
        return OuterResult(
            float(after.energies.sum()), n_inner, descended, True, bool(self._squares.sum() > 0)
        )

    def undo(self) -> None:
        """Return to the memberships before the last outer step."""
        self._memberships[:] = self._anchors
        self.statistics = self._statistics()

    def _fall(self, before: ColumnStatistics, after: ColumnStatistics) -> float:
        """Return Delta times the sum of (B / B before) (E before - E)."""
        weights = after.balances / before.balances
        falls = (before.energies - after.energies) / self._graph.unit
        return float(before.balances.max() * np.sum(weights * falls))

    def _linearize(self, statistics: ColumnStatistics) -> None:
        """Make F the anchor; write G - F, Gamma and the steps of the duals."""
        balances, R, lam = statistics.balances, self._n_columns, self._balance_weights
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
