"""Runs of total variation clustering: descents of the relaxed energy, each from its own start."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from coterie.arrays import Array, IndexArray, IntArray
from coterie.fitting.deadline import UNHURRIED, Deadline, Phase
from coterie.fitting.monitor import FitMonitor
from coterie.total_variation.descent import TotalVariationDescent
from coterie.total_variation.graph import CutGraph
from coterie.total_variation.moves import VertexMoves
from coterie.total_variation.problem import CutProblem
from coterie.total_variation.rounding import labels_within, matched_numbers, numbers_by_labels
from coterie.total_variation.selection import RunSelection
from coterie.total_variation.steps import STEPS

__all__ = ["HISTORY_FIELDS", "CutRuns", "Effort", "Run", "Unwatched"]


# What is known of an outer step, besides what is known of every iteration.
HISTORY_FIELDS = (("n_inner", np.int64), ("descended", np.bool_), ("cut", np.float64))

# A run ends after so many times the iterations that found its clusters, and no fewer than these.
_PATIENCE, _FEWEST_INNER = 2, 300

# It also ends, after no fewer iterations than these, when their second half has lowered the relaxed energy by less than
# so many times `tol`, and the cut that vertices have moved to by less than so many. Two outer steps or more: energies
# fall late in a long one.
_FEWEST_STILL, _STILL_RELAXED, _STILL_CUT, _STILL_STEPS = 100, 200, 10, 2


@dataclass(frozen=True)
class _Ending:
    """When a run ends, and with what."""

    # Outer steps that change little, one after the other, until a run has converged: a single one may be short.
    still_steps: int
    # Whether it ends with the best of its roundings, also when no better one has been found for long.
    with_best: bool


_ENDINGS = {
    "preconditioned": _Ending(still_steps=2, with_best=True),
    "paper": _Ending(still_steps=1, with_best=False),
}


@dataclass(frozen=True)
class _Rounding:
    """Clusters that memberships round to."""

    labels: IntArray
    cut: float  # (P)
    cut_before: float  # (P) before vertices have moved


class _Patience:
    """Says when going on gains too little, by what each outer step has come to.

    Parameters
    ----------
    tol : float
        Part of a cut that is a gain.
    relaxed : float
        The relaxed energy at the start.
    rounding : _Rounding
        What the start rounds to.
    """

    def __init__(self, tol: float, relaxed: float, rounding: _Rounding) -> None:
        self._tol, self._rounded, self._n_best = tol, rounding.cut_before, 0
        self._inner, self._relaxed, self._cuts = [0], [relaxed], [rounding.cut]

    def add(self, n_inner: int, relaxed: float, rounding: _Rounding) -> None:
        """Take in an outer step that ended after so many inner iterations of the run."""
        if rounding.cut_before < (1 - self._tol) * self._rounded:
            self._n_best = n_inner
        self._rounded = min(self._rounded, rounding.cut_before)
        self._inner.append(n_inner)
        self._relaxed.append(relaxed)
        self._cuts.append(min(self._cuts[-1], rounding.cut))

    @property
    def is_out(self) -> bool:
        """Whether the run should end. One outer step tells nothing, however long it is."""
        if len(self._inner) <= 2:
            return False
        n_inner, first = self._inner[-1], self._inner[1]
        if n_inner >= max(_PATIENCE * max(self._n_best, first), _FEWEST_INNER):
            return True
        half = bisect_right(self._inner, n_inner // 2) - 1
        if n_inner < _FEWEST_STILL or half < 1 or len(self._inner) - 1 - half < _STILL_STEPS:
            return False
        has_fallen = self._relaxed[-1] < (1 - _STILL_RELAXED * self._tol) * self._relaxed[half]
        return not has_fallen and not self._cuts[-1] < (1 - _STILL_CUT * self._tol) * self._cuts[half]


@dataclass(frozen=True)
class Effort:
    """How many runs there are, when each ends and which is kept; see `TotalVariationClustering`."""

    n_runs: int
    max_iter: int
    n_swaps: int = 0
    eps: float = 1e-3
    tol: float = 1e-4
    steps: str = "preconditioned"
    select_by: str = "energy"


@dataclass(frozen=True)
class Run:
    """What one start ended with.

    Attributes
    ----------
    energy : float
        (P) of the labels.
    relaxed_energy : float
        Of the memberships.
    labels : ndarray of shape (n,), int32
        Column of the largest membership of each row.
    memberships : ndarray of shape (n, R)
        Rows in the simplex.
    converged : bool
        Whether there was nothing left to gain.
    n_inner : int
        Inner iterations.
    history : record array, or None
        The outer steps.
    """

    energy: float
    relaxed_energy: float
    labels: IntArray
    memberships: Array
    converged: bool = True
    n_inner: int = 0
    history: Array | None = None

    @property
    def rank(self) -> tuple[float, float]:
        """What makes a run better than another: a smaller cut, then a lower relaxed energy."""
        return self.energy, self.relaxed_energy


class Unwatched:
    """Stands in for a `FitMonitor` where a search is only a step of another one.

    Parameters
    ----------
    phase : Phase
        Says when it is too late to go on.

    Attributes
    ----------
    step : Phase
        The same.
    """

    def __init__(self, phase: Phase = UNHURRIED) -> None:
        self.step = phase

    @property
    def stopped_by(self) -> str | None:
        """What has ended the iterations."""
        return "max_time" if self.step.is_late else None

    @contextmanager
    def phase(self, name: str, deadline: Deadline | None = None) -> Iterator[Phase]:
        """Give a part its time; nobody is told of it."""
        yield deadline or self.step.deadline

    def start_run(self) -> None:
        """Begin the next run."""

    def report(self, objective: float, centers: Any, **extra: Any) -> bool:
        """Return whether it is too late to go on."""
        return self.step.is_late

    def history(self) -> None:
        """Return that nothing was kept."""


class CutRuns:
    """Runs on one problem, in the order that its kernels like, and the best of them in the order of the data.

    Parameters
    ----------
    problem : CutProblem
        What is to be cut.
    order : ndarray of shape (n,), or None
        A local order of the vertices; see `CutGraph`.
    effort : Effort
        When a run ends.
    monitor : FitMonitor or Unwatched
        Is told of every outer step; says when to stop.

    Attributes
    ----------
    energies : list of float
        (P) of each run.
    """

    def __init__(
        self,
        problem: CutProblem,
        order: IndexArray | None,
        effort: Effort,
        monitor: FitMonitor | Unwatched,
    ) -> None:
        # The paper takes weights as they are.
        self._graph = CutGraph(problem.graph, order, unit=1.0 if effort.steps == "paper" else None)
        self._weights = None if problem.weights is None else self._graph.arranged(problem.weights)
        self._descent = TotalVariationDescent(
            self._graph,
            problem.n_clusters,
            asymmetry=problem.asymmetries,
            weights=self._weights,
            steps=STEPS[effort.steps](self._graph),
            n_threads=problem.n_threads,
        )
        self._problem, self._known = problem, self._graph.arranged(problem.known)
        self._effort, self._monitor = effort, monitor
        self._selection = RunSelection(
            effort.select_by, self._graph.edges, problem.n_clusters, problem.asymmetries, self._weights
        )
        self.energies: list[float] = []

    @property
    def best(self) -> Run:
        """The best run, in the order of the data; there must have been one."""
        best = self._selection.best
        restored = self._graph.restored
        return replace(best, labels=restored(best.labels), memberships=restored(best.memberships))

    def run(self, memberships: Array) -> None:
        """Run from this start, and keep what it ends with if it is the best; pass it over if a column is constant.

        Parameters
        ----------
        memberships : ndarray of shape (n, R)
            Rows in the simplex, in the order of the data.
        """
        fixed = self._known >= 0
        start = self._graph.arranged(memberships)
        start[fixed] = np.eye(start.shape[1])[self._known[fixed]]
        energy = self._descent.start(start, fixed)
        if np.isfinite(energy):
            run = self._agreeing(self._named(self._matched(self._descend(energy))))
            self._selection.add(run)
            self.energies.append(run.energy)

    def _matched(self, run: Run) -> Run:
        """Return a run whose clusters have the priors that suit them; where that lowers (P) it goes on from there."""
        if not self._problem.is_matched:
            return run
        numbers = matched_numbers(self._graph.edges, run.labels, self._problem.asymmetries, self._weights)
        labels = self._settled(numbers[run.labels].astype(np.int32))
        memberships, cut = run.memberships[:, np.argsort(numbers)], self._descent.cut(labels)
        energy = self._descent.start(memberships) if cut <= run.energy else np.inf
        if not np.isfinite(energy):
            return run
        matched = replace(run, energy=cut, relaxed_energy=energy, labels=labels, memberships=memberships)
        if cut >= (1 - self._effort.tol) * run.energy:
            return matched
        return min(matched, self._descend(energy), key=lambda run: run.rank)

    def _named(self, run: Run) -> Run:
        """Return a run whose clusters have the classes of the labelled vertices next to them, if that lowers (P).

        A start is near to each label, not to its cluster: two clusters can end with each other's labels in them.
        """
        known, is_paper = self._known, not _ENDINGS[self._effort.steps].with_best
        fixed = known >= 0
        if is_paper or self._problem.bounds is not None or not fixed.any():
            return run
        numbers = numbers_by_labels(self._graph.edges, run.labels, known, self._problem.n_clusters)
        labels = self._settled(np.where(fixed, known, numbers[run.labels]).astype(np.int32))
        cut = self._descent.cut(labels)
        if cut >= run.energy:
            return run
        memberships = run.memberships[:, np.argsort(numbers)]
        memberships[fixed] = np.eye(memberships.shape[1])[known[fixed]]
        energy = self._descent.start(memberships, fixed)
        return replace(run, energy=cut, relaxed_energy=energy, labels=labels, memberships=memberships)

    def _agreeing(self, run: Run) -> Run:
        """Return a run whose vertices that have moved have memberships of their new clusters alone."""
        moved = run.memberships.argmax(axis=1) != run.labels
        if not self._moves_vertices or not moved.any() or not np.isfinite(run.energy):
            return run
        memberships = run.memberships.copy()
        memberships[moved] = np.eye(memberships.shape[1])[run.labels[moved]]
        energy = self._descent.start(memberships, self._known >= 0)
        return replace(run, relaxed_energy=energy, memberships=memberships)

    @property
    def _moves_vertices(self) -> bool:
        """Whether vertices move after rounding: not in the paper, nor where clusters have bounds of their sizes."""
        return _ENDINGS[self._effort.steps].with_best and self._problem.bounds is None

    def _rounded(self) -> _Rounding:
        """Return the clusters that memberships round to, moved on or within the bounds of their sizes."""
        labels, cut = self._descent.rounded()
        if self._problem.bounds is None:
            settled = self._settled(labels)
            return _Rounding(settled, self._descent.cut(settled), cut)
        labels = labels_within(
            self._graph.adjacency, self._descent.memberships, labels, self._problem.bounds, self._known >= 0,
            self._problem.n_threads,
        )  # fmt: skip
        cut = self._descent.cut(labels)
        return _Rounding(labels, cut, cut)

    def _settled(self, labels: IntArray) -> IntArray:
        """Return clusters after moves of single vertices, where there are any."""
        return self._moves.settled(labels) if self._moves_vertices else labels

    @cached_property
    def _moves(self) -> VertexMoves:
        """Moves of vertices whose class is not known."""
        return VertexMoves(self._graph, self._problem.asymmetries, self._weights, self._known >= 0)

    def _descend(self, energy: float) -> Run:
        """Descend from where the descent has been started, as long as better clusters are found.

        What counts is the cut that memberships round to. Their relaxed energy falls on where two columns share two
        clusters, and rounding is the worse for it; so a run ends with the best of all its roundings. With the steps of
        the paper it ends with the last one, when the energy changes little.
        """
        descent, monitor, effort = self._descent, self._monitor, self._effort
        ending = _ENDINGS[effort.steps]
        monitor.start_run()
        rounding = self._rounded()
        best = Run(rounding.cut, energy, rounding.labels, descent.memberships)
        patience = _Patience(effort.tol, energy, rounding)
        n_inner, n_still, converged = 0, 0, False
        while n_inner < effort.max_iter and not converged:
            before = energy
            result = descent.outer_step(effort.eps, effort.max_iter - n_inner, monitor.step)
            n_inner += result.n_inner
            if not result.is_valid:
                break
            energy = result.energy
            if energy > before and ending.with_best:
                # There are no iterations left, for otherwise they had gone on.
                descent.undo()
                energy = before
            rounding = self._rounded()
            patience.add(n_inner, energy, rounding)
            # The last of equal ones: memberships become sharper.
            if rounding.cut <= best.energy or not ending.with_best:
                best = Run(rounding.cut, energy, rounding.labels, descent.memberships)
            stop = monitor.report(
                energy,
                lambda: self._graph.restored(descent.memberships),
                n_inner=result.n_inner,
                descended=result.descended,
                # Equal rows can leave a cluster empty for some steps: the best cut stands in for one that there is not.
                cut=rounding.cut if np.isfinite(rounding.cut) else best.energy,
            )
            n_still = n_still + 1 if abs(before - energy) <= effort.tol * abs(before) else 0
            converged = n_still == ending.still_steps or (ending.with_best and patience.is_out)
            if stop:
                break
        return replace(best, converged=converged, n_inner=n_inner, history=monitor.history())
