"""The records of k-means: exact, nested and by mini-batches."""

from __future__ import annotations

from typing import Any

from coterie.backend import lie_elsewhere
from coterie.centers.bounded import StoredBounds, n_bounds_of
from coterie.centers.lloyd import choose_algorithm
from coterie.estimators.memory import copy_of_rows, labels_and_centers
from coterie.estimators.method import Method, Need, Objective, Progress
from coterie.kmeans.bisecting import BisectingKMeans
from coterie.kmeans.exact import KMeans
from coterie.kmeans.mini_batch import MiniBatchKMeans
from coterie.kmeans.nested import NestedMiniBatchKMeans, n_bounds_per_row
from coterie.rows import RowSource

__all__ = [
    "BISECTING", "INERTIA", "K_MEANS", "MINI_BATCH", "NESTED", "copy_of_compared_rows",
]  # fmt: skip

# Files of more rows than this are clustered by nested mini-batches, which are far sooner within 1% of k-means there.
_NESTED_ROWS = 100_000

_PAGE = "docs/development/decisions/kmeans.md"

INERTIA = Objective("inertia_", "inertia")


def copy_of_compared_rows(model: Any, rows: RowSource) -> Need:
    """Return what a copy of the rows takes, which the cosine metric makes."""
    return copy_of_rows(rows, is_changed=model.metric == "cosine")


def _lower_bounds(n_rows: int, n_bounds: int | None, n_clusters: int, itemsize: int, way_out: str) -> Need:
    """Return what an upper bound and lower ones take; None for one per centroid."""
    per_row = n_clusters if n_bounds is None else n_bounds
    what = "bounds of the distances of each row" + (" to each centroid" if n_bounds is None else "")
    return Need(float(n_rows) * (per_row * StoredBounds.dtype.itemsize + itemsize), what, way_out)


def _memory_of_k_means(model: KMeans, rows: RowSource) -> list[Need]:
    n_rows, n_columns = rows.shape
    n_clusters, itemsize = min(model.n_clusters, n_rows), rows.dtype.itemsize
    needs = [labels_and_centers(rows, n_clusters)]
    if lie_elsewhere(rows):
        return needs
    if model.coreset_size is not None:
        n_rows = model.coreset_size
        way_out = "take a smaller coreset_size (--coreset)"
        needs.append(Need(2.0 * n_rows * (rows.row_bytes() + 16), "the coreset", way_out))
    else:
        needs.append(copy_of_compared_rows(model, rows))
    algorithm: str = model.algorithm
    if algorithm == "auto":
        shape = n_rows, n_columns
        algorithm = choose_algorithm(shape, n_clusters, itemsize=itemsize, is_sparse=rows.is_sparse)
        algorithm = "elkan" if algorithm == "race" else algorithm  # the one that takes more
    if algorithm != "lloyd" and n_clusters > 1:
        n_bounds = n_bounds_of(algorithm, n_rows, n_clusters)
        way_out = "take algorithm='lloyd', which has none, or a coreset (coreset_size, --coreset)"
        needs.append(_lower_bounds(n_rows, n_bounds, n_clusters, itemsize, way_out))
    return needs


def _memory_of_nested(model: NestedMiniBatchKMeans, rows: RowSource) -> list[Need]:
    n_rows, n_columns = rows.shape
    n_clusters, itemsize = min(model.n_clusters, n_rows), rows.dtype.itemsize
    needs = [labels_and_centers(rows, n_clusters)]
    needs.append(Need(16.0 * n_rows, "the random order of the rows", "take a sample of the rows"))
    if lie_elsewhere(rows):
        return needs
    needs.append(copy_of_compared_rows(model, rows))
    n_bounds = n_bounds_per_row(n_rows, n_columns, n_clusters, itemsize, model.bounds)
    if n_bounds != 0 and not rows.is_sparse:
        way_out = "take bounds='off', which has none"
        needs.append(_lower_bounds(n_rows, n_bounds, n_clusters, itemsize, way_out))
    return needs


def _memory_of_mini_batch(model: MiniBatchKMeans, rows: RowSource) -> list[Need]:
    n_clusters = min(model.n_clusters, rows.shape[0])
    batch = min(model.batch_size, rows.shape[0])
    return [
        labels_and_centers(rows, n_clusters),
        copy_of_compared_rows(model, rows),
        Need(4.0 * batch * rows.row_bytes(), "batches of rows", "take a smaller batch_size (--batch-size)"),
    ]


def _memory_of_bisecting(model: BisectingKMeans, rows: RowSource) -> list[Need]:
    n_rows = rows.shape[0]
    return [
        labels_and_centers(rows, 2 * min(model.n_clusters, n_rows)),
        copy_of_rows(rows),
        Need(
            n_rows * (rows.row_bytes() + 24.0),
            "the rows of the cluster that is halved",
            "take a sample of the rows",
        ),
    ]


K_MEANS = Method(
    name="k-means",
    estimator=KMeans,
    summary="exact k-means",
    objective=INERTIA,
    usual_above=0,
    memory=_memory_of_k_means,
    page=_PAGE,
)

NESTED = Method(
    name="nested",
    estimator=NestedMiniBatchKMeans,
    summary="k-means by nested mini-batches, within 1% of exact k-means far sooner",
    objective=INERTIA,
    usual_above=_NESTED_ROWS,
    memory=_memory_of_nested,
    page=_PAGE,
)

MINI_BATCH = Method(
    name="mini-batch",
    estimator=MiniBatchKMeans,
    summary="k-means by mini-batches that are drawn anew each time",
    objective=INERTIA,
    # `max_iter` limits epochs, but each batch is reported.
    progress=Progress(step="step", limit=None),
    memory=_memory_of_mini_batch,
    page=_PAGE,
)

BISECTING = Method(
    name="bisecting",
    estimator=BisectingKMeans,
    summary="k-means that halves the worst cluster again and again: a tree, which can be cut at any number of clusters",
    objective=INERTIA,
    progress=Progress(step="split", limit="n_clusters"),
    drops_clusters=True,
    memory=_memory_of_bisecting,
    page=_PAGE,
)
