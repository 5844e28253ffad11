"""Which of several runs is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from coterie.arrays import FloatArray
from coterie.graphs.cuts import cut_of_edges
from coterie.graphs.edges import Edges, shared_neighbors

if TYPE_CHECKING:
    from coterie.total_variation.runs import Run

__all__ = ["CRITERIA", "RunSelection"]

CRITERIA = ("shared-neighbors", "energy")

# By how much of (P) a run may be above the lowest, and by how much both cuts together must be lower: on tables of 33
# kinds, runs that were less pure gained at most 3%, those that were much purer 9%.
_CLEARLY = 0.05


@dataclass(frozen=True)
class _Candidate:
    run: Run
    both: float  # its (P) times that on the graph weighted by shared neighbours


class RunSelection:
    """The runs that may be the one to keep.

    That is the run of the lowest (P), unless another one's clusters are clearly better where each edge counts for the
    part of their neighbours that its ends share: by more than 5% of both (P) together, at a (P) at most 5% higher.
    Edges between clusters that touch share few neighbours, edges that run through the middle of one share many.

    Parameters
    ----------
    select_by : str
        One of `CRITERIA`; "energy": the lowest (P).
    edges : Edges
        The graph, in the order of the runs' labels.
    n_clusters : int
        R.
    asymmetries : ndarray of shape (R,), float64
        lambda of each cluster.
    weights : ndarray of shape (n,), float64, or None
        What vertices count in the sizes of clusters.
    """

    def __init__(
        self,
        select_by: str,
        edges: Edges,
        n_clusters: int,
        asymmetries: FloatArray,
        weights: FloatArray | None,
    ) -> None:
        self._counts_shared = select_by == "shared-neighbors"
        self._edges, self._n_clusters = edges, n_clusters
        self._asymmetries, self._weights = asymmetries, weights
        self._shared: Edges | None = None
        self._lowest: Run | None = None
        self._candidates: list[_Candidate] = []

    def add(self, run: Run) -> None:
        """Take in a run."""
        if self._lowest is None:
            self._lowest = run
            return
        first, self._lowest = self._lowest, min(self._lowest, run, key=lambda run: run.rank)
        if not self._counts_shared:
            return
        if not self._candidates:
            self._candidates = [self._candidate(first)]
        most = (1 + _CLEARLY) * self._lowest.energy
        if run.energy <= most:
            self._candidates.append(self._candidate(run))
        # What another one beats by both need not be kept: memberships are large.
        self._candidates = [
            one
            for one in self._candidates
            if one.run.energy <= most and not any(_is_beaten(one, other) for other in self._candidates)
        ]

    @property
    def best(self) -> Run:
        """The run to keep; there must have been one."""
        assert self._lowest is not None
        if not self._candidates:
            return self._lowest
        lowest = min(self._candidates, key=lambda one: one.run.rank)
        other = min(self._candidates, key=lambda one: (one.both, one.run.rank))
        return other.run if other.both < (1 - _CLEARLY) * lowest.both else lowest.run

    def _candidate(self, run: Run) -> _Candidate:
        if self._shared is None:
            weights = self._edges.weights * shared_neighbors(self._edges)
            self._shared = replace(self._edges, weights=weights)
        cut = cut_of_edges(self._shared, run.labels, self._n_clusters, self._asymmetries, self._weights)
        return _Candidate(run, run.energy * cut)


def _is_beaten(one: _Candidate, other: _Candidate) -> bool:
    return other.both <= one.both and other.run.rank < one.run.rank
