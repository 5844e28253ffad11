"""Quality of clusterings: against known classes, as a quantizer, as a cut of a graph.

`normalized_mutual_info_score` and `adjusted_rand_score` are scikit-learn's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from coterie.blocks.dataset import total_weight, weighted_sum
from coterie.centers.labels import labels_and_squares
from coterie.fitting.checks import check_sample_weight
from coterie.fitting.threads import effective_n_threads
from coterie.graphs.cuts import balanced_cut
from coterie.rows import as_rows

if TYPE_CHECKING:
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

__all__ = [
    "adjusted_rand_score",
    "balanced_cut",
    "clustering_accuracy",
    "normalized_mutual_info_score",
    "purity",
    "quantization_error",
]


def __getattr__(name: str) -> Any:
    if name not in ("adjusted_rand_score", "normalized_mutual_info_score"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import sklearn.metrics

    return getattr(sklearn.metrics, name)


def clustering_accuracy(labels_true: npt.ArrayLike, labels_pred: npt.ArrayLike) -> float:
    """Share of rows with the right class, under the best one-to-one match of clusters to classes.

    The match is found by the Hungarian algorithm on the table of counts (classes x clusters). Rows of a
    cluster that is left without a class count as wrong.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Class and cluster of each row: integers or strings.

    Returns
    -------
    float
        Between 0 and 1; 1 where both partitions are the same.

    Raises
    ------
    ValueError
        If the labels are empty, not one-dimensional or of different lengths.

    Notes
    -----
    O(n log n + m^3) time and O(m^2) memory, for m the larger of the numbers of classes and clusters.

    Examples
    --------
    >>> from coterie.metrics import clustering_accuracy
    >>> clustering_accuracy([0, 0, 1, 1], [1, 1, 0, 1])
    0.75
    """
    counts = _contingency(labels_true, labels_pred).toarray()
    classes, clusters = linear_sum_assignment(counts, maximize=True)
    return float(counts[classes, clusters].sum() / counts.sum())


def purity(labels_true: npt.ArrayLike, labels_pred: npt.ArrayLike) -> float:
    """Share of rows that belong to the commonest class of their cluster.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Class and cluster of each row: integers or strings.

    Returns
    -------
    float
        Between 0 and 1; 1 where no cluster mixes classes (so one cluster per row is always pure).

    Raises
    ------
    ValueError
        If the labels are empty, not one-dimensional or of different lengths.

    Examples
    --------
    >>> from coterie.metrics import purity
    >>> purity([0, 0, 1, 1], [0, 1, 2, 2])
    1.0
    """
    counts = _contingency(labels_true, labels_pred)
    return float(counts.max(axis=0).sum() / counts.sum())


def quantization_error(X, centers: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
    """Mean squared Euclidean distance from each row to its nearest center.

    The rows are read block by block and the mean is accumulated in float64.

    Parameters
    ----------
    X : array-like, sparse matrix, table or Rows of shape (n, d)
        The rows: anything that `coterie.rows.as_rows` takes.
    centers : array-like of shape (k, d)
        Centroids, modes or any other representatives.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, none negative; the mean is then the weighted one.

    Returns
    -------
    float
        For centers of k-means and equal weights: `inertia_ / n`.

    Raises
    ------
    ValueError
        If the shapes do not match, a weight is negative or not finite, or all weights are zero.

    Notes
    -----
    O(n k d) time; memory for a few blocks beside the centers.

    Examples
    --------
    >>> from coterie.metrics import quantization_error
    >>> quantization_error([[0.0], [2.0], [10.0]], [[1.0], [10.0]])
    0.6666666666666666
    """
    rows = as_rows(X)
    n_rows, n_columns = rows.shape
    points = np.asarray(check_array(centers, dtype=rows.dtype, order="C", input_name="centers"))
    if points.shape[1] != n_columns:
        raise ValueError(f"centers must have shape (k, {n_columns}), got {points.shape}.")
    weights = check_sample_weight(sample_weight, rows)
    n_threads = effective_n_threads(None)
    _, squares = labels_and_squares(rows, points, points.mean(axis=0, dtype=np.float64), n_threads)
    return weighted_sum(squares, weights) / total_weight(n_rows, weights)


def _contingency(labels_true: npt.ArrayLike, labels_pred: npt.ArrayLike) -> sp.csc_matrix:
    """Counts of each (class, cluster) pair, as a sparse matrix."""
    truth, predicted = column_or_1d(labels_true), column_or_1d(labels_pred)
    check_consistent_length(truth, predicted)
    if truth.size == 0:
        raise ValueError("labels_true and labels_pred are empty.")
    from sklearn.metrics.cluster import contingency_matrix  # slow to load

    return contingency_matrix(truth, predicted, sparse=True).tocsc()
