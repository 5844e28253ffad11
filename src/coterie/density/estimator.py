"""Density-based clustering with layers: HDBSCAN*'s tree, cut where clusters persist, with labels for new rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IntArray
from coterie.density.diffusion import GRAPH_NEIGHBORS, Diffusion
from coterie.density.hierarchy import Split
from coterie.density.repeated_values import filled_rows
from coterie.density.solver import (
    DensityOptions,
    DensityResult,
    attach,
    clusters_of_tree,
    density_clusters,
    memberships_of,
)
from coterie.density.spanning_tree import ReachabilityTree
from coterie.estimators.base import Estimator, by_chunk
from coterie.estimators.outliers import FitDistances, cluster_scales, relative_to_scales
from coterie.estimators.parameters import Metric, Param, RandomState, Threads
from coterie.fitting.checks import check_positive_integer, random_stream, warn
from coterie.fitting.threads import effective_n_threads
from coterie.graphs import nearest_neighbors
from coterie.graphs.equal_rows import EqualRows, equal_rows, find_rows
from coterie.rows import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MinSamples = Annotated[
    int,
    Param("Number of rows, itself counted, within the core distance of a row.", least=1),
]
MinClusterSize = Annotated[
    Literal["auto"] | int,
    Param(
        "Minimum cluster size of HDBSCAN; auto: clusters that are denser than what separates them.", least=2
    ),
]
Selection = Annotated[
    Literal["eom", "leaf"],
    Param("With a given minimum size: clusters by excess of mass (eom), or the leaves of the tree."),
]
Space = Annotated[
    Literal["auto", "rows", "diffused"],
    Param(
        "Distances of rows, of diffused rows, or (auto) of diffused rows where less than 85% are in clusters."
    ),
]
AssignNoise = Annotated[
    Literal["nearest"] | None, Param("Label noise, too: by the nearest row in a cluster.")
]
Search = Annotated[
    Literal["auto", "exact", "approximate"],
    Param("Search for nearest neighbors; auto: exact up to n^2 d = 5e10 or 6 columns."),
]


class DensityClustering(ClusterMixin, Estimator):
    """Clusters of high density, at several resolutions, with noise and an unknown number of clusters.

    HDBSCAN*'s tree (Campello et al. 2015), split where both sides are denser than what separates them, or as HDBSCAN
    does at a given minimum cluster size. `predict` gives the rows of the fit their own labels.

    Parameters
    ----------
    min_samples : int
        Number of rows, itself counted, within the core distance of a row, and the least size of a cluster. At most the
        number of rows.
    min_cluster_size : "auto" or int
        "auto": clusters of at least 2 `min_samples` rows that are on average more than e times as dense as what
        separates them. Where nothing separates the rows, as in one normal distribution, all are noise. An integer: the
        clusters of HDBSCAN for this minimum size.
    cluster_selection_method : {"eom", "leaf"}
        With an integer `min_cluster_size`: clusters by excess of mass, or the leaves of the condensed tree.
    metric : {"euclidean", "cosine"}
        "cosine": each row is divided by its length first (normalization).
    space : {"auto", "rows", "diffused"}
        "diffused": distances of coordinates by a random walk on the neighbor graph, for data in which most rows are
        noise. "auto": distances of the rows, or of diffused rows if less than 85% of the rows are in clusters then.
        With an integer `min_cluster_size` "auto" is "rows".
    assign_noise : {"nearest"}, optional
        Label noise in `labels_` and `predict` too, by the nearest row in a cluster. `coverage_` and `probabilities_`
        are not changed.
    search : {"auto", "exact", "approximate"}
        Search for nearest neighbors. "auto": exact if n^2 d is at most 5e10 or X has at most 6 columns. See
        `is_exact_`.
    random_state : int, RandomState or None
        Seed of the approximate search.
    n_threads : int, optional
        None: all processors.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32
        Cluster of each row, numbered by first rows; -1 for noise.
    n_clusters_ : int
        Number of clusters.
    probabilities_ : ndarray of shape (n,), float64
        1 where a cluster is densest, falling to 0 at its border; 0 for noise.
    coverage_ : float
        The share of the rows in clusters, before `assign_noise`.
    layers_ : ndarray of shape (n_layers, n), int32
        Labels of the layers, the finest first: leaves of the tree for the minimum cluster sizes at which they are the
        most persistent. With an integer `min_cluster_size` there is one, `labels_`.
    layer_sizes_, persistences_ : ndarray of shape (n_layers,)
        The minimum cluster size and the persistence of each layer.
    layer_parents_ : list of ndarray
        For each layer but the last, the cluster of the next layer that holds each cluster; -1 for none.
    min_cluster_size_ : int
        The minimum cluster size of `labels_`.
    intrinsic_dimension_ : float
        By the growth of the distances of neighbors, in the space of the distances that were used; 1 with an integer
        `min_cluster_size`, which does not need it.
    core_distances_ : ndarray of shape (n,), float64
        Distance of each row to its `min_samples`-th nearest row, itself counted.
    spanning_tree_ : record array of shape (n - 1,)
        The minimum spanning tree of mutual reachability: `first`, `second`, `distance`, ascending.
    is_exact_ : bool
        Whether the weight of the spanning tree is certified to be the least; False with an approximate search.
    condensed_tree_ : record array
        `parent`, `child`, `lambda_val`, `child_size`, as `hdbscan` has it, for `min_cluster_size_`. Clusters are
        numbered from n, the root; merges at equal heights have more than two children.
    linkage_ : ndarray of shape (n - 1, 4), float64
        The tree of all merges for `scipy.cluster.hierarchy`.
    space_ : {"rows", "diffused"}
        The distances that were used.
    n_features_in_, feature_names_in_, preparation_
        See `KMeans`.

    Raises
    ------
    ValueError
        On NaN or infinity (with the row's number), an empty or one-dimensional X, or an unknown option.
    TypeError
        If X is sparse.

    Notes
    -----
    Mutual reachability is max(core distance of either row, distance). Merges of the tree at equal height are one merge
    with several sides, so that no order of the rows changes labels. A leaf C exists for the minimum cluster sizes from
    its birth to its death, and the persistence of a partition is the sum of
    (rows of C) log(death / birth) (1 - d_min / d_max) over its leaves, d_min the least height in C and d_max that at
    which it is merged.

    "auto" splits a cluster where at least two sides C of a merge of height h have a mean of D log(h / core distance) of
    at least t + size(C)^(-1/2), D being `intrinsic_dimension_`, and takes the clusters of the largest excess of mass.
    t is max(1, 1.7 / D), and 1 / 2 + 3 / D for diffused rows, by the D of the rows. In columns of rounded or discrete
    values with steps of at least the median core distance rows are first moved by up to half a step, by a hash of their
    values. A value of many rows inside a column of distinct values, such as an imputed median, is replaced by one
    between those of the two nearest rows in the other columns. All distances are those of these rows.

    The graph takes O(n^2 d) operations where it is exact, the tree O(n k log n) and the comparisons that the graph does
    not save. Memory: two copies of the rows and the graph.

    References
    ----------
    Campello, Moulavi, Zimek and Sander, Hierarchical density estimates for data clustering, visualization, and outlier
    detection, ACM Transactions on Knowledge Discovery from Data, 2015. Bot, McInnes and Aerts, Persistent multiscale
    density-based clustering, 2025. Coifman and Lafon, Diffusion maps, 2006.

    Examples
    --------
    >>> import coterie
    >>> X, _ = coterie.datasets.load_digits()
    >>> model = coterie.DensityClustering().fit(X)
    >>> model.n_clusters_, model.layers_.shape
    (17, (2, 1797))
    >>> bool((model.predict(X) == model.labels_).all())
    True
    """

    labels_: IntArray
    probabilities_: FloatArray
    layers_: IntArray
    layer_sizes_: IntArray
    core_distances_: FloatArray
    min_cluster_size_: int
    intrinsic_dimension_: float
    is_exact_: bool
    _training_rows: Array
    _edges: IntArray
    _heights: FloatArray
    _coordinates: FloatArray
    _eigenvalues: FloatArray
    _scales: FloatArray
    _least_contrast: float

    def __init__(
        self,
        *,
        min_samples: MinSamples = 5,
        min_cluster_size: MinClusterSize = "auto",
        cluster_selection_method: Selection = "eom",
        metric: Metric = "euclidean",
        space: Space = "auto",
        assign_noise: AssignNoise = None,
        search: Search = "auto",
        random_state: RandomState = None,
        n_threads: Threads = None,
    ) -> None:
        self.min_samples = min_samples
        self.min_cluster_size = min_cluster_size
        self.cluster_selection_method = cluster_selection_method
        self.metric = metric
        self.space = space
        self.assign_noise = assign_noise
        self.search = search
        self.random_state = random_state
        self.n_threads = n_threads

    def fit(self, X: Any, y: Any = None) -> DensityClustering:
        """Find the clusters of the rows of X.

        Parameters
        ----------
        X : array-like, table, Dask array or Rows of shape (n, d)
            The rows, which are read into the memory of one machine: rows on Dask workers are a TypeError.
        y : None
            Ignored.

        Returns
        -------
        DensityClustering
            This estimator.
        """
        self.check_parameters()
        source, columns = self._rows_to_fit(X)
        if self.min_samples > source.shape[0]:
            raise ValueError(f"min_samples={self.min_samples} should be <= n_samples={source.shape[0]}.")
        rows = np.ascontiguousarray(source.read())
        seed = int(random_stream(self.random_state).randint(np.iinfo(np.int32).max))
        found = density_clusters(rows, self._options(seed))
        fitted = _fitted(rows, found)
        if self.assign_noise is not None:
            points = _points_of(fitted)
            assigned = self._assigned(found, points, found.cut.anchors, found.cut.joins)
            fitted["labels_"] = assigned[found.leaves.same]
        if found.fills:
            names = columns.get("feature_names_in_", range(rows.shape[1]))
            values = ", ".join(f"{value:g} in column {names[j]}" for j, value in found.fills.items())
            warn(
                f"Taken for imputed, since many rows share it among distinct values: {values}. These rows are "
                "placed by their other columns; with a number as min_cluster_size, values stay as they are."
            )
        self._store_fitted(columns | fitted)
        return self

    @by_chunk
    def predict(self, X: Any, *, return_probability: bool = False) -> Any:
        """Return the cluster of each row of X, by the place in the tree at which it would join.

        A row x joins the row j of the fit for which max(d(x, j), core distance of x, core distance of j) is least. It
        is in the cluster of j if that is less than the height at which the cluster ends. Rows of the fit get their own
        labels.

        Parameters
        ----------
        X : array-like, table, Dask array or Rows of shape (m, d)
            Any rows.
        return_probability : bool
            Whether to return probabilities, too.

        Returns
        -------
        labels : ndarray of shape (m,), int32
            -1 for noise.
        probabilities : ndarray of shape (m,), float64
            As `probabilities_`; only with `return_probability`.
        """
        found, labels, anchors, joins = self._joined(X)
        return (labels, found.cut.probabilities_of(anchors, joins)) if return_probability else labels

    def memberships(self, X: Any, n_top: int = 10) -> sp.csr_array:
        """Return the memberships of each row of X in the clusters that it is nearest to in the tree, and in noise.

        A row that joins cluster c at the height h of the tree has the weight exp(-h / end of c) in it, and noise has
        exp(-1). The largest is that of the label, but for `assign_noise`.

        Parameters
        ----------
        X : array-like, table, Dask array or Rows of shape (m, d)
            Any rows.
        n_top : int
            How many clusters are kept for each row, beside noise.

        Returns
        -------
        csr_array of shape (m, n_clusters + 1), float64
            The last column is noise; rows sum to 1.
        """
        n_top = check_positive_integer("n_top", n_top)
        found, labels, anchors, joins = self._joined(X)
        m, n = len(labels), len(found.cut.ends)
        if n == 0:
            return sp.csr_array(np.ones((m, 1)))
        clusters, weights = memberships_of(found.leaves, found.cut, anchors, joins, n_top)
        columns = np.hstack([clusters, np.full((m, 1), n, dtype=np.int32)])
        starts = np.arange(0, columns.size + 1, columns.shape[1])
        kept = sp.csr_array((weights.ravel(), columns.ravel(), starts), shape=(m, n + 1))
        kept.sort_indices()
        return kept

    @property
    def outlier_scores_(self) -> Array:
        """Outlier score of each row of the fit: (n,), float32.

        Its core distance, divided by the median core distance of its cluster: 1 for the median row of a cluster. Noise
        counts to the cluster of its largest membership. Unlike the scores of HDBSCAN (GLOSH, 0 to 1) they have no upper
        limit.
        """
        found = self._result()
        labels = found.cut.labels
        noise = np.flatnonzero(labels < 0)
        near = np.zeros(len(labels), dtype=np.int32)  # without clusters all rows are one
        if len(found.cut.ends):
            near[:] = labels
            anchors, joins = found.cut.anchors[noise], found.cut.joins[noise]
            near[noise] = memberships_of(found.leaves, found.cut, anchors, joins, 1)[0][:, 0]
            inside = np.flatnonzero(labels >= 0)
        else:
            inside = np.arange(len(labels))
        distances = np.asarray(self.core_distances_, dtype=np.float64)[found.leaves.same]
        own = FitDistances(near[inside], distances[inside], np.zeros(max(len(found.cut.ends), 1)))
        return relative_to_scales(distances, near, cluster_scales(own))

    def layers_at(self, n_clusters: int) -> IntArray:
        """Return the labels of the layer whose number of clusters is nearest to a wished one, of all minimum sizes.

        Parameters
        ----------
        n_clusters : int
            The wished number. Of layers equally near, the most persistent is taken.

        Returns
        -------
        ndarray of shape (n,), int32
            -1 for noise.
        """
        n_clusters = check_positive_integer("n_clusters", n_clusters)
        found = self._result()
        leaves = found.leaves
        if not len(leaves.least_sizes):
            return found.cut.labels
        best = np.lexsort((-leaves.persistences, np.abs(leaves.n_leaves() - n_clusters)))[0]
        return found.layer(int(leaves.least_sizes[best])).labels

    def plot_tree(self, ax: Axes | None = None) -> Axes:
        """Draw the condensed tree; see `coterie.plotting.plot_condensed_tree`."""
        from coterie.density.plots import plot_condensed_tree

        return plot_condensed_tree(self, ax=ax)

    # --- the tree ------------------------------------------------------------------------------------------------

    @property
    def n_clusters_(self) -> int:
        check_is_fitted(self, "labels_")
        return int(self.labels_.max()) + 1

    @property
    def space_(self) -> str:
        check_is_fitted(self, "labels_")
        return "diffused" if hasattr(self, "_coordinates") else "rows"

    @property
    def layer_parents_(self) -> list[IntArray]:
        check_is_fitted(self, "labels_")
        return [_parents(fine, coarse) for fine, coarse in pairwise(self.layers_)]

    @property
    def spanning_tree_(self) -> Any:
        check_is_fitted(self, "labels_")
        return np.rec.fromarrays(
            [*self._edges.T, self._heights],
            dtype=[("first", np.int32), ("second", np.int32), ("distance", np.float64)],
        )

    @property
    def condensed_tree_(self) -> Any:
        return self._result().leaves.tree.condensed(self.min_cluster_size_).records()

    @property
    def linkage_(self) -> FloatArray:
        check_is_fitted(self, "labels_")
        n = len(self.labels_)
        firsts, seconds = np.ascontiguousarray(self._edges.T, dtype=np.int32)
        linkage = np.empty((n - 1, 4))
        _kernels.linkage_of_edges(firsts, seconds, np.asarray(self._heights, dtype=np.float64), linkage)
        return linkage

    def _membership(self, rows: Rows, labels: IntArray) -> tuple[str, FloatArray] | None:
        found, probabilities = self.predict(rows, return_probability=True)
        return ("probability", probabilities) if np.array_equal(found, labels) else None

    # --- parts ---------------------------------------------------------------------------------------------------

    def _options(self, seed: int = 0) -> DensityOptions:
        return DensityOptions(
            int(self.min_samples), self.min_cluster_size, self.cluster_selection_method, space=self.space,
            search=self.search, seed=seed, n_threads=effective_n_threads(self.n_threads),
        )  # fmt: skip

    def _result(self) -> DensityResult:
        """Return what the fit has found; all of it follows from the spanning tree."""
        check_is_fitted(self, "labels_")
        firsts, seconds = np.ascontiguousarray(self._edges.T, dtype=np.int32)
        heights = np.asarray(self._heights, dtype=np.float64)
        spanning = ReachabilityTree(firsts, seconds, heights, self.core_distances_, self.is_exact_, 0)
        split = Split(self.intrinsic_dimension_, self._least_contrast)
        same = None
        if hasattr(self, "_moved_rows"):
            equal = equal_rows(self._training_rows)
            same = equal.first[equal.places]
        return clusters_of_tree(spanning, self._options(), split, same)

    def _joined(self, X: Any) -> tuple[DensityResult, IntArray, IntArray, FloatArray]:
        """Return what the fit has found, and the labels and places in the tree of other rows."""
        found, points = self._result(), _points_of(vars(self))
        source = self._rows_of(X).with_dtype(self._training_rows.dtype)
        rows = np.ascontiguousarray(source.read())
        same = find_rows(points.known, rows)
        first = points.first[same]
        anchors, joins, labels = (
            found.cut.anchors[first],
            found.cut.joins[first],
            self.labels_[first].astype(np.int32),
        )
        new = np.flatnonzero(same < 0)
        if len(new):
            options = self._options()
            queries = points.placed(np.ascontiguousarray(rows[new]), options)
            cores = self.core_distances_[points.equal.first]
            ids, heights = attach(points.places, points.equal, cores, queries, options)
            near = points.equal.first[ids]
            anchors[new], joins[new] = found.cut.anchors[near], np.maximum(heights, found.cut.joins[near])
            labels[new] = self._assigned(found, points, anchors[new], joins[new], queries)
        return found, labels, anchors, joins

    def _assigned(
        self,
        found: DensityResult,
        points: _Points,
        anchors: IntArray,
        joins: FloatArray,
        queries: Array | None = None,
    ) -> IntArray:
        """Return the labels of rows at these places of the tree, noise assigned; None: the rows of the fit."""
        labels = found.cut.labels_of(anchors, joins)
        noise = np.flatnonzero(labels < 0)
        if self.assign_noise is None or not len(noise) or not len(found.cut.ends):
            return labels
        known = found.cut.labels[points.equal.first]
        inside = np.flatnonzero(known >= 0)
        wanted = points.places[points.equal.places[noise]] if queries is None else queries[noise]
        options = self._options()
        ids, _ = nearest_neighbors(
            points.places[inside],
            1,
            queries=wanted,
            method=options.search,
            random_state=0,
            n_threads=options.n_threads,
        )
        labels[noise] = known[inside[ids[:, 0]]]
        return labels

    def _fitted_attributes(self) -> dict[str, str]:
        return {
            **super()._fitted_attributes(),
            "_training_rows": "rows n d",
            "_moved_rows": "rows n d?",
            "_fill_columns": "int q?",
            "_fill_values": "float q?",
            "labels_": "int n",
            "probabilities_": "float n",
            "core_distances_": "float n",
            "layers_": "int l n",
            "layer_sizes_": "int l",
            "persistences_": "float l",
            "min_cluster_size_": "int",
            "intrinsic_dimension_": "float",
            "_least_contrast": "float",
            "coverage_": "float",
            "is_exact_": "bool",
            "_edges": "int<n n-1 2",
            "_heights": "float n-1",
            "_coordinates": "float m q?",
            "_eigenvalues": "float q?",
            "_scales": "float m?",
        }


@dataclass(frozen=True, slots=True)
class _Points:
    """The distinct rows of a fit, and those that distances are of with their coordinates."""

    known: Array
    first: IntArray
    fills: dict[int, float]
    equal: EqualRows
    rows: Array
    places: Array
    diffusion: Diffusion | None

    def placed(self, rows: Array, options: DensityOptions) -> Array:
        """Return other rows in this space."""
        rows = filled_rows(self.known, rows, self.fills, options.search, options.seed, options.n_threads)
        if self.diffusion is None:
            return rows
        found = nearest_neighbors(
            self.rows, min(GRAPH_NEIGHBORS, len(self.rows)), queries=rows,
            method=options.search, random_state=0, n_threads=options.n_threads,
        )  # fmt: skip
        return self.diffusion.extend(found.ids, found.square_distances)


def _points_of(fitted: Mapping[str, Any]) -> _Points:
    """Return the distinct rows of a fit from its attributes."""
    training_rows = fitted["_training_rows"]
    own = equal = equal_rows(training_rows)
    known = rows = np.ascontiguousarray(training_rows[own.first])
    fills: dict[int, float] = {}
    if "_moved_rows" in fitted:
        fills = dict(zip(fitted["_fill_columns"].tolist(), fitted["_fill_values"].tolist()))
        equal = equal_rows(fitted["_moved_rows"])
        rows = np.ascontiguousarray(fitted["_moved_rows"][equal.first])
    if "_coordinates" not in fitted:
        return _Points(known, own.first, fills, equal, rows, rows, None)
    diffusion = Diffusion(fitted["_coordinates"], fitted["_eigenvalues"], fitted["_scales"])
    return _Points(known, own.first, fills, equal, rows, diffusion.rows, diffusion)


def _fitted(rows: Array, found: DensityResult) -> dict[str, Any]:
    """Return the fitted attributes."""
    cut, spanning = found.cut, found.spanning
    labels = cut.labels
    layers = [found.layer(size).labels for size in found.sizes.tolist()] or [labels]
    has_layers = len(found.sizes) > 0
    fitted = {
        "_training_rows": rows,
        "labels_": labels,
        "probabilities_": cut.probabilities_of(cut.anchors, cut.joins),
        "core_distances_": spanning.core_distances,
        "layers_": np.stack(layers),
        "layer_sizes_": found.sizes if has_layers else np.array([found.size], dtype=np.int32),
        "persistences_": found.persistences if has_layers else np.zeros(1),
        "min_cluster_size_": found.size,
        "intrinsic_dimension_": found.split.dimension,
        "_least_contrast": found.split.least_contrast,
        "coverage_": float(np.mean(labels >= 0)),
        "is_exact_": spanning.is_exact,
        "_edges": np.column_stack([spanning.firsts, spanning.seconds]),
        "_heights": spanning.heights,
    }
    if found.moved is not None:
        fitted["_moved_rows"] = found.moved
        fitted["_fill_columns"] = np.array(list(found.fills), dtype=np.int32)
        fitted["_fill_values"] = np.array(list(found.fills.values()))
    if found.diffusion is not None:
        fitted["_coordinates"] = found.diffusion.coordinates
        fitted["_eigenvalues"] = found.diffusion.eigenvalues
        fitted["_scales"] = found.diffusion.scales
    return fitted


def _parents(fine: IntArray, coarse: IntArray) -> IntArray:
    """Return the cluster of a coarse layer that holds each cluster of a fine one."""
    _, first = np.unique(fine, return_index=True)
    return coarse[first[len(first) - int(fine.max()) - 1 :]]
