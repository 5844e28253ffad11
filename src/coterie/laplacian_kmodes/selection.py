"""Which of the runs of a fit is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from coterie.laplacian_kmodes.criterion import demerit, normalized_cut
from coterie.laplacian_kmodes.problem import GraphModes, Run

__all__ = ["AlikeByCut", "FirstByRank", "Selection", "careful_rank"]

# A demerit that is higher by less is made up for by a cut of at most this part. See docs/decisions/laplacian_kmodes.md.
_ALIKE, _LESS_CUT = 0.1, 0.75


class Selection(Protocol):
    """The runs that may be the one to keep."""

    def add(self, run: Run) -> None:
        """Take in a run."""

    @property
    def best(self) -> Run:
        """The run to keep; there must have been one."""


class FirstByRank:
    """Keeps the run whose rank is the lowest, of equal ones the first.

    Parameters
    ----------
    rank : callable
        Returns what sorts better runs before others.
    """

    def __init__(self, rank: Callable[[Run], Any]) -> None:
        self._rank = rank
        self._best: tuple[Any, Run] | None = None

    def add(self, run: Run) -> None:
        """See `Selection`."""
        rank = self._rank(run)
        if self._best is None or rank < self._best[0]:
            self._best = rank, run

    @property
    def best(self) -> Run:
        """See `Selection`."""
        assert self._best is not None
        return self._best[1]


@dataclass(frozen=True)
class _Judged:
    run: Run
    rank: tuple[int, float, float]
    cut: float

    def is_needless_beside(self, other: _Judged) -> bool:
        """Tell whether the other one is kept whatever else comes."""
        return other.rank <= self.rank and (other.cut <= self.cut or not other.is_like(self))

    def is_like(self, other: _Judged) -> bool:
        """Tell whether the other one has as many empty clusters and a demerit that is not clearly higher."""
        return self.rank[0] == other.rank[0] and other.rank[1] <= self.rank[1] + _ALIKE


class AlikeByCut:
    """Keeps the run that comes first by `careful_rank`, or one that is like it and cuts clearly less, the least of all.

    Parameters
    ----------
    problem : GraphModes
        Whose runs they are.
    """

    def __init__(self, problem: GraphModes) -> None:
        self._problem = problem
        self._judged: list[_Judged] = []

    def add(self, run: Run) -> None:
        """See `Selection`; memberships are large, so runs that cannot come first any more are not kept."""
        problem = self._problem
        cut = normalized_cut(problem.connected_graph, run.labels, problem.n_clusters)
        new = _Judged(run, careful_rank(problem, run), cut)
        if not any(new.is_needless_beside(other) for other in self._judged):
            self._judged = [*(one for one in self._judged if not one.is_needless_beside(new)), new]

    @property
    def best(self) -> Run:
        """See `Selection`."""
        first = min(self._judged, key=lambda judged: judged.rank)
        least = min(self._judged, key=lambda judged: (judged.cut, judged.rank))
        is_less = first.is_like(least) and least.cut < _LESS_CUT * first.cut
        return (least if is_less else first).run


def careful_rank(problem: GraphModes, run: Run) -> tuple[int, float, float]:
    """Return what makes a run better than another: fewer empty clusters, then a lower `demerit`, then a lower E."""
    return (
        run.n_empty,
        demerit(problem.connected_graph, problem.main_rows, run.labels, problem.n_clusters),
        run.discrete,
    )
