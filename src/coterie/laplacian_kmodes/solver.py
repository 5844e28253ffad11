"""The solver of Laplacian K-modes: memberships and modes in turn (Algorithm 1 of Ziko, Granger & Ben Ayed 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, IntArray
from coterie.cached import cached_property
from coterie.fitting.report import FitReport, Stop
from coterie.fitting.threads import effective_n_threads
from coterie.graphs.bridges import bridge_components, closeness
from coterie.laplacian_kmodes.memberships import GraphMemberships
from coterie.laplacian_kmodes.modes import Modes, ModeSearch

# Fields of the history in addition to those of every fit.
HISTORY_FIELDS = (("discrete", np.float64), ("n_updates", np.int64), ("n_modes_moved", np.int64))

# Factor above the least weight at which memberships converge to clusters. Below 1.2 clusters become empty, above 2 few
# labels change.
_ABOVE_CRITICAL = 1.5

# Multiply-adds up to which components of the graph are joined: about half a second of computation.
_BRIDGED_MULTIPLY_ADDS = 5e10

# Updates of the memberships for the same modes, at most, and the relative change of R at which they end.
_MOST_UPDATES, _MEMBERSHIP_TOLERANCE = 3000, 1e-6


@dataclass(frozen=True)
class KModesProblem:
    """Minimize - sum_pl z_pl k(x_p, m_l) + graph_weight / 4 sum_pq K_pq ||z_p - z_q||^2 over one-hot rows z_p."""

    graph: sp.csr_array  # (n, n): affinities K of rows
    near_graph: sp.csr_array  # (n, n): the same times the closeness of both rows
    mode_search: ModeSearch  # finds modes m, and the affinities k of rows to them
    n_clusters: int  # L
    graph_weight: float  # lambda in the paper

    @cached_property
    def connected_graph(self) -> sp.csr_array:
        """The graph with components joined by their shortest edges, of weight closeness times mean weight, for
        eigenvectors. Large graphs and those without rows are unchanged.
        """
        rows, bandwidth = self.mode_search.rows, self.mode_search.bandwidth
        if rows is None or bandwidth is None or self.graph.nnz == 0:
            return self.graph
        if float(rows.shape[0]) ** 2 * rows.shape[1] > _BRIDGED_MULTIPLY_ADDS:
            return self.graph
        usual = float(self.graph.data.mean(dtype=np.float64))
        n_threads = effective_n_threads(None)
        return bridge_components(
            self.graph, rows, lambda squares: usual * closeness(squares, bandwidth), n_threads
        )

    @cached_property
    def cut_graph(self) -> sp.csr_array:
        """The same with long edges weighing less, for cuts: in one column each gap is crossed by about as many."""
        return sp.csr_array(self.connected_graph - self.graph + self.near_graph)


@dataclass(frozen=True)
class KModesResult:
    """Result of `bound_optimization`."""

    labels: IntArray  # (n,), int32
    memberships: Array  # (n, L)
    modes: Modes
    objective: float  # E of the labels
    relaxation: float  # R of the memberships
    is_shifted: bool  # whether R is that of the shifted graph
    history: Array
    reason: str  # why the iterations stopped

    @property
    def n_empty(self) -> int:
        """Number of empty clusters."""
        return len(self.modes.indices) - len(np.unique(self.labels))


def bound_optimization(
    problem: KModesProblem,
    modes: Modes,
    memberships: GraphMemberships,
    *,
    stop: Stop,
    report: FitReport,
    labels: IntArray | None = None,
    n_fresh: int | None = None,
) -> KModesResult:
    """Alternate updates of memberships and modes until convergence, from `labels` or the softmax of the affinities.
    Memberships are initialized for each set of modes (as in the paper) until `n_fresh` updates of the modes.
    """
    search, weight = problem.mode_search, problem.graph_weight
    if labels is not None:
        memberships.put(labels)
        n_fresh = 0
    moved, relaxation, reason = list(range(problem.n_clusters)), np.inf, "max_iter"
    for iteration in range(stop.max_iter):
        search.write_affinities(modes, moved, memberships.affinities)
        before = relaxation
        fit = memberships.minimize(
            weight,
            tol=_MEMBERSHIP_TOLERANCE,
            max_updates=_MOST_UPDATES,
            continues=n_fresh is not None and iteration >= n_fresh,
            deadline=report.deadline,
        )
        relaxation, labels = fit.relaxation, memberships.labels
        former, modes = modes, search.update(modes, memberships)
        moved = modes.moved_since(former)
        is_over = report(
            relaxation,
            modes.points,
            discrete=_discrete_objective(problem, memberships.affinities, labels),
            n_updates=fit.n_updates,
            n_modes_moved=len(moved),
        )
        if not moved or abs(before - relaxation) <= stop.tolerance * abs(relaxation):
            reason = "converged"
            break
        if is_over:
            reason = str(report.reason)
            break
    # Objectives of the returned modes.
    Z = memberships.take()
    if moved:
        former_affinities = memberships.affinities[:, moved]
        search.write_affinities(modes, moved, memberships.affinities)
        changes = memberships.affinities[:, moved] - former_affinities
        relaxation -= float(np.einsum("ij,ij->", Z[:, moved], changes, dtype=np.float64))
    assert labels is not None
    objective = _discrete_objective(problem, memberships.affinities, labels)
    return KModesResult(labels, Z, modes, objective, relaxation, fit.is_shifted, report.history(), reason)


def _discrete_objective(problem: KModesProblem, affinities: Array, labels: IntArray) -> float:
    """Return E: graph_weight / 2 times the weight of the cut edges, minus the affinities of rows to their modes."""
    own = float(np.sum(affinities[np.arange(len(labels)), labels], dtype=np.float64))
    return 0.5 * problem.graph_weight * cut_weight(problem.graph, labels) - own


def automatic_graph_weight(graph: sp.csr_array, n_clusters: int) -> float:
    """Return a scale-free weight of the graph at which memberships converge and labels still change: 1.5 times the
    critical point 2 (L - 1) / (L - 2) log(L - 1) / degree of a Potts model with L states (Wu 1982), below which all
    memberships become equal; 1 without edges.
    """
    degree = float(graph.sum(dtype=np.float64)) / graph.shape[0]
    if degree <= 0:
        return 1.0
    others = n_clusters - 1
    critical = 2.0 if n_clusters <= 2 else 2 * others / (others - 1) * np.log(others)
    return float(_ABOVE_CRITICAL * critical / degree)


def cut_weight(graph: sp.csr_array, labels: IntArray) -> float:
    """Return the weight of the edges between clusters, both directions counted: sum_pq K_pq ||z_p - z_q||^2 / 2."""
    sources = np.repeat(labels, np.diff(graph.indptr))
    return float(np.sum(graph.data[sources != labels[graph.indices]], dtype=np.float64))
