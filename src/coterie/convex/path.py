"""The path of convex clustering: centroids for a whole range of gammas, each with its certificate."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, FloatArray, IntArray
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
from coterie.convex.edges import AUTO
from coterie.convex.grid import FittingGammas, GivenGammas, default_gammas
from coterie.convex.path_solver import PathSolver
from coterie.convex.setting import Setting
from coterie.convex.tree import cut_between, has_fission, linkage_of_path
from coterie.estimators.base import overflow_message
from coterie.estimators.declared import Count, Declared, Numbers, strange_number
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
from coterie.fitting.deadline import Phase
from coterie.fitting.monitor import FitMonitor
from coterie.fitting.threads import single_threaded_blas
from coterie.fitting.warn import warn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ConvexClusterPath"]


_HISTORY_FIELDS = (
    ("gamma", np.float64),
    ("n_steps", np.int64),
    ("gap", np.float64),
    ("n_clusters", np.int64),
)


# The part of the time left that the search for the last gamma may take where time is short.
_GAMMAS_SHARE = 0.25


class _Step(NamedTuple):
    """What was found for one gamma."""

    gamma: float
    labels: IntArray
    centroids: RepeatedRows
    n_clusters: int
    objective: float
    gap: float


Gammas = Annotated[
    Any, Param("Strengths of the penalty, ascending, or how many there are.", reads=("numbers",))
]
GammaCount = Annotated[int, Param("Maximum number of strengths of the penalty.", least=1)]


class ConvexClusterPath(ConvexEstimator):
    """Follow the centroids of convex clustering from every row by itself to one cluster per component.

    Each gamma begins where the one before ended, and ends with a duality gap that bounds its error.

    Parameters
    ----------
    gammas : array-like of shape (m,), optional
        Strengths of the penalty, ascending. None: 0 and further ones until each component of the graph is one cluster.
        With `phi="auto"` they are as close to each other as rows fuse fast; with a number for phi they are a geometric
        grid, from the first that can fuse rows.
    n_gammas : int
        How many, if they are not given; with `phi="auto"` at most.
    weights, n_neighbors, phi, connect, norm, solver, acceleration, step_size, stopping
        See `ConvexClustering`.
    tol : float
        Each gamma is done when its duality gap is at most `tol` times its objective, or its residuals are small enough.
    max_iter : int
        Iterations for each gamma, at most.
    random_state : int, RandomState or None
        Of the approximate search for neighbours, where the exact one would take too long.
    verbose : bool or int
        Print each gamma.
    max_time : float, optional
        Seconds. The path ends there, with a ConvergenceWarning; the last gamma may be less exact than asked for. The
        construction of the graph is not cut off.
    n_threads : int, optional
        None: all processors that this process may use.
    callback : callable, optional
        Called with a `FitProgress` after each gamma; the path ends if it returns True.

    Attributes
    ----------
    gammas_ : ndarray of shape (m,)
        The gammas that were done.
    labels_path_ : ndarray of shape (m, n), int32
        Clusters at each gamma, numbered by their first rows.
    n_clusters_path_ : ndarray of shape (m,), int64
        How many.
    centroids_path_ : ndarray of shape (m, n, p)
        U at each gamma. Made when it is first asked for: until then equal centroids are kept once.
    objectives_, dual_gaps_ : ndarray of shape (m,)
        F of these, and F - D: how much too high they are at most.
    fissions_ : ndarray, int64
        Numbers of the gammas at which rows part that shared a cluster at the gamma before. The model allows it;
        with a coarse `tol` rows that are about to fuse may also be found on either side.
    linkage_ : ndarray of shape (n - 1, 4)
        The path as a tree for `scipy.cluster.hierarchy.dendrogram`: heights are gammas. Rows that part again stay
        together in it; what never fuses is joined at 1.25 times the last gamma.
    phi_ : float
        The phi that was chosen; only with `phi="auto"`, and not of a given graph.
    edges_, edge_weights_ : ndarray of shape (n_edges, 2) and (n_edges,)
        The graph.
    converged_ : bool
        Whether all gammas reached `tol`.
    residuals_ : ndarray of shape (m, 2)
        Primal and dual residual of each gamma, over what `tol` allows; only with `stopping="residuals"`.
    n_iter_ : int
        Iterations in all.
    history_ : record array
        One row per gamma: `iteration` (its number), `seconds`, `objective`, `gamma`, `n_steps`, `gap`, `n_clusters`.
    n_features_in_ : int
        Number of columns p.
    feature_names_in_ : ndarray of shape (p,)
        Names of the columns, where X was a table.
    preparation_ : tuple of tuple
        What was done to the columns of X by `prepare_rows`, and is done to new rows too.

    Raises
    ------
    ValueError
        If gammas are negative, not finite or not ascending; else as `ConvexClustering`.
    TypeError
        If X is sparse.

    Notes
    -----
    Memory: the centroids that differ at each gamma, 3.5 times n_edges p numbers for the edges, and m n p numbers once
    `centroids_path_` is asked for. Time: O(n_edges p) for each iteration; how many there are grows with the diameter of
    the clusters in the graph.

    References
    ----------
    Chi and Lange, Splitting methods for convex clustering, Journal of Computational and Graphical Statistics, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import ConvexClusterPath
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> path = ConvexClusterPath([0.0, 0.5, 20.0], weights="dense", phi=0.0).fit(X)
    >>> path.n_clusters_path_
    array([4, 2, 1])
    >>> path.labels_at(2)
    array([0, 0, 1, 1], dtype=int32)
    """

    def __init__(
        self,
        gammas: Gammas = None,
        *,
        n_gammas: GammaCount = 100,
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
        callback: Callback = None,
    ) -> None:
        self.gammas = gammas
        self.n_gammas = n_gammas
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
        self.callback = callback

    @with_callbacks
    def fit(self, X: Any, y: Any = None, graph: Any = None) -> ConvexClusterPath:
        """Follow the path of the rows of X.

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
        ConvexClusterPath
            This estimator.
        """
        self.check_parameters()
        given = self._given_gammas()
        n_gammas = self.n_gammas if given is None else len(given)
        monitor = FitMonitor(self, extra_fields=_HISTORY_FIELDS, max_reports=n_gammas)
        with monitor.scikit_learn_callbacks(X), single_threaded_blas():
            setting = self._setting(self._data(X, graph), graph)
            with monitor.phase("gammas", monitor.deadline.share(_GAMMAS_SHARE)) as phase:
                gammas = self._gammas(setting, given, phase)
            monitor.start_run()
            done, is_whole = self._follow(setting, gammas, monitor)
        self.history_ = monitor.history()
        self._store(setting, done)
        n_open = self._n_open(setting)
        self.converged_ = bool(n_open == 0)
        if n_open and monitor.stopped_by is None:
            what = "residuals" if self.stopping == "residuals" else "duality gaps"
            warn(
                f"The {what} of {n_open} of {len(done)} gammas are larger than tol={self.tol:g} allows after "
                f"max_iter={self.max_iter} iterations each.",
                ConvergenceWarning,
            )
        if n_open or not is_whole:
            monitor.warn_if_out_of_time()
        return self

    def _fitted_attributes(self) -> dict[str, Declared]:
        return {
            **super()._fitted_attributes(),
            "n_features_in_": Count("d"),
            "labels_path_": Numbers(("m", "n"), "integer", least=0, below="n"),
            "gammas_": Numbers(("m",), least=0),
            "centroids_path_": Numbers(("m", "n", "d")),
            "n_clusters_path_": Numbers(("m",), "integer", least=1),
            "objectives_": Numbers(("m",)),
            "dual_gaps_": Numbers(("m",)),
            **self._graph_attributes("m", 2),
            "fissions_": Numbers(("f",), "integer", least=1, below="m", may_be_empty=True),
            "linkage_": Numbers(("n-1", 4), least=0, may_be_empty=True),
        }

    def _gammas(
        self, setting: Setting, given: FloatArray | None, phase: Phase
    ) -> FittingGammas | GivenGammas:
        """Return what tells one gamma after the other."""
        if given is not None:
            return GivenGammas(given)
        if self.phi == AUTO:
            return FittingGammas(setting.solver.problem, self.n_gammas, phase)
        return GivenGammas(default_gammas(setting.solver.problem, self.n_gammas, phase))

    def _n_open(self, setting: Setting) -> int:
        """Return how many gammas have not converged."""
        if self.stopping == "residuals":
            return int(np.count_nonzero(self.residuals_.max(axis=1) > 1))
        return int(
            np.count_nonzero(self.dual_gaps_ > self.tol * self.objectives_ + setting.fuser.enough(0.0, 0.0))
        )

    def labels_at(self, n_clusters: int) -> IntArray:
        """Return the labels of so many clusters.

        They are those of the first gamma that leaves so many. Where the path jumps over the number, the tree is cut
        between two gammas: of the clusters that fuse there, those whose centroids are closest have.

        Parameters
        ----------
        n_clusters : int
            From 1 (or the number of components of the graph) to the number of rows (that differ, where the path begins
            with gamma = 0).

        Returns
        -------
        ndarray of shape (n,), int32
            Clusters, numbered by their first rows.

        Raises
        ------
        ValueError
            If the path does not get to so few clusters, or there are not so many rows that differ.
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
            finer, centroids = labels_path[at - 1], self._centroids_at(at - 1)
            lengths = np.linalg.norm(centroids[self.edges_[:, 0]] - centroids[self.edges_[:, 1]], axis=1)
        else:  # before the first gamma each row is by itself, and the nearest ones have the heaviest edges
            finer, lengths = np.arange(n, dtype=np.int32), -self.edge_weights_
        labels = cut_between(finer, labels_path[at], self.edges_, lengths, n_clusters)
        return labels

    @cached_property
    def centroids_path_(self) -> Array:
        """U at each gamma, of shape (m, n, p)."""
        fused = vars(self).get("_fused_centroids")
        if fused is None:
            raise AttributeError("centroids_path_ is of a path that was fitted.")
        distinct = fused[0].distinct
        centroids = np.empty((len(fused), len(fused[0].places), distinct.shape[1]), dtype=distinct.dtype)
        for found, out in zip(fused, centroids):
            found.whole(out)
        return centroids

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if state.pop("_fused_centroids", None) is not None:
            state["centroids_path_"] = self.centroids_path_
        return state

    def _check_finite(self) -> None:
        super()._check_finite()
        declared = self._fitted_attributes()
        for found in self._fused_centroids:
            strange = strange_number({"centroids_path_": found.distinct}, declared)
            if strange is not None:
                raise ValueError(overflow_message(type(self).__name__, *strange))

    def _centroids_at(self, at: int) -> Array:
        """Return those of one gamma."""
        if "centroids_path_" in vars(self):
            return self.centroids_path_[at]
        return self._fused_centroids[at].whole()

    def index_at(self, n_clusters: int) -> int:
        """Return the number of the first gamma that leaves at most so many clusters; see `labels_at`."""
        check_is_fitted(self, "labels_path_")
        check_positive_integer("n_clusters", n_clusters)
        few = np.flatnonzero(self.n_clusters_path_ <= n_clusters)
        if len(few) == 0:
            raise ValueError(
                f"The path has at least {self.n_clusters_path_.min()} clusters, so no gamma leaves {n_clusters}: "
                "give larger gammas, or connect the graph with connect=True."
            )
        return int(few[0])

    def plot(self, *, n_clusters: int | None = None, ax: Axes | None = None) -> Axes:
        """Draw the paths of the centroids; see `coterie.plotting.plot_path`."""
        from coterie.convex.pictures import plot_path

        return plot_path(self, n_clusters=n_clusters, ax=ax)

    def plot_dendrogram(
        self, *, names: Any = None, n_clusters: int | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draw the tree of the path; see `coterie.plotting.plot_path_dendrogram`."""
        from coterie.convex.pictures import plot_path_dendrogram

        return plot_path_dendrogram(self, names=names, n_clusters=n_clusters, ax=ax)

    def _follow(
        self, setting: Setting, gammas: FittingGammas | GivenGammas, monitor: FitMonitor
    ) -> tuple[list[_Step], bool]:
        """Solve for one gamma after the other; return what was found, and whether that is all of the path."""
        done: list[_Step] = []
        has_settled = setting.has_settled(self.stopping, self.tol)
        solver = PathSolver(
            setting.solver, setting.fuser, tol=self.tol, max_iter=self.max_iter, is_late=lambda: monitor.out_of_time,
            has_even_steps=isinstance(gammas, GivenGammas), has_settled=has_settled,
        )  # fmt: skip
        residuals: list[tuple[float, float]] = []
        self.n_iter_ = 0
        gamma = gammas.following(0, lambda: setting.solver.problem.rows)
        while gamma is not None:
            certificate, found, n_steps = solver.solve(gamma)
            if has_settled:
                residuals.append(setting.residuals(self.tol))
            labels, centroids = setting.labels(certificate), setting.centroids(found)
            n_clusters, objective, gap = certificate.n_clusters, certificate.objective, certificate.gap
            done.append(_Step(gamma, labels, centroids, n_clusters, objective, gap))
            self.n_iter_ += n_steps
            stop = monitor.report(
                objective, centroids.whole, gamma=gamma, n_steps=n_steps,
                gap=gap, n_clusters=n_clusters,
            )  # fmt: skip
            gamma = gammas.following(n_clusters, found.whole)
            if stop:
                break
        self._store_residuals(residuals)
        return done, gamma is None

    def _store(self, setting: Setting, done: list[_Step]) -> None:
        self.gammas_ = np.array([step.gamma for step in done])
        self.__dict__.pop("centroids_path_", None)
        self._fused_centroids = [step.centroids for step in done]
        labels_path = np.array([step.labels for step in done])
        self.labels_path_ = labels_path
        self.n_clusters_path_ = np.array([step.n_clusters for step in done])
        self.objectives_ = np.array([step.objective for step in done])
        self.dual_gaps_ = np.array([step.gap for step in done])
        self.edges_ = np.column_stack([setting.edges.heads, setting.edges.tails])
        self.edge_weights_ = setting.edges.weights
        self.fissions_ = 1 + np.flatnonzero([has_fission(*pair) for pair in pairwise(labels_path)])
        self.linkage_ = linkage_of_path(self.gammas_, labels_path)

    def check_parameters(self) -> None:
        super().check_parameters()
        self._given_gammas()

    def _given_gammas(self) -> FloatArray | None:
        if self.gammas is None:
            return None
        gammas = np.array(self.gammas, dtype=np.float64)
        if gammas.ndim != 1 or len(gammas) == 0:
            raise ValueError(f"gammas must be one-dimensional and not empty, got shape {gammas.shape}.")
        if not np.all(np.isfinite(gammas)) or gammas[0] < 0 or np.any(np.diff(gammas) <= 0):
            raise ValueError("gammas must be finite, not negative and ascending.")
        return gammas
