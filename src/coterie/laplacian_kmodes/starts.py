"""Starts of Laplacian K-modes that hold on any data, and the weight of the graph that goes with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from coterie.arrays import IndexArray, IntArray
from coterie.fitting.deadline import UNHURRIED, Deadline, OutOfTime, Phase
from coterie.fitting.monitor import FitMonitor
from coterie.graphs.hurried import SomeRows
from coterie.graphs.spectral import spectral_vectors
from coterie.kmeans.within import k_means_within
from coterie.laplacian_kmodes.criterion import demerits_in_doubt, normalized_cut, spreads
from coterie.laplacian_kmodes.linkage import linked_clusters
from coterie.laplacian_kmodes.modes import Modes
from coterie.laplacian_kmodes.problem import GraphModes, Run, Stopping
from coterie.laplacian_kmodes.selection import Selection, careful_rank
from coterie.rows import Block
from coterie.seeding import k_means_plus_plus

__all__ = [
    "MOST_RUNS",
    "Fitted",
    "Rank",
    "Start",
    "automatic_lambda",
    "given_rows",
    "automatic_starts",
    "best_run",
    "careful_run",
    "check_lambda",
    "clearly_better_run",
]

# How far above the least lambda at which memberships settle: below 1.2 clusters die, above 2 little moves.
_ABOVE_CRITICAL = 1.5

# Runs that try to keep all clusters of one start alive, after the first; with the start as it is, the runs of a start.
_MOST_SPLITS = 3
MOST_RUNS = _MOST_SPLITS + 2

# A run replaces k-means only where its demerits in doubt are lower by so much: runs lower the cut, which k-means never
# saw, so theirs is lower where they are no better.
_CLEARLY = 0.2

# Part of the time left that a start may take where time is short.
_START_SHARE = 1 / 3

# The eigenvectors of a graph take some n L^2 operations for each restart: seconds, up to here.
_SPECTRAL_OPERATIONS = 50_000_000


# Joining so many rows one by one takes half a second. The shortest edges say little where clusters touch: of the edges
# of a cluster this share may leave it.
_LINKED_ROWS, _MOST_CUT = 20_000, 0.02


@dataclass(frozen=True)
class Start:
    """Where a run begins.

    Attributes
    ----------
    modes : Modes
        Its first modes.
    labels : ndarray of shape (n,), int32, or None
        The clusters that it comes from.
    follows_labels : bool
        Whether memberships begin as these clusters, not around the modes.
    settles : bool
        Whether memberships go on after some rounds, see `GraphModes.run`.
    """

    modes: Modes
    labels: IntArray | None = None
    follows_labels: bool = False
    settles: bool = True


class Rank(Protocol):
    """What makes one run better than another, by known classes of some rows.

    Attributes
    ----------
    known : ndarray of shape (r,)
        Which rows these are.
    """

    known: IndexArray

    def __call__(self, problem: GraphModes, run: Run) -> Any:
        """Return what sorts better runs before others."""

    def among(self, rows: IndexArray) -> Rank:
        """Return the same of a problem that has these rows only."""


@dataclass(frozen=True)
class Fitted:
    """With what another lambda can begin: the problem, the modes of the best start and of all, and the rows.

    Some of the rows are those of the problem, where there was no time for all.
    """

    problem: GraphModes
    best: Modes
    ends: list[Modes]
    rows: Block
    some: SomeRows | None = None


def given_rows(init: Any, n_clusters: int, n_rows: int) -> IndexArray:
    """Return the numbers of the rows that a fit to affinities is told to begin with."""
    indices = np.asarray(init)
    if indices.shape != (n_clusters,) or not np.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"init must be 'random' or {n_clusters} row numbers, got {init!r}.")
    if indices.min() < 0 or indices.max() >= n_rows or len(set(indices.tolist())) < len(indices):
        raise ValueError("init must hold distinct row numbers of X.")
    return indices


def check_lambda(lam: Any) -> None:
    """Raise a ValueError for what is no weight of a graph."""
    if lam != "auto" and (isinstance(lam, str) or not 0 <= lam < np.inf):
        raise ValueError(f"lam must be 'auto' or a number that is not negative, got {lam!r}.")


def automatic_lambda(graph: sp.csr_array, n_clusters: int) -> float:
    """Return the weight of a graph at which memberships settle and still move, whatever the unit of its weights.

    Where all affinities are the same, the updates z_p = softmax(lambda sum_q K_pq z_q) are those of the mean field of a
    Potts model with L states. Below lambda times degree = 2 (L - 1) / (L - 2) log(L - 1) they end at memberships that
    are all the same (Wu, The Potts model, 1982, section I.C); we take 1.5 times that.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Affinities of rows.
    n_clusters : int
        Number of clusters L.

    Returns
    -------
    float
        1 for a graph without edges.
    """
    degree = float(graph.sum(dtype=np.float64)) / graph.shape[0]
    if degree <= 0:
        return 1.0
    others = n_clusters - 1
    critical = 2.0 if n_clusters <= 2 else 2 * others / (others - 1) * np.log(others)
    return float(_ABOVE_CRITICAL * critical / degree)


def automatic_starts(
    problem: GraphModes, random: np.random.RandomState, n_threads: int, monitor: FitMonitor, n_starts: int
) -> Iterator[Start]:
    """Yield k-means, the graph's eigenvectors and linkage where they take seconds only, k-means++ and k-means by turns.

    The first is the best of as many fits of k-means as there are starts, that which users compare with, and so does
    `clearly_better_run`. Fits of k-means are much alike, where what they find are not the clusters. Rows that only a
    matrix tells of have neither: numbers of rows are drawn. Each may take a third of the time that is left.
    """

    def deadline() -> Deadline:
        return monitor.step.deadline.share(_START_SHARE)

    with monitor.phase("seeding", deadline()) as phase:
        first = _drawn_start(problem, random, n_threads, phase, n_init=n_starts)
    yield first
    spectral: list[Start] = []
    if problem.graph.shape[0] * problem.n_clusters**2 <= _SPECTRAL_OPERATIONS:
        with monitor.phase("eigenvectors", deadline()) as phase, suppress(OutOfTime):
            labels = _spectral_labels(problem, random, n_threads, phase)
            start = Start(problem.search.modes_of(labels, problem.n_clusters, random), labels, True)
            spectral.append(start)
        yield from spectral
    if problem.main_rows is not None and problem.graph.shape[0] <= _LINKED_ROWS:
        graph, n_clusters = problem.connected_graph, problem.n_clusters
        linked = linked_clusters(graph, problem.search.rows, n_clusters)
        if linked is not None and normalized_cut(graph, linked, n_clusters) <= _MOST_CUT * n_clusters:
            yield Start(problem.search.modes_of(linked, n_clusters, random), linked, True)
    while True:
        yield _drawn_start(problem, random, n_threads, deadline(), only_seeds=True)
        yield _drawn_start(problem, random, n_threads, deadline())


def careful_run(
    problem: GraphModes,
    start: Start,
    lam: float,
    stopping: Stopping,
    monitor: FitMonitor,
    random: np.random.RandomState,
) -> Run:
    """Run from a start; clusters that empty get half of another one, and the end is no worse than the start.

    What is better says `careful_rank`.
    """

    def rank(run: Run) -> tuple[int, float, float]:
        return careful_rank(problem, run)

    labels = start.labels if start.follows_labels else None
    best = problem.run(start.modes, lam, stopping, monitor, clusters=labels, goes_on=start.settles)
    last, rows = best, problem.search.rows
    for _ in range(_MOST_SPLITS if rows is not None else 0):
        if last.n_empty == 0 or monitor.stopped_by is not None:
            break
        labels = _with_clusters_split(problem, last, random)
        modes = problem.search.modes_of(labels, problem.n_clusters, random)
        last = problem.run(modes, lam, stopping, monitor, clusters=labels, goes_on=True)
        best = min(best, last, key=rank)
    if start.labels is None or monitor.stopped_by is not None:
        return best
    return min(best, problem.held(start.modes, start.labels, lam, monitor), key=rank)


def best_run(
    starts: Iterable[Start], run_of: Callable[[Start], Run], selection: Selection, monitor: FitMonitor
) -> tuple[Run, list[Modes]]:
    """Return the run that is selected, and the modes with which each ended."""
    ends = []
    for start in starts:
        run = run_of(start)
        selection.add(run)
        ends.append(run.modes)
        if monitor.stopped_by is not None:
            break
    return selection.best, ends


def clearly_better_run(problem: GraphModes, run: Run, first: Start, lam: float, monitor: FitMonitor) -> Run:
    """Return the run, or the k-means of the first start as it is where the run is not clearly better.

    Where there is no k-means, or no time left, the run is returned.
    """
    if first.labels is None or problem.main_rows is None or monitor.stopped_by is not None:
        return run

    if _is_clearly_better(problem, run.labels, first.labels) or np.array_equal(run.labels, first.labels):
        return run
    return problem.held(first.modes, first.labels, lam, monitor)


def _is_clearly_better(problem: GraphModes, labels: IntArray, than: IntArray) -> bool:
    """Tell whether fewer clusters are empty, or as many and both demerits are lower."""
    n_found, n_before = len(np.unique(labels)), len(np.unique(than))
    if n_found != n_before:
        return n_found > n_before
    assert problem.main_rows is not None
    ours, theirs = (
        demerits_in_doubt(problem.connected_graph, problem.main_rows, some, problem.n_clusters)
        for some in (labels, than)
    )
    return bool(np.all(ours < theirs - _CLEARLY))


def _drawn_start(
    problem: GraphModes,
    random: np.random.RandomState,
    n_threads: int,
    phase: Phase,
    only_seeds: bool = False,
    n_init: int = 1,
) -> Start:
    rows = problem.search.rows
    if rows is None:
        n_rows = problem.graph.shape[0]
        return Start(problem.search.start(random.choice(n_rows, problem.n_clusters, replace=False), random))
    if only_seeds and not phase.deadline.is_set:
        seeds = k_means_plus_plus(rows, problem.n_clusters, random_state=random, n_threads=n_threads)[0]
        return Start(problem.search.start(seeds, random))
    means = k_means_within(
        phase.deadline,
        rows,
        problem.n_clusters,
        n_init=n_init,
        random_state=random,
        n_threads=n_threads,
    )
    return Start(problem.search.start(means.cluster_centers_, random), means.labels_)


def _spectral_labels(
    problem: GraphModes, random: np.random.RandomState, n_threads: int, phase: Phase
) -> IntArray:
    """Return the clusters of the relaxed normalised cut: k-means of the first eigenvectors' rows."""
    both = sp.csr_array((problem.connected_graph + problem.connected_graph.T) * 0.5)
    directions = spectral_vectors(both, problem.n_clusters, _seed(random), phase).directions()
    means = k_means_within(
        phase.deadline,
        directions,
        problem.n_clusters,
        n_init=10,
        random_state=_seed(random),
        n_threads=n_threads,
    )
    return means.labels_


def _with_clusters_split(problem: GraphModes, run: Run, random: np.random.RandomState) -> IntArray:
    """Return the labels with an own cluster for each empty one: half of the cluster that spreads most, by 2-means."""
    rows, labels = problem.search.rows, run.labels.copy()
    for empty in np.setdiff1d(np.arange(problem.n_clusters), labels):
        members = np.flatnonzero(labels == spreads(rows, labels, problem.n_clusters).argmax())
        if len(members) < 2:
            break
        halves = k_means_within(
            UNHURRIED.deadline, rows[members], 2, random_state=_seed(random), n_threads=1
        ).labels_
        labels[members[halves == 1]] = empty
    return labels


def _seed(random: np.random.RandomState) -> int:
    return int(random.randint(np.iinfo(np.int32).max))
