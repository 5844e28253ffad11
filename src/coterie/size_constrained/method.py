"""The record of k-means with size constraints."""

from __future__ import annotations

from coterie.estimators.method import Method
from coterie.kmeans.method import INERTIA
from coterie.size_constrained.estimator import SizeConstrainedKMeans

SIZE_CONSTRAINED = Method(
    name="size-constrained",
    estimator=SizeConstrainedKMeans,
    summary="k-means with a minimum and a maximum size of clusters",
    objective=INERTIA,
    page="docs/guide/kmeans.md",
)
