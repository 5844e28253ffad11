"""Outlier scores: distances of rows to their clusters, relative to the scale of each cluster.

A fit stores the distances of its rows in `_own_distances`. The functions are attributes of the estimators that have
`_distances_to`, the distances of rows to given clusters (None where there are none), and `_WITHOUT_SCALES`, why a fit
can have no distances, and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, FloatArray, IntArray

# Attributes of a fit that has measured the distances of its n rows in k clusters. Scores may exceed float32, and are
# NaN for rows in no cluster.
SCALES = {"_cluster_scales": "float k?", "_outlier_scores": "real n?", "_own_distances": "unsaved?"}

# Upper bound of the rounding error of a center, in units in the last place of its length.
_ROUNDINGS = 4


@dataclass(frozen=True, slots=True)
class FitDistances:
    """Distances of rows to their clusters in a fit; `rounding`, (k,), are those that rounding alone can make."""

    labels: IntArray
    distances: FloatArray
    rounding: FloatArray
    weights: Array | None = None


def scores_of_fit(model: Any) -> Array:
    """Outlier score of each row of the fit: (n,), float32.

    The distance of the row from its cluster, divided by the scale of the cluster (`cluster_scales_`): 1 for the
    median row of a cluster, NaN for a row in no cluster. The distance depends on the method: to the center, mean or
    mode of the cluster, or to the nearest neighbors. Scores do not depend on the units of the columns. They are
    computed on first access, without reading the rows.

    Unlike the scores of HDBSCAN (GLOSH, 0 to 1) they have no upper limit. A row that is a cluster of its own has
    the score 0, so look at the sizes of the clusters as well.
    """
    measure_scales(model)
    return model._outlier_scores


def scales_of_fit(model: Any) -> FloatArray:
    """Scale of each cluster: (k,), float64, the (weighted) lower median of the distances of its rows.

    A cluster that is empty, has one row, or has most rows at its center has the median of the other scales.
    """
    measure_scales(model)
    return model._cluster_scales


def outlier_scores(  # noqa: D417 (the model is `self`)
    model: Any, X: Any, labels: npt.ArrayLike | None = None, *, distances: FloatArray | None = None
) -> Array | None:
    """Return outlier scores of any rows: distances to their clusters, divided by `cluster_scales_`.

    Parameters
    ----------
    X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
        Any rows.
    labels : array-like of shape (n,), optional
        A cluster for each row, -1 for none; by default those of `predict`.
    distances : ndarray of shape (n,), optional
        Distances of the rows to the centers of these clusters, if known: this can save a pass over the rows.

    Returns
    -------
    ndarray of shape (n,), float32, or None
        As `outlier_scores_`; None if the model has no distances for these rows.

    Raises
    ------
    ValueError
        If the model has no such clusters.
    """
    if labels is None:
        measure_scales(model)
        found, measured = model.predict(X, return_distance=True)
        return relative_to_scales(measured, found, model.cluster_scales_)
    chosen = np.asarray(labels, dtype=np.int32)
    n_clusters = len(model.cluster_scales_)
    if chosen.min(initial=-1) < -1 or chosen.max(initial=-1) >= n_clusters:
        raise ValueError(f"labels must be from -1 to {n_clusters - 1}.")
    found = model._distances_to(X, chosen, distances)
    return None if found is None else relative_to_scales(found, chosen, model.cluster_scales_)


def measure_scales(model: Any) -> None:
    """Compute scales and scores from the distances of the fit, once; a NotFittedError if there are none."""
    own = vars(model).get("_own_distances")
    if own is not None:
        model._cluster_scales = cluster_scales(own)
        model._outlier_scores = relative_to_scales(own.distances, own.labels, model._cluster_scales)
        vars(model).pop("_own_distances", None)  # another thread may have been here, too
    elif not hasattr(model, "_cluster_scales"):
        check_is_fitted(model)
        raise NotFittedError(f"This {type(model).__name__} has no outlier scores: {model._WITHOUT_SCALES}")


def cluster_scales(own: FitDistances) -> FloatArray:
    """Return the scale of each cluster, more than 0: see `scales_of_fit`."""
    n_clusters = len(own.rounding)
    order = np.lexsort((own.distances, own.labels))
    ends = np.searchsorted(own.labels[order], np.arange(n_clusters + 1))
    weights = np.ones(len(order)) if own.weights is None else own.weights[order].astype(np.float64)
    mass = np.concatenate([[0.0], np.cumsum(weights)])
    below, above = mass[ends[:-1]], mass[ends[1:]]
    # The lower median: weights are then repetitions, and two rows are not far from each other's middle.
    middles = np.searchsorted(mass[1:], below + (above - below) / 2)
    medians = np.where(above > below, own.distances[order[np.minimum(middles, len(order) - 1)]], 0.0)
    known = medians > own.rounding
    others = np.sort(medians[known])
    usual = float(others[(len(others) - 1) // 2]) if len(others) else 0.0
    least = np.maximum(np.maximum(own.rounding, usual), np.finfo(np.float64).tiny)
    return np.where(known, medians, least)


def relative_to_scales(distances: FloatArray, labels: IntArray, scales: FloatArray) -> Array:
    """Return distances over the scales of their clusters, float32; NaN for the label -1."""
    with np.errstate(over="ignore"):
        relative = (distances / scales[labels]).astype(np.float32)
    relative[labels < 0] = np.nan
    return relative


def center_rounding(centers: Array) -> FloatArray:
    """Return the apparent distance of each center to equal rows, due to the rounding of the center."""
    lengths = np.linalg.norm(centers.astype(np.float64), axis=1)
    return np.asarray(_ROUNDINGS * float(np.finfo(centers.dtype).eps) * lengths)
