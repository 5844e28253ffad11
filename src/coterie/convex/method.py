"""The records of convex clustering: the path, and one strength of the penalty."""

from __future__ import annotations

from coterie.convex.estimator import ConvexClustering, ConvexClusterPath
from coterie.estimators.method import Method, Objective, Progress

_PAGE = "docs/development/decisions.md"


CONVEX_PATH = Method(
    name="convex-path",
    estimator=ConvexClusterPath,
    summary="a path from single rows to one cluster, with a certificate for each strength of the penalty",
    objective=Objective("objectives_", "objective"),
    clusters=None,
    progress=Progress(step="gamma", limit="n_gammas"),
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
