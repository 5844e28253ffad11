"""Clusters of a graph by multilevel descent, in a given number."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import FloatArray, IntArray
from coterie.estimators.base import Description, Objective, Progress
from coterie.estimators.on_graph import GraphEstimator
from coterie.estimators.outliers import FitDistances
from coterie.estimators.parameters import Affinity, Clusters, GraphWeights, Metric, Neighbors, Threads
from coterie.fitting.threads import single_threaded_blas
from coterie.multilevel.solver import multilevel_partition


class MultilevelGraphClustering(GraphEstimator):
    """Communities of a nearest-neighbor graph, in a given number: clusters of any shape.

    The graph is coarsened by Louvain's method, its nodes are merged to k clusters, and these are refined level by
    level. The method is deterministic.

    Parameters
    ----------
    n_clusters : int
        Number of clusters k.
    n_neighbors : int
        Nearest neighbors of each row in the graph, without the row itself; all other rows, with a warning, if there are
        fewer. Edges are undirected.
    weights : {"self-tuning", "binary"}
        Weights of the edges between neighbors. "self-tuning": smaller for edges that are long beside those around, see
        `coterie.graphs.knn_graph`. "binary": 1.
    affinity : {"knn", "precomputed"}
        "precomputed": X is a symmetric matrix of non-negative affinities, dense or sparse.
    metric : {"euclidean", "cosine"}
        "cosine": each row is divided by its length first (normalization).
    n_threads : int, optional
        Number of threads of the neighbor search. The result does not depend on it. None: all processors of this
        process.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32
        Cluster of each row; no cluster is empty.
    memberships_ : ndarray of shape (n, k)
        Share of the edges of each row that lead to each cluster; for a row without edges 1 for its own cluster.
    objective_ : float
        The information of the edges (see Notes), in nats: the larger, the better.
    affinity_matrix_ : csr_array of shape (m, m)
        The graph of the m distinct rows: equal rows are one vertex. Of rows that are as far as the last neighbor all
        are neighbors, up to `2 * n_neighbors`, beyond that some by a hash of both rows. An edge weighs as many times as
        there are rows at its heavier end.
    vertex_rows_ : ndarray of shape (m,), int32
        The first row at each vertex.
    outlier_scores_ : ndarray of shape (n,), float32
        Mean distance of each row to its neighbors, divided by the scale of its cluster (`cluster_scales_`): 1 for the
        median row of a cluster. Not with `affinity="precomputed"`.
    cluster_scales_ : ndarray of shape (k,), float64
        The lower median of these distances in each cluster.
    n_features_in_ : int
        Number of columns d.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns, where X was a table.
    preparation_ : tuple of tuple
        Steps that `prepare_rows` applied to the columns of X, and that are applied to new rows.

    Raises
    ------
    ValueError
        On NaN or infinity (with the row's number), an empty or one-dimensional X, fewer rows than clusters, an affinity
        matrix that is not square, symmetric or non-negative, or an unknown option.

    Notes
    -----
    With the share p of all edge ends at a cluster and the share e of edge ends inside it, the objective is
    ``sum e log(e / p^2) + e0 log(e0 / (1 - sum p^2))``, e0 = 1 - sum e: the mutual information of the clusters at both
    ends of an edge, with all edges between different clusters as one class.

    Modularity at the resolutions 1, 2, 4, ... gives levels of aggregated nodes, until the coarsest one has at least 8
    nodes for each cluster or a quarter of the rows. Its nodes are merged greedily by the objective, by modularity and
    by the normalized cut; each partition is refined by moves of single nodes on all levels, and the best one is kept.

    Each pass takes O(edges) operations, the merges O(m log m) for the m edges of the coarsest level. Nodes are moved in
    the order of the rows: another order of the rows can give another partition. Clusters without edges between them
    remain apart; a graph of more than k components has the smallest ones merged.

    References
    ----------
    Blondel, Guillaume, Lambiotte and Lefebvre, Fast unfolding of communities in large networks, 2008. Traag, Waltman
    and van Eck, From Louvain to Leiden: guaranteeing well-connected communities, 2019. Karypis and Kumar, A fast and
    high quality multilevel scheme for partitioning irregular graphs, 1998. Dhillon, Guan and Kulis, Weighted graph cuts
    without eigenvectors: a multilevel approach, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from coterie import MultilevelGraphClustering
    >>> X, y = make_moons(400, noise=0.05, random_state=0)
    >>> model = MultilevelGraphClustering(2).fit(X)
    >>> int(max(np.mean(model.labels_ == y), np.mean(model.labels_ != y)) * 100)
    100
    """

    _description = Description(
        Objective("objective_", "edge information", "nats", higher_is_better=True), Progress(limit=None)
    )

    def __init__(
        self,
        n_clusters: Clusters = 8,
        *,
        n_neighbors: Neighbors = 15,
        weights: GraphWeights = "self-tuning",
        affinity: Affinity = "knn",
        metric: Metric = "euclidean",
        n_threads: Threads = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.affinity = affinity
        self.metric = metric
        self.n_threads = n_threads

    def fit(self, X: Any, y: Any = None) -> MultilevelGraphClustering:
        """Find the clusters of X.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
            The data, or (n, n) affinities, which are read into the memory of one machine: rows on Dask workers are a
            TypeError.
        y : None
            Ignored.

        Returns
        -------
        MultilevelGraphClustering
            This estimator.
        """
        self.check_parameters()
        rows, columns = self._rows_to_fit(X)
        self._check_n_rows(rows)
        with single_threaded_blas():
            block = rows.read()
            graph, distances, vertices = self._symmetric_graph(block, seed=0)
            labels, objective = multilevel_partition(graph, min(self.n_clusters, graph.shape[0]))
            fitted = {
                "labels_": vertices.spread(labels),
                "memberships_": vertices.spread(_shares_of_edges(graph, labels, self.n_clusters)),
                "objective_": objective,
                "affinity_matrix_": graph,
                "vertex_rows_": vertices.first_rows,
            }
        if distances is not None:
            fitted["_training_rows"] = block
            fitted["_own_distances"] = FitDistances(
                fitted["labels_"], vertices.spread(distances), np.zeros(self.n_clusters)
            )
        self._store_fitted(columns | fitted)
        return self

    def _fitted_attributes(self) -> dict[str, str]:
        return {**super()._fitted_attributes(), "objective_": "float"}


def _shares_of_edges(graph: sp.csr_array, labels: IntArray, n_clusters: int) -> FloatArray:
    """Return the share of each vertex's edges that lead to each cluster; 1 for its own cluster without edges."""
    n = len(labels)
    own = sp.csr_array((np.ones(n, dtype=graph.dtype), labels, np.arange(n + 1)), shape=(n, n_clusters))
    shares = (graph @ own).toarray()
    alone = shares.sum(axis=1) == 0
    shares[alone, labels[alone]] = 1
    return shares / shares.sum(axis=1, keepdims=True)
