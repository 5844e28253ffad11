"""The record of total variation clustering."""

from __future__ import annotations

from typing import Any

from coterie.estimators.belonging import own_memberships
from coterie.estimators.memory import given_graph, memberships, neighbor_graph, rows_in_memory
from coterie.estimators.method import Belonging, Method, Need, Objective, Progress
from coterie.rows import RowSource
from coterie.total_variation.estimator import TotalVariationClustering

__all__ = ["TOTAL_VARIATION"]


def _plot_memberships(model: TotalVariationClustering) -> Any:
    from coterie.total_variation.plots import plot_memberships

    return plot_memberships(model)


def _memory(model: TotalVariationClustering, rows: RowSource) -> list[Need]:
    n_rows = rows.shape[0]
    needs = [rows_in_memory(rows), memberships(rows, model.n_clusters, n_arrays=8)]
    if model.affinity == "knn":
        # Mutual neighbors share an edge, and an edge between two blocks has two duals.
        n_duals = n_rows * min(model.n_neighbors, n_rows)
        what = f"duals of each edge and each of the {model.n_clusters} clusters"
        way_out = "ask for fewer clusters or neighbors"
        needs.append(neighbor_graph(rows, model.n_neighbors, is_symmetric=True))
        needs.append(Need(float(n_duals) * model.n_clusters * rows.dtype.itemsize, what, way_out))
    else:
        needs.append(given_graph(rows))
    return needs


TOTAL_VARIATION = Method(
    name="total-variation",
    estimator=TotalVariationClustering,
    summary="clusters with few edges between them, also from a few labels",
    objective=Objective("energy_", "balanced cut"),
    # `max_iter` limits the inner iterations, which are not reported.
    progress=Progress(name="relaxed cut", step="outer step", limit=None),
    takes_labels=True,
    belonging=Belonging("membership", own_memberships),
    pictures={"memberships": _plot_memberships},
    memory=_memory,
    page="docs/development/decisions/total_variation.md",
)
