"""The records of convex clustering: the path, and one strength of the penalty."""

from __future__ import annotations

from coterie.convex.clustering import ConvexClustering
from coterie.convex.norms import NAMES
from coterie.convex.path import ConvexClusterPath
from coterie.estimators.method import Method, Objective, Option, Progress

__all__ = ["CONVEX_CLUSTERING", "CONVEX_PATH"]

_PAGE = "docs/decisions/convex.md"

CONVEX_PATH = Method(
    name="convex-path",
    estimator=ConvexClusterPath,
    summary="every row by itself, then fewer and fewer clusters as the penalty grows, down to one",
    objective=Objective("objectives_", "objective"),
    clusters=None,
    progress=Progress(step="gamma", limit="n_gammas"),
    options=(
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
            choices={"knn": "those of nearest neighbours", "dense": "all"},
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
        Option("n_gammas", "--gammas", "how many strengths of the penalty, at most", type=int),
        Option(
            "tol",
            "--tol",
            "the duality gap of each gamma, relative to its objective, or its residuals",
            type=float,
        ),
    ),
    pictures={"path": ConvexClusterPath.plot, "dendrogram": ConvexClusterPath.plot_dendrogram},
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
    page=_PAGE,
)
