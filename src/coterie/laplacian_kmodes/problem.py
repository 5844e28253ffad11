"""Modes and memberships together: one start of Laplacian K-modes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, IntArray
from coterie.centers.pace import seconds_of_pass
from coterie.fitting.monitor import FitMonitor
from coterie.graphs import bridge_components
from coterie.laplacian_kmodes.criterion import cut_weight, in_main_directions
from coterie.laplacian_kmodes.memberships import GraphMemberships
from coterie.laplacian_kmodes.modes import Modes, ModeSearch
from coterie.rows import Block, as_rows

__all__ = ["HISTORY_FIELDS", "GraphModes", "Run", "Stopping"]

# What is known of an update of the modes, besides what is known of every iteration.
HISTORY_FIELDS = (("discrete", np.float64), ("n_updates", np.int64), ("n_modes_moved", np.int64))

# Multiply-adds up to which parts of the graph are joined: about half a second.
_BRIDGED_MULTIPLY_ADDS = 5e10

# Centres by which the pace of products is learnt, and passes over the rows that the end of a fit makes.
_TRIED_CENTERS, _PASSES_OF_END = 256, 4

# Updates of the modes around which memberships begin anew in a run that goes on: most have settled by then.
_FRESH_ROUNDS = 5

# Updates of the memberships for the same modes, at most.
_MOST_UPDATES = 3000


@dataclass(frozen=True)
class Run:
    """What one start ended with.

    Attributes
    ----------
    discrete, relaxation : float
        The objectives E of the labels and R of the memberships.
    """

    discrete: float
    relaxation: float
    labels: IntArray
    memberships: Array
    modes: Modes
    is_shifted: bool
    converged: bool
    history: Array

    @property
    def n_empty(self) -> int:
        """Clusters without rows."""
        return len(self.modes.points) - len(np.unique(self.labels))

    @property
    def rank(self) -> tuple[int, float]:
        """What makes a run better than another: fewer empty clusters, then a lower E."""
        return self.n_empty, self.discrete


@dataclass(frozen=True)
class Stopping:
    """When a run ends: updates of the modes at most, and relative changes of R, with and for the same modes."""

    max_iter: int
    tol: float
    membership_tol: float


class GraphModes:
    """The data of a Laplacian K-modes problem, and its loops.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Affinities of rows.
    search : ModeSearch
        Modes, and the affinities of rows to them.
    n_clusters : int
        Number of clusters L.
    shift : bool or "auto"
        See `GraphMemberships`.
    n_threads : int
        Threads of the kernels.
    """

    def __init__(
        self, graph: sp.csr_array, search: ModeSearch, n_clusters: int, *, shift: bool | str, n_threads: int
    ) -> None:
        self.graph, self.search, self.n_clusters = graph, search, n_clusters
        self._n_threads = n_threads
        self._memberships = GraphMemberships(graph, n_clusters, shift=shift, n_threads=n_threads)

    @cached_property
    def connected_graph(self) -> sp.csr_array:
        """The graph, its parts joined by the shortest edges that do: parts are accidents of few neighbours.

        The weight of these edges is s^2 / (s^2 + distance^2), relative to the mean weight, so that any length counts.
        Large graphs and those without rows stay as they are.
        """
        rows, bandwidth = self.search.rows, self.search.bandwidth
        if rows is None or bandwidth is None or not self._is_bridged:
            return self.graph
        usual = float(self.graph.data.mean(dtype=np.float64))
        return bridge_components(
            self.graph,
            rows,
            weights=lambda squares: usual * bandwidth**2 / (bandwidth**2 + squares),
            n_threads=self._n_threads,
        )

    @property
    def _is_bridged(self) -> bool:
        rows = self.search.rows
        if rows is None or self.search.bandwidth is None or self.graph.nnz == 0:
            return False
        return float(rows.shape[0]) ** 2 * rows.shape[1] <= _BRIDGED_MULTIPLY_ADDS

    def seconds_of_end(self) -> float:
        """Return about how long it takes to rank a run, and to measure its rows."""
        if self.search.rows is None:
            return 0.0
        rows = as_rows(self.search.rows)
        per_center = seconds_of_pass(rows, _TRIED_CENTERS, self._n_threads) / _TRIED_CENTERS
        return per_center * (_PASSES_OF_END * self.n_clusters + (rows.shape[0] if self._is_bridged else 0))

    @cached_property
    def main_rows(self) -> Block | None:
        """The rows in their main directions, in which clusterings are compared; None without rows."""
        rows = self.search.rows
        return None if rows is None else in_main_directions(rows, self.n_clusters)

    def run(
        self,
        modes: Modes,
        lam: float,
        stopping: Stopping,
        monitor: FitMonitor,
        *,
        clusters: IntArray | None = None,
        goes_on: bool = False,
    ) -> Run:
        """Memberships around the modes, modes of the memberships, until both stay.

        Memberships begin anew around each set of modes, as in the paper; where the run goes on for some rounds only,
        or never if they begin as `clusters`: then R settles.
        """
        monitor.start_run()
        memberships = self._memberships
        if clusters is not None:
            memberships.put(clusters)
        moved = list(range(self.n_clusters))
        relaxation, converged = np.inf, False
        for iteration in range(stopping.max_iter):
            self.search.write_affinities(modes, moved, memberships.affinities)
            before = relaxation
            fit = memberships.minimise(
                lam,
                tol=stopping.membership_tol,
                max_updates=_MOST_UPDATES,
                goes_on=clusters is not None or (goes_on and iteration >= _FRESH_ROUNDS),
                phase=monitor.step,
            )
            relaxation, labels = fit.relaxation, memberships.labels
            discrete = self._discrete_objective(memberships.affinities, labels, lam)
            former, modes = modes, self.search.update(modes, memberships)
            moved = modes.moved_since(former)
            stop = monitor.report(
                relaxation,
                modes.points,
                closeness=abs(before - relaxation) / max(stopping.tol * abs(relaxation), 1e-300),
                discrete=discrete,
                n_updates=fit.n_updates,
                n_modes_moved=len(moved),
            )
            converged = len(moved) == 0 or abs(before - relaxation) <= stopping.tol * abs(relaxation)
            if converged or stop:
                break
        # The modes that are returned are those of the memberships that are.
        Z = memberships.take()
        if moved:
            former_affinities = memberships.affinities[:, moved]
            self.search.write_affinities(modes, moved, memberships.affinities)
            changes = memberships.affinities[:, moved] - former_affinities
            relaxation -= float(np.einsum("ij,ij->", Z[:, moved], changes, dtype=np.float64))
        discrete = self._discrete_objective(memberships.affinities, labels, lam)
        return Run(discrete, relaxation, labels, Z, modes, fit.is_shifted, converged, monitor.history())

    def held(self, modes: Modes, labels: IntArray, lam: float, monitor: FitMonitor) -> Run:
        """Return the run that ends as it begins: with these labels, and their modes."""
        monitor.start_run()
        memberships = self._memberships
        memberships.put(labels)
        modes = self.search.settled(modes, memberships)
        self.search.write_affinities(modes, list(range(self.n_clusters)), memberships.affinities)
        discrete = self._discrete_objective(memberships.affinities, labels, lam)
        # Each row is sure: no entropy, and what is not cut holds together.
        relaxation = discrete - 0.5 * lam * float(self.graph.sum(dtype=np.float64))
        monitor.report(relaxation, modes.points, discrete=discrete, n_updates=0, n_modes_moved=0)
        return Run(discrete, relaxation, labels, memberships.take(), modes, False, False, monitor.history())

    def _discrete_objective(self, affinities: Array, labels: IntArray, lam: float) -> float:
        """Return E: minus the affinities to the own modes, and lambda / 2 times the weight of the cut edges."""
        own = float(np.sum(affinities[np.arange(len(labels)), labels], dtype=np.float64))
        return 0.5 * lam * cut_weight(self.graph, labels) - own
