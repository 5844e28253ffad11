"""Estimators that cluster the vertices of a graph: rows joined to their nearest neighbours, or given affinities."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.estimators.base import Estimator
from coterie.estimators.declared import Count, Declared, Graph, History, Numbers, One, Rows
from coterie.estimators.outliers import SCALES, OutlierScoring
from coterie.fitting.deadline import Deadline
from coterie.fitting.threads import effective_n_threads
from coterie.fitting.warn import warn
from coterie.graphs import nearest_neighbors
from coterie.graphs.hurried import SomeRows, graph_with_followers, rows_in_time
from coterie.rows import Block, RowSource

__all__ = ["GraphEstimator"]

AFFINITIES = ("knn", "precomputed")

# Rows that follow others at a time: their scores stay in the processor's cache.
_ROWS_THAT_FOLLOW = 4096


class GraphEstimator(ClusterMixin, OutlierScoring, Estimator):
    """A model that gives each vertex of a graph its memberships in clusters.

    A subclass has `fit`, which sets `labels_`, `memberships_` and `_training_rows` (None with precomputed affinities),
    and says how much the neighbours of a row speak for each cluster, and how far rows are from their clusters. Where
    there is no time for all rows, it fits some and lets the others follow.
    """

    _WITHOUT_SCALES = "affinities say nothing of distances."

    # Multiply-adds that the least fit takes for each row and cluster, besides the graph.
    _LEAST_WORK: ClassVar[float]

    n_clusters: int
    n_neighbors: int
    affinity: str
    n_threads: int | None
    labels_: IntArray
    memberships_: Array
    affinity_matrix_: sp.csr_array
    _training_rows: Block

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags

    def predict(self, X: Any, *, return_distance: bool = False) -> Any:
        """Return the cluster of each row of X, by the memberships of its nearest training rows.

        A row of the fit is its own nearest neighbour here, so its label may differ from the one in `labels_` where
        its neighbours disagree.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (m, d)
            Any rows; with `affinity="precomputed"`, (m, n) affinities to the rows of the fit.
        return_distance : bool
            Whether to return how far the rows are from their clusters, too; not with `affinity="precomputed"`.

        Returns
        -------
        labels : ndarray of shape (m,), int32
        distances : ndarray of shape (m,), float32
            Only with `return_distance`: as `outlier_scores_`, for the labels that are returned.
        """
        check_is_fitted(self, "labels_")
        rows = self._rows_of(X, reset=False).with_dtype(self.memberships_.dtype).read()
        if return_distance:
            self._check_scales()
        if self.affinity == "precomputed":
            return np.asarray(self._scores_by_affinities(rows).argmax(axis=1), dtype=np.int32)
        near = self._near_training_rows(rows)
        labels = np.asarray(self._scores_by_neighbors(rows, *near).argmax(axis=1), dtype=np.int32)
        if not return_distance:
            return labels
        return labels, self._relative(self._distances(rows, labels, near[1]), labels)

    def _are_training_rows(self, rows: RowSource) -> bool:
        """Whether these, as `_prepared` gives them, are the rows of the fit, number by number.

        Affinities are taken for those of the fit if there are as many.
        """
        if self.affinity == "precomputed":
            return rows.shape[0] == len(self.labels_)
        own = self._training_rows
        if rows.shape != own.shape or rows.is_sparse != sp.issparse(own):
            return False
        blocks = rows.with_dtype(own.dtype).blocks()
        return all(_are_equal(block, own[start : start + block.shape[0]]) for start, block in blocks)

    def relative_distances(
        self, X: Any, labels: npt.ArrayLike, *, distances: FloatArray | None = None
    ) -> Array | None:
        if self.affinity == "precomputed":
            return None
        if np.array_equal(labels, self.labels_) and self._are_training_rows(self._prepared(X)):
            return self.outlier_scores_
        return super().relative_distances(X, labels, distances=distances)

    def _distances_to(self, X: Any, labels: IntArray, to_centers: FloatArray | None) -> FloatArray:
        rows = self._rows_of(X, reset=False).with_dtype(self.memberships_.dtype).read()
        return self._distances(rows, labels, self._near_training_rows(rows)[1])

    def _near_training_rows(self, rows: Block) -> tuple[IntArray, Array]:
        n_neighbors = min(self.n_neighbors, self._training_rows.shape[0])
        n_threads = effective_n_threads(self.n_threads)
        ids, squares = nearest_neighbors(
            self._training_rows, n_neighbors, queries=rows, random_state=0, n_threads=n_threads
        )
        return ids, squares

    def _distances(self, rows: Block, labels: IntArray, squares: Array) -> FloatArray:
        """Return how far rows are from clusters; known are the squared distances to their nearest training rows."""
        raise NotImplementedError

    def _rows_in_time(
        self, rows: Block, needed: IndexArray, random: np.random.RandomState, deadline: Deadline
    ) -> SomeRows | None:
        """Return the rows that there is time for; None for all."""
        if self.affinity == "precomputed":
            return None
        return rows_in_time(
            rows,
            self.n_clusters,
            self.n_neighbors,
            work=self._LEAST_WORK,
            needed=needed,
            random=random,
            n_threads=effective_n_threads(self.n_threads),
            deadline=deadline,
        )

    def _let_follow(self, rows: Block, some: IndexArray) -> tuple[IndexArray, Array]:
        """Let this model of some rows be one of all: the others get the clusters of those that are nearest to them.

        Returns
        -------
        others : ndarray of shape (n - m,)
            Which rows these are.
        squares : ndarray of shape (n - m, n_neighbors)
            Squared distances to the rows that they follow.
        """
        others = np.setdiff1d(np.arange(rows.shape[0]), some, assume_unique=True)
        followed, following = rows[some], rows[others]
        n_threads = effective_n_threads(self.n_threads)
        n_neighbors = min(self.n_neighbors, len(some))
        ids, squares = nearest_neighbors(
            followed, n_neighbors, queries=following, method="exact", n_threads=n_threads
        )
        memberships = np.empty((rows.shape[0], self.memberships_.shape[1]), self.memberships_.dtype)
        memberships[some] = self.memberships_
        labels = np.empty(rows.shape[0], dtype=np.int32)
        labels[some] = self.labels_
        for first in range(0, len(others), _ROWS_THAT_FOLLOW):
            part = slice(first, first + _ROWS_THAT_FOLLOW)
            scores = self._scores_by_neighbors(following[part], ids[part], squares[part])
            found = self._memberships_by_scores(scores).astype(memberships.dtype)
            memberships[others[part]], labels[others[part]] = found, found.argmax(axis=1)
        self.affinity_matrix_ = graph_with_followers(
            self.affinity_matrix_, some, others, ids, self._edge_weights(squares), self._symmetry
        )
        self._training_rows, self.memberships_, self.labels_ = rows, memberships, labels
        return others, squares

    def _memberships_by_scores(self, scores: Array) -> Array:
        """Return memberships, which sum to 1, of what speaks for each cluster."""
        raise NotImplementedError

    def _edge_weights(self, squares: Array) -> Array:
        """Return the weights of edges of these squared lengths."""
        raise NotImplementedError

    @property
    def _symmetry(self) -> str:
        """How the graph is made symmetric: see `coterie.graphs.knn_graph`."""
        return "max"

    def _scores_by_affinities(self, affinities: Block) -> Array:
        """Return how much speaks for each cluster: (m, L) scores of (m, n) affinities to the rows of the fit."""
        raise NotImplementedError

    def _scores_by_neighbors(self, rows: Block, ids: IntArray, squares: Array) -> Array:
        """Return the same for rows, by their nearest training rows and the squared distances to these."""
        raise NotImplementedError

    def _fitted_attributes(self) -> dict[str, Declared]:
        # Affinities to other rows are weighed by the memberships alone.
        rows: dict[str, Declared] = {"_training_rows": Rows("n", "d")} if self.affinity == "knn" else {}
        return {
            **super()._fitted_attributes(),
            "n_features_in_": Count("n" if self.affinity == "precomputed" else "d"),
            "memberships_": Numbers(("n", "k"), least=0, are_shares=True),
            "labels_": Numbers(("n",), "integer", least=0, below="k"),
            **rows,
            "affinity_matrix_": Graph("n"),
            "converged_": One("boolean", needed=False),
            "history_": History(needed=False),
            # Runs that were not kept may have ended anywhere.
            "runs_": History(needed=False, finite=False),
            "n_iter_": One("integer", 0, needed=False),
            **SCALES,
        }

    def _warn_of_empty_clusters(self, why: str) -> None:
        """Say how many of the clusters of `labels_` are empty, if any are; `why` ends the sentence."""
        n_empty = np.count_nonzero(np.bincount(self.labels_, minlength=self.n_clusters) == 0)
        if n_empty > 0:
            warn(f"{n_empty} of {self.n_clusters} clusters are empty{why}", ConvergenceWarning)

    def _check_n_rows(self, rows: RowSource) -> None:
        n_rows = rows.shape[0]
        if self.n_clusters > n_rows:
            raise ValueError(f"n_samples={n_rows} should be >= n_clusters={self.n_clusters}.")
        if self.affinity == "knn" and self.n_neighbors >= n_rows:
            self._meet_few_rows(n_rows)

    def _meet_few_rows(self, n_rows: int) -> None:
        """Say that there are not as many other rows as each is to have neighbours."""
        raise ValueError(
            f"n_neighbors={self.n_neighbors} should be < n_samples={n_rows}: a row is not its own neighbour."
        )

    def check_parameters(self) -> None:
        super().check_parameters()


def _are_equal(block: Block, other: Block) -> bool:
    return (block != other).nnz == 0 if sp.issparse(block) else np.array_equal(block, other)
