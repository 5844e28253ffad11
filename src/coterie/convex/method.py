"""The records of convex clustering: the path, and one strength of the penalty."""

from __future__ import annotations

import numpy as np

from coterie.convex.base import ConvexEstimator
from coterie.convex.clustering import ConvexClustering
from coterie.convex.norms import NAMES
from coterie.convex.path import ConvexClusterPath
from coterie.estimators.memory import rows_in_memory
from coterie.estimators.method import Method, Need, Objective, Option, Progress
from coterie.rows import RowSource

__all__ = ["CONVEX_CLUSTERING", "CONVEX_PATH"]

_PAGE = "docs/decisions/convex.md"

# Bytes of a number while a fit goes on, whatever the rows are.
_DOUBLE = 8


def _memory(model: ConvexEstimator, rows: RowSource) -> list[Need]:
    n_rows, n_columns = rows.shape
    n_edges = n_rows * min(model.n_neighbors, n_rows) * 0.7
    way_out = "ask for fewer neighbours, or take a sample of the rows"
    if model.weights == "dense":
        n_edges = n_rows * (n_rows - 1) / 2
        way_out = "take weights='knn' (--weights knn), or a sample of the rows"
    per_edge = 80.0 + 3 * n_columns * _DOUBLE
    return [
        rows_in_memory(rows),
        Need(6.0 * n_rows * n_columns * _DOUBLE, "centroids of all rows", "take a sample of the rows"),
        Need(n_edges * per_edge, f"edges between rows, with {n_columns} numbers each", way_out),
    ]


def _memory_of_path(model: ConvexClusterPath, rows: RowSource) -> list[Need]:
    n_rows, n_columns = rows.shape
    n_gammas = model.n_gammas if model.gammas is None else np.size(model.gammas)
    # Centroids, labels, and what is known of each gamma: in a list first, then in arrays.
    per_gamma = 1000.0 + n_rows * (n_columns * (2 * _DOUBLE + rows.dtype.itemsize) + 12)
    kept = Need(
        n_gammas * per_gamma, f"the centroids of {n_gammas:,} gammas", "ask for fewer gammas (--gammas)"
    )
    return [*_memory(model, rows), kept]


_OPTIONS = (
    Option("n_neighbors", "--neighbors", "nearest neighbours that each row is drawn to", type=int),
    Option(
        "phi",
        "--phi",
        "neighbours at the distance d count exp(-phi d^2), in the units of the columns (0: all the same); auto "
        "is free of units",
        type=float,
        choices={"auto": ""},
    ),
    Option(
        "weights",
        "--weights",
        "edges between rows",
        choices={"knn": "those of nearest neighbours", "dense": "all", "precomputed": "those of --graph"},
    ),
    Option(
        "connect",
        "--connect",
        "connect the graph, so that one cluster is left in the end; usual with --phi auto",
        type=bool,
    ),
    Option("norm", "--norm", "of the differences of centroids", choices=dict.fromkeys(NAMES, "")),
    Option(
        "solver",
        "--solver",
        "how each gamma is solved",
        choices={
            "ama": "projected gradients, accelerated",
            "plain-ama": "not accelerated",
            "admm": "alternating directions",
        },
    ),
    Option(
        "step_size",
        "--step-size",
        "step of the solver",
        type=float,
        choices={"paper": "the fixed one of Chi and Lange, for ama and plain-ama"},
    ),
    Option(
        "stopping",
        "--stopping",
        "what tells that a gamma is done",
        choices={"gap": "the duality gap", "residuals": "primal and dual residuals, for admm"},
    ),
    Option(
        "tol",
        "--tol",
        "the duality gap of each gamma, relative to its objective, or its residuals",
        type=float,
    ),
)

CONVEX_PATH = Method(
    name="convex-path",
    estimator=ConvexClusterPath,
    summary="every row by itself, then fewer and fewer clusters as the penalty grows, down to one",
    objective=Objective("objectives_", "objective"),
    clusters=None,
    progress=Progress(step="gamma", limit="n_gammas"),
    options=(
        *_OPTIONS,
        Option("n_gammas", "--n-gammas", "how many strengths of the penalty, at most", type=int),
    ),
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
    options=_OPTIONS,
    memory=_memory,
    page=_PAGE,
)
