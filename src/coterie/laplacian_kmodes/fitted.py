"""What a fitted model of Laplacian K-modes says of rows: those of its fit, those that follow them, and others."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.centers.labels import squares_to_centers
from coterie.estimators.on_graph import GraphEstimator
from coterie.estimators.outliers import OwnDistances, center_rounding
from coterie.fitting.threads import effective_n_threads
from coterie.graphs import edge_weights
from coterie.laplacian_kmodes.criterion import cut_weight
from coterie.laplacian_kmodes.modes import Modes
from coterie.laplacian_kmodes.starts import automatic_lambda
from coterie.laplacian_kmodes.vector_modes import VectorModes
from coterie.rows import Block, as_rows

__all__ = ["FittedModes"]


class FittedModes(GraphEstimator):
    """A model with modes, whose parameters and fit are those of a subclass."""

    # Of models of before there were pairs, too.
    _fitted_to_pair: bool = False

    _LEAST_WORK: ClassVar[float] = 6e4

    lam: float | str
    weights: Any
    symmetrize: str
    modes_: Array
    mode_indices_: IndexArray
    bandwidth_: float | None
    objective_: float

    @property
    def cluster_centers_(self) -> Array:
        """The modes, under the name that clusterings use."""
        check_is_fitted(self, "labels_")
        return self.modes_

    @property
    def lam_(self) -> float:
        """lambda, also where it is chosen by the degrees of the graph."""
        check_is_fitted(self, "labels_")
        return self._lambda_of(self.affinity_matrix_)

    def _lambda_of(self, graph: sp.csr_array) -> float:
        return automatic_lambda(graph, self.n_clusters) if self.lam == "auto" else float(self.lam)

    @property
    def published_objective_(self) -> float:
        """E as the paper prints it (Eq. 1), with lambda / 2 sum_pq K_pq ||z_p - z_q||^2: twice the graph's part."""
        check_is_fitted(self, "labels_")
        return self.objective_ + 0.5 * self.lam_ * cut_weight(self.affinity_matrix_, self.labels_)

    def _distances(self, rows: Block, labels: IntArray, squares: Array) -> FloatArray:
        return self._distances_to_modes(rows, labels)

    def _distances_to(self, X: Any, labels: IntArray, to_centers: FloatArray | None) -> FloatArray:
        if to_centers is not None:
            return to_centers
        rows = self._rows_of(X, reset=False).with_dtype(self.memberships_.dtype).read()
        return self._distances_to_modes(rows, labels)

    def _distances_to_modes(self, rows: Block, labels: IntArray) -> FloatArray:
        n_threads = effective_n_threads(self.n_threads)
        return np.sqrt(squares_to_centers(as_rows(rows), self.modes_, labels, n_threads))

    def _scores_by_affinities(self, affinities: Block) -> Array:
        n = len(self.labels_)
        graph, kernel = (affinities[:, :n], affinities[:, n:]) if self._fitted_to_pair else (affinities,) * 2
        own, near = kernel[:, self.mode_indices_], graph @ self.memberships_
        return (own.toarray() if sp.issparse(own) else own) + self.lam_ * near

    def _scores_by_neighbors(self, rows: Block, ids: IntArray, squares: Array) -> Array:
        """Return k(x, m_l) + lambda times the memberships of the nearest training rows."""
        assert self.bandwidth_ is not None
        n_threads = effective_n_threads(self.n_threads)
        search = VectorModes(rows, self.bandwidth_, mode_update="byproduct", n_threads=n_threads)
        n_clusters = len(self.modes_)  # of the fit
        scores = np.empty((rows.shape[0], n_clusters))
        search.write_affinities(Modes(self.modes_, self.mode_indices_), list(range(n_clusters)), scores)
        weights = self._edge_weights(squares)
        for near, weight in zip(ids.T, weights.T):
            scores += self.lam_ * weight[:, None] * self.memberships_[near]
        return scores

    def _memberships_by_scores(self, scores: Array) -> Array:
        """Return the memberships that an update would give (Eq. 8)."""
        return np.asarray(softmax(scores, axis=1))

    def _edge_weights(self, squares: Array) -> Array:
        return edge_weights(squares, self.weights, self.bandwidth_)

    @property
    def _symmetry(self) -> str:
        return self.symmetrize

    def _let_follow(self, rows: Block, some: IndexArray) -> tuple[IndexArray, Array]:
        others, squares = super()._let_follow(rows, some)
        assert self.bandwidth_ is not None
        self.mode_indices_ = np.where(self.mode_indices_ >= 0, some[self.mode_indices_], -1)
        distances = self._distances_to_modes(rows, self.labels_)
        self._note_distances(OwnDistances(self.labels_, distances, center_rounding(self.modes_)))
        own = float(np.exp(distances**2 / (-2 * self.bandwidth_**2)).sum())
        self.objective_ = 0.5 * self.lam_ * cut_weight(self.affinity_matrix_, self.labels_) - own
        return others, squares
