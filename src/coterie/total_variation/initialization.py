"""Initialization of total variation clustering: vertices of each cluster, diffused over the graph."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.fitting.deadline import UNLIMITED, Deadline, OutOfTime
from coterie.graphs.cuts import degrees_of
from coterie.graphs.spectral import spectral_vectors
from coterie.kmeans.exact import k_means_until
from coterie.multilevel.solver import (
    CoarseGraph,
    aggregation_levels,
    order_of_levels,
    partition_of_levels,
)
from coterie.total_variation.problem import CutGraph, CutProblem

# Relative residual of the conjugate gradients.
_TOLERANCE = 1e-6

# Of the quadratic program: how far it is from convex, and the maximum number of steps, as in the paper's experiments;
# the mean change of a row at which they end, tested at every tenth one.
_CONCAVITY, _QUADRATIC_STEPS, _STILL, _UNTESTED = 0.1, 400, 1e-4, 10

# Of its first memberships: conjugate gradients, and their relative residual, of which the partition hardly depends.
_HARMONIC_STEPS, _HARMONIC_TOLERANCE = 100, 1e-2


@dataclass(frozen=True)
class RoughCut:
    """What all runs on a graph share."""

    order: IndexArray | None  # (n,): local order of the vertices; None: that of the data
    clusters: IntArray | None  # (n,): clusters to draw from; None where nothing is drawn
    are_unequal: bool = False  # whether the clusters are of unequal sizes


def rough_cut(
    problem: CutProblem, deadline: Deadline, *, is_paper: bool = False, may_be_unequal: bool = False
) -> RoughCut:
    """Return a local order of the vertices and rough clusters: multilevel partitions, or the paper's normalized cut. At
    the deadline: the order of the data and one cluster.
    """
    n, R, draws = problem.n_vertices, problem.n_clusters, problem.draws_vertices
    has_blocks = n > CutGraph.rows_of_a_block(n)
    order, clusters, are_unequal = None, np.zeros(n, dtype=np.int32) if draws else None, False
    seed = problem.draw_seed()
    try:
        if draws and is_paper:
            clusters = spectral_clusters(problem, seed, deadline)
        if has_blocks or (draws and not is_paper):
            levels = aggregation_levels(CoarseGraph(problem.graph), R, deadline)
            order = order_of_levels(n, levels[1]) if has_blocks else None
            if draws and not is_paper:
                clusters, are_unequal = partition_of_levels(
                    *levels, R, problem.weights, may_be_unequal=may_be_unequal, deadline=deadline
                )
    except OutOfTime:
        pass
    return RoughCut(order, clusters, are_unequal)


def spectral_clusters(problem: CutProblem, seed: int, deadline: Deadline) -> IntArray:
    """Return clusters by k-means on the directions of a graph's first eigenvectors (Ng, Jordan and Weiss 2002)."""
    R, n_threads = problem.n_clusters, problem.n_threads
    spectrum = spectral_vectors(problem.graph, R, seed, deadline, by_components=True)
    directions = np.ascontiguousarray(spectrum.directions())
    return k_means_until(deadline, directions, R, n_init=10, random_state=seed, n_threads=n_threads).labels_


def initial_memberships(
    problem: CutProblem, clusters: IntArray | None, deadline: Deadline = UNLIMITED
) -> Iterator[FloatArray]:
    """Yield initial memberships (n, R): given ones, or diffused labels, with a drawn vertex for each unlabeled class.
    Rough clusters come first where vertices are drawn; with labels of each class a quadratic program is second.
    """

    def diffused_labels(labels: IntArray) -> FloatArray:
        columns = diffused(
            problem.graph, labels, problem.n_clusters, n_threads=problem.n_threads, deadline=deadline
        )
        return on_the_simplex(columns)

    if problem.given is not None:
        yield problem.given
    elif clusters is None:
        yield diffused_labels(problem.known)
        yield np.eye(problem.n_clusters)[quadratic_memberships(problem, deadline).argmax(axis=1)]
    else:
        yield np.eye(problem.n_clusters)[clusters]
        while True:
            labels = drawn_vertices(
                clusters, problem.known, problem.n_clusters, problem.random, problem.priors
            )
            yield diffused_labels(labels)


def drawn_vertices(
    clusters: IntArray,
    labels: IntArray,
    n_clusters: int,
    random: np.random.RandomState,
    priors: FloatArray | None = None,
) -> IntArray:
    """Draw a vertex for each class without label; return the labels with these vertices labeled too. Rough clusters
    with the fewest labels come first, then the largest; the largest prior gets the largest.
    """
    labels = labels.copy()
    n_labels = np.bincount(clusters[labels >= 0], minlength=n_clusters)
    sizes = np.bincount(clusters, minlength=n_clusters)
    ranked = np.lexsort((-sizes, n_labels))
    missing = np.setdiff1d(np.arange(n_clusters), labels)
    if priors is not None:
        missing = missing[np.argsort(-priors[missing], kind="stable")]
    for label, cluster in zip(missing, ranked):
        free = np.flatnonzero((labels < 0) & (clusters == cluster))
        if len(free) == 0:
            free = np.flatnonzero(labels < 0)
        labels[free[random.randint(len(free))]] = label
    return labels


