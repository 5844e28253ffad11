"""Scalable Laplacian K-modes (Ziko, Granger & Ben Ayed 2018): SLK-BO and SLK-MS."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, FloatArray, IntArray
from coterie.centers.labels import squares_to_centers
from coterie.estimators.initialization import draw_centers, draws_centers, given_centers
from coterie.estimators.on_graph import RUNS, GraphEstimator
from coterie.estimators.outliers import FitDistances, center_rounding
from coterie.estimators.parameters import (
    Affinity,
    Callback,
    Clusters,
    Iterations,
    MaxTime,
    Metric,
    Neighbors,
    Param,
    RandomState,
    Runs,
    Threads,
    Tolerance,
    Verbose,
)
from coterie.fitting.checks import random_stream, warn
from coterie.fitting.report import FitReport, Stop, with_callbacks
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.graphs import graph_of_neighbors
from coterie.graphs.bridges import closeness
from coterie.graphs.checks import check_graph
from coterie.graphs.cuts import normalized_cut
from coterie.graphs.distinct import Vertices, neighbors_with_ties
from coterie.graphs.knn import check_weights, edge_weights, gaussian_bandwidth
from coterie.laplacian_kmodes.initialization import Start, given_rows, starts, with_split_clusters
from coterie.laplacian_kmodes.memberships import GraphMemberships
from coterie.laplacian_kmodes.modes import KernelModes, Modes, ModeSearch, ModeUpdate, VectorModes
from coterie.laplacian_kmodes.solver import (
    HISTORY_FIELDS,
    KModesProblem,
    KModesResult,
    automatic_graph_weight,
    bound_optimization,
    cut_weight,
)
from coterie.passes import measure_rows
from coterie.rows import Block, Rows, as_rows

GraphWeight = Annotated[
    Literal["auto"] | float,
    Param(
        "Weight of the graph term (lambda of the paper); auto: by the degrees of the graph.",
        least=0,
        below=math.inf,
    ),
]
EdgeWeights = Annotated[
    Literal["binary", "gaussian"] | Any, Param("Weights of the edges of the graph.", also="callable")
]
ModesOption = Annotated[ModeUpdate, Param("Modes: rows of largest membership (byproduct), or mean shifts.")]
Bandwidth = Annotated[
    float | None,
    Param(
        "Bandwidth of the kernel of the modes; by default from the neighbor distances.",
        above=0,
        below=math.inf,
    ),
]
DiagonalShift = Annotated[
    bool | Literal["auto"],
    Param("Add the degrees to the diagonal of the graph, which makes updates monotone."),
]
ModeInit = Annotated[
    Literal["auto", "k-means++", "k-means", "spectral", "random"] | Any,
    Param(
        "How modes are initialized: auto (k-means, spectral, k-means++ in turn), one of them, or given centers.",
        also="an array of centers, a fitted model or a callable",
        reads=("array", "model"),
    ),
]
SelectBy = Annotated[
    Literal["normalized_cut", "objective"],
    Param("Which run is kept: that of the lowest normalized cut of the graph, or of the lowest objective."),
]

# Runs of a fit that draws its initial modes.
_RUNS = 10

# With init="auto": updates of the modes after which memberships continue, and restarts of a run with empty clusters.
_FRESH_UPDATES, _MOST_SPLITS = 5, 3


@dataclass(frozen=True)
class FittedProblem:
    """The problem of a fit, the modes that each of its runs ended with, those of the best one, and the rows."""

    problem: KModesProblem
    ends: list[Modes]
    best: Modes
    rows: Block
    vertices: Vertices
    columns: dict[str, Any]  # fitted attributes of the columns


class LaplacianKModes(GraphEstimator):
    """Laplacian K-modes: clusters of any shape on a nearest-neighbor graph, each with a mode of its density.

    A row joins the cluster of its nearest neighbors and of a close mode. With `mode_update="byproduct"` (SLK-BO) the
    modes are rows: prototypes of their clusters.

    Parameters
    ----------
    n_clusters : int
        Number of clusters L.
    graph_weight : float or "auto"
        Weight of the graph against the modes, lambda in the paper, which chooses between 1 and 4 on graphs of 5
        neighbors. See `select_graph_weight`. "auto": by the degrees of the graph, `graph_weight_`; see Notes.
    n_neighbors : int
        Nearest neighbors of each row in the graph, without the row itself.
    affinity : {"knn", "precomputed"}
        "precomputed": X is a symmetric matrix of affinities, dense or sparse, which is the kernel of the modes too: for
        objects without a mean, such as strings. Modes are rows, so "mean_shift" is excluded.
    weights : {"binary", "gaussian"} or callable
        Weights of the graph's edges; see `coterie.graphs.knn_graph`.
    mode_update : {"byproduct", "mean_shift"}
        Modes are the rows with the largest memberships (SLK-BO); or maxima of the density of their cluster, by mean
        shifts (SLK-MS).
    bandwidth : float, optional
        s of the kernel of the modes, exp(-||x - m||^2 / (2 s^2)). Default: s^2 is the mean squared distance to the
        nearest neighbors.
    diagonal_shift : bool or "auto"
        Add each row's degree to the diagonal of the graph. Then updates of a symmetric graph cannot raise the relaxed
        objective, but they are smaller and end in worse minima. "auto": only where it would rise. Memberships whose
        objective rose are never kept.
    metric : {"euclidean", "cosine"}
        "cosine": each row is divided by its length first (normalization).
    init : {"auto", "k-means++", "k-means", "spectral", "random"}, array-like of shape (L, d), fitted model, or callable
        Initial modes: seeds, the centroids of k-means, or k-means of the eigenvectors of the graph. "auto": k-means,
        spectral (up to n L^2 = 5e7), then k-means++ and k-means by turns, of which the later k-means also give the
        initial memberships. With `affinity="precomputed"`: "auto",
        "random", "spectral", or L row numbers. A callable gets `(X, n_clusters, random_state=...)`.
    n_init : int or "auto"
        Runs, each from its own initialization on the same graph. "auto": 10; 1 where `init` holds the modes.
    select_by : {"normalized_cut", "objective"}
        Which run is kept, of those with the fewest empty clusters: the one with the lowest normalized cut of the graph,
        or with the lowest discrete objective E, which favors uneven clusters on data of several densities.
    max_iter : int
        Updates of the modes, at most.
    tol : float
        A run has converged when the relaxed objective changes by less than this, relative to itself, or no mode moves.
    random_state : int, RandomState or None
        Seed; the result is bit-identical for any number of threads.
    verbose : bool or int
        Print each iteration.
    max_time : float, optional
        Time limit in seconds, without the construction of the graph; see `KMeans`.
    n_threads : int, optional
        None: all processors.
    callback : callable, optional
        Called with a `FitProgress` after each iteration; the fit stops if it returns True.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32
        Cluster of each row.
    memberships_ : ndarray of shape (n, L)
        Relaxed memberships z; each row sums to 1.
    outlier_scores_, cluster_scales_
        See `KMeans`; distances are those to the mode. Not with `affinity="precomputed"`.
    modes_, cluster_centers_ : ndarray of shape (L, d)
        The modes; not with `affinity="precomputed"`.
    mode_indices_ : ndarray of shape (L,), int64
        Row numbers of the modes; -1 for a mode that is not a row.
    objective_ : float
        The discrete objective E (see Notes) of `labels_`.
    published_objective_ : float
        E as the paper prints it: edges between clusters cost twice as much.
    relaxation_ : float
        The relaxed objective R of `memberships_`.
    is_shifted_ : bool
        Whether R is that of the graph with the shift.
    bandwidth_ : float
        Bandwidth s of the Gaussian kernel.
    graph_weight_ : float
        The lambda that was used.
    affinity_matrix_ : csr_array of shape (m, m)
        The directed graph of the m distinct rows, without the shift: equal rows are one vertex. Of rows that are as far
        as the last neighbor all are neighbors, up to `2 * n_neighbors`, beyond that some by a hash of both rows. An
        edge weighs as many times as there are rows at its heavier end. Objectives are those of this graph.
    vertex_rows_ : ndarray of shape (m,), int32
        The first row at each vertex.
    converged_ : bool
        Whether `tol` was reached.
    n_iter_ : int
        Updates of the modes.
    history_ : record array
        One row per update of the modes: `iteration`, `seconds`, `objective` (R), `discrete` (E), `n_updates` (of the
        memberships), `n_modes_moved`.
    n_features_in_, feature_names_in_, preparation_
        See `KMeans`.

    Raises
    ------
    ValueError
        On NaN or infinity (with the row's number), an empty or one-dimensional X, fewer rows than clusters or
        neighbors, an affinity matrix that is not square, symmetric or non-negative, or an unknown option.

    Notes
    -----
    With the kernel k and the graph's affinities K,
    E(Z) = - sum_pl z_pl k(x_p, m_l) + lambda / 4 sum_pq K_pq ||z_p - z_q||^2 over one-hot rows z_p, and
    R(Z) = sum_pl z_pl log z_pl - sum_pl z_pl k(x_p, m_l) - lambda / 2 sum_pq K_pq z_p . z_q over the simplex. Each
    update z_p = softmax(a_p + lambda sum_q K_pq z_q) minimizes an upper bound of R for all rows at once (Eq. 8).

    The graph takes O(n^2 d) operations where it is exact; an update O(n (rho + 1) L). Memory: three arrays of n x L
    floats, the graph and, for mean shifts, another copy of the rows.

    The paper prints twice these graph terms in E (Eq. 1) and R (Eq. 2), but its update (Eq. 8) minimizes a bound of R
    as above: with each pair of rows counted once. `published_objective_` is E of the same labels and modes at twice the
    lambda.

    "auto" has no unit: lambda is 1.5 times the least one at which memberships converge to clusters if all affinities
    are equal, 2 (L - 1) / (L - 2) log(L - 1) over the mean degree. With `init="auto"` memberships continue after five
    updates of the modes instead of being initialized again, and a run that ends with empty clusters is repeated, up to
    three times, with the cluster of the largest inertia split in two.

    The normalized cut is that of the graph with its components joined, so that small components are not free, and with
    the weight of an edge of length d times s^2 / (s^2 + d^2), so that it is low where rows are few.

    A cluster that empties keeps its last mode, with a ConvergenceWarning.

    References
    ----------
    Ziko, Granger and Ben Ayed, Scalable Laplacian K-modes, NeurIPS 2018. Wang and Carreira-Perpiñán, The Laplacian
    K-modes algorithm for clustering, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from coterie import LaplacianKModes
    >>> X, y = make_moons(400, noise=0.05, random_state=0)
    >>> model = LaplacianKModes(2, graph_weight=2.0, random_state=0).fit(X)
    >>> int(max(np.mean(model.labels_ == y), np.mean(model.labels_ != y)) * 100)
    100
    """

    def __init__(
        self,
        n_clusters: Clusters = 8,
        *,
        graph_weight: GraphWeight = "auto",
        n_neighbors: Neighbors = 5,
        affinity: Affinity = "knn",
        weights: EdgeWeights = "binary",
        mode_update: ModesOption = "byproduct",
        bandwidth: Bandwidth = None,
        diagonal_shift: DiagonalShift = "auto",
        metric: Metric = "euclidean",
        init: ModeInit = "auto",
        n_init: Runs = "auto",
        select_by: SelectBy = "normalized_cut",
        max_iter: Iterations = 100,
        tol: Tolerance = 1e-5,
        random_state: RandomState = None,
        verbose: Verbose = 0,
        max_time: MaxTime = None,
        n_threads: Threads = None,
        callback: Callback = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.graph_weight = graph_weight
        self.n_neighbors = n_neighbors
        self.affinity = affinity
        self.weights = weights
        self.mode_update = mode_update
        self.bandwidth = bandwidth
        self.diagonal_shift = diagonal_shift
        self.metric = metric
        self.init = init
        self.n_init = n_init
        self.select_by = select_by
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.max_time = max_time
        self.n_threads = n_threads
        self.callback = callback

    modes_: Array

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> LaplacianKModes:
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
        LaplacianKModes
            This estimator.
        """
        self._fit(X)
        return self

    def _fit(
        self,
        X: Any,
        earlier: FittedProblem | None = None,
        rank: Callable[[KModesProblem, KModesResult, IntArray], Any] | None = None,
    ) -> FittedProblem:
        """Fit; `select_graph_weight` passes the graph and the modes of a fit with another weight, and its own rank,
        which also gets the labels of the rows."""
        self.check_parameters()
        report = FitReport(self, HISTORY_FIELDS)
        random = random_stream(self.random_state)
        if earlier is None:
            rows, columns = self._rows_to_fit(X)
            self._check_n_rows(rows)
            given = self._given_modes(rows)
        else:
            columns = earlier.columns
        with report.scikit_learn_callbacks(X), single_threaded_blas():
            if earlier is None:
                block = rows.read()
                problem, vertices, given = self._problem(block, given, random)
                report.n_runs = self._n_runs()
                tried = self._starts(X, problem, given, random, report)
            else:
                old, block, vertices = earlier.problem, earlier.rows, earlier.vertices
                report.n_runs = len(earlier.ends)
                weight = self._weight_of(old.graph)
                problem = replace(old, n_clusters=self.n_clusters, graph_weight=weight)
                tried = (Start(modes) for modes in earlier.ends)
            ends: list[Modes] = []
            best: KModesResult | None = None
            best_key: Any = None
            if vertices.places is not None and problem.graph.shape[0] <= self.n_clusters:
                results: Iterator[KModesResult] = iter([_singletons(problem, report)])
            else:
                results = self._results(problem, tried, random, report, continues=earlier is None)
            for result in results:
                ends.append(result.modes)
                if rank is None:
                    key = self._rank(problem, result)
                else:
                    key = rank(problem, result, vertices.spread(result.labels))
                if best is None or key < best_key:
                    best, best_key = result, key
        assert best is not None
        fitted = self._result_fitted(best, problem, block, vertices)
        self._store_fitted(columns | fitted)
        report.warn_if_out_of_time()
        return FittedProblem(problem, ends, best.modes, block, vertices, columns)

    def _problem(
        self, rows: Block, given: Array | None, random: np.random.RandomState
    ) -> tuple[KModesProblem, Vertices, Array | None]:
        """Return the problem, its vertices, and the given modes: centers, or numbers of vertices."""
        search: ModeSearch
        vertices = Vertices(rows)
        if self.affinity == "knn":
            n_threads = effective_n_threads(self.n_threads)
            vertices, ids, squares = self._neighbors(rows, random)
            rows = vertices.rows
            usual = gaussian_bandwidth(squares[ids >= 0]) if squares.size else 1.0
            bandwidth = usual if self.bandwidth is None else float(self.bandwidth)

            def of_weights(weights: Any) -> sp.csr_array:
                graph = graph_of_neighbors(
                    ids, squares, weights=weights, bandwidth=bandwidth, symmetrize="none"
                )
                return vertices.weighted(graph)

            graph = of_weights(self.weights)
            near_graph = of_weights(
                lambda squares: edge_weights(squares, self.weights, bandwidth) * closeness(squares, bandwidth)
            )
            search = VectorModes(rows, bandwidth, mode_update=self.mode_update, n_threads=n_threads)
        else:
            graph = check_graph(rows, rows.shape[0], symmetric=True)
            is_given = np.zeros(rows.shape[0], dtype=bool)
            is_given[[] if given is None else given] = True
            graph, vertices = vertices.without_small_parts(
                graph, self.n_clusters, is_given, are_rows=False, n_threads=1
            )
            if given is not None and vertices.places is not None:
                given = vertices.places[given]
            search, near_graph = KernelModes(graph), graph
        problem = KModesProblem(graph, near_graph, search, self.n_clusters, self._weight_of(graph))
        return problem, vertices, given

    def _neighbors(self, rows: Block, random: np.random.RandomState) -> tuple[Vertices, IntArray, Array]:
        """Return the distinct rows, their neighbors and the squared distances to them."""
        vertices = Vertices.of(rows)
        n = vertices.rows.shape[0]
        if n < self.n_clusters:
            warn(f"{n} distinct rows make {n} clusters, not {self.n_clusters}.", ConvergenceWarning)
        if n == 1:
            return vertices, np.zeros((1, 0), dtype=np.int32), np.zeros((1, 0), dtype=rows.dtype)
        ids, squares = neighbors_with_ties(
            vertices.rows, vertices.n_neighbors(self.n_neighbors, self.n_clusters), random_state=random,
            n_threads=effective_n_threads(self.n_threads),
        )  # fmt: skip
        return vertices, ids, squares

    def _starts(
        self,
        X: Any,
        problem: KModesProblem,
        given: Array | None,
        random: np.random.RandomState,
        report: FitReport,
    ) -> Iterator[Start]:
        """Yield initializations; X is passed to a callable `init`."""
        search, n_threads = problem.mode_search, effective_n_threads(self.n_threads)
        if given is not None:
            yield Start(search.start(given, random))
        elif isinstance(self.init, str):
            yield from starts(self.init, problem, random, report, n_threads)
        else:
            data = measure_rows(as_rows(search.rows), n_clusters=self.n_clusters, n_threads=n_threads)
            while True:
                yield Start(search.start(draw_centers(self.init, X, data, self.n_clusters, random), random))

    def _results(
        self,
        problem: KModesProblem,
        tried: Iterator[Start],
        random: np.random.RandomState,
        report: FitReport,
        *,
        continues: bool,
    ) -> Iterator[KModesResult]:
        """Solve from each initialization, and with "auto" again if clusters are empty."""
        n_threads, is_auto = effective_n_threads(self.n_threads), self._is_auto() and continues
        memberships = GraphMemberships(
            problem.graph, self.n_clusters, diagonal_shift=self.diagonal_shift, n_threads=n_threads
        )
        stop = Stop(self.max_iter, self.tol)

        def solve(start: Start) -> KModesResult:
            return bound_optimization(
                problem, start.modes, memberships, stop=stop, report=report.start_run(), labels=start.labels,
                n_fresh=_FRESH_UPDATES if is_auto else None,
            )  # fmt: skip

        for _, start in zip(range(report.n_runs), tried):
            result = solve(start)
            for _ in range(_MOST_SPLITS if is_auto and problem.mode_search.rows is not None else 0):
                if result.n_empty == 0 or report.reason is not None:
                    break
                result = solve(with_split_clusters(problem, result.labels, random, n_threads))
            yield result
            if report.reason is not None:
                break

    def _rank(self, problem: KModesProblem, result: KModesResult) -> tuple[int, float, float]:
        """Return a key that sorts better results first."""
        if self.select_by == "objective":
            return result.n_empty, result.objective, 0.0
        cut = normalized_cut(problem.cut_graph, result.labels, self.n_clusters)
        return result.n_empty, cut, result.objective

    def _result_fitted(
        self, best: KModesResult, problem: KModesProblem, rows: Block, vertices: Vertices
    ) -> dict[str, Any]:
        """Return the fitted attributes of a result."""
        search, modes, first = problem.mode_search, best.modes, vertices.first_rows
        labels = vertices.spread(best.labels)
        self._warn_of_empty_clusters(
            labels, "; they keep their last modes. A smaller graph_weight keeps more of them."
        )
        found = {
            "_training_rows": None if search.rows is None else rows, **vertices.fitted,
            "bandwidth_": search.bandwidth, "affinity_matrix_": problem.graph,
            "labels_": labels, "memberships_": vertices.spread(best.memberships),
            "mode_indices_": np.where(modes.indices < 0, -1, first[modes.indices]),
            "objective_": best.objective, "relaxation_": best.relaxation, "is_shifted_": best.is_shifted,
            "converged_": best.reason == "converged", "history_": best.history, "n_iter_": len(best.history),
        }  # fmt: skip
        if self.affinity == "knn":
            distances = self._distances_to_modes(rows, modes.points, labels)
            own = FitDistances(labels, distances, center_rounding(modes.points))
            found |= {"modes_": modes.points, "_own_distances": own}
        return found

    # --- the fitted model ----------------------------------------------------------------------------------------

    @property
    def cluster_centers_(self) -> Array:
        """The modes, under the name of scikit-learn's clusterers."""
        check_is_fitted(self, "labels_")
        return self.modes_

    @property
    def graph_weight_(self) -> float:
        """lambda, also where it is chosen by the degrees of the graph."""
        check_is_fitted(self, "labels_")
        return self._weight_of(self.affinity_matrix_)

    @property
    def published_objective_(self) -> float:
        """E as the paper prints it (Eq. 1), with lambda / 2 sum_pq K_pq ||z_p - z_q||^2: twice the graph's part."""
        check_is_fitted(self, "labels_")
        return self.objective_ + 0.5 * self.graph_weight_ * cut_weight(
            self.affinity_matrix_, self.labels_[self.vertex_rows_]
        )

    def _weight_of(self, graph: sp.csr_array) -> float:
        if self.graph_weight == "auto":
            return automatic_graph_weight(graph, self.n_clusters)
        return float(self.graph_weight)

    def _distances(self, rows: Block, labels: IntArray, squares: Array) -> FloatArray:
        return self._distances_to_modes(rows, self.modes_, labels)

    def _distances_to(self, X: Any, labels: IntArray, to_centers: FloatArray | None) -> FloatArray:
        if to_centers is not None:
            return to_centers
        rows = self._rows_of(X).with_dtype(self.memberships_.dtype).read()
        return self._distances_to_modes(rows, self.modes_, labels)

    def _distances_to_modes(self, rows: Any, modes: Array, labels: IntArray) -> FloatArray:
        return np.sqrt(squares_to_centers(as_rows(rows), modes, labels, effective_n_threads(self.n_threads)))

    def _scores_by_affinities(self, affinities: Block) -> Array:
        own, near = affinities[:, self.mode_indices_], affinities @ self.memberships_
        return (own.toarray() if sp.issparse(own) else own) + self.graph_weight_ * near

    def _scores_by_neighbors(self, rows: Block, ids: IntArray, squares: Array) -> Array:
        """Return k(x, m_l) + lambda times the memberships of the nearest training rows."""
        assert self.bandwidth_ is not None
        n_threads = effective_n_threads(self.n_threads)
        search = VectorModes(rows, self.bandwidth_, mode_update="byproduct", n_threads=n_threads)
        n_clusters = len(self.modes_)  # of the fit
        scores = np.empty((rows.shape[0], n_clusters))
        search.write_affinities(Modes(self.modes_, self.mode_indices_), list(range(n_clusters)), scores)
        weights = edge_weights(squares, self.weights, self.bandwidth_)
        for near, weight in zip(ids.T, weights.T):
            scores += self.graph_weight_ * weight[:, None] * self.memberships_[near]
        return scores

    def _memberships_by_scores(self, scores: Array) -> Array:
        """Return the memberships of an update (Eq. 8)."""
        return np.asarray(softmax(scores, axis=1))

    def _fitted_attributes(self) -> dict[str, str]:
        return {
            **super()._fitted_attributes(),
            **RUNS,
            "modes_": "float k d" if self.affinity == "knn" else "unsaved?",
            "mode_indices_": "label<n k",
            "bandwidth_": "float?",
            "objective_": "float",
            "relaxation_": "float?",
            "is_shifted_": "bool?",
        }

    # --- checks --------------------------------------------------------------------------------------------------

    def _n_runs(self) -> int:
        n_init = _RUNS if self.n_init == "auto" else int(self.n_init)
        return n_init if draws_centers(self.init) else 1

    def _is_auto(self) -> bool:
        return isinstance(self.init, str) and self.init == "auto"

    def _given_modes(self, rows: Rows) -> Array | None:
        if self.affinity == "knn" or draws_centers(self.init):
            return given_centers(self.init, rows, self.n_clusters, self.n_init)
        return given_rows(self.init, self.n_clusters, rows.shape[0])

    def _handle_few_rows(self, n_rows: int) -> None:
        raise ValueError(
            f"n_neighbors={self.n_neighbors} should be < n_samples={n_rows}: a row is not its own neighbor."
        )

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.affinity == "precomputed":
            if self.mode_update == "mean_shift":
                raise ValueError("mode_update='mean_shift' needs coordinates, not precomputed affinities.")
            if isinstance(self.init, str) and self.init not in ("auto", "random", "spectral"):
                raise ValueError(
                    f"init must be 'auto', 'random', 'spectral' or row numbers with affinities, got {self.init!r}."
                )
        check_weights(self.weights, self.bandwidth)


def _singletons(problem: KModesProblem, report: FitReport) -> KModesResult:
    """Return a cluster for each row, where there are not more rows than clusters."""
    n, k = problem.graph.shape[0], problem.n_clusters
    labels = np.arange(n, dtype=np.int32)
    memberships = np.eye(k, dtype=problem.graph.dtype)[labels]
    indices = np.minimum(np.arange(k), n - 1)
    points = problem.mode_search.rows[indices]
    modes = Modes(points.toarray() if sp.issparse(points) else points, indices)
    objective = 0.5 * problem.graph_weight * cut_weight(problem.graph, labels) - n
    return KModesResult(
        labels, memberships, modes, objective, -float(n), False, report.history(), "converged"
    )
