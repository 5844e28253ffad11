"""The record of Laplacian K-modes."""

from __future__ import annotations

from dataclasses import replace

from coterie.estimators.belonging import own_memberships
from coterie.estimators.memory import given_graph, memberships, neighbor_graph, rows_in_memory
from coterie.estimators.method import Belonging, Method, Need, Objective, Option, Progress
from coterie.estimators.options import GRAPH_NEIGHBORS, INIT, N_INIT, OBJECTIVE_TOLERANCE
from coterie.laplacian_kmodes.estimator import MODE_UPDATES, LaplacianKModes
from coterie.rows import RowSource

__all__ = ["LAPLACIAN_KMODES"]

_MODES = ("rows", "maxima of the density", "densest rows, slow for many rows")


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
    options=(
        replace(
            INIT,
            choices={
                "auto": "k-means, spectral and k-means++ in turn",
                "k-means++": "",
                "k-means": "",
                "spectral": "eigenvectors of the graph",
                "random": "",
            },
        ),
        N_INIT,
        GRAPH_NEIGHBORS,
        Option(
            "graph_weight",
            "--graph-weight",
            "weight of the graph against the modes, 1 to 4 as a rule",
            type=float,
            choices={"auto": "by the degrees of the graph"},
        ),
        Option(
            "mode_update", "--modes", "what modes are", choices=dict(zip(MODE_UPDATES, _MODES, strict=True))
        ),
        OBJECTIVE_TOLERANCE,
    ),
    belonging=Belonging("membership", own_memberships),
    memory=_memory,
    page="docs/decisions/laplacian_kmodes.md",
)