def diffused(
    graph: sp.csr_array, labels: IntArray, n_clusters: int, *, n_threads: int, deadline: Deadline = UNLIMITED
) -> FloatArray:
    """Solve (I + D - W) f_r = [label = r] to a relative residual of 1e-6, or until the deadline: (n, R)."""
    weights = graph.astype(np.float64)
    weights.setdiag(0)
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    system = sp.csr_array(sp.diags_array(1 + degrees) - weights)
    n = graph.shape[0]
    scaling = LinearOperator((n, n), matvec=lambda f: f / (1 + degrees), dtype=np.float64)

    def solve(label: int) -> FloatArray:
        column = latest = (labels == label).astype(np.float64)

        def check(solution: FloatArray) -> None:
            nonlocal latest
            if deadline.is_over:
                latest = solution.copy()
                raise OutOfTime

        try:
            return cg(system, column, rtol=_TOLERANCE, M=scaling, callback=check)[0]
        except OutOfTime:
            return latest

    with ThreadPoolExecutor(n_threads) as pool:
        return np.maximum(np.column_stack(list(pool.map(solve, range(n_clusters)))), 0)


def quadratic_memberships(problem: CutProblem, deadline: Deadline = UNLIMITED) -> Array:
    """Return memberships (n, R) that minimize tr X'(L - s D) X / 2 for given labels and class sizes (Holtz et al.,
    NeurIPS 2024), by ADMM linearized in the metric D; sums of rows and columns are exact only in the limit.
    """
    n, R, known = problem.n_vertices, problem.n_clusters, problem.known
    fixed, own = known >= 0, np.eye(R, dtype=np.float32)[known[known >= 0]]
    degrees = degrees_of(problem.graph)
    degrees[degrees == 0] = degrees.mean() or 1.0
    degrees = np.maximum(degrees, np.finfo(np.float32).tiny * degrees.max())
    averages = sp.csr_array(sp.diags_array(1 / degrees) @ problem.graph).astype(np.float32)
    looseness = np.where(fixed, 0, 1 / degrees / np.sum(1 / degrees[~fixed])).astype(np.float32)[:, None]
    priors = np.full(R, 1 / R) if problem.priors is None else problem.priors
    missing = np.maximum(n * priors - own.sum(axis=0), 0)
    missing *= np.count_nonzero(~fixed) / missing.sum()
    X = np.empty((n, R), dtype=np.float32)
    X[fixed] = own
    X[~fixed] = _harmonic(problem, degrees, deadline) + missing / np.count_nonzero(~fixed)
    sizes = own.sum(axis=0) + missing
    Z, U = np.maximum(X, 0), np.zeros_like(X)
    for step in range(_QUADRATIC_STEPS):
        X = averages @ X + _CONCAVITY * X
        X += Z
        X -= U
        X /= 2
        X[fixed] = own
        X -= (X.sum(axis=1, keepdims=True) - 1) / R
        X -= looseness * (X.sum(axis=0, dtype=np.float64) - sizes).astype(np.float32)
        U += X
        before, Z = Z, np.maximum(U, 0)
        U -= Z
        is_tested = step % _UNTESTED == 0
        if deadline.is_over or (
            is_tested and max(np.abs(X - Z).mean(), np.abs(Z - before).mean()) * R < _STILL
        ):
            break
    return Z


def _harmonic(problem: CutProblem, degrees: FloatArray, deadline: Deadline) -> FloatArray:
    """Return the harmonic functions of the labels at unlabeled vertices, minus their means. With few labels these are
    nearly constant, with the means of the classes with the most edges.
    """
    free = problem.known < 0
    rows = problem.graph[free].astype(np.float64)
    own = np.eye(problem.n_clusters)[problem.known[~free]]
    right = rows[:, ~free] @ own
    inside, degrees = rows[:, free], degrees[free]

    def laplacian(f: FloatArray) -> FloatArray:
        f = f - f.mean()
        f = degrees * f - inside @ f
        return f - f.mean()

    m = len(degrees)
    system = LinearOperator((m, m), matvec=laplacian, dtype=np.float64)

    def solve(column: FloatArray) -> FloatArray:
        if deadline.is_over:
            return np.zeros(m)
        f = cg(system, column - column.mean(), rtol=_HARMONIC_TOLERANCE, maxiter=_HARMONIC_STEPS)[0]
        return f - f.mean()

    with ThreadPoolExecutor(problem.n_threads) as pool:
        return np.column_stack(list(pool.map(solve, right.T)))


def on_the_simplex(rows: Array) -> FloatArray:
    """Project rows (n, R) on the simplex: the nearest that are not negative and sum to 1."""
    rows = np.asarray(rows, dtype=np.float64)
    descending = -np.sort(-rows, axis=1)
    thresholds = (np.cumsum(descending, axis=1) - 1) / np.arange(1, rows.shape[1] + 1)
    last = np.count_nonzero(descending > thresholds, axis=1) - 1
    return np.maximum(rows - thresholds[np.arange(len(rows)), last][:, None], 0)
