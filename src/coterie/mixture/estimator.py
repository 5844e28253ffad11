"""Gaussian mixtures with very many components (Hirschberger, Forster & Lücke 2022): var-GMM-S and vc-GMM."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from coterie.arrays import Array
from coterie.blocks.dataset import Dataset
from coterie.blocks.kernel_rows import kept_rows
from coterie.coresets import lightweight_coreset
from coterie.estimators.parameters import (
    Callback,
    ComputeLabels,
    Coreset,
    Init,
    Iterations,
    MaxTime,
    Param,
    RandomState,
    Threads,
    Tolerance,
    Verbose,
)
from coterie.fitting.callbacks import with_callbacks
from coterie.fitting.checks import (
    check_sample_weight,
)
from coterie.fitting.deadline import UNHURRIED, Phase
from coterie.fitting.monitor import FitMonitor
from coterie.fitting.randomness import random_stream
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.fitting.warn import warn
from coterie.mixture.base import MixtureModel
from coterie.mixture.m_step import m_step, shared_variance
from coterie.mixture.parameters import MixtureParameters, count_parameters
from coterie.mixture.posteriors import Posteriors, TruncatedPosteriors
from coterie.mixture.run import Run
from coterie.mixture.settling import Settling, effective_size
from coterie.mixture.starts import NO_VARIANCE, check_variance, first_weights, last_parameters
from coterie.rows import RowSource, as_rows
from coterie.seeding.markov_chain import seed_by_markov_chain

__all__ = ["HISTORY_FIELDS", "TruncatedGaussianMixture"]

Components = Annotated[int, Param("Number of components; some may be dropped.", least=1, flag="-k")]
CovarianceType = Annotated[
    Literal["tied_spherical", "spherical", "diag"],
    Param(
        "Variances: one for all components, one per component, or one per component and column.",
        flag="--covariance",
    ),
]
Candidates = Annotated[
    int, Param("Number of components that each row is shared among.", least=1, flag="--candidates")
]
NeighboringComponents = Annotated[
    int,
    Param(
        "Number of neighboring components among which rows look for better ones.", least=1, flag="--neighbors"
    ),
]
RandomCandidate = Annotated[bool, Param("Let each row try a random component in each search, too.")]
RowsPerTile = Annotated[
    int, Param("Number of rows that share their candidates; 1: none, as in the papers.", least=1, most=512)
]
SearchEvery = Annotated[
    int, Param("From the fifth iteration on, search for candidates in every n-th one; 1: in each.", least=1)
]
InitialSteps = Annotated[
    int, Param("Number of searches before the components change for the first time.", least=1)
]
Runs = Annotated[int, Param("Number of runs with different initializations; the best one is kept.", least=1)]
Means = Annotated[Any, Param("Initial means: a file of rows.", reads=("array",))]
Weights = Annotated[Any, Param("Initial weights of the components.", reads=("array", "numbers"))]
WarmStart = Annotated[bool, Param("Start from the result of the last fit of this object.", flag="")]
ChainLength = Annotated[int, Param("Length of the Markov chain of afk-mc2.", least=1)]
Regularization = Annotated[float, Param("Added to every variance.", least=0)]
CoresetTolerance = Annotated[
    float,
    Param(
        "Stop on a coreset when the remaining gain is this fraction of its noise; 0: by --tol alone.", least=0
    ),
]
Assignment = Annotated[
    Literal["auto", "exact", "truncated"],
    Param(
        "How rows are labeled: compared with all components, or with those near by (auto: exact up to 1,000)."
    ),
]
COVARIANCE_TYPES = get_args(get_args(CovarianceType)[0])
ASSIGNMENTS = get_args(get_args(Assignment)[0])


# M-steps with one variance and equal weights before the flexible models have their own.
_SHARED_STEPS = 2

# Part of the time that seeding may take where time is short.
_SEEDING_SHARE = 0.5

HISTORY_FIELDS = (("n_distances", np.int64),)


class TruncatedGaussianMixture(MixtureModel):
    """A mixture of up to tens of thousands of Gaussians, fitted at a cost that does not grow with their number.

    Each row has posterior probabilities for its few best components only and looks for better ones among the
    neighbours of those (var-GMM-S). With `coreset_size` all this happens on a weighted sample (vc-GMM).

    Parameters
    ----------
    n_components : int
        Number of components C.
    covariance_type : {"tied_spherical", "spherical", "diag"}
        One variance for all components, which then have equal weights; one per component; or one per component and
        column.
    n_candidates : int
        Components C' that each row keeps; at most C are.
    n_neighbors : int
        Size G of a component's neighbourhood, itself included; at most C.
    random_candidate : bool
        Let each row try one more component in each step, drawn at random. Helps in few dimensions.
    rows_per_tile : int
        Rows that look among each other's candidates, at most 512; more find better components in fewer steps, at more
        distances each. 1 is the papers' own way: each row looks alone.
    search_every : int
        From the fifth E-step on, one in so many looks for better candidates; the others renew the posteriors of those
        that rows have. 1 is the papers' own way.
    initial_e_steps : int
        Searches before the parameters change for the first time (Hirschberger et al., supplement F).
    coreset_size : int, optional
        Fit a lightweight coreset of so many weighted rows N' instead of all rows (see `coterie.coresets`).
    init : {"afk-mc2", "k-means++", "random"}, array-like of shape (C, d), fitted model, or callable
        Where the means begin: see `coterie.seeding`. Of another TruncatedGaussianMixture with the same
        `covariance_type`, variances and weights are taken too. A callable gets `(X, n_components,
        random_state=...)`; with a coreset, the rows of that.
    n_init : int
        Number of starts, of which the one with the highest lower bound is kept. Means that are given are one start.
    means_init : array-like of shape (C, d), optional
        Where the means begin, instead of `init`.
    weights_init : array-like of shape (C,), optional
        The weights to begin with: positive, their sum is 1; not for "tied_spherical". None: all are equal, or those of
        the model that is `init`.
    warm_start : bool
        Whether `fit` goes on from the means, variances and weights of the last fit, where there was one.
    chain_length : int
        Length of the Markov chains of "afk-mc2".
    reg_covar : float
        Added to every variance. The default is scikit-learn's; it must be small against the variances sought.
    tol : float
        The fit has converged when the free energy changes by less than this, relative to itself.
    coreset_tol : float
        With a coreset it has also converged when later iterations would raise the free energy by less than this share
        of what is chance, as it seems: of p parameters on N' rows, p / N' (Akaike 1974). 0: by `tol` alone.
    max_iter : int
        EM iterations, at most.
    assignment : {"auto", "exact", "truncated"}
        How `predict` and `responsibilities` find the best components of a row: by comparing it with all of them, or
        with the 4 sqrt(C) that lie around the nearest of 4 sqrt(C) cells of means. "auto" is exact up to C = 1,000.
    compute_labels : bool
        Label all rows at the end of the fit; without, the fit has no `labels_`.
    verbose : bool or int
        Print each iteration.
    max_time : float, optional
        Seconds, from the call on, labels included; see `KMeans`.
    random_state, n_threads
        See `KMeans`.
    callback : callable, optional
        Called with a `FitProgress` after each iteration; the fit stops if it returns True.

    Attributes
    ----------
    means_, cluster_centers_ : ndarray of shape (C, d), float32 or float64
        The means.
    covariances_ : float, ndarray of shape (C,) or (C, d), float64
        The variances, by `covariance_type`.
    weights_ : ndarray of shape (C,), float64
        Shares of the components; they sum to 1.
    neighbors_ : ndarray of shape (C, G), int32
        Neighbours of each component as the fit left them, the first of which is the component itself.
    labels_ : ndarray of shape (n,), int32
        The best component of each row: what `predict` returns for it.
    outlier_scores_ : ndarray of shape (n,), float32
        Distance of each row to its component in standard deviations (Mahalanobis'), over `cluster_scales_`: 1 for the
        median row of a component. Only with `compute_labels`.
    cluster_scales_ : ndarray of shape (n_components,), float64
        The (weighted) lower median of the distances of each component's rows to it, in standard deviations.
    lower_bound_ : float
        Free energy per unit of weight: a lower bound of the mean log-likelihood of the fitted rows, or of the coreset.
    lower_bounds_ : ndarray of shape (n_iter,), float64
        The same after each iteration. It never falls but for rounding and `reg_covar`.
    n_components_ : int
        Components that are left: those without weight or variance are dropped, with a ConvergenceWarning, unless
        `covariance_type` is "tied_spherical".
    converged_ : bool
        Whether `tol` or `coreset_tol` was reached.
    n_iter_ : int
        Number of iterations.
    history_ : record array
        One row per iteration: `iteration`, `seconds`, `objective` (the lower bound), `n_distances` (evaluated).
    n_features_in_, feature_names_in_, preparation_, runs_
        See `KMeans`.

    Raises
    ------
    ValueError
        On NaN or infinity (with the row's number), an empty or one-dimensional X, fewer rows than components, negative
        weights, or an unknown option.
    TypeError
        On sparse rows.

    Notes
    -----
    An iteration takes about O(n C' G d) operations: rows that share their best component are compared with the
    candidates of all of them by small matrix products, so each row sees a few times as many components as on its own.
    Any partial E-step raises the free energy (Neal and Hinton 1998). Seeding takes O(chain_length C^2 d). Memory: 12 C'
    bytes per row and, for rows of up to 1 GiB, a copy of them.

    By default four things are not as in Algorithm 2 of the papers, for speed: rows look in tiles; from the fifth
    E-step on only every third searches; the neighbourhood of a component is learnt from the rows that had it as
    their best one before a search, in all searches but the first; and a coreset is fitted no closer than it is worth.
    `rows_per_tile=1, search_every=1, coreset_tol=0` is Algorithm 2 as written: each row looks among the neighbours of
    its own candidates, in every E-step, and a neighbourhood is learnt, in the first search too, from the rows that have
    the component as their best one after it. That takes another 8 C' G bytes per row (12 in float64). Two things
    remain. A component that is the best one of no row keeps its neighbours, as does the rest of a neighbourhood where
    too few components were met: the papers have no rule for either. And rows of more than 256 MiB are searched block by
    block, later ones with the neighbourhoods that the earlier ones left.

    The free energy is F = sum_n w_n log sum_{c in K_n} pi_c N(y_n; mu_c, Sigma_c), K_n being the candidates of a row.

    References
    ----------
    Hirschberger, Forster and Lücke, A variational EM acceleration for efficient clustering at very large scales, IEEE
    TPAMI 2022. Forster and Lücke, Can clustering scale sublinearly with its clusters?, AISTATS 2018. Bachem, Lucic and
    Krause, Scalable k-means clustering via lightweight coresets, KDD 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import TruncatedGaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(100, 2)) + center for center in ([0, 0], [9, 0], [0, 9])])
    >>> model = TruncatedGaussianMixture(3, random_state=0).fit(X)
    >>> np.bincount(model.labels_).tolist()
    [100, 100, 100]
    >>> bool(0.8 < model.covariances_ < 1.2)
    True
    """

    def __init__(
        self,
        n_components: Components = 8,
        *,
        covariance_type: CovarianceType = "tied_spherical",
        n_candidates: Candidates = 5,
        n_neighbors: NeighboringComponents = 5,
        random_candidate: RandomCandidate = False,
        rows_per_tile: RowsPerTile = 16,
        search_every: SearchEvery = 3,
        initial_e_steps: InitialSteps = 1,
        coreset_size: Coreset = None,
        init: Init = "afk-mc2",
        n_init: Runs = 1,
        means_init: Means = None,
        weights_init: Weights = None,
        warm_start: WarmStart = False,
        chain_length: ChainLength = 20,
        reg_covar: Regularization = 1e-6,
        tol: Tolerance = 1e-4,
        coreset_tol: CoresetTolerance = 0.1,
        max_iter: Iterations = 300,
        assignment: Assignment = "auto",
        compute_labels: ComputeLabels = True,
        random_state: RandomState = None,
        verbose: Verbose = 0,
        max_time: MaxTime = None,
        n_threads: Threads = None,
        callback: Callback = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.n_candidates = n_candidates
        self.n_neighbors = n_neighbors
        self.random_candidate = random_candidate
        self.rows_per_tile = rows_per_tile
        self.search_every = search_every
        self.initial_e_steps = initial_e_steps
        self.coreset_size = coreset_size
        self.init = init
        self.n_init = n_init
        self.means_init = means_init
        self.weights_init = weights_init
        self.warm_start = warm_start
        self.chain_length = chain_length
        self.reg_covar = reg_covar
        self.tol = tol
        self.coreset_tol = coreset_tol
        self.max_iter = max_iter
        self.assignment = assignment
        self.compute_labels = compute_labels
        self.random_state = random_state
        self.verbose = verbose
        self.max_time = max_time
        self.n_threads = n_threads
        self.callback = callback

    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> TruncatedGaussianMixture:
        """Fit the mixture to X.

        Parameters
        ----------
        X : array-like, table, Dask array or RowSource of shape (n, d)
            The data, dense; see `coterie.open_rows` for files. What takes more than 1 GiB as floats is read in every
            iteration; with a coreset, twice in all (and once more for the labels).
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Non-negative weight of each row.

        Returns
        -------
        TruncatedGaussianMixture
            This estimator.
        """
        n_threads = effective_n_threads(self.n_threads)
        self.check_parameters()
        monitor = FitMonitor(self, int(self.n_init), HISTORY_FIELDS)
        rows = self._rows_of(X, reset=True)
        self._check_n_rows(rows)
        given = self._given_start(rows)
        weights = check_sample_weight(sample_weight, rows)
        random = random_stream(self.random_state)
        with (
            monitor.scikit_learn_callbacks(X),
            single_threaded_blas(math.prod(rows.shape) * self.n_components),
        ):
            if self.coreset_size is None:
                rows = fitted = kept_rows(rows, n_threads)
                fitted_weights, seen = weights, X
            else:
                with monitor.phase("coreset"):
                    seen, fitted_weights, _ = lightweight_coreset(
                        rows,
                        self.coreset_size,
                        sample_weight=weights,
                        random_state=random,
                        n_threads=n_threads,
                    )
                fitted = as_rows(seen)
            data = Dataset(fitted, fitted_weights, n_clusters=self.n_components, n_threads=n_threads)
            monitor.reserve = self._seconds_of_labels(rows, monitor)
            self._store(self._best_run(seen, data, given, random, monitor))
            self.runs_ = monitor.runs()
            self.__dict__.pop("labels_", None)
            self._forget_distances()
            if self.compute_labels:
                with monitor.phase("labels"):
                    self._store_labels(rows, weights)
        monitor.warn_if_out_of_time()
        return self

    # --- the algorithm -------------------------------------------------------------------------------------------

    def _best_run(
        self,
        X: Any,
        data: Any,
        given: MixtureParameters | None,
        random: np.random.RandomState,
        monitor: FitMonitor,
    ) -> Run:
        """Run from each start; return what the best one ended with. `data` are the rows as a whole, where they are."""
        check_variance(data.mean_variance, data.dtype, self.reg_covar)
        best: Run | None = None
        for _ in range(1 if given is not None else int(self.n_init)):
            run = self._run(data, given or self._drawn_start(X, data, random, monitor), random, monitor)
            if best is None or run.lower_bound > best.lower_bound:
                best = run
            if monitor.stopped_by is not None:
                break
        assert best is not None
        return best

    def _posteriors(self, data: Any, random: np.random.RandomState) -> Posteriors:
        """Return the E-step of the rows, wherever they are."""
        return TruncatedPosteriors(
            data.rows, data.weights, (self.n_components, *self._truncation()), random=random,
            random_candidate=self.random_candidate, rows_per_tile=self.rows_per_tile,
            search_every=self.search_every, n_threads=data.n_threads,
        )  # fmt: skip

    def _run(
        self, data: Any, start: MixtureParameters, random: np.random.RandomState, monitor: FitMonitor
    ) -> Run:
        """One start: EM until the free energy settles."""
        posteriors = self._posteriors(data, random)
        settling = Settling(self.tol, self._least_left(data), self.search_every)
        smallest_variance = NO_VARIANCE * data.mean_variance
        parameters, converged = self._iterate(posteriors, start, smallest_variance, settling, monitor)
        history = monitor.history()
        return Run(parameters, posteriors.neighbors, history, converged, float(history["objective"][-1]))

    def _iterate(
        self,
        posteriors: Posteriors,
        parameters: MixtureParameters,
        smallest_variance: float,
        settling: Settling,
        monitor: FitMonitor,
    ) -> tuple[MixtureParameters, bool]:
        """EM until the free energy settles. Shares and bound belong to the parameters that are returned."""
        smallest_variance = max(smallest_variance, float(np.finfo(parameters.means.dtype).tiny))
        parameters, base, n_shared = self._first_step(posteriors, parameters, smallest_variance)
        bound = posteriors.update(base) / posteriors.total_weight
        settling.begin(bound)
        monitor.start_run()
        converged = False
        for iteration in range(1, self.max_iter + 1):
            parameters = m_step(
                posteriors,
                parameters,
                covariance_type="tied_spherical" if iteration <= n_shared else self.covariance_type,
                reg_covar=self.reg_covar,
                smallest_variance=smallest_variance,
            )
            base = posteriors.e_step(parameters)
            bound = posteriors.update(base) / posteriors.total_weight
            closeness = settling.closeness(bound)
            stop = monitor.report(
                bound,
                parameters.means,
                closeness=closeness,
                n_distances=posteriors.n_distances,
            )
            converged = iteration > n_shared and closeness < 1
            if converged or stop:
                break
        return parameters, converged

    def _least_left(self, data: Any) -> float:
        """Return what is not worth further iterations: a share of what a coreset gains by chance."""
        if self.coreset_size is None:
            return 0.0
        n_parameters = count_parameters(self.covariance_type, self.n_components, data.rows.shape[1])
        return self.coreset_tol * n_parameters / effective_size(data.weights)

    def _first_step(
        self, posteriors: Posteriors, parameters: MixtureParameters, smallest_variance: float
    ) -> tuple[MixtureParameters, float, int]:
        """Take the first E-step; return parameters, base of the energies, and iterations with a shared variance."""
        if not np.isnan(parameters.variances).any():
            return parameters, posteriors.e_step(parameters, self.initial_e_steps), 0
        n_shared = 0 if self.covariance_type == "tied_spherical" else _SHARED_STEPS
        return *shared_variance(posteriors, parameters, smallest_variance, self.initial_e_steps), n_shared

    def _given_start(self, rows: RowSource) -> MixtureParameters | None:
        """Return where the last fit, `means_init` or `init` say that EM begins; None if means are to be drawn."""
        if self.warm_start and hasattr(self, "means_"):
            return last_parameters(self, rows)
        if self.means_init is not None:
            return self._started_at(self._checked_centers(self.means_init, rows, "means_init"))
        means, given = self._given_centers(rows, "auto" if self.n_init == 1 else self.n_init), self.init
        if means is None:
            return None
        start = self._started_at(means)
        if isinstance(given, TruncatedGaussianMixture) and given.covariance_type == self.covariance_type:
            weights = given.weights_ if self.weights_init is None else start.weights
            return MixtureParameters(means, np.array(given.covariances_), weights)
        return start

    def _started_at(self, means: Array) -> MixtureParameters:
        """Return where EM begins with these means; the variance is NaN, as it is yet to be found."""
        weights = first_weights(self.weights_init, self.n_components)
        return MixtureParameters(means, np.array(np.nan), weights)

    def _drawn_start(
        self, X: Any, data: Dataset, random: np.random.RandomState, monitor: FitMonitor
    ) -> MixtureParameters:
        seeding = monitor.deadline.sooner(monitor.reserve).share(_SEEDING_SHARE)
        with monitor.phase("seeding", seeding) as phase:
            return self._started_at(self._drawn_centers(X, data, random, phase))

    def _truncation(self) -> tuple[int, int]:
        return min(self.n_candidates, self.n_components), min(self.n_neighbors, self.n_components)

    def _drawn_centers(
        self, X: Any, data: Dataset, random: np.random.RandomState, phase: Phase = UNHURRIED
    ) -> Array:
        if isinstance(self.init, str) and self.init == "afk-mc2":
            return seed_by_markov_chain(data, self.n_components, random, self.chain_length, phase)[0]
        return super()._drawn_centers(X, data, random, phase)

    def _store(self, run: Run) -> None:
        run = run.without_dropped()
        parameters = run.parameters
        self.n_components_ = len(parameters.weights)
        if self.n_components_ < self.n_components:
            warn(
                f"{self.n_components - self.n_components_} of {self.n_components} components had no weight or "
                "variance left and were dropped.",
                ConvergenceWarning,
            )
        self.means_, self.weights_, self.neighbors_ = parameters.means, parameters.weights, run.neighbors
        self.covariances_ = parameters.variances if parameters.variances.ndim else float(parameters.variances)
        self.history_, self.converged_ = run.history, run.converged
        self.lower_bounds_ = np.array(self.history_["objective"])
        self.lower_bound_ = float(self.lower_bounds_[-1])
        self.n_iter_ = len(self.history_)
        self.__dict__.pop("_search", None)

    # --- checks --------------------------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.coreset_size is not None and self.coreset_size < self.n_components:
            raise ValueError(
                f"coreset_size={self.coreset_size} should be >= n_components={self.n_components}."
            )
        if self.means_init is not None and not isinstance(self.init, str):
            raise ValueError("means_init and init both say where the means begin: give one of them.")
        if self.weights_init is not None and self.covariance_type == "tied_spherical":
            raise ValueError(
                'weights_init needs covariance_type="spherical" or "diag": else all weights are equal.'
            )
        self._check_init()
