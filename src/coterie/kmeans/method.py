"""The records of k-means: exact, nested and by mini-batches."""

from __future__ import annotations

from coterie.estimators.method import Method, Objective, Progress
from coterie.kmeans.bisecting import BisectingKMeans
from coterie.kmeans.exact import KMeans
from coterie.kmeans.mini_batch import MiniBatchKMeans
from coterie.kmeans.nested import NestedMiniBatchKMeans

__all__ = [
    "BISECTING", "INERTIA", "K_MEANS", "MINI_BATCH", "NESTED",
]  # fmt: skip

# Files of more rows than this are clustered by nested mini-batches, which are far sooner within 1% of k-means there.
_NESTED_ROWS = 100_000

_PAGE = "docs/development/decisions.md"

INERTIA = Objective("inertia_", "inertia")


K_MEANS = Method(
    name="k-means",
    estimator=KMeans,
    summary="exact k-means",
    objective=INERTIA,
    usual_above=0,
    page=_PAGE,
)

NESTED = Method(
    name="nested",
    estimator=NestedMiniBatchKMeans,
    summary="k-means by nested mini-batches, within 1% of exact k-means far sooner",
    objective=INERTIA,
    usual_above=_NESTED_ROWS,
    page=_PAGE,
)

MINI_BATCH = Method(
    name="mini-batch",
    estimator=MiniBatchKMeans,
    summary="k-means by random mini-batches",
    objective=INERTIA,
    # `max_iter` limits epochs, but each batch is reported.
    progress=Progress(step="step", limit=None),
    page=_PAGE,
)

BISECTING = Method(
    name="bisecting",
    estimator=BisectingKMeans,
    summary="k-means that repeatedly halves the worst cluster: a tree that can be cut at any number of clusters",
    objective=INERTIA,
    progress=Progress(step="split", limit="n_clusters"),
    drops_clusters=True,
    page=_PAGE,
)
