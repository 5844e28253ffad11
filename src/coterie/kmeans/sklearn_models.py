"""scikit-learn's own models with what ours have found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.fitting.threads import effective_n_threads
from coterie.fitting.warn import warn

if TYPE_CHECKING:
    import sklearn.cluster

__all__ = ["as_sklearn"]

# What both have after a fit, under the same name and with the same meaning.
_SHARED = ("labels_", "inertia_", "n_iter_", "n_features_in_", "feature_names_in_")


def as_sklearn(model: Any) -> sklearn.cluster.KMeans:
    """Return scikit-learn's KMeans with the centroids of a fitted model; see `CentroidEstimator.as_sklearn`."""
    import sklearn.cluster  # takes an eighth as long as all of coterie

    if model.metric != "euclidean":
        raise ValueError(
            f"scikit-learn has no KMeans with metric={model.metric!r}. Fit KMeans to rows of length 1 "
            "(sklearn.preprocessing.normalize), which is nearly the same, and take as_sklearn() of that."
        )
    if hasattr(model, "splits_"):
        raise ValueError(
            "A tree of bisecting k-means does not predict the nearest centroid, so no KMeans of scikit-learn predicts "
            "what it does. KMeans(n_clusters, init=model.cluster_centers_, max_iter=1).fit(X) has one."
        )
    if getattr(model, "preparation_", None):
        warn(
            "The rows of the fit were prepared, and scikit-learn's model does not prepare any: give it rows as "
            "model.prepared(X).read() returns them."
        )
    centers = np.array(model.cluster_centers_)
    other = sklearn.cluster.KMeans(
        len(centers), init=centers, n_init=1, max_iter=model.max_iter, tol=model.tol
    )
    found = {name: getattr(model, name) for name in _SHARED if hasattr(model, name)}
    # scikit-learn's predict and set_output look for what has no public name.
    n_threads = effective_n_threads(model.n_threads)
    vars(other).update(found, cluster_centers_=centers, _n_threads=n_threads, _n_features_out=len(centers))
    return other
