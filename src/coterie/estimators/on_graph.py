"""Estimators that cluster the vertices of a graph: rows joined to their nearest neighbours, or given affinities."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, IntArray
from coterie.estimators.base import Estimator
from coterie.fitting.checks import check_iteration_parameters, check_option, check_positive_integer
from coterie.fitting.threads import effective_n_threads
from coterie.graphs import nearest_neighbors
from coterie.rows import Block, RowSource

__all__ = ["GraphEstimator"]

AFFINITIES = ("knn", "precomputed")


class GraphEstimator(ClusterMixin, Estimator):
    """A model that gives each vertex of a graph its memberships in clusters.

    A subclass has `fit`, which sets `labels_`, `memberships_` and `_training_rows` (None with precomputed affinities),
    and says how much the neighbours of a row speak for each cluster.
    """

    n_clusters: int
    n_neighbors: int
    affinity: str
    n_threads: int | None
    labels_: IntArray
    memberships_: Array
    _training_rows: Block

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags

    def predict(self, X: Any) -> IntArray:
        """Return the cluster of each row of X, by the memberships of its nearest training rows.

        A row of the fit is its own nearest neighbour here, so its label may differ from the one in `labels_` where
        its neighbours disagree.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (m, d)
            Any rows; with `affinity="precomputed"`, (m, n) affinities to the rows of the fit.

        Returns
        -------
        ndarray of shape (m,), int32
        """
        check_is_fitted(self, "labels_")
        rows = self._rows_of(X, reset=False).with_dtype(self.memberships_.dtype).read()
        if self.affinity == "precomputed":
            scores = self._scores_by_affinities(rows)
        else:
            n_neighbors = min(self.n_neighbors, self._training_rows.shape[0])
            n_threads = effective_n_threads(self.n_threads)
            near = nearest_neighbors(self._training_rows, n_neighbors, queries=rows, n_threads=n_threads)
            scores = self._scores_by_neighbors(rows, *near)
        return np.asarray(scores.argmax(axis=1), dtype=np.int32)

    def _scores_by_affinities(self, affinities: Block) -> Array:
        """Return how much speaks for each cluster: (m, L) scores of (m, n) affinities to the rows of the fit."""
        raise NotImplementedError

    def _scores_by_neighbors(self, rows: Block, ids: IntArray, squares: Array) -> Array:
        """Return the same for rows, by their nearest training rows and the squared distances to these."""
        raise NotImplementedError

    def _warn_of_empty_clusters(self, why: str) -> None:
        """Say how many of the clusters of `labels_` are empty, if any are; `why` ends the sentence."""
        n_empty = np.count_nonzero(np.bincount(self.labels_, minlength=self.n_clusters) == 0)
        if n_empty > 0:
            warnings.warn(
                f"{n_empty} of {self.n_clusters} clusters are empty{why}", ConvergenceWarning, stacklevel=4
            )

    def _check_n_rows(self, rows: RowSource) -> None:
        n_rows = rows.shape[0]
        if self.n_clusters > n_rows:
            raise ValueError(f"n_samples={n_rows} should be >= n_clusters={self.n_clusters}.")
        if self.affinity == "knn" and self.n_neighbors >= n_rows:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} should be < n_samples={n_rows}: a row is not its own neighbour."
            )

    def check_parameters(self) -> None:
        check_positive_integer("n_clusters", self.n_clusters)
        check_positive_integer("n_neighbors", self.n_neighbors)
        check_option("affinity", self.affinity, AFFINITIES)
        check_iteration_parameters(self)
