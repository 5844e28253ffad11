"""The search for a balanced cut: runs from several starts, and swaps of the best clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import numpy as np
import scipy.sparse as sp

from coterie.arrays import FloatArray, IndexArray, IntArray
from coterie.fitting.deadline import OutOfTime, Phase
from coterie.fitting.monitor import FitMonitor
from coterie.graphs.edges import edges_of_graph
from coterie.graphs.spectral import local_order, spectral_vectors
from coterie.total_variation.graph import CutGraph
from coterie.total_variation.problem import CutProblem
from coterie.total_variation.rounding import matched_numbers
from coterie.total_variation.runs import CutRuns, Effort, Run, Unwatched
from coterie.total_variation.starts import normalized_cut, starts_of
from coterie.total_variation.swaps import swapped_clusters

__all__ = ["Beginning", "begin_cut", "find_cut"]


# Vectors that the order of the vertices is made of where no more are needed.
_ORDER_VECTORS = 10

# Starts with a constant column that are passed over.
_DRAWS = 10

# Parts of the time left that eigenvectors and swaps may take where time is short.
_SPECTRAL_SHARE, _SWAPS_SHARE = 1 / 3, 0.5

# What is done to halve a cluster.
_HALVING = Effort(n_runs=2, max_iter=100)


@dataclass(frozen=True)
class Beginning:
    """What the runs on one graph begin with.

    Attributes
    ----------
    order : ndarray of shape (n,), int64, or None
        A local order of the vertices; None: as they come.
    clusters : ndarray of shape (n,), int32, or None
        Rough clusters to draw from; None where nothing is drawn.
    """

    order: IndexArray | None
    clusters: IntArray | None


def find_cut(
    problem: CutProblem,
    effort: Effort,
    monitor: FitMonitor | Unwatched,
    beginning: Beginning | None = None,
    *,
    also: IntArray | None = None,
) -> tuple[Run, FloatArray]:
    """Cut a graph: run from several starts, swap the best clusters, and run once more from there.

    Parameters
    ----------
    problem : CutProblem
        What is to be cut.
    effort : Effort
        How many runs and swaps, and when a run ends.
    monitor : FitMonitor or Unwatched
        Is told of every outer step; says when to stop.
    beginning : Beginning, optional
        That of this graph, where it is there from a former search.
    also : ndarray of shape (n,), int32, optional
        Clusters that one more run begins with.

    Returns
    -------
    best : Run
        In the order of the data.
    energies : ndarray of shape (n_runs,)
        (P) at the end of each run.

    Raises
    ------
    ValueError
        If a column of every start is constant.
    """
    if problem.n_clusters == 1:
        return _whole(problem, monitor), np.zeros(1)
    beginning = begin_cut(problem, monitor) if beginning is None else beginning
    runs = CutRuns(problem, beginning.order, effort, monitor)
    n_runs = effort.n_runs
    if also is not None:
        runs.run(np.eye(problem.n_clusters)[_matched(problem, also)])
        n_runs += len(runs.energies)
    clusters = _matched(problem, beginning.clusters)
    starts = starts_of(problem, clusters, cut_first=effort.steps == "paper", phase=monitor.step)
    for start in islice(starts, effort.n_runs + _DRAWS):
        if monitor.stopped_by is not None and runs.energies:
            break
        runs.run(start)
        if len(runs.energies) == n_runs or monitor.stopped_by is not None:
            break
    if not runs.energies:
        raise ValueError(
            "A cluster has the same membership in every row, so there is nothing to start from. Give other "
            f"memberships or labels, or look for fewer than {problem.n_clusters} clusters."
        )
    if effort.n_swaps > 0 and monitor.stopped_by is None:
        with monitor.phase("swaps", monitor.step.deadline.share(_SWAPS_SHARE)) as phase:
            halve = _halving(problem, phase)
            swapped = swapped_clusters(problem, runs.best.labels, halve, effort.n_swaps, phase)
        runs.run(np.eye(problem.n_clusters)[swapped])
    return runs.best, np.array(runs.energies)


def _whole(problem: CutProblem, monitor: FitMonitor | Unwatched) -> Run:
    """Return all vertices as one cluster, which costs nothing."""
    n, dtype = problem.n_vertices, problem.graph.dtype
    return Run(0.0, 0.0, np.zeros(n, dtype=np.int32), np.ones((n, 1), dtype=dtype), history=monitor.history())


def begin_cut(problem: CutProblem, monitor: FitMonitor | Unwatched) -> Beginning:
    """Return a local order of the vertices and rough clusters, as far as they are needed."""
    with monitor.phase("eigenvectors", monitor.step.deadline.share(_SPECTRAL_SHARE)) as phase:
        return _begin(problem, phase)


def _begin(problem: CutProblem, phase: Phase) -> Beginning:
    n, n_clusters, draws = problem.n_vertices, problem.n_clusters, problem.draws_starts
    has_blocks = n > CutGraph.rows_of_a_block(n)
    seed = problem.draw_seed()
    if not (draws or has_blocks):
        return Beginning(None, None)
    n_vectors = max(n_clusters if draws else 0, _ORDER_VECTORS)
    try:
        spectrum = spectral_vectors(
            problem.graph, n_vectors, seed, phase, by_components=problem.priors is not None
        )
    except OutOfTime:
        # Vertices as they come, and starts out of all of them.
        return Beginning(None, np.zeros(n, dtype=np.int32) if draws else None)
    order = local_order(spectrum) if has_blocks else None
    if not draws:
        return Beginning(order, None)
    clusters = normalized_cut(
        spectrum, n_clusters, seed=seed, n_threads=problem.n_threads, deadline=phase.deadline
    )
    return Beginning(order, clusters)


def _matched(problem: CutProblem, clusters: IntArray | None) -> IntArray | None:
    """Number rough clusters such that their sizes suit the priors, where these differ."""
    if clusters is None or not problem.is_matched:
        return clusters
    edges = edges_of_graph(problem.graph)
    numbers = matched_numbers(edges, clusters, problem.asymmetries, problem.weights)
    return numbers[clusters].astype(np.int32)


def _halving(problem: CutProblem, phase: Phase) -> Callable[[sp.csr_array], IntArray]:
    """Return what halves a part of the graph: a search for two clusters, each time with the same seed."""
    seed = problem.draw_seed()

    def halve(part: sp.csr_array) -> IntArray:
        unknown = np.full(part.shape[0], -1, dtype=np.int32)
        random = np.random.RandomState(seed)
        halves = CutProblem(part, 2, unknown, None, random, problem.n_threads)
        return find_cut(halves, _HALVING, Unwatched(phase))[0].labels

    return halve
