"""The records of k-means: exact, nested and by mini-batches."""

from __future__ import annotations

from coterie.centers.lloyd import ALGORITHMS
from coterie.estimators.method import Method, Objective, Option, Progress
from coterie.estimators.options import CENTER_TOLERANCE, CORESET, INIT, N_INIT
from coterie.kmeans.exact import KMeans
from coterie.kmeans.mini_batch import MiniBatchKMeans
from coterie.kmeans.nested import NestedMiniBatchKMeans

__all__ = ["K_MEANS", "MINI_BATCH", "NESTED"]

# Files of more rows than this are clustered by nested mini-batches, which are far sooner within 1% of k-means there.
_NESTED_ROWS = 100_000

_PAGE = "docs/decisions/kmeans.md"

_INERTIA = Objective("inertia_", "inertia")

_ALGORITHM = Option(
    "algorithm",
    "--algorithm",
    "the variant, all of which give the same clusters",
    choices=dict.fromkeys(ALGORITHMS, ""),
)

_METRIC = Option(
    "metric",
    "--metric",
    "what is near",
    choices={"euclidean": "by distance", "cosine": "by angle, whatever the lengths of rows are"},
)

_ZERO_ROWS = Option(
    "zero_rows",
    "--zero-rows",
    "rows of zeros, which have no angle",
    choices={"error": "are refused", "ignore": "are left out and get the label -1"},
)

K_MEANS = Method(
    name="k-means",
    estimator=KMeans,
    summary="exact k-means",
    objective=_INERTIA,
    options=(_ALGORITHM, _METRIC, _ZERO_ROWS, INIT, N_INIT, CORESET, CENTER_TOLERANCE),
    usual_above=0,
    page=_PAGE,
)

NESTED = Method(
    name="nested",
    estimator=NestedMiniBatchKMeans,
    summary="k-means by nested mini-batches, within 1% of exact k-means far sooner",
    objective=_INERTIA,
    options=(
        _METRIC,
        _ZERO_ROWS,
        INIT,
        Option("batch_size", "--batch-size", "rows of the first batch", type=int),
        Option(
            "bounds",
            "--bounds",
            "lower bounds that skip distances, all with the same clusters",
            choices={
                "auto": "by a measured rule",
                "elkan": "one per row and centroid, the paper's",
                "yinyang": "one per row and group of centroids",
                "off": "none",
            },
        ),
        CENTER_TOLERANCE,
    ),
    usual_above=_NESTED_ROWS,
    page=_PAGE,
)

MINI_BATCH = Method(
    name="mini-batch",
    estimator=MiniBatchKMeans,
    summary="k-means by mini-batches that are drawn anew each time",
    objective=_INERTIA,
    # `max_iter` limits epochs, but each batch is reported.
    progress=Progress(step="step", limit=None),
    options=(
        _METRIC,
        _ZERO_ROWS,
        INIT,
        N_INIT,
        Option("batch_size", "--batch-size", "rows of a batch", type=int),
        CENTER_TOLERANCE,
    ),
    page=_PAGE,
)
