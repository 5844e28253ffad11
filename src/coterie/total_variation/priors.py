"""Class priors: estimates of them that lower the normalized cut, and runs with given ones."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from coterie.arrays import FloatArray, IntArray
from coterie.fitting.deadline import OutOfTime
from coterie.fitting.report import Report
from coterie.graphs.cuts import checked_priors, degrees_of, normalized_cut
from coterie.multilevel.solver import INFORMATION, NORMALIZED_CUT, CoarseGraph, multilevel_partition
from coterie.total_variation.initialization import rough_cut
from coterie.total_variation.problem import CutProblem
from coterie.total_variation.solver import ROUGH_SHARE, CutOptions, CutResult, minimize_cut

# Fraction by which the normalized cut must decrease. Classes of equal size are seldom its minimum: on optdigits it is
# 4% lower with two classes merged and a few rows separate. With unequal sizes it decreases by a third to nine tenths.
_WORTHWHILE = 0.2

# Small, separate groups beside one large cluster have a low normalized cut, too, but less than this part of the
# information of the edges.
_LEAST_INFORMATION = 0.5


def check_class_priors(class_priors: Any, balance_weight: float | None, n_clusters: int) -> None:
    """Raise a ValueError if these are neither priors nor an option of `TotalVariationClustering`."""
    if class_priors is None:
        return
    if balance_weight is not None:
        raise ValueError("balance_weight and class_priors both set the sizes of clusters: give one of them.")
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
    """Cut a graph into clusters whose sizes are found with them; return the best run, (P) of each run, and
    the priors.

    One more run starts from the sizes of a multilevel partition, or of the clusters found, as priors. It is
    returned if its normalized cut is lower by a fifth and the information of its edges is at least half, or
    falls by less than the cut.
    """
    R = problem.n_clusters
    degrees = degrees_of(problem.graph)

    def cut(labels: IntArray) -> float:
        volumes = np.bincount(labels, degrees, minlength=R)
        is_empty = np.bincount(labels, minlength=R) == 0
        if np.any(is_empty) or (np.any(volumes == 0) and np.any(degrees > 0)):
            return math.inf
        return normalized_cut(problem.graph, labels, R)

    equal = np.full(R, 1 / R)
    rough = None
    if R > 1:
        rough = rough_cut(problem, report.deadline.share(ROUGH_SHARE), is_paper=options.is_paper)
    best, energies = minimize_cut(problem, options, report, rough)
    if R == 1 or report.reason is not None or cut(best.labels) == 0:
        return best, energies, equal
    is_free = problem.given is None and np.all(problem.known < 0)
    labels = best.labels
    if is_free:
        try:
            labels = multilevel_partition(problem.graph, R, NORMALIZED_CUT, report.deadline)[0]
        except OutOfTime:
            return best, energies, equal
    coarse = CoarseGraph(problem.graph)

    def scores(labels: IntArray) -> tuple[float, float]:
        return cut(labels), INFORMATION.value(coarse, labels, R)

    equal_cut, equal_information = scores(best.labels)

    def is_better(labels: IntArray) -> bool:
        its_cut, its_information = scores(labels)
        is_lower = its_cut < (1 - _WORTHWHILE) * equal_cut
        is_informed = its_information >= _LEAST_INFORMATION * equal_information
        return is_lower and (is_informed or its_cut * equal_information < its_information * equal_cut)

    if is_free and not is_better(labels):
        return best, energies, equal
    sizes = np.bincount(labels, problem.weights, minlength=R)
    priors = np.maximum(sizes / sizes.sum(), 1 / problem.n_vertices)  # of one vertex at least
    priors /= priors.sum()
    sized = replace(problem, priors=priors, given=np.eye(R)[labels])
    most = max(1, best.n_inner * len(energies) // 2)
    few = replace(options, n_runs=1, max_iter=min(options.max_iter, most))
    run, energy = minimize_cut(sized, few, report, rough)
    energies = np.append(energies, energy)
    return (run, energies, priors) if is_better(run.labels) else (best, energies, equal)
