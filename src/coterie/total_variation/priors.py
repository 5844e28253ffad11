"""How large each cluster should be, where nobody says: priors that lower the normalized cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from coterie.arrays import FloatArray, IntArray
from coterie.fitting.report import Report
from coterie.graphs.cuts import checked_priors, cuts_and_sizes, degrees_of
from coterie.graphs.edges import Edges, edges_of_graph
from coterie.total_variation.initialization import RoughCut, rough_cut
from coterie.total_variation.problem import CutProblem
from coterie.total_variation.solver import SPECTRAL_SHARE, CutOptions, CutResult, minimize_cut

__all__ = [
    "MOST_MOVES",
    "check_class_priors",
    "minimize_cut_and_priors",
    "normalized_cut",
    "priors_of_labels",
]

# Sizes of clusters that are tried, each this many times the next larger one's.
_RATIOS = (1.0, 0.7, 0.45, 0.25)

# Swaps after the runs of each move, at least: descent alone does not leave a large cluster that is cut in two.
_SWAPS = 5

# Part by which the normalized cut must fall. Classes of equal size are seldom its minimum: on optdigits two joined and
# a few rows apart have 4% less. Where sizes are unequal it falls by a third, or to a tenth.
_WORTHWHILE = 0.2

# Part of all runs that a move of the priors takes, and moves towards the sizes found, at most.
_PART_OF_RUNS, _MOST_STEPS = 0.1, 5

MOST_MOVES = len(_RATIOS) + _MOST_STEPS


def check_class_priors(class_priors: Any, asymmetry: float | None, n_clusters: int) -> None:
    """Raise a ValueError if these are not priors, nor say how to find them; see `TotalVariationClustering`."""
    if class_priors is None:
        return
    if asymmetry is not None:
        raise ValueError(
            "asymmetry and class_priors both say how large clusters should be: give one of them."
        )
    if not isinstance(class_priors, str):
        checked_priors(class_priors, n_clusters)
    elif class_priors not in ("estimate", "labels"):
        raise ValueError(
            f"class_priors must be 'estimate', 'labels' or a prior for each cluster, got {class_priors!r}."
        )


def priors_of_labels(known: IntArray, n_clusters: int) -> FloatArray:
    """Return the shares of the classes among the known labels, by Laplace's rule: as if there were one more of each."""
    counts = np.bincount(known[known >= 0], minlength=n_clusters) + 1.0
    return np.asarray(counts / counts.sum())


def minimize_cut_and_priors(
    problem: CutProblem, options: CutOptions, report: Report
) -> tuple[CutResult, FloatArray, FloatArray]:
    """Cut a graph into clusters of sizes that are found with them.

    Cuts under different priors cannot be compared by (P), so the normalized cut says which is better. It begins with
    equal priors; then come swaps of clusters, and sizes that are each a part of the next larger one, less and less
    alike; and from the best of these on the priors move towards the sizes that were found, as long as the normalized
    cut falls by a fifth. Where classes are known clusters cannot change their places, and only the latter is tried.

    Parameters
    ----------
    problem : CutProblem
        The problem; its priors are ignored.
    options : CutOptions
        How many runs there are with equal priors, and when a run ends. Each move of the priors takes a tenth of them,
        one from the best clusters, and swaps.
    report : Report
        Called after each outer step.

    Returns
    -------
    best : CutResult
        In the order of the data.
    energies : ndarray of shape (n_runs,)
        (P) at the end of each run, under the priors that it had.
    priors : ndarray of shape (R,)
        Of the best run.
    """
    R = problem.n_clusters
    equal = replace(problem, priors=np.full(R, 1 / R))
    if R == 1:
        return *minimize_cut(equal, options, report), np.ones(1)
    search = _PriorSearch(equal, options, report, rough_cut(equal, report.deadline.share(SPECTRAL_SHARE)))
    for ratio in _RATIOS if np.all(problem.known < 0) and problem.given is None else ():
        search.move(_normalized(ratio ** np.arange(R, dtype=np.float64), problem.n_vertices))
    for _ in range(_MOST_STEPS):
        if not search.move(search.towards_the_sizes()):
            break
    return search.best, np.concatenate(search.energies), search.priors


class _PriorSearch:
    """The best clusters so far, and moves of the priors from there."""

    def __init__(self, problem: CutProblem, options: CutOptions, report: Report, rough: RoughCut) -> None:
        assert problem.priors is not None
        self._problem, self._report, self._rough = problem, report, rough
        n_runs, n_swaps = max(1, round(_PART_OF_RUNS * options.n_runs)), max(_SWAPS, options.n_swaps)
        self._few = replace(options, n_runs=n_runs, n_swaps=n_swaps)
        self._edges, self._degrees = edges_of_graph(problem.graph), degrees_of(problem.graph)
        self.priors = problem.priors
        self.best, energies = minimize_cut(problem, options, report, rough)
        self.energies = [energies]
        self._cut = self._normalized_cut(self.best.labels)

    def move(self, priors: FloatArray) -> bool:
        """Search with other priors, from the best clusters too; return whether the normalized cut has fallen."""
        if self._report.reason is not None or self._cut == 0:
            return False
        problem = replace(self._problem, priors=priors)
        run, energies = minimize_cut(problem, self._few, self._report, self._rough, also=self.best.labels)
        self.energies.append(energies)
        cut = self._normalized_cut(run.labels)
        if not cut < (1 - _WORTHWHILE) * self._cut:
            return False
        self.best, self.priors, self._cut = run, priors, cut
        return True

    def towards_the_sizes(self) -> FloatArray:
        """Return priors half-way to the sizes of the best clusters."""
        labels, weights = self.best.labels, self._problem.weights
        sizes = np.bincount(labels, weights, minlength=self._problem.n_clusters)
        return _normalized(self.priors + sizes / sizes.sum(), self._problem.n_vertices)

    def _normalized_cut(self, labels: IntArray) -> float:
        return normalized_cut(self._edges, labels, self._problem.n_clusters, self._degrees)


def normalized_cut(edges: Edges, labels: IntArray, n_clusters: int, degrees: FloatArray) -> float:
    """Return the sum over the clusters of the edges that leave them, each over its degrees (Shi and Malik 2000)."""
    cuts, volumes = cuts_and_sizes(edges, labels, n_clusters, degrees)
    is_empty = np.bincount(labels, minlength=n_clusters) == 0
    if np.any(is_empty) or (np.any(volumes == 0) and len(edges) > 0):
        return float("inf")
    return float(np.sum(cuts / np.where(volumes > 0, volumes, 1)))


def _normalized(shares: FloatArray, n_vertices: int) -> FloatArray:
    """Return shares as priors, none of which is below one vertex."""
    priors = np.maximum(shares / shares.sum(), 1 / n_vertices)
    return np.asarray(priors / priors.sum())
