"""Estimate class priors: expected cluster sizes that lower the normalized cut."""

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

# Ratios of the sizes of consecutive clusters that are tried.
_RATIOS = (1.0, 0.7, 0.45, 0.25)

# Swaps after the runs of each move, at least: descent alone does not leave a large cluster that is cut in two.
_SWAPS = 5

# Fraction by which the normalized cut must decrease. Classes of equal size are seldom its minimum: on optdigits it is
# 4% lower with two classes merged and a few rows separate. With unequal sizes it decreases by a third to nine tenths.
_WORTHWHILE = 0.2

# Fraction of the runs for each change of the priors, and the maximum number of changes towards the sizes found.
_PART_OF_RUNS, _MOST_STEPS = 0.1, 5

MOST_MOVES = len(_RATIOS) + _MOST_STEPS


def check_class_priors(class_priors: Any, balance_weight: float | None, n_clusters: int) -> None:
    """Raise a ValueError if these are neither priors nor an option of `TotalVariationClustering`."""
    if class_priors is None:
        return
    if balance_weight is not None:
        raise ValueError(
            "balance_weight and class_priors both say how large clusters should be: give one of them."
        )
    if not isinstance(class_priors, str):
        checked_priors(class_priors, n_clusters)
    elif class_priors not in ("estimate", "labels"):
        raise ValueError(
            f"class_priors must be 'estimate', 'labels' or a prior for each cluster, got {class_priors!r}."
        )


def priors_of_labels(known: IntArray, n_clusters: int) -> FloatArray:
    """Return the shares of the classes among the known labels, by Laplace's rule: with 1 added to each count."""
    counts = np.bincount(known[known >= 0], minlength=n_clusters) + 1.0
    return np.asarray(counts / counts.sum())


def minimize_cut_and_priors(
    problem: CutProblem, options: CutOptions, report: Report
) -> tuple[CutResult, FloatArray, FloatArray]:
    """Cut a graph into clusters, and estimate their sizes.

    Cuts with different priors cannot be compared by (P); they are compared by the normalized cut. Equal priors are
    first; then split-merge moves, and geometric sizes of increasing ratio; from the best of these, priors move towards
    the sizes found as long as the normalized cut decreases by a fifth. With labels clusters cannot exchange their
    numbers, and only the last step is tried.

    Parameters
    ----------
    problem : CutProblem
        The problem; its priors are ignored.
    options : CutOptions
        Number of runs with equal priors, and when a run ends. Each change of the priors takes a tenth of them, a run
        from the best clusters, and split-merge moves.
    report : Report
        Called after each outer step.

    Returns
    -------
    best : CutResult
        In the order of the data.
    energies : ndarray of shape (n_runs,)
        (P) at the end of each run, with its priors.
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
    """The best clusters so far, and changes of the priors from there."""

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
        """Search with other priors, also from the best clusters; return whether the normalized cut decreased."""
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
    """Return shares as priors of at least one vertex each."""
    priors = np.maximum(shares / shares.sum(), 1 / n_vertices)
    return np.asarray(priors / priors.sum())
