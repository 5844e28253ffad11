"""Estimators that cluster the vertices of a graph: rows joined to their nearest neighbors, or given affinities."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, BoolArray, FloatArray, IntArray
from coterie.estimators.base import Estimator, by_chunk
from coterie.estimators.outliers import (
    SCALES,
    measure_scales,
    outlier_scores,
    scales_of_fit,
    scores_of_fit,
)
from coterie.fitting.checks import warn
from coterie.fitting.threads import effective_n_threads
from coterie.graphs import graph_of_neighbors, nearest_neighbors
from coterie.graphs.checks import check_graph
from coterie.graphs.distinct import Vertices, neighbors_with_ties
from coterie.limits.memory import check_allocation
from coterie.rows import Block, Rows

# Attributes of a fit of iterative runs.
RUNS = {"converged_": "bool?", "history_": "records?", "n_iter_": "int?"}


class GraphEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Estimator):
    """A model that gives each vertex of a graph its memberships. A subclass has `fit`, which stores `labels_`,
    `memberships_` and `_training_rows`; by default scores are the weighted memberships of the nearest training rows.
    """

    _WITHOUT_SCALES = "affinities say nothing of distances."
    _takes_sparse = True

    n_clusters: Any
    n_neighbors: int
    weights: Any
    affinity: str
    metric: str = "euclidean"
    n_threads: int | None
    labels_: IntArray
    memberships_: Array
    affinity_matrix_: sp.csr_array
    _training_rows: Block
    vertex_rows_: IntArray
    _distinct_rows: IntArray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags

    @by_chunk
    def predict(self, X: Any, *, return_distance: bool = False) -> Any:
        """Return the cluster of each row of X, by the memberships of its nearest training rows.

        Near rows count more: they are weighted by 1 / distance^2. A row of the fit has its own label. Affinities to no
        row of a cluster give -1.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or Rows of shape (m, d)
            Any rows; with `affinity="precomputed"`, (m, n) affinities to the rows of the fit.
        return_distance : bool
            Whether to return the distances to the clusters, too; not with `affinity="precomputed"`.

        Returns
        -------
        labels : ndarray of shape (m,), int32
        distances : ndarray of shape (m,), float64
            Only with `return_distance`: those whose ratio to the scale of the cluster are the `outlier_scores`.
        """
        check_is_fitted(self, "labels_")
        if return_distance:
            measure_scales(self)
        rows, scores, squares, own = self._scores(X)
        found = np.where(np.any(scores != 0, axis=1), scores.argmax(axis=1), -1)
        labels = np.where(own < 0, found, self.labels_[own]).astype(np.int32)
        if not return_distance:
            return labels
        assert squares is not None
        return labels, self._distances(rows, labels, squares)

    @by_chunk
    def transform(self, X: Any) -> Array:
        """Return the memberships of each row of X, by those of its nearest training rows.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or Rows of shape (m, d)
            Any rows; with `affinity="precomputed"`, (m, n) affinities to the rows of the fit.

        Returns
        -------
        ndarray of shape (m, n_clusters), float64
            Each row sums to 1, or is 0 where `predict` gives -1. With `LaplacianKModes` those of a row of the fit may
            differ from `memberships_`.
        """
        check_is_fitted(self, "labels_")
        return self._memberships_by_scores(self._scores(X)[1])

    @property
    def _n_features_out(self) -> int:
        return int(self.memberships_.shape[1])

    def _scores(self, X: Any) -> tuple[Block, Array, Array | None, IntArray]:
        """Return the rows, their scores for each cluster, the squared distances to their nearest training rows, and the
        training rows that they equal (-1 for none).
        """
        rows = self._rows_of(X).with_dtype(self.memberships_.dtype).read()
        if self.affinity == "precomputed":
            scores = self._scores_by_affinities(rows)
            return rows, scores, None, np.full(rows.shape[0], -1, dtype=np.int32)
        ids, squares = self._near_training_rows(rows)
        scores = self._scores_by_neighbors(rows, ids, squares)
        own = np.where(squares[:, 0] == 0, ids[:, 0], np.int32(-1))
        return rows, scores, squares, own

    def _are_training_rows(self, rows: Rows) -> bool:
        """Whether prepared rows are the rows of the fit, number by number; affinities are if there are as many."""
        if self.affinity == "precomputed":
            return rows.shape[0] == len(self.labels_)
        own = self._training_rows
        if rows.shape != own.shape or rows.is_sparse != sp.issparse(own):
            return False
        blocks = rows.with_dtype(own.dtype).blocks()
        pairs = ((block, own[start : start + block.shape[0]]) for start, block in blocks)
        return all((a != b).nnz == 0 if rows.is_sparse else np.array_equal(a, b) for a, b in pairs)

    def _membership(self, rows: Rows, labels: IntArray) -> tuple[str, FloatArray] | None:
        if not np.array_equal(labels, self.labels_) or not self._are_training_rows(rows):
            return None
        own = np.where(labels < 0, 0, self.memberships_[np.arange(len(labels)), labels])
        return "membership", np.asarray(own, dtype=np.float64).ravel()

    outlier_scores_ = property(scores_of_fit)
    cluster_scales_ = property(scales_of_fit)

    def outlier_scores(
        self, X: Any, labels: npt.ArrayLike | None = None, *, distances: FloatArray | None = None
    ) -> Array | None:
        """Return outlier scores of any rows; see `KMeans.outlier_scores`. None with `affinity="precomputed"`."""
        if self.affinity == "precomputed":
            return None
        if (
            labels is not None
            and np.array_equal(labels, self.labels_)
            and self._are_training_rows(self._rows_of(X))
        ):
            return self.outlier_scores_
        return outlier_scores(self, X, labels, distances=distances)

    def _distances_to(self, X: Any, labels: IntArray, to_centers: FloatArray | None) -> FloatArray:
        rows = self._rows_of(X).with_dtype(self.memberships_.dtype).read()
        return self._distances(rows, labels, self._near_training_rows(rows)[1])

    def _near_training_rows(self, rows: Block) -> tuple[IntArray, Array]:
        """Return the nearest vertices, as row numbers of the fit, and their squared distances."""
        known, first = self._training_rows, self._distinct_rows
        if len(first) < known.shape[0]:
            known = known[first]
        ids, squares = nearest_neighbors(
            known, min(self.n_neighbors, len(first)), queries=rows, random_state=0,
            n_threads=effective_n_threads(self.n_threads),
        )  # fmt: skip
        return first[ids], squares

    def _distances(self, rows: Block, labels: IntArray, squares: Array) -> FloatArray:
        """Return the distances of rows to clusters, by the squared distances to their nearest training rows."""
        return mean_distances(squares)

    def _memberships_by_scores(self, scores: Array) -> Array:
        """Return memberships, which sum to 1, of scores."""
        sums = scores.sum(axis=1, keepdims=True)
        return np.asarray(scores / np.where(sums > 0, sums, 1))

    def _scores_by_affinities(self, affinities: Block) -> Array:
        """Return the (m, L) scores for each cluster of (m, n) affinities to the rows of the fit."""
        return np.asarray(affinities @ self.memberships_)

    def _scores_by_neighbors(self, rows: Block, ids: IntArray, squares: Array) -> Array:
        """Return the same for rows, by their nearest training rows: the sum of their memberships / distance^2."""
        scores = np.zeros((len(ids), self.memberships_.shape[1]))
        # Relative to the nearest: weights from 0 to 1.
        nearest = squares[:, :1].astype(np.float64)
        weights = np.divide(nearest, squares, out=np.ones(squares.shape), where=squares > 0)
        for near, weight in zip(ids.T, weights.T):
            scores += weight[:, None] * self.memberships_[near]
        return scores

    def _check_memory(self, rows: Rows) -> None:
        super()._check_memory(rows)
        if self.n_clusters is None:
            return
        check_allocation(
            8.0 * rows.shape[0] * min(self.n_clusters, rows.shape[0]) * rows.dtype.itemsize,
            f"memberships of all rows in {self.n_clusters:,} clusters",
            "ask for fewer clusters",
        )

    def _symmetric_graph(
        self, block: Block, seed: int, *, known: BoolArray | None = None, is_split: bool = False
    ) -> tuple[sp.csr_array, FloatArray | None, Vertices]:
        """Return the graph of the neighbors of distinct rows (of all with `is_split`) or the affinities, mean
        neighbor distances, and vertices. Small components without `known` rows are set aside.
        """
        n_threads = effective_n_threads(self.n_threads)
        if self.affinity == "precomputed":
            if not sp.issparse(block):
                check_allocation(
                    float(block.size) * (block.dtype.itemsize + 4.0),
                    "edges of the graph",
                    "give the affinities as a sparse matrix",
                )
            graph = check_graph(block, block.shape[0], symmetric=True)
            if np.any(graph.diagonal()):
                graph = graph.copy()
                graph.setdiag(0)
                graph.eliminate_zeros()
            distances, vertices = None, Vertices(block)
        else:
            vertices = Vertices.of(block)
            m = vertices.rows.shape[0]
            if self.n_clusters is not None and m < self.n_clusters:
                warn(f"{m} distinct rows make {m} clusters, not {self.n_clusters}.", ConvergenceWarning)
            if m == 1:
                return sp.csr_array((1, 1), dtype=block.dtype), np.zeros(block.shape[0]), vertices
            check_allocation(
                float(m) * self.n_neighbors * 7 * (4 + block.dtype.itemsize),
                f"edges of the graph of {self.n_neighbors} neighbors",
                "ask for fewer neighbors",
            )
            n_neighbors = vertices.n_neighbors(self.n_neighbors, self.n_clusters or 1)
            ids, squares = neighbors_with_ties(
                vertices.rows, n_neighbors, random_state=seed, n_threads=n_threads
            )
            graph = graph_of_neighbors(ids, squares, weights=self.weights)
            near = mean_distances(squares[:, :n_neighbors])
            distances = vertices.spread(near)
            if is_split:
                return vertices.split(graph, self.n_neighbors), distances, Vertices(block)
            graph = vertices.weighted(graph)
        if self.n_clusters is None or is_split:
            return graph, distances, vertices
        kept = np.zeros(graph.shape[0], dtype=bool)
        if known is not None:
            kept[np.flatnonzero(known) if vertices.places is None else vertices.places[known]] = True
        graph, vertices = vertices.without_small_parts(
            graph, self.n_clusters, kept, are_rows=distances is not None, n_threads=n_threads
        )
        if distances is not None:
            graph = vertices.connected(graph, self.n_clusters, float(np.median(near)), n_threads)
        return graph, distances, vertices

    def _fitted_attributes(self) -> dict[str, str]:
        is_knn = self.affinity == "knn"
        return {
            **super()._fitted_attributes(),
            "n_features_in_": "size d" if is_knn else "size n",
            "memberships_": "float n k",
            "labels_": "label<k n",
            "_training_rows": "rows n d" if is_knn else "any?",
            "vertex_rows_": "int<n v?",
            "_distinct_rows": "int<n w?",
            "affinity_matrix_": "csr v v",
            **SCALES,
        }

    def _warn_of_empty_clusters(self, labels: IntArray, why: str) -> None:
        """Warn of empty clusters, if there are any; `why` ends the sentence."""
        n_clusters = self.n_clusters or 0
        n_empty = np.count_nonzero(np.bincount(labels[labels >= 0], minlength=n_clusters) == 0)
        if n_empty > 0:
            warn(f"{n_empty} of {n_clusters} clusters are empty{why}", ConvergenceWarning)

    def _check_n_rows(self, rows: Rows) -> None:
        n_rows = rows.shape[0]
        if self.n_clusters is not None and self.n_clusters > n_rows:
            raise ValueError(f"n_samples={n_rows} should be >= n_clusters={self.n_clusters}.")
        if self.affinity == "knn" and self.n_neighbors >= n_rows:
            self._handle_few_rows(n_rows)

    def _handle_few_rows(self, n_rows: int) -> None:
        """Warn that there are not as many other rows as each is to have neighbors, or raise a ValueError."""
        if n_rows > 1:
            warn(
                f"n_neighbors={self.n_neighbors} is not less than n_samples={n_rows}: all {n_rows - 1} other rows are "
                "the neighbors of each."
            )

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.metric == "cosine" and self.affinity == "precomputed":
            raise ValueError("metric='cosine' divides rows by their lengths, which affinities do not have.")


def mean_distances(squares: Array) -> FloatArray:
    """Return the mean distance of each row to its neighbors, from the squared ones."""
    return np.asarray(np.sqrt(squares, dtype=np.float64).mean(axis=1))
