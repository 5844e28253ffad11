"""Convex clustering for one strength of the penalty (Chi & Lange 2015)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, FloatArray
from coterie.convex.base import (
    Acceleration,
    Connect,
    ConvexEstimator,
    EdgeKind,
    Norm,
    Phi,
    Solver,
    StepSize,
    StoppingRule,
)
from coterie.convex.distinct import RepeatedRows
from coterie.convex.edges import weight_graph
from coterie.convex.fusion import Certificate
from coterie.convex.setting import Setting
from coterie.convex.solvers import solve
from coterie.estimators.declared import Count, Declared, Numbers, One
from coterie.estimators.outliers import SCALES, OutlierScoring, OwnDistances, center_rounding
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
from coterie.fitting.callbacks import with_callbacks
from coterie.fitting.checks import check_positive_integer
from coterie.fitting.monitor import FitMonitor
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.fitting.warn import warn

__all__ = ["ConvexClustering"]

Gamma = Annotated[
    float, Param("Strength of the penalty; larger ones fuse more rows.", least=0, below=math.inf)
]
WarmNeighbors = Annotated[
    Any, Param("Numbers of neighbors of sparser graphs that are solved first, ascending.", reads=("numbers",))
]


# Rows whose distances are measured at once: all of them take pages of memory for longer than the sums.
_ROWS_MEASURED = 4096

_HISTORY_FIELDS = (
    ("n_steps", np.int64),
    ("dual", np.float64),
    ("gap", np.float64),
    ("n_clusters", np.int64),
)


class ConvexClustering(ClusterMixin, OutlierScoring, ConvexEstimator):
    """Clusters as rows whose centroids fuse: the one minimum of a convex function, with a certificate.

    Each row has a centroid of its own, drawn to the row and to the centroids of its neighbours. The stronger gamma, the
    more of them are equal. `ConvexClusterPath` follows them over many gammas.

    Parameters
    ----------
    gamma : float
        Strength of the penalty. 0 leaves each row alone; with a large one each component of the graph is one cluster.
    weights : {"knn", "dense", "precomputed"}
        Edges between nearest neighbours (of either end), between all rows, or those of a symmetric graph given to
        `fit`.
    n_neighbors : int
        Nearest neighbours of each row, with `weights="knn"`.
    phi : float or "auto"
        "auto": free of units. Weights are exp(-phi (||x_i - x_j||^2 - m)), but at least 0.01, where m is the least
        squared distance in the graph and phi such that between its 10% and 90% quantiles weights fall by half. Equal
        rows are one vertex of the graph, with as many edges as they are. A number: weights are
        exp(-phi ||x_i - x_j||^2), as in the paper; it has the unit of 1 / feature^2. 0: all weights are 1. Either way
        scale features first whose units differ.
    connect : bool, optional
        Add the shortest edges that connect the components of the graph (a spanning tree of them), so that one cluster
        is left in the end. Else each component has its own limit. None: where phi is "auto" and the graph is not
        given.
    norm : {"l2", "l1", "linf"}, list of groups of columns, or object
        Of the differences of centroids. Groups: the sum of the l2 norms over a partition of the columns. An object
        has `value(V)`, `prox(V, sigmas)` and `dual_projection(V, radii)`, see `coterie.convex.NormObject`.
    solver : {"ama", "plain-ama", "admm"}
        Projected gradients of the dual (Algorithm 3, and 2, without acceleration), or alternating directions
        (Algorithm 1, a sparse linear system each).
    acceleration : bool
        Whether "ama" extrapolates (Nesterov), beginning anew where the dual decreases. Without, it is "plain-ama".
    step_size : float or "paper", optional
        nu. None: for AMA the largest safe one of each edge, about in proportion to its weight; for ADMM 4
        over the mean number of edges of a row. "paper": for AMA one for all edges, 1 over the bound of the
        Laplacian's largest eigenvalue, which is n or the most edges at the two ends of an edge (section 4.1).
    stopping : {"gap", "residuals"}
        When the fit has converged: by the duality gap, or for ADMM by its primal and dual residuals (Boyd et al.
        2011, section 3.3.1), as in the paper. Either way there is a gap in the end.
    tol : float
        The fit has converged when the duality gap is at most `tol` times the objective. Of residuals: the relative
        tolerance, and the absolute one in units of the rows' root mean square deviation from their mean.
    max_iter : int
        Iterations, at most.
    random_state : int, RandomState or None
        Of the approximate search for neighbours, where the exact one would take too long.
    verbose : bool or int
        Print each check of the gap.
    max_time : float, optional
        Seconds. The best centroids found by then are returned, with a ConvergenceWarning. The
        construction of the graph is not cut off.
    n_threads : int, optional
        None: all processors that this process may use.
    warm_neighbors : sequence of int, optional
        Increasingly dense warm starts (section 9): graphs with so many nearest neighbours, ascending and fewer than
        those of the graph that is asked for, are solved first, each from the duals of the one before.
    callback : callable, optional
        Called with a `FitProgress` at each check of the gap; the fit stops if it returns True.

    Attributes
    ----------
    centroids_ : ndarray of shape (n, p)
        U: the centroid of each row, equal within clusters ("linf" and objects: nearly equal, if that is better).
    labels_ : ndarray of shape (n,), int32
        Clusters: components of the edges whose ends are fused, numbered by their first rows.
    outlier_scores_ : ndarray of shape (n,), float32
        Distance of each row to the mean of the rows of its cluster (centroids are drawn towards each other), over
        `cluster_scales_`: 1 for the median row of a cluster. Only rows of the fit have one, as labels.
    cluster_scales_ : ndarray of shape (n_clusters,), float64
        The lower median of these distances of each cluster's rows.
    n_clusters_ : int
        How many.
    cluster_centers_ : ndarray of shape (n_clusters, p)
        The different centroids.
    dual_ : ndarray of shape (n_edges, p)
        Lambda, feasible: its dual norm is at most gamma times the weight of the edge.
    phi_ : float
        The phi that was chosen; only with `phi="auto"`, and not of a given graph.
    edges_ : ndarray of shape (n_edges, 2), int32
        Ends of the edges, the lower one first.
    edge_weights_ : ndarray of shape (n_edges,)
        Their weights.
    objective_ : float
        F of `centroids_`.
    dual_gap_ : float
        F - D(Lambda), never negative: no centroids have an objective lower by more than this. Also
        ||U - U*||^2 <= 2 `dual_gap_` for the true minimiser U*.
    converged_ : bool
        Whether `tol` was reached.
    n_iter_ : int
        Iterations, those on sparser graphs not counted.
    warm_n_iter_ : list of int
        Iterations on each graph of `warm_neighbors`; only where it was given.
    residuals_ : ndarray of shape (2,)
        Primal and dual residual in the end, each over what `tol` allows; only with `stopping="residuals"`.
    history_ : record array
        One row per check of the gap: `iteration` (its number), `seconds`, `objective`, `n_steps` (iterations by
        then), `dual`, `gap`, `n_clusters`, all of the best centroids so far.
    n_features_in_ : int
        Number of columns p.
    feature_names_in_ : ndarray of shape (p,)
        Names of the columns, where X was a table.
    preparation_ : tuple of tuple
        What was done to the columns of X by `prepare_rows`, and is done to new rows too.

    Raises
    ------
    ValueError
        On NaN or infinity (with the row's number), an empty or one-dimensional X, too few rows for the neighbours, a
        graph that is not square, symmetric or non-negative, an unsafe step size, an unknown option or options that do
        not go together.
    TypeError
        If X is sparse.

    Notes
    -----
    F(U) = 1/2 sum_i ||x_i - u_i||^2 + gamma sum_l w_l ||u_l1 - u_l2|| (Eq. 1.1). An iteration takes O(n_edges p) time;
    memory: two arrays of n_edges x p floats, no differences V are stored. The points of a dual iterate are fused where
    their edges are short, and the gap is that of the fused centroids: it falls with the square of the error. Both
    solvers have feasible duals at any time, so each gap is a proof.

    References
    ----------
    Chi and Lange, Splitting methods for convex clustering, Journal of Computational and Graphical Statistics, 2015.
    Touw, Groenen and Terada, Convex clustering through MM, arXiv:2211.01877, 2022: weights free of units.
    Boyd, Parikh, Chu, Peleato and Eckstein, Distributed optimization and statistical learning via the alternating
    direction method of multipliers, Foundations and Trends in Machine Learning, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import ConvexClustering
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> model = ConvexClustering(1.0, weights="dense", phi=0.1).fit(X)
    >>> model.labels_
    array([0, 0, 1, 1], dtype=int32)
    >>> bool(model.dual_gap_ <= 1e-5 * model.objective_)
    True
    """

    warm_n_iter_: list[int]

    def __init__(
        self,
        gamma: Gamma = 1.0,
        *,
        weights: EdgeKind = "knn",
        n_neighbors: Neighbors = 5,
        phi: Phi = "auto",
        connect: Connect = None,
        norm: Norm = "l2",
        solver: Solver = "ama",
        acceleration: Acceleration = True,
        step_size: StepSize = None,
        stopping: StoppingRule = "gap",
        tol: Tolerance = 1e-5,
        max_iter: Iterations = 10_000,
        random_state: RandomState = None,
        verbose: Verbose = 0,
        max_time: MaxTime = None,
        n_threads: Threads = None,
        warm_neighbors: WarmNeighbors = None,
        callback: Callback = None,
    ) -> None:
        self.gamma = gamma
        self.weights = weights
        self.n_neighbors = n_neighbors
        self.phi = phi
        self.connect = connect
        self.norm = norm
        self.solver = solver
        self.acceleration = acceleration
        self.step_size = step_size
        self.stopping = stopping
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.max_time = max_time
        self.n_threads = n_threads
        self.warm_neighbors = warm_neighbors
        self.callback = callback

    @with_callbacks
    def fit(self, X: Any, y: Any = None, graph: Any = None) -> ConvexClustering:
        """Find the centroids of the rows of X.

        Parameters
        ----------
        X : array-like, table, Dask array or RowSource of shape (n, p)
            The rows. Files are read into memory as a whole.
        y : None
            Ignored.
        graph : sparse matrix or array-like of shape (n, n), optional
            Symmetric weights, with `weights="precomputed"`.

        Returns
        -------
        ConvexClustering
            This estimator.
        """
        self.check_parameters()
        monitor = FitMonitor(self, extra_fields=_HISTORY_FIELDS)
        with monitor.scikit_learn_callbacks(X), single_threaded_blas():
            data = self._data(X, graph)
            setting = self._setting(data, graph)
            monitor.start_run()
            self._begin_on_sparser_graphs(data, setting, monitor)

            def is_stopped(best: Certificate, n_steps: int) -> bool:
                return monitor.report(
                    best.objective, lambda: setting.centroids(RepeatedRows.of(best.centroids)).whole(),
                    closeness=best.gap / max(self.tol * best.objective, 1e-300),
                    n_steps=n_steps, dual=best.objective - best.gap,
                    gap=best.gap, n_clusters=best.n_clusters,
                )  # fmt: skip

            certificate, self.n_iter_, self.converged_ = solve(
                setting.solver, setting.fuser, float(self.gamma), tol=self.tol, max_iter=self.max_iter,
                is_stopped=is_stopped, is_late=lambda: monitor.out_of_time,
                has_settled=setting.has_settled(self.stopping, self.tol),
            )  # fmt: skip
            self._store(setting, certificate)
            self._measure(data)
        self.history_ = monitor.history()
        if not self.converged_ and monitor.stopped_by is None:
            warn(self._shortfall(), ConvergenceWarning)
        if not self.converged_:
            monitor.warn_if_out_of_time()
        return self

    def _fitted_attributes(self) -> dict[str, Declared]:
        return {
            **super()._fitted_attributes(),
            "n_features_in_": Count("d"),
            "n_clusters_": Count("k"),
            "centroids_": Numbers(("n", "d")),
            "labels_": Numbers(("n",), "integer", least=0, below="k"),
            **self._graph_attributes(2),
            "dual_": Numbers(("e", "d"), may_be_empty=True),
            "objective_": One(),
            "dual_gap_": One(),
            **SCALES,
        }

    @property
    def cluster_centers_(self) -> Array:
        """The centroid of each cluster: that of its first row."""
        check_is_fitted(self, "labels_")
        return self.centroids_[np.unique(self.labels_, return_index=True)[1]]

    def _check_rows(self, rows: Any, graph: Any) -> None:
        super()._check_rows(rows, graph)
        if self.warm_neighbors is not None and max(self.warm_neighbors, default=0) >= rows.shape[0]:
            raise ValueError(
                f"warm_neighbors={max(self.warm_neighbors)} should be < n_samples={rows.shape[0]}: a row is not its "
                "own neighbour."
            )

    def _shortfall(self) -> str:
        """Return what has not converged, and by how much."""
        if self.stopping == "residuals":
            primal, dual = self.residuals_
            return (
                f"The primal and the dual residual are {primal:.2g} and {dual:.2g} times what tol={self.tol:g} allows "
                f"after max_iter={self.max_iter} iterations."
            )
        return (
            f"The duality gap is {self.dual_gap_ / max(self.objective_, 1e-300):.2g} of the objective after "
            f"max_iter={self.max_iter} iterations, more than tol={self.tol:g}."
        )

    def _begin_on_sparser_graphs(self, data: Array, setting: Setting, monitor: FitMonitor) -> None:
        """Solve on fewer edges first; what their duals are found to be is where those of the graph begin."""
        if self.warm_neighbors is None:
            if hasattr(self, "warm_n_iter_"):
                del self.warm_n_iter_
            return
        self.warm_n_iter_ = []
        before: Setting | None = None
        for n_neighbors in self.warm_neighbors:
            graph, _ = weight_graph(
                data, kind="knn", n_neighbors=n_neighbors, phi=self.phi, connect=False,
                random_state=self.random_state, n_threads=effective_n_threads(self.n_threads),
            )  # fmt: skip
            sparser = self._setting_on(data, graph)
            if before is not None:
                sparser.resume(before.edges, before.duals())
            _, n_steps, _ = solve(
                sparser.solver, sparser.fuser, float(self.gamma), tol=self.tol, max_iter=self.max_iter,
                is_stopped=lambda best, n_steps: False, is_late=lambda: monitor.out_of_time,
                has_settled=sparser.has_settled(self.stopping, self.tol),
            )  # fmt: skip
            self.warm_n_iter_.append(n_steps)
            before = sparser
        if before is not None:
            setting.resume(before.edges, before.duals())

    def _store(self, setting: Setting, certificate: Certificate) -> None:
        self.centroids_ = setting.centroids(RepeatedRows.of(certificate.centroids)).whole()
        self.labels_ = setting.labels(certificate)
        self.n_clusters_ = certificate.n_clusters
        self.dual_ = setting.duals()
        self.edges_ = np.column_stack([setting.edges.heads, setting.edges.tails])
        self.edge_weights_ = setting.edges.weights
        self.objective_, self.dual_gap_ = certificate.objective, certificate.gap
        self._store_residuals(setting.residuals(self.tol) if self.stopping == "residuals" else None)

    def _measure(self, data: Array) -> None:
        """Note how far rows are from the means of the rows of their clusters.

        Centroids are drawn towards each other, out of their clusters: the rows farthest from them are on the far side.
        """
        mean_of = sp.csr_array((np.ones(len(data)), (self.labels_, np.arange(len(data)))))
        mean_of = sp.diags_array(1 / mean_of.sum(axis=1)) @ mean_of
        means = np.asarray(mean_of @ data.astype(np.float64))
        distances = np.empty(len(data))
        for first in range(0, len(data), _ROWS_MEASURED):
            part = slice(first, first + _ROWS_MEASURED)
            distances[part] = np.linalg.norm(data[part] - means[self.labels_[part]], axis=1)
        rounding = center_rounding(means.astype(data.dtype))
        self._note_distances(OwnDistances(self.labels_, distances, rounding))

    def relative_distances(
        self, X: Any, labels: npt.ArrayLike, *, distances: FloatArray | None = None
    ) -> Array | None:
        return self.outlier_scores_ if np.array_equal(labels, self.labels_) else None

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.warm_neighbors is not None:
            self._check_warm_neighbors()

    def _check_warm_neighbors(self) -> None:
        if isinstance(self.warm_neighbors, str) or not isinstance(self.warm_neighbors, Iterable):
            raise ValueError(f"warm_neighbors must be None or several numbers, got {self.warm_neighbors!r}.")
        numbers = list(self.warm_neighbors)
        if self.weights == "precomputed":
            raise ValueError(
                'warm_neighbors needs weights="knn" or "dense": of a given graph it is not known which rows are near.'
            )
        for number in numbers:
            check_positive_integer("warm_neighbors", number)
        most = [self.n_neighbors] if self.weights == "knn" else []
        if any(after <= number for number, after in pairwise([*numbers, *most])):
            raise ValueError(
                f"warm_neighbors must ascend{' to fewer than n_neighbors=' + str(most[0]) if most else ''}, "
                f"got {numbers}."
            )
