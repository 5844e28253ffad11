"""The records of convex clustering: the path, and one strength of the penalty."""

from __future__ import annotations

import numpy as np

from coterie.convex.base import ConvexEstimator, work_of_row
from coterie.convex.clustering import GAMMAS_OF_ONE, ConvexClustering
from coterie.convex.path import ConvexClusterPath
from coterie.estimators.memory import rows_in_memory
from coterie.estimators.method import Method, Need, Objective, Progress
from coterie.fitting.threads import effective_n_threads
from coterie.rows import RowSource

__all__ = ["CONVEX_CLUSTERING", "CONVEX_PATH"]

_PAGE = "docs/decisions/convex.md"

# Bytes of a number while a fit goes on, whatever the rows are.
_DOUBLE = 8

# The most multiply-adds of a thread in a second, and the rows that are never too many for a short time.
_FASTEST, _FEW_ROWS = 5e10, 1000


def _memory(model: ConvexEstimator, rows: RowSource) -> list[Need]:
    return _memory_of(model, rows, GAMMAS_OF_ONE)


def _memory_of(model: ConvexEstimator, rows: RowSource, n_gammas: int) -> list[Need]:
    n_rows, n_columns = _most_rows(model, rows, n_gammas), rows.shape[1]
    n_edges = n_rows * min(model.n_neighbors, n_rows) * 0.7
    way_out = "ask for fewer neighbours, or take a sample of the rows"
    if model.weights == "dense":
        n_edges = n_rows * (n_rows - 1) / 2
        way_out = "take weights='knn' (--weights knn), or a sample of the rows"
    # Duals of this iteration and the one before, in double and in single precision, and those of the gamma before.
    per_edge = 80.0 + 3.5 * n_columns * _DOUBLE
    of_all = 2.0 * rows.shape[0] * n_columns * rows.dtype.itemsize if n_rows < rows.shape[0] else 0.0
    return [
        rows_in_memory(rows),
        Need(of_all, "distances of all rows", "take a sample of the rows"),
        Need(6.0 * n_rows * n_columns * _DOUBLE, "centroids of all rows", "take a sample of the rows"),
        Need(n_edges * per_edge, f"edges between rows, with {n_columns} numbers each", way_out),
    ]


def _memory_of_path(model: ConvexClusterPath, rows: RowSource) -> list[Need]:
    n_gammas = model.n_gammas if model.gammas is None else np.size(model.gammas)
    n_rows, n_columns = _most_rows(model, rows, n_gammas), rows.shape[1]
    # Centroids, labels, and what is known of each gamma: in a list first, then in arrays; centroids where they are
    # asked for.
    per_gamma = 1000.0 + n_rows * n_columns * 2 * rows.dtype.itemsize + rows.shape[0] * 12
    kept = Need(
        n_gammas * per_gamma, f"the centroids of {n_gammas:,} gammas", "ask for fewer gammas (--gammas)"
    )
    return [*_memory_of(model, rows, n_gammas), kept]


def _most_rows(model: ConvexEstimator, rows: RowSource, n_gammas: int) -> int:
    """Return how many rows are solved for at most: where time is short, some stand for all."""
    n_rows, n_columns = rows.shape
    if model.max_time is None or model.weights != "knn":
        return n_rows
    each = work_of_row(n_columns, model.n_neighbors, n_gammas)
    in_time = _FASTEST * effective_n_threads(model.n_threads) * model.max_time / each
    return min(n_rows, max(_FEW_ROWS, int(in_time)))


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
