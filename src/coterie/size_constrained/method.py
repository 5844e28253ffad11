"""The record of k-means with size constraints."""

from __future__ import annotations

from coterie.estimators.memory import labels_and_centers
from coterie.estimators.method import Method, Need
from coterie.kmeans.method import INERTIA, copy_of_compared_rows
from coterie.rows import RowSource
from coterie.size_constrained.estimator import SizeConstrainedKMeans
from coterie.size_constrained.passes import listed

__all__ = ["SIZE_CONSTRAINED", "lists_of_rows"]

# Bytes of choices and bounds of each row beside its list, and of arrays in between.
_PER_ROW = 200


def lists_of_rows(n_rows: int, n_clusters: int, itemsize: int) -> Need:
    """Return what the lists of the nearest centers of the rows take."""
    n_bytes = n_rows * (listed(n_rows, n_clusters, itemsize) * (4.0 + itemsize) + _PER_ROW)
    return Need(n_bytes, "lists of the nearest centers of each row", "take a sample of the rows")


def _memory(model: SizeConstrainedKMeans, rows: RowSource) -> list[Need]:
    n_clusters = min(model.n_clusters, rows.shape[0])
    return [
        labels_and_centers(rows, n_clusters),
        copy_of_compared_rows(model, rows),
        lists_of_rows(rows.shape[0], n_clusters, rows.dtype.itemsize),
    ]


SIZE_CONSTRAINED = Method(
    name="size-constrained",
    estimator=SizeConstrainedKMeans,
    summary="k-means with a minimum and a maximum size of clusters",
    objective=INERTIA,
    memory=_memory,
    page="docs/guide/kmeans.md",
)
