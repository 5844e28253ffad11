"""Initial modes of Laplacian K-modes: seeds, k-means, or eigenvectors of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import IndexArray, IntArray
from coterie.centers.labels import squares_to_centers
from coterie.fitting.deadline import Deadline, OutOfTime
from coterie.fitting.report import FitReport
from coterie.graphs.spectral import spectral_vectors
from coterie.kmeans.exact import k_means_until
from coterie.laplacian_kmodes.modes import Modes, cluster_means
from coterie.laplacian_kmodes.solver import KModesProblem
from coterie.rows import Block, as_rows
from coterie.seeding.greedy import seed_by_square_distance
from coterie.seeding.seeds import rows_to_seed

# Part of the time left that an initialization may take.
_TIME_SHARE = 1 / 3

# n L^2 up to which "auto" computes eigenvectors: seconds.
_SPECTRAL_OPERATIONS = 50_000_000


@dataclass(frozen=True)
class Start:
    """Initial modes of a run, and optional labels as initial memberships."""

    modes: Modes
    labels: IntArray | None = None


def starts(
    init: str, problem: KModesProblem, random: np.random.RandomState, report: FitReport, n_threads: int
) -> Iterator[Start]:
    """Yield initializations without end; "auto" gives k-means, spectral (moderate graphs), then k-means++ and k-means
    by turns, random ones for affinities. Later k-means give memberships, too: affinities to modes in one column reach
    few rows, and the graph takes O(n^2) updates to spread them.
    """

    def deadline() -> Deadline:
        return report.deadline.share(_TIME_SHARE)

    def drawn(kind: str, has_labels: bool = False) -> Start:
        rows, search = problem.mode_search.rows, problem.mode_search
        if rows is None or kind == "random":
            seeds = random.choice(problem.graph.shape[0], problem.n_clusters, replace=False)
            return Start(search.start(seeds if rows is None else _dense(rows[np.sort(seeds)]), random))
        if kind == "k-means++":
            data = rows_to_seed(rows, problem.n_clusters, None, n_threads)
            found = seed_by_square_distance(data, problem.n_clusters, random, deadline=deadline())
            return Start(search.start(found[0], random))
        means = k_means_until(deadline(), rows, problem.n_clusters, random_state=random, n_threads=n_threads)
        return Start(search.start(means.cluster_centers_, random), means.labels_ if has_labels else None)

    if init == "auto":
        yield drawn("k-means")
        if problem.graph.shape[0] * problem.n_clusters**2 <= _SPECTRAL_OPERATIONS:
            with suppress(OutOfTime):
                yield _spectral_start(problem, random, deadline(), n_threads)
        while True:
            yield drawn("k-means++")
            yield drawn("k-means", has_labels=True)
    while True:
        if init == "spectral":
            yield _spectral_start(problem, random, deadline(), n_threads)
        else:
            yield drawn(init)


def given_rows(init: Any, n_clusters: int, n_rows: int) -> IndexArray:
    """Return the row numbers that `init` holds, of rows that are known by their affinities only."""
    indices = np.asarray(init)
    if indices.shape != (n_clusters,) or not np.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"init must be 'random' or {n_clusters} row numbers, got {init!r}.")
    if indices.min() < 0 or indices.max() >= n_rows or len(set(indices.tolist())) < len(indices):
        raise ValueError("init must hold distinct row numbers of X.")
    return indices


def with_split_clusters(
    problem: KModesProblem, labels: IntArray, random: np.random.RandomState, n_threads: int
) -> Start:
    """Return a start in which each empty cluster gets half of the cluster with the largest inertia, by 2-means."""
    rows, labels, k = problem.mode_search.rows, labels.copy(), problem.n_clusters
    for empty in np.setdiff1d(np.arange(k), labels):
        squares = squares_to_centers(as_rows(rows), cluster_means(rows, labels, k), labels, n_threads)
        members = np.flatnonzero(labels == np.bincount(labels, squares, minlength=k).argmax())
        if len(members) < 2:
            break
        halves = k_means_until(Deadline(), rows[members], 2, random_state=_seed(random), n_threads=1).labels_
        labels[members[halves == 1]] = empty
    return Start(problem.mode_search.modes_of(labels, k, random), labels)


def _spectral_start(
    problem: KModesProblem, random: np.random.RandomState, deadline: Deadline, n_threads: int
) -> Start:
    """Return the clusters of the relaxed normalized cut: k-means of the rows of the first eigenvectors."""
    graph = sp.csr_array((problem.connected_graph + problem.connected_graph.T) * 0.5)
    directions = spectral_vectors(graph, problem.n_clusters, _seed(random), deadline).directions()
    labels = k_means_until(
        deadline, directions, problem.n_clusters, n_init=10, random_state=_seed(random), n_threads=n_threads
    ).labels_
    return Start(problem.mode_search.modes_of(labels, problem.n_clusters, random), labels)


def _dense(rows: Block) -> Any:
    return rows.toarray() if sp.issparse(rows) else rows


def _seed(random: np.random.RandomState) -> int:
    return int(random.randint(np.iinfo(np.int32).max))
