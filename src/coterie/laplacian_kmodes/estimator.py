"""Scalable Laplacian K-modes (Ziko, Granger & Ben Ayed 2018): SLK-BO and SLK-MS."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice
from typing import Annotated, Any, Literal, get_args

import numpy as np

from coterie.arrays import Array
from coterie.blocks.dataset import Dataset
from coterie.estimators.declared import Declared
from coterie.estimators.outliers import OwnDistances, center_rounding
from coterie.estimators.parameters import (
    Affinity,
    Callback,
    Clusters,
    Iterations,
    MaxTime,
    Neighbors,
    Param,
    RandomState,
    Runs,
    Threads,
    Tolerance,
    Verbose,
)
from coterie.estimators.seeded import SeededEstimator
from coterie.fitting.callbacks import with_callbacks
from coterie.fitting.deadline import UNHURRIED, Phase
from coterie.fitting.monitor import FitMonitor
from coterie.fitting.randomness import random_stream
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.graphs.knn import check_weights
from coterie.kmeans.within import k_means_within
from coterie.laplacian_kmodes.attributes import attributes_of_modes
from coterie.laplacian_kmodes.fitted import FittedModes
from coterie.laplacian_kmodes.graph import graph_and_search
from coterie.laplacian_kmodes.modes import ModeUpdate
from coterie.laplacian_kmodes.pairs import beside, is_pair
from coterie.laplacian_kmodes.problem import HISTORY_FIELDS, GraphModes, Run, Stopping
from coterie.laplacian_kmodes.selection import AlikeByCut, FirstByRank, Selection
from coterie.laplacian_kmodes.starts import (
    MOST_RUNS,
    Fitted,
    Rank,
    Start,
    automatic_starts,
    best_run,
    careful_run,
    clearly_better_run,
    given_rows,
)
from coterie.rows import Block, RowSource, as_rows
from coterie.rows.normalized import NormalizedRows

__all__ = ["LaplacianKModes"]


MODE_UPDATES = get_args(ModeUpdate)

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
Symmetrize = Annotated[
    Literal["none", "mean", "max"], Param("How edges of the directed neighbor graph are made symmetric.")
]
Modes = Annotated[
    ModeUpdate,
    Param("Modes: rows of largest membership (byproduct), mean shifts, or the densest rows.", flag="--modes"),
]
Bandwidth = Annotated[
    float | None,
    Param(
        "Bandwidth of the kernel of the modes; by default from the neighbor distances.",
        above=0,
        below=math.inf,
    ),
]
Shift = Annotated[
    bool | Literal["auto"],
    Param("Add the degrees to the diagonal of the graph, which makes updates monotone."),
]
Normalize = Annotated[bool, Param("Scale each row to length 1 first.")]
ModeInit = Annotated[
    Literal["auto", "k-means++", "k-means", "afk-mc2", "random"] | Any,
    Param(
        "How modes are initialized: auto (k-means, eigenvectors, k-means++ in turn), one of them, or given centers.",
        also="an array of centers, a fitted model or a callable",
        reads=("array", "model"),
    ),
]
MembershipTolerance = Annotated[float, Param("Tolerance of the memberships for fixed modes.", least=0)]


# Parts of the time left that the graph and a seeding may take where time is short.
_GRAPH_SHARE, _SEEDING_SHARE = 0.5, 1 / 3

# Starts of a fit that draws them: they matter more than anything else here.
_STARTS = 10


class LaplacianKModes(FittedModes, SeededEstimator):
    """Clusters of any shape on a nearest-neighbour graph, each around a mode of its density.

    A row belongs where its nearest neighbours belong, and to a mode that is close. With `mode_update="byproduct"`
    (SLK-BO) the modes are rows: prototypes of their clusters.

    Parameters
    ----------
    n_clusters : int
        Number of clusters L.
    lam : float or "auto"
        Weight of the graph against the modes, lambda; the paper chooses between 1 and 4 on graphs of 5 neighbours. See
        `select_lambda`. "auto": by the degrees of the graph, `lam_`; see Notes.
    n_neighbors : int
        Nearest neighbours of each row in the graph, itself not counted.
    affinity : {"knn", "precomputed"}
        "precomputed": X is a symmetric matrix of affinities, dense or sparse, and the kernel of the modes too. Or X is
        a pair ``(graph, kernel)`` of such matrices, for `predict` too: the graph may then be directed, as those of
        neighbours are, and entry (p, q) of the kernel, any number, is k(x_p, x_q). What is clustered need not have a
        mean: strings, votes, graphs. Modes are rows, so not "mean_shift".
    weights : {"binary", "gaussian"} or callable
        Weights of the graph's edges; see `coterie.graphs.knn_graph`.
    symmetrize : {"none", "mean", "max"}
        Whether edges from a row to its neighbours count both ways. "none": a row follows its own neighbours only, as in
        the paper; the objective is that of "mean" all the same. "max": an edge in one direction counts fully in both.
    mode_update : {"byproduct", "mean_shift", "densest"}
        Modes are the rows with the largest memberships (SLK-BO); or maxima of the density of their cluster, found
        by mean shifts (SLK-MS); or the rows where that density is highest, as the model defines modes (Eq. 1), for any
        kernel: this reads the kernel of all pairs of rows in each update, O(n^2 (d + L)).
    bandwidth : float, optional
        s of the kernel of the modes, exp(-||x - m||^2 / (2 s^2)). By default s^2 is the mean squared distance to the
        nearest neighbours, whatever the unit of the rows.
    shift : bool or "auto"
        Add each row's degree to the diagonal of the graph. Then updates of a symmetric graph cannot raise the relaxed
        objective, but they are smaller, and end in worse minima. "auto": only where it would rise without, before it
        has settled. In any case memberships whose objective rose are not kept.
    normalize : bool
        Divide each row by its length first.
    init : {"auto", "k-means++", "k-means", "afk-mc2", "random"}, array-like of shape (L, d), fitted model, or callable
        "auto": k-means, the eigenvectors of the graph (up to n L^2 = 5e7), k-means++ and k-means by turns. Clusters
        that empty get half of another one, and no end is worse than its start (see Notes). Else where the modes begin,
        and the run is the paper's: seeds (see `coterie.seeding`), or the centroids of a k-means fit. With
        `affinity="precomputed"`: "auto", "random", or L row numbers.
    n_init : int or "auto"
        Starts, all on one graph; each goes on to its end. Kept is the one with the fewest empty clusters, of these the
        one with the lowest discrete objective; with `init="auto"` the one with the best cut and spread in L directions
        (PCA). "auto": 10.
    max_iter : int
        Updates of the modes, at most.
    tol : float
        The fit has converged when the relaxed objective changes by less than this, relative to itself, or when no
        mode moves.
    membership_tol : float
        The same for the memberships around the same modes.
    random_state : int, RandomState or None
        Same seed, same bits, for any number of threads.
    verbose : bool or int
        Print each iteration.
    max_time : float, optional
        Seconds, from the call on. The best clusters found by then are returned, with a ConvergenceWarning. Where the
        graph would take too long, half of the nearest rows are looked for; where all rows would, some are fitted and
        the others follow the nearest of these (`relaxation_`, `history_` are then of the former). A warning says so.
    n_threads : int, optional
        None: all processors that this process may use.
    callback : callable, optional
        Called with a `FitProgress` after each iteration; the fit stops if it returns True.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32
        Cluster of each row.
    memberships_ : ndarray of shape (n, L)
        Relaxed memberships z; each row sums to 1.
    outlier_scores_ : ndarray of shape (n,), float32
        Distance of each row to the mode of its cluster, over `cluster_scales_`: 1 for the median row of a cluster. Not
        with `affinity="precomputed"`, for affinities say nothing of distances.
    cluster_scales_ : ndarray of shape (L,), float64
        The lower median of the distances of each cluster's rows to its mode.
    modes_, cluster_centers_ : ndarray of shape (L, d)
        The modes; not with `affinity="precomputed"`.
    mode_indices_ : ndarray of shape (L,), int64
        Which rows they are; -1 where a mode is none.
    objective_ : float
        The discrete objective E (see Notes) of `labels_`.
    published_objective_ : float
        E as the paper prints it: edges between clusters cost twice as much.
    relaxation_ : float
        The relaxed objective R of `memberships_`.
    is_shifted_ : bool
        Whether R is that of the graph with the shift.
    bandwidth_ : float
        s.
    lam_ : float
        lambda.
    affinity_matrix_ : csr_array of shape (n, n)
        The graph, without the shift.
    converged_ : bool
        Whether `tol` was reached.
    n_iter_ : int
        Updates of the modes.
    history_ : record array
        One row per update of the modes: `iteration`, `seconds`, `objective` (R), `discrete` (E), `n_updates` (of the
        memberships), `n_modes_moved`.
    n_features_in_, feature_names_in_, preparation_, runs_
        See `KMeans`.

    Raises
    ------
    ValueError
        On NaN or infinity (with the row's number), an empty or one-dimensional X, fewer rows than clusters or
        neighbours, an affinity matrix that is not square, symmetric or non-negative, or an unknown option.

    Notes
    -----
    With the kernel k and the graph's affinities K,
    E(Z) = - sum_pl z_pl k(x_p, m_l) + lambda / 4 sum_pq K_pq ||z_p - z_q||^2 over one-hot rows z_p, and
    R(Z) = sum_pl z_pl log z_pl - sum_pl z_pl k(x_p, m_l) - lambda / 2 sum_pq K_pq z_p . z_q over the simplex. Each
    update z_p = softmax(a_p + lambda sum_q K_pq z_q) minimises a bound of R for all rows at once (Eq. 8).

    The graph takes O(n^2 d) operations where it is exact; an update O(n (rho + 1) L). Memory: three arrays of n x L
    floats, the graph and, for mean shifts, another copy of the rows.

    Why lambda / 4: the paper prints lambda tr(Z' L Z) = lambda / 2 sum_pq K_pq ||z_p - z_q||^2 in E (Eq. 1), and R
    without the last 1/2 (Eq. 2). That counts each pair of rows twice, as (p, q) and as (q, p), and the bound of that R
    would have 2 lambda where the paper's update (Eq. 8), its code and this class have lambda. Here E and R count each
    pair once, so that `lam` is the lambda of the paper's update, with the same clusters. `published_objective_`, for
    comparisons with printed figures, is E of the same labels and modes at twice the lambda.

    What is chosen by default has no unit. lambda is 1.5 times the least one at which memberships settle where all
    affinities are the same, 2 (L - 1) / (L - 2) log(L - 1) over the mean degree. Ends and starts compare by empty
    clusters, then by log(normalised cut / effective clusters^(1/2)) + 3 log(squared distances to the means of the
    clusters); one that is within 0.1 and cuts a quarter less comes before the first. The end that is chosen must be
    clearly better than k-means with as many starts, with 1 and 4 in place of 1/2 and 3, by this cut and by the share of
    all edges, or k-means is kept. After five updates of the modes memberships go on as modes move, so that R settles;
    with another `init` they begin anew, as in the paper.

    A cluster that empties keeps its last mode, with a ConvergenceWarning; `init="auto"` should keep all.

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
    >>> model = LaplacianKModes(2, lam=2.0, random_state=0).fit(X)
    >>> int(max(np.mean(model.labels_ == y), np.mean(model.labels_ != y)) * 100)
    100
    """

    def __init__(
        self,
        n_clusters: Clusters = 8,
        *,
        lam: GraphWeight = "auto",
        n_neighbors: Neighbors = 5,
        affinity: Affinity = "knn",
        weights: EdgeWeights = "binary",
        symmetrize: Symmetrize = "none",
        mode_update: Modes = "byproduct",
        bandwidth: Bandwidth = None,
        shift: Shift = "auto",
        normalize: Normalize = False,
        init: ModeInit = "auto",
        n_init: Runs = "auto",
        max_iter: Iterations = 100,
        tol: Tolerance = 1e-5,
        membership_tol: MembershipTolerance = 1e-6,
        random_state: RandomState = None,
        verbose: Verbose = 0,
        max_time: MaxTime = None,
        n_threads: Threads = None,
        callback: Callback = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.lam = lam
        self.n_neighbors = n_neighbors
        self.affinity = affinity
        self.weights = weights
        self.symmetrize = symmetrize
        self.mode_update = mode_update
        self.bandwidth = bandwidth
        self.shift = shift
        self.normalize = normalize
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.membership_tol = membership_tol
        self.random_state = random_state
        self.verbose = verbose
        self.max_time = max_time
        self.n_threads = n_threads
        self.callback = callback

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> LaplacianKModes:
        """Find the clusters of X.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
            The data, or (n, n) affinities, or a tuple of two such matrices, graph and kernel. Files are read into
            memory as a whole.
        y : None
            Ignored.

        Returns
        -------
        LaplacianKModes
            This estimator.
        """
        self._fit(X)
        return self

    # --- the algorithm -------------------------------------------------------------------------------------------

    def _fit(self, X: Any, earlier: Fitted | None = None, rank: Rank | None = None) -> Fitted:
        """Fit, also from where the starts of another lambda ended; keep the run that comes first by its rank."""
        n_threads = effective_n_threads(self.n_threads)
        self.check_parameters()
        X, kernel = self._apart(X)
        n_starts = self._n_starts() if earlier is None else len(earlier.ends)
        is_careful = isinstance(self.init, str) and self.init == "auto"
        monitor = FitMonitor(self, n_starts * (MOST_RUNS if is_careful else 1), HISTORY_FIELDS)
        rows = self._rows_of(X, reset=True)
        self._check_n_rows(rows)
        given = self._given_start(rows)
        random = random_stream(self.random_state)
        with monitor.scikit_learn_callbacks(X), single_threaded_blas():
            monitor.n_runs = 2 * n_starts if is_careful else n_starts  # as a rule
            if earlier is None:
                with monitor.phase("graph", monitor.deadline.share(_GRAPH_SHARE)) as phase:
                    block = rows.read()
                    needed = np.empty(0, np.intp) if rank is None else rank.known
                    some = self._rows_in_time(block, needed, random, monitor.deadline)
                    fitted = block if some is None else block[some.ids]
                    problem = self._problem(fitted, kernel, random, n_threads, phase)
                starts = self._starts(X if some is None else fitted, problem, given, random, monitor)
            else:
                problem, starts = earlier.problem, (Start(modes, settles=False) for modes in earlier.ends)
                block, some = earlier.rows, earlier.some
            if some is not None:
                monitor.reserve = some.seconds
                rank = None if rank is None else rank.among(some.ids)
            if monitor.deadline.is_set:
                monitor.reserve += problem.seconds_of_end()
            lam = self._lambda_of(problem.graph)
            stopping = Stopping(self.max_iter, self.tol, self.membership_tol)

            def run_of(start: Start) -> Run:
                if is_careful:
                    return careful_run(problem, start, lam, stopping, monitor, random)
                return problem.run(start.modes, lam, stopping, monitor)

            first = next(starts)
            tried = chain([first], islice(starts, n_starts - 1))
            selection: Selection
            if rank is not None:
                selection = FirstByRank(partial(rank, problem))
            else:
                selection = AlikeByCut(problem) if is_careful else FirstByRank(lambda run: run.rank)
            best, ends = best_run(tried, run_of, selection, monitor)
            if is_careful and rank is None:
                best = clearly_better_run(problem, best, first, lam, monitor)
            self._store(best, problem)
            if some is not None:
                with monitor.phase("labels"):
                    self._let_follow(block, some.ids)
        self.runs_ = monitor.runs()
        self._fitted_to_pair = kernel is not None
        self._warn_of_empty_clusters("; they keep their last modes. A smaller lam keeps more of them.")
        monitor.warn_if_out_of_time()
        return Fitted(problem, best.modes, ends, block, some)

    def _problem(
        self, rows: Block, kernel: Any, random: np.random.RandomState, n_threads: int, phase: Phase
    ) -> GraphModes:
        graph, search = graph_and_search(self, rows, kernel, random, n_threads, phase)
        return GraphModes(graph, search, self.n_clusters, shift=self.shift, n_threads=n_threads)

    def _starts(
        self,
        X: Any,
        problem: GraphModes,
        given: Array | None,
        random: np.random.RandomState,
        monitor: FitMonitor,
    ) -> Iterator[Start]:
        """Yield one start after the other; X is what a function as `init` gets."""
        seeds: Iterable[Array]
        if isinstance(self.init, str) and self.init == "auto":
            yield from automatic_starts(
                problem, random, effective_n_threads(self.n_threads), monitor, self._n_starts()
            )
        if given is not None:
            seeds = [given]
        elif self.affinity == "precomputed":
            seeds = self._row_numbers(problem.graph.shape[0], random)
        else:
            seeds = self._centers(X, problem.search.rows, random, monitor)
        for some in seeds:
            yield Start(problem.search.start(some, random))

    def _row_numbers(self, n_rows: int, random: np.random.RandomState) -> Iterator[Array]:
        while True:
            yield random.choice(n_rows, self.n_clusters, replace=False)

    def _centers(
        self, X: Any, rows: Block, random: np.random.RandomState, monitor: FitMonitor
    ) -> Iterator[Array]:
        """Yield drawn centres, with the rows measured once for all draws."""
        n_threads = effective_n_threads(self.n_threads)
        data = Dataset(as_rows(rows), None, n_clusters=self.n_clusters, n_threads=n_threads)
        while True:
            with monitor.phase("seeding", monitor.step.deadline.share(_SEEDING_SHARE)) as phase:
                centers = self._drawn_centers(X, data, random, phase)
            yield centers

    def _drawn_centers(
        self, X: Any, data: Dataset, random: np.random.RandomState, phase: Phase = UNHURRIED
    ) -> Array:
        if isinstance(self.init, str) and self.init == "k-means":
            seed = random.randint(np.iinfo(np.int32).max)
            return k_means_within(
                phase.deadline, data.rows, self.n_clusters, random_state=seed, n_threads=data.n_threads
            ).cluster_centers_
        return super()._drawn_centers(X, data, random, phase)

    def _store(self, run: Run, problem: GraphModes) -> None:
        self._training_rows, self.bandwidth_ = problem.search.rows, problem.search.bandwidth
        self.labels_, self.memberships_ = run.labels, run.memberships
        self.objective_, self.relaxation_ = run.discrete, run.relaxation
        self.mode_indices_ = run.modes.indices
        self.__dict__.pop("modes_", None)
        self._forget_distances()
        if self.affinity == "knn":
            self.modes_ = run.modes.points
            distances = self._distances_to_modes(self._training_rows, self.labels_)
            self._note_distances(OwnDistances(self.labels_, distances, center_rounding(self.modes_)))
        self.affinity_matrix_ = problem.graph
        self.is_shifted_, self.converged_, self.history_ = run.is_shifted, run.converged, run.history
        self.n_iter_ = len(run.history)

    def fitted_attributes(self) -> dict[str, Declared]:
        return {**super().fitted_attributes(), **attributes_of_modes(has_rows=self.affinity == "knn")}

    # --- checks --------------------------------------------------------------------------------------------------

    def _apart(self, X: Any) -> tuple[Any, Any]:
        """Return the graph and the kernel of a pair; X and None if it is none."""
        if not is_pair(X):
            return X, None
        if self.affinity != "precomputed":
            raise ValueError("X is a pair of matrices, which needs affinity='precomputed'.")
        if self.normalize:
            raise ValueError("normalize divides rows by their lengths, which affinities do not have.")
        return X

    def _rows_of(self, X: Any, reset: bool) -> RowSource:
        if not reset and self._fitted_to_pair:
            return beside(X, len(self.labels_))
        if is_pair(X):
            raise ValueError("X is a pair of matrices, but this model was fitted to one matrix.")
        rows = super()._rows_of(X, reset)
        return NormalizedRows(rows) if self.normalize else rows

    def _n_starts(self) -> int:
        n_init = _STARTS if self.n_init == "auto" else int(self.n_init)
        return n_init if self._draws_centers() else 1

    def _given_start(self, rows: RowSource) -> Array | None:
        if self.affinity == "knn" or self._draws_centers():
            return self._given_centers(rows, self.n_init)
        return given_rows(self.init, self.n_clusters, rows.shape[0])

    def _check_init(self) -> None:
        if self.affinity == "precomputed":
            if isinstance(self.init, str) and self.init not in ("auto", "random", "k-means++"):
                raise ValueError(
                    f"init must be 'auto', 'random' or row numbers with affinities, got {self.init!r}."
                )
        elif not (isinstance(self.init, str) and self.init in ("auto", "k-means")):
            super()._check_init()

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.affinity == "precomputed" and self.mode_update == "mean_shift":
            raise ValueError("mode_update='mean_shift' needs coordinates, not precomputed affinities.")
        check_weights(self.weights, self.bandwidth)
        self._check_init()
