"""What a model that is a set of centroids can do: predict, transform, score."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, FloatArray, IntArray
from coterie.blocks.dataset import weighted_sum
from coterie.centers.labels import labels_and_squares, nearest_labels
from coterie.estimators.seeded import SeededEstimator
from coterie.fitting.checks import check_iteration_parameters, check_positive_integer, check_sample_weight
from coterie.fitting.threads import effective_n_threads
from coterie.rows import RowSource

__all__ = ["CentroidEstimator"]


class CentroidEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, SeededEstimator):
    """A model that is a set of centroids. A subclass has `fit`, which calls `_store_centers` at its end."""

    n_clusters: int
    n_threads: int | None
    history_: Array
    max_time: float | None
    cluster_centers_: Array
    labels_: IntArray
    _shift: FloatArray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __getstate__(self) -> Any:
        # The means in motion hold the memory of kernels; they are made again from the votes.
        return {name: value for name, value in super().__getstate__().items() if name != "_means"}

    def fit_predict(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> IntArray:
        """Find the clusters of X and return `labels_`; see `fit`."""
        return self.fit(X, sample_weight=sample_weight).labels_  # type: ignore[attr-defined]

    def predict(self, X: Any) -> IntArray:
        """Return the nearest centroid of each row of X, block by block.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
            Any rows.

        Returns
        -------
        ndarray of shape (n,), int32
            Labels; for the rows of the fit, those of `labels_`.
        """
        check_is_fitted(self)
        rows = self._rows_of(X, reset=False)
        return nearest_labels(rows, self.cluster_centers_, self._shift, effective_n_threads(self.n_threads))

    def transform(self, X: Any) -> Array:
        """Return the distance of each row of X to every centroid.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
            Any rows.

        Returns
        -------
        ndarray of shape (n, k), float32 or float64
            Euclidean distances.
        """
        check_is_fitted(self)
        rows = self._rows_of(X, reset=False)
        centers = self.cluster_centers_.astype(rows.dtype, copy=False)
        out = np.empty((rows.shape[0], len(centers)), dtype=rows.dtype)
        for start, block in rows.blocks():
            out[start : start + block.shape[0]] = euclidean_distances(block, centers)
        return out

    def fit_transform(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Array:
        """Find the clusters of X and return the distance of each row to every centroid; see `transform`."""
        return self.fit(X, sample_weight=sample_weight).transform(X)  # type: ignore[attr-defined]

    def score(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return minus the inertia that the centroids leave on X: the higher, the better.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
            Any rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Non-negative weight of each row.

        Returns
        -------
        float
            Minus the (weighted) sum of squared distances to the nearest centroids.
        """
        check_is_fitted(self)
        rows = self._rows_of(X, reset=False)
        weights = check_sample_weight(sample_weight, rows)
        return -self._labels_and_inertia(rows, weights)[1]

    # --- for subclasses ------------------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        check_positive_integer("n_clusters", self.n_clusters)
        check_iteration_parameters(self)
        self._check_init()

    def _check_distances(self, centers: Array, shift: FloatArray) -> None:
        relative = centers - shift if np.any(shift) else centers
        squares = np.einsum("ij,ij->i", relative, relative, dtype=np.float64)
        if not np.all(squares <= np.finfo(centers.dtype).max / 4):
            raise ValueError(
                f"The initial centers are too far from the rows for {centers.dtype}: squared distances overflow."
            )

    def _store_centers(self, centers: Array, shift: FloatArray) -> None:
        self.cluster_centers_ = centers
        self._shift = shift
        self._n_features_out = len(centers)

    def _warn_of_empty_clusters(self) -> None:
        distinct = len(np.unique(self.labels_))
        if distinct < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({self.n_clusters}). "
                "Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _label(self, rows: RowSource, weights: Array | None) -> None:
        """Label all rows with the centroids that are stored, and measure them: one pass."""
        self.labels_, self.inertia_ = self._labels_and_inertia(rows, weights)

    def _leave_unlabelled(self) -> None:
        self.__dict__.pop("labels_", None)
        self.inertia_ = float(self.history_["objective"][-1])

    def _labels_and_inertia(self, rows: RowSource, weights: Array | None) -> tuple[IntArray, float]:
        n_threads = effective_n_threads(self.n_threads)
        labels, squares = labels_and_squares(rows, self.cluster_centers_, self._shift, n_threads)
        return labels, weighted_sum(squares, weights)
