"""Base class of models with centers: predict, transform, score."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, FloatArray, IntArray
from coterie.blocks.dataset import check_squares, squares_to_point, weighted_sum
from coterie.blocks.kernel_rows import dense, kernel_rows
from coterie.centers.frame import CenterFrame
from coterie.centers.labels import labels_and_squares, nearest_labels, squares_to_centers
from coterie.estimators.base import Estimator, by_chunk
from coterie.estimators.initialization import check_n_rows, draw_centers, draws_centers, given_centers
from coterie.estimators.outliers import (
    SCALES,
    FitDistances,
    center_rounding,
    outlier_scores,
    scales_of_fit,
    scores_of_fit,
)
from coterie.fitting.checks import check_sample_weight, warn
from coterie.fitting.deadline import Deadline
from coterie.fitting.threads import effective_n_threads
from coterie.limits.memory import check_allocation
from coterie.passes import MeasuredRows
from coterie.rows import Block, Rows
from coterie.rows.derived import normalized, rows_of_zeros, selected_rows

# How many roundings of its square a squared distance to a centroid may be off by, if rows are sparse.
_ROUNDING = 64

# The label of a row that is in no cluster.
NO_CLUSTER = -1

# Attributes of a fit. A constant, because every fit checks that its numbers are finite.
_ATTRIBUTES = {
    "n_features_in_": "size d",
    "cluster_centers_": "float k d",
    "_shift": "float d",
    "_n_features_out": "size k?",
    "labels_": "label<k n?",
    "inertia_": "float?",
    "history_": "records?",
    "n_iter_": "int?",
    **SCALES,
}


class CentroidEstimator(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    Estimator,
):
    """A model that is a set of centers. A subclass has `fit`, which begins with `check_parameters` and ends with
    `_store_fitted`.
    """

    _WITHOUT_SCALES = (
        "it has not labeled the rows of a fit. Fit it with compute_labels=True; after partial_fit, "
        "KMeans(n_clusters, init=model, max_iter=1).fit(X) learns them from rows."
    )

    _of_rows = ("labels_", "_own_distances", "_outlier_scores", "history_")
    _takes_sparse = True

    n_clusters: int
    metric: str
    zero_rows: str
    n_threads: int | None
    init: Any
    n_init: int | str
    history_: Array
    max_time: float | None
    cluster_centers_: Array
    labels_: IntArray
    _shift: FloatArray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Find the clusters of X.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
            The data; see `coterie.open_rows` for files, `coterie.dask.rows` for rows on workers. Never changed; float32
            and float64 arrays are never copied.
            What must be parsed or converted is converted once and kept if it takes at most 1 GiB as floats (arrays of
            smaller types: 96 MiB). Of more, what must be parsed goes to a temporary file in TMPDIR (or /var/tmp) once,
            the rest is converted block by block in every pass: the bits are the same.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Non-negative weight of each row.

        Returns
        -------
        object
            This estimator.
        """
        raise NotImplementedError

    def fit_predict(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> IntArray:
        """Find the clusters of X and return `labels_`; see `fit`."""
        return self.fit(X, sample_weight=sample_weight).labels_

    @by_chunk
    def predict(self, X: Any, *, return_distance: bool = False) -> Any:
        """Return the nearest centroid of each row of X, block by block.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
            Any rows.
        return_distance : bool
            Also return the distances to the centroids, in the same pass.

        Returns
        -------
        labels : ndarray of shape (n,), int32
            For the rows of the fit, those of `labels_`.
        distances : ndarray of shape (n,), float64
            Only with `return_distance`: the distance of each row to its centroid, with `metric="cosine"` 1 - cos; NaN
            for the label -1. For distances relative to the cluster see `outlier_scores`.

        Examples
        --------
        >>> from coterie import KMeans
        >>> model = KMeans(2, random_state=0).fit([[8.0], [9], [11], [12], [80], [100], [120]])
        >>> _, distances = model.predict([[15], [105]], return_distance=True)
        >>> distances
        array([5., 5.])
        """
        check_is_fitted(self)
        rows, n_threads = self._rows_of(X), self._n_threads
        squares = None
        if return_distance:
            labels, squares = labels_and_squares(rows, self.cluster_centers_, self._shift, n_threads)
        else:
            labels = nearest_labels(rows, self.cluster_centers_, self._shift, n_threads)
        if self._ignores_zeros:
            labels[rows_of_zeros(rows)] = NO_CLUSTER
        return labels if squares is None else (labels, self._own_distances_of(squares, labels))

    @by_chunk
    def transform(self, X: Any) -> Array:
        """Return the distance of each row of X to every centroid.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
            Any rows.

        Returns
        -------
        ndarray of shape (n, k), float32 or float64
            Euclidean distances, exactly 0 for rows at a centroid; or with `metric="cosine"` 1 - cos, which is 1 for
            an ignored row of zeros.
        """
        from sklearn.metrics.pairwise import cosine_distances  # slow to load; fits need none of it

        check_is_fitted(self)
        rows = self._rows_of(X)
        centers = self.cluster_centers_.astype(rows.dtype, copy=False)
        check_allocation(
            float(rows.shape[0]) * len(centers) * rows.dtype.itemsize,
            "distances of all rows to all centers",
            "transform fewer rows at a time",
        )
        out = np.empty((rows.shape[0], len(centers)), dtype=rows.dtype)
        for start, block in rows.blocks():
            part = slice(start, start + block.shape[0])
            with np.errstate(over="ignore", invalid="ignore"):  # an error of `check_squares`
                out[part] = (
                    cosine_distances(block, centers)
                    if self._is_cosine
                    else _distances(block, centers, self._n_threads)
                )
            check_squares(out[part], start)
        return out

    def fit_transform(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Array:
        """Find the clusters of X and return the distance of each row to every centroid; see `transform`."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    @by_chunk
    def score(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return minus the inertia that the centroids leave on X: the higher, the better.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
            Any rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Non-negative weight of each row.

        Returns
        -------
        float
            Minus the (weighted) sum of squared distances to the nearest centroids, or of 1 - cos.
        """
        check_is_fitted(self)
        rows = self._with_direction(self._rows_of(X))
        weights = self._weights_of(rows, sample_weight)
        return -self._inertia_of(weighted_sum(self._labels_and_squares(rows)[1], weights))

    outlier_scores_ = property(scores_of_fit)
    cluster_scales_ = property(scales_of_fit)
    outlier_scores = outlier_scores

    # --- for subclasses ------------------------------------------------------------------------------------------

    def _fitted_attributes(self) -> dict[str, str]:
        return {**super()._fitted_attributes(), **_ATTRIBUTES}

    def _check_continuation(self) -> None:
        """Raise a ValueError if a stream cannot be continued with the current clusters."""
        counts = getattr(self, "counts_", None)
        if counts is not None and len(counts) != self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} cannot be reached by partial_fit, which continues {len(counts)} "
                "clusters: call fit, or begin with a new model."
            )

    @property
    def _is_cosine(self) -> bool:
        return self.metric == "cosine"

    @property
    def _ignores_zeros(self) -> bool:
        return self._is_cosine and self.zero_rows == "ignore"

    @property
    def _n_threads(self) -> int:
        return effective_n_threads(self.n_threads)

    def _rows_to_fit(self, X: Any) -> tuple[Rows, dict[str, Any]]:
        rows, columns = super()._rows_to_fit(X)
        return self._with_direction(rows), columns

    def _normalized(self, rows: Rows) -> Rows:
        """Return the rows, at length 1 with the cosine metric; those of zeros as they are or refused."""
        if not self._is_cosine:
            return rows
        return normalized(rows, refuse_zeros=not self._ignores_zeros)

    def _with_direction(self, rows: Rows) -> Rows:
        """Return the rows that are not zero, where others are ignored: a fit is that of these, to the bit."""
        zeros = rows_of_zeros(rows) if self._ignores_zeros else ()
        if len(zeros) == 0:
            return rows
        others = np.delete(np.arange(rows.shape[0]), zeros)
        if len(others) == 0:
            raise ValueError("All rows of X are zeros, which have no direction.")
        found = selected_rows(rows, others)
        found.source, found.numbers = rows, others
        return found

    def _weights_of(self, rows: Rows, sample_weight: npt.ArrayLike | None) -> Array | None:
        """Return the weights of the rows of a fit; they are given for all rows."""
        if rows.numbers is None or rows.source is None:
            return check_sample_weight(sample_weight, rows)
        weights = check_sample_weight(sample_weight, rows.source)
        return None if weights is None else check_sample_weight(weights[rows.numbers], rows)

    def _inertia_of(self, squares: float) -> float:
        """Return the inertia that a sum of squared distances stands for: 1 - cos is half of one, at length 1."""
        return squares / 2 if self._is_cosine else squares

    def _check_n_rows(self, rows: Rows) -> None:
        check_n_rows(rows, self.n_clusters)

    def _given_centers(self, rows: Rows, n_init: int | str = "auto") -> Array | None:
        return given_centers(self.init, rows, self.n_clusters, n_init, unit_length=self._is_cosine)

    def _drawn_centers(
        self, X: Any, data: MeasuredRows, random: np.random.RandomState, deadline: Deadline
    ) -> Array:
        return draw_centers(
            self.init, X, data, self.n_clusters, random, deadline, unit_length=self._is_cosine
        )

    def _check_distances(self, centers: Array, shift: FloatArray) -> None:
        if not CenterFrame(centers, shift).squares.max() <= np.finfo(centers.dtype).max / 4:
            raise ValueError(
                f"The initial centers are too far from the rows for {centers.dtype}: squared distances overflow."
            )

    def _warn_of_empty_clusters(self, labels: IntArray) -> None:
        distinct = np.count_nonzero(np.bincount(labels))
        if distinct < self.n_clusters:
            warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({self.n_clusters}). "
                "Possibly due to duplicate points in X.",
                ConvergenceWarning,
            )

    def _centers_fitted(self, centers: Array, shift: FloatArray) -> dict[str, Any]:
        """Return the fitted attributes that hold the centers."""
        return {"cluster_centers_": centers, "_shift": shift, "_n_features_out": len(centers)}

    def _n_runs(self) -> int:
        """Return the number of runs for `n_init`."""
        if not draws_centers(self.init):
            return 1
        if self.n_init != "auto":
            return int(self.n_init)
        return 10 if callable(self.init) or self.init == "random" else 1

    @staticmethod
    def _scattered(rows: Rows, values: Array, missing: int = NO_CLUSTER) -> Array:
        """Return values of all rows, of those of a fit: `missing` for those that were ignored."""
        if rows.numbers is None or rows.source is None:
            return values
        found = np.full(rows.source.shape[0], missing, dtype=values.dtype)
        found[rows.numbers] = values
        return found

    def _labels_fitted(
        self, rows: Rows, centers: Array, labels: IntArray, squares: FloatArray, weights: Array | None
    ) -> dict[str, Any]:
        """Return the fitted attributes of the rows of a fit; those that were ignored get the label -1."""
        inertia, distances = self._inertia_of(weighted_sum(squares, weights)), self._distances_of(squares)
        rounding = self._distances_of(center_rounding(centers) ** 2)
        labels, distances = self._scattered(rows, labels), self._scattered(rows, distances, 0)
        weights = None if weights is None else self._scattered(rows, weights, 0)
        own = FitDistances(labels, distances, rounding, weights)
        return {"labels_": labels, "inertia_": inertia, "_own_distances": own}

    def _labels_and_squares(self, rows: Rows) -> tuple[IntArray, FloatArray]:
        return labels_and_squares(rows, self.cluster_centers_, self._shift, self._n_threads)

    def _distances_of(self, squares: FloatArray) -> FloatArray:
        """Return the distances that `transform` would, of squared ones: 1 - cos is half of one, at length 1."""
        return squares / 2 if self._is_cosine else np.sqrt(squares)

    def _own_distances_of(self, squares: FloatArray, labels: IntArray) -> FloatArray:
        """Return distances to the own clusters, NaN for rows in none."""
        return np.where(labels < 0, np.nan, self._distances_of(squares))

    def _distances_to(self, X: Any, labels: IntArray, to_centers: FloatArray | None) -> FloatArray:
        if to_centers is not None:
            return to_centers
        check_is_fitted(self)
        rows = self._rows_of(X)
        return self._distances_of(squares_to_centers(rows, self.cluster_centers_, labels, self._n_threads))


def _distances(block: Block, centers: Array, n_threads: int) -> Array:
    """Return all distances, from differences also where both are far from 0."""
    rows, points = kernel_rows(block), centers.astype(np.float64)
    squares = np.column_stack([squares_to_point(rows, block.shape[0], one, n_threads) for one in points])
    if sp.issparse(block):  # whose differences are summed in another order than the squares of centers
        limits = _ROUNDING * np.finfo(np.float64).eps * np.einsum("ij,ij->i", points, points)
        for row, column in zip(*np.nonzero(squares <= limits)):
            squares[row, column] = np.sum((dense(block[[row]]).astype(np.float64) - points[column]) ** 2)
    return np.sqrt(squares)
