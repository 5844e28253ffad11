"""Class priors: estimates of them that lower the normalized cut, and runs with given ones."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from coterie.arrays import FloatArray, IntArray
from coterie.fitting.report import Report
from coterie.graphs.cuts import checked_priors, degrees_of, normalized_cut
from coterie.multilevel.solver import INFORMATION, CoarseGraph
from coterie.total_variation.initialization import rough_cut
from coterie.total_variation.problem import CutProblem
from coterie.total_variation.solver import ROUGH_SHARE, CutOptions, CutResult, minimize_cut

# Fraction by which the normalized cut must decrease. Classes of equal size are seldom its minimum: on optdigits it is
# 4% lower with two classes merged and a few rows separate. With unequal sizes it decreases by a third to nine tenths.
_WORTHWHILE = 0.2

# The same, where no run with equal sizes is compared: of 103 sets, nine tenths of those with a decrease by half are
# clustered better with unequal sizes or as well.
_CLEARLY = 0.5

# Small, separate groups beside one large cluster have a low normalized cut, too, but less than this part of the
# information of the edges.
_LEAST_INFORMATION = 0.5


def check_class_priors(class_priors: Any, n_clusters: int) -> None:
    """Raise a ValueError if these are neither priors nor an option of `TotalVariationClustering`."""
    if class_priors is None or (isinstance(class_priors, str) and class_priors == "auto"):
        return
    if not isinstance(class_priors, str):
        checked_priors(class_priors, n_clusters)
    elif class_priors not in ("estimate", "labels"):
        raise ValueError(
            f"class_priors must be 'auto', 'estimate', 'labels' or a prior for each cluster, got {class_priors!r}."
        )


def priors_of_labels(known: IntArray, n_clusters: int) -> FloatArray:
    """Return the shares of the classes among the known labels, by Laplace's rule: with 1 added to each count."""
    counts = np.bincount(known[known >= 0], minlength=n_clusters) + 1.0
    return np.asarray(counts / counts.sum())


def minimize_cut_by_sizes(
    problem: CutProblem, options: CutOptions, report: Report
) -> tuple[CutResult, FloatArray, FloatArray | None]:
    """Cut a graph with equal priors, or from a multilevel partition of less than half the normalized cut of one of
    about equal sizes, with its sizes as priors; return the best run, (P) of each run, and the unequal priors.
    """
    rough = rough_cut(problem, report.deadline.share(ROUGH_SHARE), is_sized=True)
    equal, unequal = rough.clusters, rough.unequal
    if equal is None or unequal is None or not _Scores(problem).is_better(unequal, equal, _CLEARLY):
        return *minimize_cut(problem, options, report, rough), None
    priors, sized = _with_sizes(problem, unequal)
    return *minimize_cut(sized, replace(options, n_runs=1), report, rough), priors


def minimize_cut_and_priors(
    problem: CutProblem, options: CutOptions, report: Report
) -> tuple[CutResult, FloatArray, FloatArray]:
    """Cut a graph into clusters whose sizes are found with them; return the best run, (P) of each run, and
    the priors.

    One more run starts from the sizes of a multilevel partition, or of the clusters found, as priors. It is
    returned if its normalized cut is lower by a fifth and the information of its edges is at least half, or
    falls by less than the cut.
    """
    R = problem.n_clusters
    equal = np.full(R, 1 / R)
    rough = None
    if R > 1:
        share = report.deadline.share(ROUGH_SHARE)
        is_sized = problem.given is None and bool(np.all(problem.known < 0))
        rough = rough_cut(problem, share, is_paper=options.is_paper, is_sized=is_sized)
    best, energies = minimize_cut(problem, options, report, rough)
    scores = _Scores(problem)
    if R == 1 or report.reason is not None or scores.cut(best.labels) == 0:
        return best, energies, equal
    labels = best.labels
    if rough is not None and rough.unequal is not None:
        labels = rough.unequal
        if not scores.is_better(labels, best.labels, _WORTHWHILE):
            return best, energies, equal
    priors, sized = _with_sizes(problem, labels)
    most = max(1, best.n_inner * len(energies) // 2)
    few = replace(options, n_runs=1, max_iter=min(options.max_iter, most))
    run, energy = minimize_cut(sized, few, report, rough)
    energies = np.append(energies, energy)
    is_better = scores.is_better(run.labels, best.labels, _WORTHWHILE)
    return (run, energies, priors) if is_better else (best, energies, equal)


def _with_sizes(problem: CutProblem, labels: IntArray) -> tuple[FloatArray, CutProblem]:
    """Return the sizes of clusters as priors, and the problem of these that starts from the clusters."""
    sizes = np.bincount(labels, problem.weights, minlength=problem.n_clusters)
    priors = np.maximum(sizes / sizes.sum(), 1 / problem.n_vertices)  # of one vertex at least
    priors /= priors.sum()
    return priors, replace(problem, priors=priors, given=np.eye(problem.n_clusters)[labels])


class _Scores:
    """The normalized cut of partitions, and the information of their edges."""

    def __init__(self, problem: CutProblem) -> None:
        self._graph, self._n_clusters, self._masses = problem.graph, problem.n_clusters, problem.weights
        self._degrees, self._coarse = degrees_of(problem.graph), CoarseGraph(problem.graph)

    def cut(self, labels: IntArray) -> float:
        """Return the normalized cut; infinite with an empty cluster, or one without edges beside others."""
        R = self._n_clusters
        volumes = np.bincount(labels, self._degrees, minlength=R)
        is_empty = np.bincount(labels, minlength=R) == 0
        if np.any(is_empty) or (np.any(volumes == 0) and np.any(self._degrees > 0)):
            return math.inf
        return normalized_cut(self._graph, labels, R)

    def is_better(self, labels: IntArray, others: IntArray, worthwhile: float) -> bool:
        """Return whether a partition has a clearly lower cut, about as much information, and no tiny cluster.

        Clusters are tiny below the size of components that are set aside (see `Vertices.without_small_parts`).
        """
        cut, other_cut, R = self.cut(labels), self.cut(others), self._n_clusters
        sizes = np.bincount(labels, self._masses, minlength=R)
        if not cut < (1 - worthwhile) * other_cut or 20 * R * sizes.min() < sizes.sum():
            return False
        its, other = (INFORMATION.value(self._coarse, one, self._n_clusters) for one in (labels, others))
        return its >= _LEAST_INFORMATION * other or cut * other < its * other_cut
