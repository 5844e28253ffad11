"""Estimators of convex clustering (Chi & Lange 2015): one strength of the penalty, or a path of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate
from typing import Annotated, Any, Literal, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, FloatArray, IntArray
from coterie.cached import cached_property
from coterie.convex.gammas import default_gammas
from coterie.convex.linkage import cut_between, longest_lived
from coterie.convex.norms import find_norm
from coterie.convex.path_solver import PathResult, follow_path, solve_path
from coterie.convex.plots import plot_path, plot_path_dendrogram
from coterie.convex.problem import PAPER_STEP, OrderedProblem, SolverOptions, order_problem
from coterie.convex.solvers import ConvexResult, minimize
from coterie.convex.tree_solver import (
    TreeProblem,
    default_tree_gammas,
    minimize_on_tree,
    solve_tree_path,
    tree_problem,
)
from coterie.convex.weights import AUTO, weight_graph
from coterie.estimators.base import Estimator, by_chunk
from coterie.estimators.parameters import (
    Callback,
    Iterations,
    MaxTime,
    Neighbors,
    Param,
    RandomState,
    Threads,
    Tolerance,
    Verbose,
)
from coterie.fitting.checks import check_positive_integer, warn
from coterie.fitting.report import FitProgress, FitReport, Stop, with_callbacks
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.graphs import nearest_neighbors
from coterie.limits.memory import check_allocation

EdgeKind = Annotated[
    Literal["knn", "dense", "tree", "precomputed"],
    Param("Edges: of nearest neighbors, between all rows, of a spanning tree, or of a given graph."),
]
DistanceDecay = Annotated[
    Literal["auto"] | float,
    Param(
        "Edges weigh exp(-decay d^2) at distance d; auto: free of units; 0: all the same.",
        least=0,
        below=math.inf,
    ),
]
Connect = Annotated[
    bool | None,
    Param(
        "Connect the components of the graph, so that all rows fuse in the end; usual with automatic weights."
    ),
]
Norm = Annotated[
    Literal["l2", "l1", "linf"] | Any,
    Param("Norm of the differences of centers, or groups of columns such as '0,1;2:5'.", reads=("groups",)),
]
Solver = Annotated[
    Literal["ama", "plain-ama", "admm"],
    Param("Solver: accelerated or plain projected gradients of the dual, or ADMM."),
]
StepSize = Annotated[
    Literal["paper"] | float | None, Param("Step size; paper: the fixed one of Chi and Lange.", above=0)
]
StoppingRule = Annotated[
    Literal["gap", "residuals"], Param("Stop by the duality gap, or by primal and dual residuals (admm).")
]


Gamma = Annotated[
    float, Param("Strength of the penalty; larger ones fuse more rows.", least=0, below=math.inf)
]
Gammas = Annotated[
    Any, Param("Strengths of the penalty, ascending, or how many there are.", reads=("numbers",))
]
GammaCount = Annotated[int, Param("Number of strengths of the penalty, if they are not given.", least=1)]


class ConvexEstimator(ClusterMixin, Estimator):
    """All but the result: parameters of the problem and its solver, the fit, and the prediction by nearest rows."""

    _history_fields: tuple[tuple[str, Any], ...]

    weights: str
    n_neighbors: int
    distance_decay: float | str
    connect: bool | None
    norm: Any
    solver: str
    step_size: float | str | None
    stopping: str
    tol: float
    max_iter: int
    random_state: int | np.random.RandomState | None
    verbose: int | bool
    max_time: float | None
    n_threads: int | None
    callback: Callable[[FitProgress], Any] | None

    labels_: IntArray
    _training_rows: Array

    @with_callbacks
    def fit(self, X: Any, y: Any = None, graph: Any = None) -> Self:
        """Find the centroids of the rows of X.

        Parameters
        ----------
        X : array-like, table, Dask array or Rows of shape (n, p)
            The rows. Files are read into memory as a whole.
        y : None
            Ignored.
        graph : sparse matrix or array-like of shape (n, n), optional
            Symmetric weights, with `weights="precomputed"`.

        Returns
        -------
        estimator
            This estimator.
        """
        self.check_parameters()
        report = FitReport(self, self._history_fields)
        report.n_final_steps = 0.0
        rows, fitted = self._rows_to_fit(X)
        self._check_rows(rows, graph)
        with report.scikit_learn_callbacks(X), single_threaded_blas():
            data = rows.read()
            problem, of_graph = self._tree(data) if self.weights == "tree" else self._ordered(data, graph)
            found = self._solve(problem, Stop(self.max_iter, self.tol), report)
            fitted |= of_graph | self._attributes_of(found, data)
        self._store_fitted(fitted)
        if found.reason == "max_iter" and report.reason is None:
            warn(self._shortfall(found), ConvergenceWarning)
        if found.reason != "converged":
            report.warn_if_out_of_time()
        return self

    def _solve(self, problem: OrderedProblem | TreeProblem, stop: Stop, report: FitReport) -> Any:
        raise NotImplementedError

    def _attributes_of(self, found: Any, data: Array) -> dict[str, Any]:
        """Return the fitted attributes of a result."""
        return {
            "converged_": found.reason == "converged",
            "n_iter_": found.n_iter,
            "history_": found.history,
            "_training_rows": data,
        }

    def _shortfall(self, found: Any) -> str:
        """Return a description of what has not converged, with its gap or residuals."""
        raise NotImplementedError

    @by_chunk
    def predict(self, X: Any) -> IntArray:
        """Return the label of the nearest training row of each row of X.

        Parameters
        ----------
        X : array-like, table, Dask array or Rows of shape (m, p)
            Any rows.

        Returns
        -------
        ndarray of shape (m,), int32
        """
        check_is_fitted(self, "labels_")
        # As in fits: squares of very large and of very small rows are no numbers of float32.
        own = self._training_rows.astype(np.float64, copy=False)
        rows = self._rows_of(X).with_dtype(own.dtype).read()
        ids, _ = nearest_neighbors(
            own, 1, queries=rows, random_state=0, n_threads=effective_n_threads(self.n_threads)
        )
        return self.labels_[ids[:, 0]].astype(np.int32, copy=False)

    @property
    def _options(self) -> SolverOptions:
        return SolverOptions(self.solver, self.step_size, self.stopping)

    def _ordered(self, data: Array, graph: Any) -> tuple[OrderedProblem, dict[str, Any]]:
        """Return the problem of the rows, and the fitted attributes that describe it."""
        found, decay = weight_graph(
            data, kind=self.weights, n_neighbors=self.n_neighbors, decay=self.distance_decay, connect=self.connect,
            graph=graph, random_state=self.random_state, n_threads=effective_n_threads(self.n_threads),
        )  # fmt: skip
        ordered = order_problem(
            data, found, find_norm(self.norm, data.shape[1]), self._options,
            n_threads=effective_n_threads(self.n_threads),
        )  # fmt: skip
        fitted: dict[str, Any] = {
            "edges_": ordered.edges,
            "edge_weights_": ordered.weights,
        }
        if self.distance_decay == AUTO and decay is not None:
            fitted["distance_decay_"] = decay
        return ordered, fitted

    def _tree(self, data: Array) -> tuple[TreeProblem, dict[str, Any]]:
        """Return the problem of the rows on a spanning tree, and the fitted attributes that describe it."""
        tree = tree_problem(
            data, n_neighbors=self.n_neighbors, decay=self.distance_decay, random_state=self.random_state,
            n_threads=effective_n_threads(self.n_threads),
        )  # fmt: skip
        fitted = {"edges_": tree.edges, "edge_weights_": tree.weights[1:]}
        if self.distance_decay == AUTO:
            fitted["distance_decay_"] = tree.decay
        return tree, fitted

    def _fitted_attributes(self) -> dict[str, str]:
        return {
            **super()._fitted_attributes(),
            "n_features_in_": "size d",
            "n_clusters_": "size k",
            "labels_": "int<k n",
            "edges_": "int<n e 2",
            "edge_weights_": "float e",
            "distance_decay_": "float?",
            "converged_": "bool?",
            "history_": "records?",
            "n_iter_": "int?",
            "_training_rows": "float n d",
        }

    def _check_rows(self, rows: Any, graph: Any) -> None:
        find_norm(self.norm, rows.shape[1])
        n_rows, n_columns = rows.shape
        n_neighbors = (n_rows - 1) / 2 if self.weights == "dense" else 0.7 * min(self.n_neighbors, n_rows)
        check_allocation(
            n_rows * n_neighbors * (80.0 + 28 * n_columns),
            "edges between rows, with dual variables for each column,",
            "use weights='knn' with fewer neighbors, or a sample of the rows",
        )
        if (graph is None) == (self.weights == "precomputed"):
            raise ValueError('fit needs a graph with weights="precomputed", and takes none otherwise.')

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.weights == "tree":
            is_usual = (self.solver, self.step_size, self.stopping) == ("ama", None, "gap")
            if self.norm != "l1" or not is_usual or self.connect is False:
                raise ValueError(
                    f'weights="tree" needs norm="l1" (got {self.norm!r}) and takes no solver, step_size, stopping or '
                    "connect=False: a tree is connected, and its columns are solved exactly, without iterations."
                )
        if self.step_size == PAPER_STEP and self.solver == "admm":
            raise ValueError(
                'step_size="paper" is a step of AMA: for ADMM the paper names none. Give a positive number.'
            )
        if self.stopping == "residuals" and self.solver != "admm":
            raise ValueError(
                f'stopping="residuals" is for solver="admm": {self.solver} never splits U and V. Use stopping="gap".'
            )


class ConvexClustering(ConvexEstimator):
    """Convex clustering for one strength of the penalty, with a certificate of the minimum.

    Each row has a centroid, which is pulled toward the row and the centroids of its neighbors. Rows with equal
    centroids are a cluster; a larger gamma fuses more rows. `ConvexClusterPath` follows the centroids over many gammas.

    Parameters
    ----------
    gamma : float
        Strength of the penalty. 0: each row is a cluster. Large: each component of the graph is one cluster.
    weights : {"knn", "dense", "tree", "precomputed"}
        Edges between nearest neighbors (of either end), between all rows, those of the minimum spanning tree of the
        graph of nearest neighbors, or those of a symmetric graph given to `fit`. "tree" needs `norm="l1"`: it is solved
        exactly, without iterations, also for millions of rows.
    n_neighbors : int
        Nearest neighbors of each row, with `weights="knn"` or "tree": all others if there are fewer.
    distance_decay : float or "auto"
        A number: weights are exp(-decay ||x_i - x_j||^2), as in the paper; 0: all are 1. "auto": exp(-decay
        (||x_i - x_j||^2 - m)), but at least 0.01, where m is the least squared distance in the graph, and decay halves
        the weights between the 10% and 90% quantiles of squared distances, whatever the units of X are.
    connect : bool, optional
        Add the shortest edges that connect the components of the graph (a spanning tree of them), in a given graph of
        its least weight, so that a path ends with one cluster. Else it ends with one cluster per component. None: where
        distance_decay is "auto" and the graph is not given.
    norm : {"l2", "l1", "linf"}, list of groups of columns, or object
        Of the differences of centroids. Groups: the sum of the l2 norms over a partition of the columns. An object
        has `value(V)`, `prox(V, sigmas)` and `dual_projection(V, radii)`, see `coterie.convex.NormObject`.
    solver : {"ama", "plain-ama", "admm"}
        Projected gradients of the dual, accelerated (Algorithm 3; with a restart where the dual decreases) or plain
        (Algorithm 2), or alternating directions (Algorithm 1, a sparse linear system each). Without `step_size`, "ama"
        is accelerated coordinate ascent where rows have more than 4 columns and the graph at most 32,768 edges.
    step_size : float or "paper", optional
        nu. None: for AMA the largest safe one of each edge, about in proportion to its weight; for ADMM 4
        over the mean number of edges of a row. "paper": for AMA one for all edges, 1 over the bound of the
        Laplacian's largest eigenvalue, which is n or the most edges at the two ends of an edge (section 4.1).
    stopping : {"gap", "residuals"}
        Convergence test: the duality gap, or for ADMM the primal and dual residuals (Boyd et al. 2011, section 3.3.1),
        as in the paper. The gap is computed in both cases.
    tol : float
        Convergence threshold of the duality gap, relative to the objective. Of residuals: the relative tolerance, and
        the absolute one in units of the rows' root mean square deviation from their mean.
    max_iter : int
        Maximum number of iterations.
    random_state : int, RandomState or None
        Seed of the approximate neighbor search, where the exact one would take too long.
    verbose : bool or int
        Print each check of the gap.
    max_time : float, optional
        Time limit in seconds, without the construction of the graph; see `KMeans`.
    n_threads : int, optional
        None: all processors.
    callback : callable, optional
        Called with a `FitProgress` at each check of the gap; the fit stops if it returns True.

    Attributes
    ----------
    centroids_ : ndarray of shape (n, p)
        U: the centroid of each row, equal within clusters ("linf" and objects: nearly equal, if that is better).
    labels_ : ndarray of shape (n,), int32
        Clusters: components of the edges whose ends are fused, numbered by their first rows.
    n_clusters_ : int
        Number of clusters.
    cluster_centers_ : ndarray of shape (n_clusters, p)
        The distinct centroids.
    dual_ : ndarray of shape (n_edges, p)
        Lambda, feasible: its dual norm is at most gamma times the weight of the edge.
    distance_decay_ : float
        The chosen decay; only with `distance_decay="auto"`, and not with a given graph.
    edges_ : ndarray of shape (n_edges, 2), int32
        Ends of the edges, the lower one first.
    edge_weights_ : ndarray of shape (n_edges,)
        Weights of the edges.
    objective_ : float
        F of `centroids_`.
    dual_gap_ : float
        F - D(Lambda), never negative: no centroids have an objective lower by more than this. Also
        ||U - U*||^2 <= 2 `dual_gap_` for the true minimizer U*.
    converged_ : bool
        Whether `tol` was reached.
    n_iter_ : int
        Number of iterations; 1 with `weights="tree"`.
    residuals_ : ndarray of shape (2,)
        Final primal and dual residual, each relative to its limit by `tol`; only with `stopping="residuals"`.
    history_ : record array
        One row per check of the gap: `iteration` (its number), `seconds`, `objective`, `n_steps` (iterations so far),
        `dual`, `gap`, `n_clusters`, all of the best centroids so far.
    n_features_in_, feature_names_in_, preparation_
        See `KMeans`.

    Raises
    ------
    ValueError
        On NaN or infinity (with the row's number), an empty or one-dimensional X, too few rows for the neighbors, a
        graph that is not square, symmetric or non-negative, an unsafe step size, an unknown option or incompatible
        options.
    TypeError
        If X is sparse.

    Notes
    -----
    F(U) = 1/2 sum_i ||x_i - u_i||^2 + gamma sum_l w_l ||u_l1 - u_l2|| (Eq. 1.1). An iteration takes O(n_edges p) time;
    memory: two arrays of n_edges x p floats, no differences V are stored. The points of a dual iterate are fused where
    their edges are short, and the gap is computed for the fused centroids: it decreases with the square of the error.
    The duals of both solvers are always feasible, so each gap is a bound.

    References
    ----------
    Chi and Lange, Splitting methods for convex clustering, Journal of Computational and Graphical Statistics, 2015.
    Touw, Groenen and Terada, Convex clustering through MM, arXiv:2211.01877, 2022: weights independent of units.
    Boyd, Parikh, Chu, Peleato and Eckstein, Distributed optimization and statistical learning via the alternating
    direction method of multipliers, Foundations and Trends in Machine Learning, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import ConvexClustering
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> model = ConvexClustering(1.0, weights="dense", distance_decay=0.1).fit(X)
    >>> model.labels_
    array([0, 0, 1, 1], dtype=int32)
    >>> bool(model.dual_gap_ <= 1e-5 * model.objective_)
    True
    """

    _history_fields = (
        ("n_steps", np.int64),
        ("dual", np.float64),
        ("gap", np.float64),
        ("n_clusters", np.int64),
    )

    def __init__(
        self,
        gamma: Gamma = 1.0,
        *,
        weights: EdgeKind = "knn",
        n_neighbors: Neighbors = 5,
        distance_decay: DistanceDecay = "auto",
        connect: Connect = None,
        norm: Norm = "l2",
        solver: Solver = "ama",
        step_size: StepSize = None,
        stopping: StoppingRule = "gap",
        tol: Tolerance = 1e-5,
        max_iter: Iterations = 10_000,
        random_state: RandomState = None,
        verbose: Verbose = 0,
        max_time: MaxTime = None,
        n_threads: Threads = None,
        callback: Callback = None,
    ) -> None:
        self.gamma = gamma
        self.weights = weights
        self.n_neighbors = n_neighbors
        self.distance_decay = distance_decay
        self.connect = connect
        self.norm = norm
        self.solver = solver
        self.step_size = step_size
        self.stopping = stopping
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.max_time = max_time
        self.n_threads = n_threads
        self.callback = callback

    def _solve(self, problem: OrderedProblem | TreeProblem, stop: Stop, report: FitReport) -> ConvexResult:
        if isinstance(problem, TreeProblem):
            return minimize_on_tree(problem, float(self.gamma), report=report.start_run())
        return minimize(problem, float(self.gamma), self._options, stop=stop, report=report.start_run())

    def _attributes_of(self, found: ConvexResult, data: Array) -> dict[str, Any]:
        fitted = super()._attributes_of(found, data) | {
            "centroids_": found.centroids,
            "labels_": found.labels,
            "n_clusters_": found.n_clusters,
            "dual_": found.duals,
            "objective_": found.objective,
            "dual_gap_": found.gap,
        }
        return fitted if found.residuals is None else fitted | {"residuals_": np.array(found.residuals)}

    def _fitted_attributes(self) -> dict[str, str]:
        return {
            **super()._fitted_attributes(),
            "centroids_": "float n d",
            "dual_": "float e d",
            "objective_": "float",
            "dual_gap_": "float",
            "residuals_": "real 2?",  # infinite if the limit is 0
        }

    @property
    def cluster_centers_(self) -> Array:
        """The centroid of each cluster: that of its first row."""
        check_is_fitted(self, "labels_")
        return self.centroids_[np.unique(self.labels_, return_index=True)[1]]

    def _shortfall(self, found: ConvexResult) -> str:
        if found.residuals is not None:
            primal, dual = found.residuals
            return (
                f"The primal and the dual residual are {primal:.2g} and {dual:.2g} times what tol={self.tol:g} allows "
                f"after max_iter={self.max_iter} iterations."
            )
        return (
            f"The duality gap is {found.gap / max(found.objective, 1e-300):.2g} of the objective after "
            f"max_iter={self.max_iter} iterations, more than tol={self.tol:g}."
        )


class ConvexClusterPath(ConvexEstimator):
    """Convex clustering for ascending strengths of the penalty, from single rows to one cluster per component.

    Each gamma is solved from the duals of the previous one, to a duality gap that bounds its error.

    Parameters
    ----------
    gammas : array-like of shape (m,), optional
        Strengths of the penalty, ascending. None: 0 and a geometric grid, from the first gamma that can fuse rows to
        one at which each component of the graph is one cluster.
    n_gammas : int
        Number of gammas, if they are not given.
    weights, n_neighbors, distance_decay, connect, norm, solver, step_size, stopping
        See `ConvexClustering`.
    tol : float
        Convergence threshold of each gamma: its duality gap, relative to its objective, or its residuals.
    max_iter : int
        Maximum number of iterations for each gamma.
    random_state : int, RandomState or None
        Seed of the approximate neighbor search, where the exact one would take too long.
    verbose : bool or int
        Print each gamma.
    max_time : float, optional
        Time limit in seconds, without the construction of the graph; the last gamma may be less exact.
    n_threads : int, optional
        None: all processors.
    callback : callable, optional
        Called with a `FitProgress` after each gamma; the path ends if it returns True.

    Attributes
    ----------
    gammas_ : ndarray of shape (m,)
        The gammas that were solved.
    labels_path_ : ndarray of shape (m, n), int32
        Clusters at each gamma, numbered by their first rows.
    n_clusters_path_ : ndarray of shape (m,), int64
        Number of clusters at each gamma.
    n_clusters_ : int
        The number of clusters, from 2 to 10, that lasts for the longest factor of gamma.
    labels_ : ndarray of shape (n,), int32
        The clusters of the first gamma with `n_clusters_` clusters.
    centroids_path_ : ndarray of shape (m, n, p)
        U at each gamma. Computed on first access; until then only distinct centroids are stored.
    objectives_, dual_gaps_ : ndarray of shape (m,)
        F of these, and F - D: no centroids have an objective that is lower by more.
    relative_gaps_ : ndarray of shape (m,)
        `dual_gaps_` over `objectives_`; 0 at gamma = 0, where centroids are the rows.
    n_splits_ : ndarray of shape (m,), int64
        Number of splits of clusters since the previous gamma, which the model allows. With a coarse `tol` rows that are
        about to fuse may also be counted.
    linkage_ : ndarray of shape (n - 1, 4)
        The path as a tree for `scipy.cluster.hierarchy.dendrogram`: heights are gammas. Clusters that split again are
        not separated in it; clusters that never fuse are joined at 1.25 times the last gamma.
    distance_decay_ : float
        The chosen decay; only with `distance_decay="auto"`, and not with a given graph.
    edges_, edge_weights_ : ndarray of shape (n_edges, 2) and (n_edges,)
        The graph.
    converged_ : bool
        Whether all gammas reached `tol`.
    residuals_ : ndarray of shape (m, 2)
        Primal and dual residual of each gamma, relative to their limits by `tol`; only with `stopping="residuals"`.
    n_iter_ : int
        Number of iterations of all gammas; with `weights="tree"` that of gammas.
    history_ : record array
        One row per gamma: `iteration` (its number), `seconds`, `objective`, `gamma`, `n_steps`, `gap`, `n_clusters`.
    n_features_in_, feature_names_in_, preparation_
        See `KMeans`.

    Raises
    ------
    ValueError
        If gammas are negative, not finite or not ascending; else as `ConvexClustering`.
    TypeError
        If X is sparse.

    Notes
    -----
    Memory: the distinct centroids at each gamma, 3.5 n_edges p numbers for the edges, and m n p numbers after access to
    `centroids_path_`. Time: O(n_edges p) for each iteration; the number of iterations grows with the diameter of the
    clusters in the graph.

    References
    ----------
    Chi and Lange, Splitting methods for convex clustering, Journal of Computational and Graphical Statistics, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import ConvexClusterPath
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> path = ConvexClusterPath([0.0, 0.5, 20.0], weights="dense", distance_decay=0.0).fit(X)
    >>> path.n_clusters_path_
    array([4, 2, 1])
    >>> path.labels_at(2)
    array([0, 0, 1, 1], dtype=int32)
    """

    _history_fields = (
        ("gamma", np.float64),
        ("n_steps", np.int64),
        ("gap", np.float64),
        ("n_clusters", np.int64),
    )

    def __init__(
        self,
        gammas: Gammas = None,
        *,
        n_gammas: GammaCount = 100,
        weights: EdgeKind = "knn",
        n_neighbors: Neighbors = 5,
        distance_decay: DistanceDecay = "auto",
        connect: Connect = None,
        norm: Norm = "l2",
        solver: Solver = "ama",
        step_size: StepSize = None,
        stopping: StoppingRule = "gap",
        tol: Tolerance = 1e-5,
        max_iter: Iterations = 10_000,
        random_state: RandomState = None,
        verbose: Verbose = 0,
        max_time: MaxTime = None,
        n_threads: Threads = None,
        callback: Callback = None,
    ) -> None:
        self.gammas = gammas
        self.n_gammas = n_gammas
        self.weights = weights
        self.n_neighbors = n_neighbors
        self.distance_decay = distance_decay
        self.connect = connect
        self.norm = norm
        self.solver = solver
        self.step_size = step_size
        self.stopping = stopping
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.max_time = max_time
        self.n_threads = n_threads
        self.callback = callback

    def _solve(self, problem: OrderedProblem | TreeProblem, stop: Stop, report: FitReport) -> PathResult:
        gammas = self._given_gammas()
        if isinstance(problem, TreeProblem):
            gammas = default_tree_gammas(problem, self.n_gammas) if gammas is None else gammas
            solutions = solve_tree_path(problem, gammas, stop)
        else:
            gammas = default_gammas(problem.problem, self.n_gammas) if gammas is None else gammas
            solutions = solve_path(problem, gammas, self._options, stop=stop, deadline=report.deadline)
        report.n_steps = len(gammas)
        return follow_path(solutions, len(gammas), problem.edges, report.start_run())

    def _attributes_of(self, found: PathResult, data: Array) -> dict[str, Any]:
        gammas, labels, centroids, counts, objectives, gaps, *_, residuals = zip(*found.steps)
        n_clusters = longest_lived(np.array(gammas), np.array(counts))
        firsts = accumulate((len(rows.distinct) for rows in centroids), initial=0)
        fitted = super()._attributes_of(found, data) | {
            "gammas_": np.array(gammas),
            "labels_path_": np.array(labels),
            "n_clusters_path_": np.array(counts),
            "n_clusters_": n_clusters,
            "labels_": labels[int(np.argmax(np.array(counts) <= n_clusters))],
            "objectives_": np.array(objectives),
            "dual_gaps_": np.array(gaps),
            "n_splits_": np.array(found.n_splits),
            "linkage_": found.linkage,
            "converged_": found.n_open == 0,
            "_distinct_centroids": np.concatenate([rows.distinct for rows in centroids]),
            "_centroid_numbers": np.array([first + rows.places for first, rows in zip(firsts, centroids)]),
        }
        return fitted if residuals[0] is None else fitted | {"residuals_": np.array(residuals)}

    def _shortfall(self, found: PathResult) -> str:
        what = "residuals" if self.stopping == "residuals" else "duality gaps"
        return (
            f"The {what} of {found.n_open} of {len(found.steps)} gammas are larger than tol={self.tol:g} allows "
            f"after max_iter={self.max_iter} iterations each."
        )

    def _fitted_attributes(self) -> dict[str, str]:
        return {
            **super()._fitted_attributes(),
            "labels_path_": "int<n m n",
            "gammas_": "float m",
            "centroids_path_": "float m n d?",
            "_distinct_centroids": "float c d",
            "_centroid_numbers": "int m n",
            "n_clusters_path_": "int m",
            "objectives_": "float m",
            "dual_gaps_": "float m",
            "residuals_": "real m 2?",  # infinite if the limit is 0
            "n_splits_": "int m",
            "linkage_": "float n-1 4",
        }

    def labels_at(self, n_clusters: int) -> IntArray:
        """Return the labels of a given number of clusters.

        The labels are those of the first gamma with this number. If the path skips the number, the tree is cut between
        two gammas: of the clusters that fuse there, those with the closest centroids are merged.

        Parameters
        ----------
        n_clusters : int
            From 1 (or the number of components of the graph) to the number of rows (distinct rows if the path begins
            with gamma = 0).

        Returns
        -------
        ndarray of shape (n,), int32
            Clusters, numbered by their first rows.

        Raises
        ------
        ValueError
            If the path has more clusters everywhere, or the rows have fewer distinct values.
        """
        at = self.index_at(n_clusters)
        if self.n_clusters_path_[at] == n_clusters:
            return self.labels_path_[at]
        labels_path = self.labels_path_
        n = labels_path.shape[1]
        most = int(self.n_clusters_path_[0]) if self.gammas_[0] == 0 else n
        if n_clusters > most:
            raise ValueError(f"n_clusters={n_clusters} is more than the {most} different rows of the path.")
        if at > 0:
            finer, centroids = labels_path[at - 1], self._distinct_centroids[self._centroid_numbers[at - 1]]
            lengths = np.linalg.norm(centroids[self.edges_[:, 0]] - centroids[self.edges_[:, 1]], axis=1)
        else:  # before the first gamma each row is a cluster, and the nearest ones have the heaviest edges
            finer, lengths = np.arange(n, dtype=np.int32), -self.edge_weights_
        return cut_between(finer, labels_path[at], self.edges_, lengths, n_clusters)

    @cached_property
    def centroids_path_(self) -> Array:
        """U at each gamma, of shape (m, n, p)."""
        if "_distinct_centroids" not in vars(self):
            raise AttributeError("centroids_path_ is of a path that was fitted.")
        return self.centroids_of(slice(None))

    @property
    def relative_gaps_(self) -> FloatArray:
        """The duality gap of each gamma over its objective; 0 at gamma = 0, where centroids are the rows."""
        has_gap = (self.gammas_ > 0) & (self.objectives_ > 0)
        return np.divide(self.dual_gaps_, self.objectives_, out=np.zeros(len(has_gap)), where=has_gap)

    def centroids_of(self, rows: Any) -> Array:
        """Return the centroids of some rows at each gamma, without making those of all rows.

        Parameters
        ----------
        rows : array-like of shape (r,), int
            Numbers of rows.

        Returns
        -------
        ndarray of shape (m, r, p)
        """
        check_is_fitted(self, "labels_path_")
        return self._distinct_centroids[self._centroid_numbers[:, rows]]

    def index_at(self, n_clusters: int) -> int:
        """Return the index of the first gamma with at most this number of clusters; see `labels_at`."""
        check_is_fitted(self, "labels_path_")
        n_clusters = check_positive_integer("n_clusters", n_clusters)
        few = np.flatnonzero(self.n_clusters_path_ <= n_clusters)
        if len(few) == 0:
            raise ValueError(
                f"The path has at least {self.n_clusters_path_.min()} clusters, so no gamma leaves {n_clusters}: "
                "give larger gammas, or connect the graph with connect=True."
            )
        return int(few[0])

    plot = plot_path
    plot_dendrogram = plot_path_dendrogram

    def check_parameters(self) -> None:
        super().check_parameters()
        given = self._given_gammas()
        n_gammas = self.n_gammas if given is None else len(given)
        check_allocation(1000.0 * n_gammas, f"results of {n_gammas:,} gammas", "ask for fewer gammas")

    def _given_gammas(self) -> FloatArray | None:
        if self.gammas is None:
            return None
        gammas = np.array(self.gammas, dtype=np.float64)
        if gammas.ndim != 1 or len(gammas) == 0:
            raise ValueError(f"gammas must be one-dimensional and not empty, got shape {gammas.shape}.")
        if not np.all(np.isfinite(gammas)) or gammas[0] < 0 or np.any(np.diff(gammas) <= 0):
            raise ValueError("gammas must be finite, not negative and ascending.")
        return gammas
