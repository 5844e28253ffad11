"""Estimators that do not run on a cluster: each says in one sentence what to do instead."""

from __future__ import annotations

from typing import Any

__all__ = [
    "BisectingKMeans",
    "ConvexClusterPath",
    "ConvexClustering",
    "MiniBatchKMeans",
    "TotalVariationClustering",
    "refusal_of",
]

_OF_CENTROIDS = (
    "holds all rows and a graph of them, and does not run on a cluster: find some thousands of centroids by "
    "coterie.dask.KMeans(coreset_size=...), and give cluster_centers_ to coterie.{name}."
)
_OF_SAMPLES = (
    "needs a graph of nearest neighbours, and memberships of all rows, in one place: where these fit this machine, fit "
    "coterie.{name}(affinity='precomputed') to coterie.dask.knn_graph(X); else fit coterie.{name} to rows of "
    "coterie.coresets.lightweight_coreset(coterie.dask.rows(X), size), and label all rows by "
    "coterie.dask.predict(model, X)."
)

_REASONS = {
    "ConvexClustering": _OF_CENTROIDS,
    "ConvexClusterPath": _OF_CENTROIDS,
    "TotalVariationClustering": _OF_SAMPLES,
    "MiniBatchKMeans": "does not run on a cluster: coterie.dask.NestedMiniBatchKMeans does, and is closer to exact "
    "k-means.",
    "BisectingKMeans": "does not run on a cluster: fit coterie.{name} to rows of "
    "coterie.coresets.lightweight_coreset(coterie.dask.rows(X), size), and label all rows by "
    "coterie.dask.predict(model, X).",
}


def refusal_of(name: str) -> str:
    """Return the sentence that says what to do instead of an estimator on a cluster.

    Parameters
    ----------
    name : str
        Such as "ConvexClustering".
    """
    reason = _REASONS.get(name, "does not run on a cluster: fit it on one machine.")
    return f"{name} {reason.format(name=name)}"


class _Refused:
    """An estimator that cannot be made; the error says why."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError(refusal_of(type(self).__name__))


class ConvexClustering(_Refused):
    """Convex clustering does not run on a cluster: cluster centroids of `coterie.dask.KMeans` on one machine."""


class ConvexClusterPath(_Refused):
    """The convex path does not run on a cluster: cluster centroids of `coterie.dask.KMeans` on one machine."""


class TotalVariationClustering(_Refused):
    """Total variation does not run on a cluster: fit it to `knn_graph` or to a coreset, as the error says."""


class MiniBatchKMeans(_Refused):
    """Mini-batches do not run on a cluster: `coterie.dask.NestedMiniBatchKMeans` does."""


class BisectingKMeans(_Refused):
    """Bisecting k-means does not run on a cluster: fit it to a coreset, and label all rows by `predict`."""
