"""The record of Laplacian K-modes."""

from __future__ import annotations

from coterie.estimators.belonging import own_memberships
from coterie.estimators.memory import given_graph, memberships, neighbor_graph, rows_in_memory
from coterie.estimators.method import Belonging, Method, Need, Objective, Progress
from coterie.laplacian_kmodes.estimator import LaplacianKModes
from coterie.rows import RowSource

__all__ = ["LAPLACIAN_KMODES"]


def _memory(model: LaplacianKModes, rows: RowSource) -> list[Need]:
    needs = [rows_in_memory(rows), memberships(rows, model.n_clusters, n_arrays=6)]
    if model.affinity == "knn":
        needs.append(neighbor_graph(rows, model.n_neighbors, is_symmetric=model.symmetrize != "none"))
    else:
        needs.append(given_graph(rows))
    return needs


LAPLACIAN_KMODES = Method(
    name="laplacian-kmodes",
    estimator=LaplacianKModes,
    summary="clusters of any shape, each around a row",
    objective=Objective("objective_", "objective"),
    progress=Progress(name="relaxed objective"),
    belonging=Belonging("membership", own_memberships),
    memory=_memory,
    page="docs/development/decisions/laplacian_kmodes.md",
)
