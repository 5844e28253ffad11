"""K-means as a step of another fit, within the time that this has."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from coterie.arrays import Array
from coterie.fitting.deadline import Deadline
from coterie.kmeans.exact import KMeans

__all__ = ["k_means_within"]

# Seconds that are given where none are left: a model there must be.
_LEAST = 1e-3


def k_means_within(
    deadline: Deadline,
    rows: Any,
    n_clusters: int,
    *,
    sample_weight: Array | None = None,
    **parameters: Any,
) -> KMeans:
    """Fit k-means to some rows, by a deadline if there is one.

    Parameters
    ----------
    deadline : Deadline
        When it is to end. That it did so early is for the other fit to say.
    rows : array-like, sparse matrix or RowSource of shape (n, d)
        The rows.
    n_clusters : int
        Number of clusters.
    sample_weight : ndarray of shape (n,), optional
        Weights of the rows.
    **parameters
        Of `KMeans`.

    Returns
    -------
    KMeans
        Fitted.
    """
    if not deadline.is_set:
        return KMeans(n_clusters, **parameters).fit(rows, sample_weight=sample_weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(n_clusters, max_time=max(deadline.left, _LEAST), **parameters).fit(
            rows, sample_weight=sample_weight
        )
