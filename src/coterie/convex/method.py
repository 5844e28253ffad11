"""The records of convex clustering: the path, and one strength of the penalty."""

from __future__ import annotations

import numpy as np

from coterie.convex.estimator import ConvexClustering, ConvexClusterPath, ConvexEstimator
from coterie.estimators.memory import rows_in_memory
from coterie.estimators.method import Method, Need, Objective, Progress
from coterie.fitting.threads import effective_n_threads
from coterie.rows import RowSource

__all__ = ["CONVEX_CLUSTERING", "CONVEX_PATH"]

_PAGE = "docs/development/decisions/convex.md"

# Bytes of a number during a fit, for rows of any dtype.
_DOUBLE = 8


def _memory(model: ConvexEstimator, rows: RowSource) -> list[Need]:
    n_rows, n_columns = rows.shape
    if model.weights == "tree":
        way_out = "take a sample of the rows"
        return [
            rows_in_memory(rows),
            Need(n_rows * (n_columns * 50.0 + 100 * model.n_neighbors), "rows on a spanning tree", way_out),
            Need(
                n_rows * 200.0 * effective_n_threads(model.n_threads), "breakpoints of each thread", way_out
            ),
        ]
    n_edges = n_rows * min(model.n_neighbors, n_rows) * 0.7
    way_out = "ask for fewer neighbors, or take a sample of the rows"
    if model.weights == "dense":
        n_edges = n_rows * (n_rows - 1) / 2
        way_out = "take weights='knn' (--weights knn), or a sample of the rows"
    # Duals of this iteration and the one before, in double and in single precision, and those of the gamma before.
    per_edge = 80.0 + 3.5 * n_columns * _DOUBLE
    return [
        rows_in_memory(rows),
        Need(6.0 * n_rows * n_columns * _DOUBLE, "centroids of all rows", "take a sample of the rows"),
        Need(n_edges * per_edge, f"edges between rows, with {n_columns} numbers each", way_out),
    ]


def _memory_of_path(model: ConvexClusterPath, rows: RowSource) -> list[Need]:
    n_gammas = model.n_gammas if model.gammas is None else np.size(model.gammas)
    n_rows, n_columns = rows.shape
    # Centroids, labels and results of each gamma, in a list and then in arrays; all centroids after access to them.
    per_gamma = 1000.0 + n_rows * n_columns * 2 * rows.dtype.itemsize + n_rows * 12
    # With a tree the logarithm of the number of clusters, and so of distinct centroids, decreases evenly.
    if model.weights == "tree":
        per_gamma = 1000.0 + n_rows * 8 + n_rows * n_columns * 8 * min(1.0, 5 / n_gammas)
    kept = Need(
        n_gammas * per_gamma, f"the centroids of {n_gammas:,} gammas", "ask for fewer gammas (--gammas)"
    )
    return [*_memory(model, rows), kept]


CONVEX_PATH = Method(
    name="convex-path",
    estimator=ConvexClusterPath,
    summary="every row by itself, then fewer and fewer clusters as the penalty grows, down to one",
    objective=Objective("objectives_", "objective"),
    clusters=None,
    progress=Progress(step="gamma", limit="n_gammas"),
    pictures={"path": ConvexClusterPath.plot, "dendrogram": ConvexClusterPath.plot_dendrogram},
    memory=_memory_of_path,
    page=_PAGE,
)

CONVEX_CLUSTERING = Method(
    name="convex-clustering",
    estimator=ConvexClustering,
    summary="rows whose centroids fuse under a penalty, with a certificate",
    objective=Objective("objective_", "objective"),
    clusters=None,
    # `max_iter` limits the iterations, of which only those that check the gap are reported.
    progress=Progress(step="check", limit=None),
    memory=_memory,
    page=_PAGE,
)
