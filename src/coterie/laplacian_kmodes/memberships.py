"""Memberships of rows in clusters that follow a graph: the concave-convex step of Laplacian K-modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IntArray, padded_rows
from coterie.fitting.deadline import UNLIMITED, Deadline

# Smaller changes of a membership are not made, and rows whose neighbors have not changed are skipped. The relaxed
# objective does not rise for any choice of rows to update.
_SMALLEST_CHANGE = 1e-6


@dataclass(frozen=True)
class MembershipFit:
    """Result of `GraphMemberships.minimize`."""

    relaxation: float  # the relaxed objective R
    n_updates: int  # updates of all memberships
    relaxations: FloatArray  # R before each update; with a shift, from then on
    is_shifted: bool  # whether R is that of the shifted graph


class GraphMemberships:
    """Memberships z (n, L) that minimize R(Z) = sum z log z - sum z_pl a_pl - graph_weight / 2 sum_pq K_pq z_p . z_q
    for affinities a (n, L) to the modes. The diagonal shift makes K positive semi-definite and changes no discrete
    minimum; "auto" adds it only where R would rise.
    """

    def __init__(
        self, graph: sp.csr_array, n_clusters: int, *, diagonal_shift: bool | str, n_threads: int
    ) -> None:
        self._n_clusters, self._shift, self._n_threads = n_clusters, diagonal_shift, n_threads
        n_rows, dtype = graph.shape[0], graph.dtype
        self._graph, self._kernel_graphs = graph, dict[bool, Any]()
        self._affinities = padded_rows(n_rows, n_clusters, dtype)
        # The last memberships, the previous ones, and a buffer for the next.
        self._current, self._former, self._next = (padded_rows(n_rows, n_clusters, dtype) for _ in range(3))
        self._labels: IntArray | None = None
        self._moved, self._next_moved = (np.ones(n_rows, dtype=np.uint8) for _ in range(2))
        self.rests = np.empty(n_rows, dtype=dtype)
        self._attractions, self._own_terms = np.empty(n_rows), np.empty(n_rows)
        self._sums = np.empty((-(-n_rows // _kernels.ROW_QUANTUM), 2))

    def _kernel_graph(self, shifted: bool) -> Any:
        """Return the graph as the kernels take it, with or without the shift."""
        if shifted not in self._kernel_graphs:
            graph = self._graph
            if shifted and (graph != graph.T).nnz:
                graph = sp.csr_array((graph + graph.T) * graph.dtype.type(0.5))
                graph.sort_indices()
            degrees = np.asarray(graph.sum(axis=1), dtype=graph.dtype).ravel()
            self._kernel_graphs[shifted] = _kernels.weighted_graph(
                graph.indptr.astype(np.int64),
                graph.indices.astype(np.int32),
                None if np.all(graph.data == 1) else graph.data,
                degrees if shifted else np.zeros_like(degrees),
            )
        return self._kernel_graphs[shifted]

    @property
    def affinities(self) -> Array:
        """The affinities to the modes; written by the caller."""
        return self._affinities[:, : self._n_clusters]

    @property
    def memberships(self) -> Array:
        """The memberships."""
        return self._current[:, : self._n_clusters]

    @property
    def labels(self) -> IntArray:
        """The cluster with the largest membership of each row."""
        if self._labels is None:
            self._labels = self.memberships.argmax(axis=1).astype(np.int32)
        return self._labels

    def take(self) -> Array:
        """Return the memberships without a copy; the next ones get another array."""
        taken = self.memberships
        self._current = padded_rows(len(taken), self._n_clusters, taken.dtype)
        return taken

    def put(self, labels: IntArray) -> None:
        """Set one-hot memberships."""
        self._labels = None
        self._current[:] = 0
        self._current[np.arange(len(labels)), labels] = 1

    def minimize(
        self,
        graph_weight: float,
        *,
        tol: float,
        max_updates: int,
        continues: bool = False,
        deadline: Deadline = UNLIMITED,
    ) -> MembershipFit:
        """Start with the softmax of the affinities, or go on, until the relative change of R is less than `tol`."""
        self._labels = None
        own = self._continue() if continues else self._start()
        shifted, n_updates = self._shift is True, 0
        relaxations: list[float] = []
        while True:
            n_moved = self._update(shifted, graph_weight, _SMALLEST_CHANGE)
            relaxations.append(own - 0.5 * graph_weight * float(self._sums[:, 0].sum()))
            n_updates += 1
            fall = relaxations[-2] - relaxations[-1] if len(relaxations) > 1 else np.inf
            least = tol * abs(relaxations[-1])
            is_last = n_updates == max_updates or deadline.is_over
            if fall < 0:
                # The previous memberships were better.
                self._current, self._former = self._former, self._current
                relaxations.pop()
                if fall >= -least or shifted or self._shift != "auto" or is_last:
                    break
                # Not at a minimum: the shift ends a cycle, and changes R.
                shifted, relaxations = True, []
                self._moved[:] = 1
                own = self._renew_own_terms()
            elif fall <= least or n_moved == 0 or is_last:
                break
            else:
                own = self._advance()
        return MembershipFit(relaxations[-1], n_updates, np.array(relaxations), shifted)

    def _start(self) -> float:
        """Set the memberships to the softmax of the affinities; return the sum of their separable terms of R."""
        self._moved[:] = 1
        # Without the graph the result does not depend on earlier memberships.
        self._update(False, 0.0, -1.0)
        return self._advance()

    def _continue(self) -> float:
        self._moved[:] = 1
        return self._renew_own_terms()

    def _renew_own_terms(self) -> float:
        memberships = self.memberships.astype(np.float64)
        logarithms = xlogy(memberships, memberships).sum(axis=1)
        self._own_terms[:] = logarithms - np.einsum("ij,ij->i", memberships, self.affinities)
        return float(self._own_terms.sum())

    def _update(self, shifted: bool, graph_weight: float, smallest_change: float) -> int:
        return _kernels.update_memberships(
            self._kernel_graph(shifted), self._affinities, self._n_clusters, graph_weight, smallest_change,
            self._current, self._next, self._moved, self._next_moved, self.rests, self._attractions, self._own_terms,
            self._sums, self._n_threads,
        )  # fmt: skip

    def _advance(self) -> float:
        """Accept the memberships of the last update; return the sum of their separable terms of R."""
        self._former, self._current, self._next = self._current, self._next, self._former
        self._moved, self._next_moved = self._next_moved, self._moved
        return float(self._sums[:, 1].sum())
