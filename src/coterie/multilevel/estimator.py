"""Clusters of a graph by multilevel descent, in a given number or by a resolution."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import FloatArray, IntArray
from coterie.estimators.on_graph import GraphEstimator
from coterie.estimators.outliers import FitDistances
from coterie.estimators.parameters import (
    Affinity,
    FoundClusters,
    GraphWeights,
    Metric,
    Neighbors,
    Param,
    Threads,
)
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.graphs.distinct import Vertices
from coterie.limits.memory import check_allocation
from coterie.multilevel.communities import communities
from coterie.multilevel.solver import multilevel_partition

Resolution = Annotated[
    float, Param("Resolution of communities, where no number of clusters is given: larger for more.", above=0)
]
Resolutions = Annotated[
    Any,
    Param(
        "Resolutions of layers in addition to the labels.",
        also="None or positive numbers",
        reads=("numbers",),
    ),
]
CommunityObjective = Annotated[
    Literal["modularity", "cpm"],
    Param(
        "Objective of communities: modularity, or the constant Potts model (cpm), whose resolution is a density."
    ),
]


class MultilevelGraphClustering(GraphEstimator):
    """Communities of a nearest-neighbor graph: clusters of any shape, in a given number or by a resolution.

    Without a number of clusters they are found by the Leiden algorithm. With one, the graph is coarsened by Louvain's
    method, its nodes are merged to k clusters, and these are refined level by level. The method is deterministic.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters k. None: it follows from the resolution.
    resolution : float
        Without `n_clusters`: larger for more and smaller communities. With "modularity" 1 is usual; with "cpm" a
        community has a larger mean edge weight inside than this, and a smaller one to each other community.
    objective : {"modularity", "cpm"}
        What communities maximize, see Notes.
    resolutions : sequence of float, optional
        Resolutions of `layers_`. Each starts from the communities of the next larger resolution.
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
        Number of threads of the neighbor search. None: all processors.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32
        Cluster of each row; -1 for vertices of small components (see Notes). No cluster is empty, unless there are
        fewer distinct rows.
    memberships_ : ndarray of shape (n, k)
        Share of the edges of each row that lead to each cluster; for a row without edges 1 for its own cluster.
    n_clusters_ : int
        Number of clusters.
    objective_ : float
        The information of the edges (see Notes), in nats, or the objective of communities: the larger, the better.
    layers_ : ndarray of shape (n_layers, n), int32
        Communities for each of `resolutions`, the largest first. Only with `resolutions`.
    layer_resolutions_ : ndarray of shape (n_layers,)
        The resolutions, descending. Only with `resolutions`.
    affinity_matrix_ : csr_array of shape (m, m)
        The graph of the m distinct rows: equal rows are one vertex. Of rows that are as far as the last neighbor all
        are neighbors, up to `2 * n_neighbors`, beyond that some by a hash of both rows. An edge weighs as many times as
        there are rows at its heavier end. More than `n_clusters` components are joined by
        their shortest edges, long ones weighing less.
    vertex_rows_ : ndarray of shape (m,), int32
        The first row at each vertex.
    outlier_scores_, cluster_scales_
        See `KMeans`; the distance of a row is the mean distance to its neighbors. Not with `affinity="precomputed"`.
    n_features_in_, feature_names_in_, preparation_
        See `KMeans`.

    Raises
    ------
    ValueError
        On NaN or infinity (with the row's number), an empty or one-dimensional X, fewer rows than clusters, an affinity
        matrix that is not square, symmetric or non-negative, or an unknown option.

    Notes
    -----
    Communities maximize ``sum e - resolution p^2`` (modularity), with the share p of all edge ends at a cluster and the
    share e of edge ends inside it, or ``sum w - resolution n (n - 1) / 2`` (the constant Potts model), with the weight
    w of the edges inside a cluster and its number n of rows. Each community is connected; vertices without edges are
    communities of their own. Nodes move in an order that is drawn from a fixed seed; an iteration takes O(edges)
    operations, and there are two to four as a rule.

    With a number of clusters the objective is ``sum e log(e / p^2) + e0 log(e0 / (1 - sum p^2))``, e0 = 1 - sum e: the
    mutual information of the clusters at both ends of an edge, with all edges between different clusters as one class.
    It favors equal sizes: clusters of less than half of the normalized cut are returned instead, unless the information
    falls even more.

    Connected components of less than half of n / (10 k) rows, and vertices without edges, are set aside, unless less
    than half of the rows would be left: their rows join the cluster of the nearest other row; vertices of a precomputed
    graph get the label -1, with a warning.

    Each pass takes O(edges) operations, the merges O(m log m) for the m edges of the coarsest level. Nodes are moved in
    the order of the rows: another order of the rows can give another partition. A graph of more than k components has
    the smallest ones merged.

    References
    ----------
    Traag, Waltman and van Eck, From Louvain to Leiden: guaranteeing well-connected communities, 2019. Karypis and
    Kumar, A fast and high quality multilevel scheme for partitioning irregular graphs, 1998.

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

    def __init__(
        self,
        n_clusters: FoundClusters = None,
        *,
        resolution: Resolution = 1.0,
        objective: CommunityObjective = "modularity",
        resolutions: Resolutions = None,
        n_neighbors: Neighbors = 15,
        weights: GraphWeights = "self-tuning",
        affinity: Affinity = "knn",
        metric: Metric = "euclidean",
        n_threads: Threads = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.resolution = resolution
        self.objective = objective
        self.resolutions = resolutions
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.affinity = affinity
        self.metric = metric
        self.n_threads = n_threads

    def fit(self, X: Any, y: Any = None) -> MultilevelGraphClustering:
        """Find the clusters of X.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
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
            fitted: dict[str, Any] = {"affinity_matrix_": graph, **vertices.fitted}
            if self.n_clusters is None:
                labels, objective = self._communities(graph, vertices, self.resolution)
                k = int(labels.max()) + 1
            else:
                k = self.n_clusters
                labels, objective = multilevel_partition(graph, min(k, graph.shape[0]), vertices.masses)
            if self.resolutions is not None:
                fitted |= self._layers(graph, vertices)
            check_allocation(
                8.0 * block.shape[0] * k,
                f"memberships of all rows in {k:,} clusters",
                "ask for a lower resolution",
            )
            fitted |= {
                "labels_": vertices.spread(labels),
                "memberships_": vertices.spread(_shares_of_edges(graph, labels, k)),
                "objective_": objective,
            }
        if distances is not None:
            fitted["_training_rows"] = block
            fitted["_own_distances"] = FitDistances(fitted["labels_"], distances, np.zeros(k))
        self._store_fitted(columns | fitted)
        return self

    @property
    def n_clusters_(self) -> int:
        check_is_fitted(self, "labels_")
        return int(self.memberships_.shape[1])

    def _communities(
        self, graph: sp.csr_array, vertices: Vertices, resolution: float, labels: IntArray | None = None
    ) -> tuple[IntArray, float]:
        return communities(
            graph, resolution, self.objective, masses=vertices.masses, labels=labels,
            n_threads=effective_n_threads(self.n_threads),
        )  # fmt: skip

    def _layers(self, graph: sp.csr_array, vertices: Vertices) -> dict[str, Any]:
        """Return the layers: the one of the largest resolution first, and each other from the one before it."""
        resolutions = -np.sort(-np.asarray(self.resolutions, dtype=np.float64))
        layers, labels = [], None
        for resolution in resolutions:
            labels, _ = self._communities(graph, vertices, float(resolution), labels)
            layers.append(vertices.spread(labels))
        return {"layers_": np.stack(layers), "layer_resolutions_": resolutions}

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.resolutions is not None:
            try:
                given = np.asarray(self.resolutions, dtype=np.float64)
            except (TypeError, ValueError):
                given = np.zeros(0)
            if given.ndim != 1 or not given.size or not np.all((given > 0) & np.isfinite(given)):
                raise ValueError(f"resolutions must be None or positive numbers, got {self.resolutions!r}.")

    def _fitted_attributes(self) -> dict[str, str]:
        return {
            **super()._fitted_attributes(),
            "objective_": "float",
            "layers_": "int l n?",
            "layer_resolutions_": "float l?",
        }


def _shares_of_edges(graph: sp.csr_array, labels: IntArray, n_clusters: int) -> FloatArray:
    """Return the share of each vertex's edges that lead to each cluster; 1 for its own cluster without edges."""
    n = len(labels)
    own = sp.csr_array((np.ones(n, dtype=graph.dtype), labels, np.arange(n + 1)), shape=(n, n_clusters))
    shares = (graph @ own).toarray()
    alone = shares.sum(axis=1) == 0
    shares[alone, labels[alone]] = 1
    return shares / shares.sum(axis=1, keepdims=True)
