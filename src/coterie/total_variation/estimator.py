"""Multiclass total variation clustering (Bresson, Laurent, Uminsky & von Brecht 2013), with and without labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClusterMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, IndexArray, IntArray
from coterie.estimators.base import Estimator
from coterie.fitting.callbacks import with_callbacks
from coterie.fitting.checks import check_iteration_parameters, check_positive_integer
from coterie.fitting.monitor import FitMonitor, FitProgress
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.graphs import check_graph, knn_graph, nearest_neighbors
from coterie.graphs.spectral import local_order, spectral_vectors
from coterie.rows import RowSource
from coterie.total_variation.descent import FEWEST_ITERATIONS, TotalVariationDescent
from coterie.total_variation.graph import CutGraph
from coterie.total_variation.starts import diffused_starts, normalized_cut
from coterie.total_variation.swaps import swapped_clusters
from coterie.total_variation.trials import HISTORY_FIELDS, Trial, Trials

__all__ = ["TotalVariationClustering"]


AFFINITIES = ("knn", "precomputed")

# Vectors that the order of the vertices is made of where no more are needed.
_ORDER_VECTORS = 10

# Starts with a constant column that are passed over.
_DRAWS = 10

# Inner iterations that halve a cluster, at most.
_HALVING_ITERATIONS = 100


class TotalVariationClustering(ClusterMixin, Estimator):
    """Clusters with few edges between them, of about equal size: a balanced cut of a graph, tightly relaxed.

    The memberships of the relaxation come out as near indicators, so little is lost by rounding them. A few known
    classes can be given: one row of each class often suffices.

    Parameters
    ----------
    n_clusters : int
        Number of clusters R.
    n_neighbors : int
        Nearest neighbours of each row in the graph, itself not counted. Its edges weigh 1, in both directions.
    affinity : {"knn", "precomputed"}
        "precomputed": X is a symmetric matrix of non-negative affinities W, dense or sparse.
    n_init : int
        Trials from different starts; the one whose clusters cut least is kept. One, where nothing is drawn: where
        memberships are given, or a label for each class.
    init : "diffusion" or array-like of shape (n, R)
        "diffusion": a vertex drawn from each cluster of a normalised cut is diffused over the graph; where `y` gives
        labels, these are. Without labels the second trial starts with that cut itself, so that no worse one is found.
        Or memberships: non-negative rows that sum to 1.
    n_swaps : int
        After the trials, swaps of the best clusters at most: one is halved and two become one, whichever lowers (P)
        most, as long as it falls; then one more trial from there.
    eps : float
        Part of the descent that is guaranteed in theory and that an outer step may do without.
    tol : float
        A trial has converged when two outer steps on end change the relaxed energy by less than this, relative to it;
        or when the last half of its iterations, at least 150, did not lower the cut that it rounds to by more.
    max_iter : int
        Inner iterations of a trial, at most.
    random_state : int, RandomState or None
        Same seed, same bits, for any number of threads.
    verbose : bool or int
        Print each outer step.
    max_time : float, optional
        Seconds. The best clusters found by then are returned, with a ConvergenceWarning.
    n_threads : int, optional
        None: all processors that this process may use.
    callback : callable, optional
        Called with a `FitProgress` after each outer step; the fit stops if it returns True.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32
        Cluster of each row: the largest of its memberships.
    memberships_ : ndarray of shape (n, R)
        F of the outer step that rounded to the smallest cut; rows are non-negative and sum to 1.
    energy_ : float
        (P) of `labels_`, see Notes; infinite if a cluster is empty.
    relaxed_energy_ : float
        The relaxed energy of `memberships_`.
    energies_ : ndarray of shape (n_trials,), float64
        (P) at the end of each trial.
    affinity_matrix_ : csr_array of shape (n, n)
        The graph W.
    converged_ : bool
        Whether the trial that was kept reached `tol`.
    n_iter_ : int
        Inner iterations of that trial.
    history_ : record array
        One row per outer step of that trial: `iteration`, `seconds`, `objective` (the relaxed energy), `n_inner`,
        `descended` (whether the weighted energy fell as Theorem 3 says), `cut` ((P) of the memberships rounded).
    n_features_in_ : int
        Number of columns d.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns, where X was a table.

    Raises
    ------
    ValueError
        On NaN or infinity (with the row's number), an empty or one-dimensional X, fewer rows than clusters or
        neighbours, an affinity matrix that is not square, symmetric or non-negative, labels that are not -1 to R - 1,
        memberships that are not in the simplex or have a constant column, or an unknown option.

    Notes
    -----
    (P) = sum_r Cut(A_r) / min((R - 1) |A_r|, n - |A_r|), where Cut sums the weights of the edges that leave A_r, each
    once. Its relaxation is sum_r TV(f_r) / B(f_r) over memberships F = [f_1 .. f_R], with TV(f) the sum over the edges,
    each once, of w_ij |f_i - f_j|, and B(f) the distance of f from its median, larger values counting R - 1 times. On
    indicators both are the same.

    An inner iteration takes O((edges + n) R) operations; every 5th to 25th is followed by a test that takes about half
    as much. Its steps are those of Pock and Chambolle's diagonal preconditioner, in inverse proportion to the degree of
    a vertex and the scale of a column; the authors' are everywhere as short as the worst of each needs. Memory: R
    floats for each edge and five times n R. Rows are put into a local order first, by the eigenvectors of the
    normalised cut; these come from Lanczos' method for all but small graphs.

    The graph need not be connected: parts without any edge between them are clusters at no cost, and isolated vertices
    go wherever sizes gain by it. With one cluster all rows are in it, and the energies are 0.

    References
    ----------
    Bresson, Laurent, Uminsky and von Brecht, Multiclass total variation clustering, NeurIPS 2013. Chambolle and Pock, A
    first-order primal-dual algorithm for convex problems with applications to imaging, 2011. Pock and Chambolle,
    Diagonal preconditioning for first order primal-dual algorithms in convex optimization, ICCV 2011. Michelot, A
    finite algorithm for finding the projection of a point onto the canonical simplex of R^n, 1986.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from coterie import TotalVariationClustering
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> known = np.full(300, -1)
    >>> known[:4] = y[:4]
    >>> model = TotalVariationClustering(2, random_state=0).fit(X, known)
    >>> int(np.mean(model.labels_ == y) * 100)
    100
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int = 10,
        affinity: str = "knn",
        n_init: int = 30,
        init: Any = "diffusion",
        n_swaps: int = 0,
        eps: float = 1e-3,
        tol: float = 1e-4,
        max_iter: int = 2000,
        random_state: int | np.random.RandomState | None = None,
        verbose: int | bool = 0,
        max_time: float | None = None,
        n_threads: int | None = None,
        callback: Callable[[FitProgress], Any] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.affinity = affinity
        self.n_init = n_init
        self.init = init
        self.n_swaps = n_swaps
        self.eps = eps
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.max_time = max_time
        self.n_threads = n_threads
        self.callback = callback

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> TotalVariationClustering:
        """Find the clusters of X.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
            The data, or (n, n) affinities. Files are read into memory as a whole.
        y : array-like of shape (n,), optional
            Known classes from 0 to n_clusters - 1, -1 where they are not known: rows with a class are and remain in
            the cluster of that number. An array without any -1 leaves nothing to find; as scikit-learn's tools hand
            such classes to all estimators, it is ignored.

        Returns
        -------
        TotalVariationClustering
            This estimator.
        """
        n_threads = effective_n_threads(self.n_threads)
        self.check_parameters()
        rows = self._rows_of(X, reset=True)
        self._check_n_rows(rows)
        labels = self._known_labels(y, rows.shape[0])
        given = self._given_memberships(rows.shape[0], labels)
        n_trials = self._n_trials(labels, given)
        most_steps = -(-self.max_iter // FEWEST_ITERATIONS)
        monitor = FitMonitor(self, n_trials + (self.n_swaps > 0), HISTORY_FIELDS, most_steps)
        random = check_random_state(self.random_state)
        with monitor.scikit_learn_callbacks(X), single_threaded_blas():
            graph = self._graph(rows, random, n_threads)
            if self.n_clusters == 1:
                best = self._everything(rows, monitor)
            else:
                best = self._best_trial(graph, labels, given, n_trials, monitor, random, n_threads)
        self._store(best, graph)
        monitor.warn_if_out_of_time()
        return self

    # --- the algorithm -------------------------------------------------------------------------------------------

    def _best_trial(
        self,
        graph: sp.csr_array,
        known: IntArray,
        given: Array | None,
        n_trials: int,
        monitor: FitMonitor,
        random: np.random.RandomState,
        n_threads: int,
    ) -> Trial:
        order, clusters = self._order_and_clusters(graph, known, given, random, n_threads)
        descent = TotalVariationDescent(CutGraph(graph, order), self.n_clusters, n_threads=n_threads)
        trials = Trials(descent, known, eps=self.eps, tol=self.tol, max_iter=self.max_iter, monitor=monitor)
        starts = [given] if given is not None else diffused_starts(
            graph, known, self.n_clusters, clusters, random, n_threads
        )  # fmt: skip
        found: list[Trial] = []
        for start in islice(starts, n_trials + _DRAWS):
            trial = trials.run(start)
            if trial is not None:
                found.append(trial)
            if len(found) == n_trials or monitor.stopped_by is not None:
                break
        if not found:
            raise ValueError(
                "A cluster has the same membership in every row, so there is nothing to start from. Give other "
                f"memberships or labels, or look for fewer than {self.n_clusters} clusters."
            )
        best = min(found, key=Trial.rank)
        if self.n_swaps > 0 and monitor.stopped_by is None:
            labels = self._swapped(graph, best.labels, known, random, n_threads)
            trial = trials.run(np.eye(self.n_clusters)[labels])
            if trial is not None:
                found.append(trial)
                best = min(best, trial, key=Trial.rank)
        self.energies_ = np.array([trial.energy for trial in found])
        return best

    def _swapped(
        self,
        graph: sp.csr_array,
        labels: IntArray,
        known: IntArray,
        random: np.random.RandomState,
        n_threads: int,
    ) -> IntArray:
        bisection = TotalVariationClustering(
            2, affinity="precomputed", n_init=2, max_iter=_HALVING_ITERATIONS, n_threads=n_threads,
            random_state=random.randint(np.iinfo(np.int32).max),
        )  # fmt: skip

        def halve(part: sp.csr_array) -> IntArray:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                return clone(bisection).fit(part).labels_

        return swapped_clusters(graph, labels, self.n_clusters, halve, self.n_swaps, known)

    def _order_and_clusters(
        self,
        graph: sp.csr_array,
        labels: IntArray,
        given: Array | None,
        random: np.random.RandomState,
        n_threads: int,
    ) -> tuple[IndexArray | None, IntArray | None]:
        """Return a local order of the vertices, and rough clusters to draw from; None where they are not needed."""
        n = graph.shape[0]
        draws = self._draws(labels, given)
        blocks = n > CutGraph.rows_of_a_block(n)
        seed = int(random.randint(np.iinfo(np.int32).max))
        if not (draws or blocks):
            return None, None
        n_vectors = max(self.n_clusters if draws else 0, _ORDER_VECTORS)
        spectrum = spectral_vectors(graph, n_vectors, seed)
        order = local_order(spectrum) if blocks else None
        if not draws:
            return order, None
        return order, normalized_cut(spectrum, self.n_clusters, seed=seed, n_threads=n_threads)

    def _graph(self, rows: RowSource, random: np.random.RandomState, n_threads: int) -> sp.csr_array:
        self._training_rows = None
        if self.affinity == "precomputed":
            graph = check_graph(rows.read(), rows.shape[0], symmetric=True)
            return _without_loops(graph)
        self._training_rows = rows.read()
        if rows.shape[0] == 1:
            return sp.csr_array((1, 1), dtype=rows.dtype)
        seed = int(random.randint(np.iinfo(np.int32).max))
        return knn_graph(self._training_rows, self.n_neighbors, random_state=seed, n_threads=n_threads)

    def _everything(self, rows: RowSource, monitor: FitMonitor) -> Trial:
        n = rows.shape[0]
        self.energies_ = np.zeros(1)
        labels = np.zeros(n, dtype=np.int32)
        return Trial(0.0, 0.0, labels, np.ones((n, 1), dtype=rows.dtype), True, 0, monitor.history())

    def _store(self, trial: Trial, graph: sp.csr_array) -> None:
        self.labels_, self.memberships_ = trial.labels, trial.memberships
        self.energy_, self.relaxed_energy_ = trial.energy, trial.relaxed_energy
        self.affinity_matrix_ = graph
        self.converged_, self.n_iter_, self.history_ = trial.converged, trial.n_inner, trial.history
        sizes = np.bincount(trial.labels, minlength=self.n_clusters)
        if np.any(sizes == 0):
            warnings.warn(
                f"{np.count_nonzero(sizes == 0)} of {self.n_clusters} clusters are empty in every trial: the graph "
                "has no such cut that was found.",
                ConvergenceWarning,
                stacklevel=3,
            )

    # --- a fitted model ------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> IntArray:
        """Return the cluster of each row of X: that of most memberships among its nearest training rows.

        A row of the fit is its own nearest neighbour here, so its label may differ from the one in `labels_` where
        its neighbours disagree.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (m, d)
            Any rows; with `affinity="precomputed"`, (m, n) affinities to the rows of the fit.

        Returns
        -------
        ndarray of shape (m,), int32
        """
        check_is_fitted(self, "labels_")
        rows = self._rows_of(X, reset=False).with_dtype(self.memberships_.dtype)
        data = rows.read()
        if self.affinity == "precomputed":
            return np.asarray((data @ self.memberships_).argmax(axis=1), dtype=np.int32)
        n_threads = effective_n_threads(self.n_threads)
        assert self._training_rows is not None
        n_neighbors = min(self.n_neighbors, self._training_rows.shape[0])
        ids, _ = nearest_neighbors(self._training_rows, n_neighbors, queries=data, n_threads=n_threads)
        votes = np.zeros((len(ids), self.n_clusters))
        for near in ids.T:
            votes += self.memberships_[near]
        return np.asarray(votes.argmax(axis=1), dtype=np.int32)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags

    # --- checks --------------------------------------------------------------------------------------------------

    def _known_labels(self, y: Any, n: int) -> IntArray:
        unknown = np.full(n, -1, dtype=np.int32)
        if y is None:
            return unknown
        labels = np.asarray(y)
        if labels.shape != (n,):
            raise ValueError(f"y must have one label for each of the {n} rows, got shape {labels.shape}.")
        if labels.dtype.kind not in "iuf" or not np.any(labels == -1):
            return unknown
        if np.any(labels != np.floor(labels)) or labels.min() < -1 or labels.max() >= self.n_clusters:
            raise ValueError(
                f"y must hold classes from 0 to n_clusters - 1 = {self.n_clusters - 1}, and -1 where they are not "
                f"known, got {np.unique(labels)[:10].tolist()}."
            )
        return labels.astype(np.int32)

    def _given_memberships(self, n: int, labels: IntArray) -> Array | None:
        if isinstance(self.init, str):
            return None
        given = np.array(self.init, dtype=np.float64)
        if given.shape != (n, self.n_clusters):
            raise ValueError(
                f"init must be 'diffusion' or have shape {n, self.n_clusters}, got {given.shape}."
            )
        if not np.all(np.isfinite(given)) or given.min() < 0 or np.abs(given.sum(axis=1) - 1).max() > 1e-5:
            raise ValueError("init must hold memberships: non-negative rows that sum to 1.")
        return given

    def _draws(self, labels: IntArray, given: Array | None) -> bool:
        return given is None and len(np.unique(labels[labels >= 0])) < self.n_clusters

    def _n_trials(self, labels: IntArray, given: Array | None) -> int:
        return int(self.n_init) if self._draws(labels, given) and self.n_clusters > 1 else 1

    def _check_n_rows(self, rows: RowSource) -> None:
        n = rows.shape[0]
        if self.n_clusters > n:
            raise ValueError(f"n_samples={n} should be >= n_clusters={self.n_clusters}.")
        if self.affinity == "knn" and self.n_neighbors >= n > 1:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} should be < n_samples={n}: a row is not its own neighbour."
            )

    def check_parameters(self) -> None:
        check_positive_integer("n_clusters", self.n_clusters)
        check_positive_integer("n_neighbors", self.n_neighbors)
        check_positive_integer("n_init", self.n_init)
        if self.n_swaps != 0:
            check_positive_integer("n_swaps", self.n_swaps)
        if self.affinity not in AFFINITIES:
            raise ValueError(f"affinity must be one of {', '.join(AFFINITIES)}, got {self.affinity!r}.")
        if isinstance(self.init, str) and self.init != "diffusion":
            raise ValueError(f"init must be 'diffusion' or memberships, got {self.init!r}.")
        if not 0 <= self.eps < 1:
            raise ValueError(f"eps must be from 0 to less than 1, got {self.eps!r}.")
        check_iteration_parameters(self)


def _without_loops(graph: sp.csr_array) -> sp.csr_array:
    if not np.any(graph.diagonal()):
        return graph
    graph = graph.copy()
    graph.setdiag(0)
    graph.eliminate_zeros()
    return graph
