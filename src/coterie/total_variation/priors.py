"""Class priors: estimates of them that lower the normalized cut, and runs with given ones."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from coterie.arrays import FloatArray, IntArray
from coterie.fitting.deadline import Deadline, OutOfTime
from coterie.fitting.report import FitReport
from coterie.graphs.cuts import checked_priors, degrees_of, normalized_cut
from coterie.multilevel.solver import INFORMATION, NORMALIZED_CUT, CoarseGraph, partition_of_levels
from coterie.total_variation.initialization import RoughCut, rough_cut
from coterie.total_variation.problem import CutProblem
from coterie.total_variation.solver import ROUGH_SHARE, CutOptions, CutResult, minimize_cut

# Fraction by which the normalized cut must decrease. Classes of equal size are seldom its minimum: on optdigits it is
# 4% lower with two classes merged and a few rows separate. Of 103 sets, nine tenths of those with a decrease by half
# are clustered better with unequal sizes or as well; of 100 drawn ones, all 5, and 8 better and 9 worse at a fifth.
_CLEARLY = 0.5

# Small, separate groups beside one large cluster have a low normalized cut, too, but less than this part of the
# information of the edges.
_LEAST_INFORMATION = 0.5

# Clusters of a few rows, of which a normalized cut may have some besides the wanted ones.
_MOST_SMALL = 4


def check_class_priors(class_priors: Any, n_clusters: int) -> None:
    """Raise a ValueError if these are neither priors nor an option of `TotalVariationClustering`."""
    if class_priors is None or (isinstance(class_priors, str) and class_priors == "auto"):
        return
    if not isinstance(class_priors, str):
        checked_priors(class_priors, n_clusters)
    elif class_priors != "labels":
        raise ValueError(
            f"class_priors must be 'auto', 'labels' or a prior for each cluster, got {class_priors!r}."
        )


def priors_of_labels(known: IntArray, n_clusters: int) -> FloatArray:
    """Return the shares of the classes among the known labels, by Laplace's rule: with 1 added to each count."""
    counts = np.bincount(known[known >= 0], minlength=n_clusters) + 1.0
    return np.asarray(counts / counts.sum())


def minimize_cut_by_sizes(
    problem: CutProblem, options: CutOptions, report: FitReport
) -> tuple[CutResult, FloatArray, FloatArray | None]:
    """Cut a graph with equal priors, or from a multilevel partition of less than half the normalized cut of one of
    about equal sizes, with its sizes as priors; return the best run, (P) of each run, and the unequal priors.
    """
    deadline = report.deadline.share(ROUGH_SHARE)
    rough, unequal = rough_cut(problem, deadline), None
    with suppress(OutOfTime):
        unequal = _unequal_clusters(problem, rough, deadline)
    if unequal is None:
        return *minimize_cut(problem, options, report, rough), None
    priors, sized = _with_sizes(problem, unequal)
    return *minimize_cut(sized, replace(options, n_runs=1), report, rough), priors


def _unequal_clusters(problem: CutProblem, rough: RoughCut, deadline: Deadline) -> IntArray | None:
    """Return clusters of low normalized cut, if they are better than those of about equal sizes. Clusters below the
    size of components that are set aside (see `Vertices.without_small_parts`) join those with most edges to them.
    """
    scores, R = _Scores(problem), problem.n_clusters
    if rough.clusters is None or rough.levels is None:
        return None
    graphs, nodes_of = rough.levels
    for k in range(R, min(R + _MOST_SMALL, graphs[-1].n_nodes) + 1):
        labels = partition_of_levels(graphs, nodes_of, k, NORMALIZED_CUT, deadline)[0]
        if k == R and not scores.has_clearly_lower_cut(labels, rough.clusters):
            return None
        sizes = np.bincount(labels, problem.weights, minlength=k)
        is_large = 20 * R * sizes >= sizes.sum()
        if np.count_nonzero(is_large) == R:
            links = graphs[0].aggregated(labels, k).edges.toarray()[:, is_large]
            numbers = np.where(is_large, np.cumsum(is_large) - 1, links.argmax(axis=1)).astype(np.int32)
            labels = numbers[labels]
            return labels if scores.is_better(labels, rough.clusters) else None
    return None


def _with_sizes(problem: CutProblem, labels: IntArray) -> tuple[FloatArray, CutProblem]:
    """Return the sizes of clusters as priors, and the problem of these that starts from the clusters."""
    sizes = np.bincount(labels, problem.weights, minlength=problem.n_clusters)
    priors = np.maximum(sizes / sizes.sum(), 1 / problem.n_vertices)  # of one vertex at least
    priors /= priors.sum()
    return priors, replace(problem, priors=priors, given=np.eye(problem.n_clusters)[labels])


class _Scores:
    """The normalized cut of partitions, and the information of their edges."""

    def __init__(self, problem: CutProblem) -> None:
        self._graph, self._n_clusters = problem.graph, problem.n_clusters
        self._degrees, self._coarse = degrees_of(problem.graph), CoarseGraph(problem.graph)

    def cut(self, labels: IntArray) -> float:
        """Return the normalized cut; infinite with an empty cluster, or one without edges beside others."""
        R = self._n_clusters
        volumes = np.bincount(labels, self._degrees, minlength=R)
        is_empty = np.bincount(labels, minlength=R) == 0
        if np.any(is_empty) or (np.any(volumes == 0) and np.any(self._degrees > 0)):
            return math.inf
        return normalized_cut(self._graph, labels, R)

    def has_clearly_lower_cut(self, labels: IntArray, others: IntArray) -> bool:
        """Return whether a partition has less than half of the cut of another one."""
        return self.cut(labels) < (1 - _CLEARLY) * self.cut(others)

    def is_better(self, labels: IntArray, others: IntArray) -> bool:
        """Return whether a partition has a clearly lower cut, and about as much information."""
        cut, other_cut = self.cut(labels), self.cut(others)
        if not self.has_clearly_lower_cut(labels, others):
            return False
        its, other = (INFORMATION.value(self._coarse, one, self._n_clusters) for one in (labels, others))
        return its >= _LEAST_INFORMATION * other or cut * other < its * other_cut
