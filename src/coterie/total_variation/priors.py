"""Class priors: estimates of them that lower the normalized cut, and runs with given ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from coterie.arrays import FloatArray, IntArray
from coterie.fitting.report import FitReport
from coterie.graphs.cuts import checked_priors
from coterie.total_variation.initialization import rough_cut
from coterie.total_variation.problem import CutProblem
from coterie.total_variation.solver import ROUGH_SHARE, CutOptions, CutResult, minimize_cut


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
    """Cut a graph with equal priors, or, if its multilevel partition is one of unequal clusters, from these with their
    sizes as priors; return the best run, (P) of each run, and the unequal priors.
    """
    rough = rough_cut(problem, report.deadline.share(ROUGH_SHARE), may_be_unequal=True)
    if rough.clusters is None or not rough.are_unequal:
        return *minimize_cut(problem, options, report, rough), None
    priors, sized = _with_sizes(problem, rough.clusters)
    return *minimize_cut(sized, replace(options, n_runs=1), report, rough), priors


def _with_sizes(problem: CutProblem, labels: IntArray) -> tuple[FloatArray, CutProblem]:
    """Return the sizes of clusters as priors, and the problem of these that starts from the clusters."""
    sizes = np.bincount(labels, problem.weights, minlength=problem.n_clusters)
    priors = np.maximum(sizes / sizes.sum(), 1 / problem.n_vertices)  # of one vertex at least
    priors /= priors.sum()
    return priors, replace(problem, priors=priors, given=np.eye(problem.n_clusters)[labels])
