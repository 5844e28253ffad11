"""Gaussian mixtures with very many components (Hirschberger, Forster & Lücke 2022): var-GMM-S and vc-GMM."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, FloatArray, IntArray
from coterie.blocks.kernel_rows import kept_rows
from coterie.cached import cached_property
from coterie.coresets import draw_coreset
from coterie.estimators.base import Estimator, by_chunk
from coterie.estimators.initialization import check_n_rows, draw_centers, given_centers
from coterie.estimators.outliers import (
    SCALES,
    FitDistances,
    outlier_scores,
    scales_of_fit,
    scores_of_fit,
)
from coterie.estimators.parameters import (
    Callback,
    ComputeLabels,
    Coreset,
    Iterations,
    MaxTime,
    Metric,
    Param,
    RandomState,
    Threads,
    Tolerance,
    Verbose,
)
from coterie.fitting.checks import check_positive_integer, check_sample_weight, random_stream, warn
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.fitting.report import FitReport, with_callbacks
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.kmeans.exact import k_means_until
from coterie.limits.memory import check_allocation
from coterie.mixture.component_search import ComponentSearch, FactorSearch, component_search
from coterie.mixture.em import HISTORY_FIELDS, EMOptions, EMResult, effective_size, em
from coterie.mixture.parameters import MixtureParameters, count_parameters
from coterie.mixture.passes import ChunkPosteriors, label_all
from coterie.mixture.posteriors import TruncatedPosteriors
from coterie.passes import MeasuredRows, Passes, measure, measure_rows, open_passes
from coterie.rows import Rows, as_rows
from coterie.seeding.markov_chain import seed_by_markov_chain
from coterie.seeding.rounds import sample_of
from coterie.seeding.split_merge import seed_by_split_and_merge

Components = Annotated[int, Param("Number of components; some may be dropped.", least=1)]
CovarianceType = Annotated[
    Literal["tied_spherical", "spherical", "diag", "factors"],
    Param(
        "Variances: one for all components, one per component, or one per component and column; factors: and "
        "n_factors factors per component.",
    ),
]
Init = Annotated[
    Literal["auto", "afk-mc2", "k-means", "k-means++", "split-merge", "random"] | Any,
    Param(
        "How means are initialized: afk-mc2 (k-means++ by a Markov chain), auto (then swaps of clusters if components "
        "are few), k-means, k-means++, split-merge (then swaps), random rows, or given ones.",
        also="an array of centers, a fitted model or a callable",
        reads=("array", "model"),
    ),
]
Factors = Annotated[
    int, Param("Number of factors of each component, for covariance_type='factors'.", least=0)
]
Candidates = Annotated[int, Param("Number of components that each row is shared among.", least=1)]
NeighboringComponents = Annotated[
    int,
    Param("Number of neighboring components among which rows look for better ones.", least=1),
]
RandomCandidate = Annotated[bool, Param("Let each row try a random component in each search, too.")]
SearchGroupSize = Annotated[
    int,
    Param(
        "Number of rows that search together, each among the candidates of all; 1: as in the papers.",
        least=1,
        most=512,
    ),
]
SearchEvery = Annotated[
    int, Param("From the fifth iteration on, search for candidates in every n-th one; 1: in each.", least=1)
]
InitialSteps = Annotated[
    int, Param("Number of searches before the components change for the first time.", least=1)
]
Runs = Annotated[int, Param("Number of runs with different initializations; the best one is kept.", least=1)]
ChainLength = Annotated[int, Param("Length of the Markov chain of afk-mc2.", least=1)]
Regularization = Annotated[float, Param("Added to every variance.", least=0)]
CoresetTolerance = Annotated[
    float,
    Param(
        "Stop on a coreset when the remaining gain is this fraction of its noise; 0: by tol alone.", least=0
    ),
]
Assignment = Annotated[
    Literal["auto", "exact", "truncated"],
    Param(
        "How rows are labeled: compared with all components, or with those near by (auto: exact up to 1,000)."
    ),
]
# "auto" compares rows with all components up to this number of them.
_EXACT_COMPONENTS = 1000

# M-steps with one variance and equal weights before the flexible models have their own.
_SHARED_STEPS = 2

# Part of the time left that an initialization may take.
_SEEDING_SHARE = 0.5

# A search takes as long as a blocked product with about this many times C' G components.
_DISTANCES_OF_SEARCH = 4

# Part of the variance of all rows up to which `reg_covar` loses no clusters.
_LARGE_SHARE = 0.1

# Variances below this part of the variance of the data count as 0.
_NO_VARIANCE = 1e-12


class TruncatedGaussianMixture(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Estimator):
    """Gaussian mixture of up to tens of thousands of components, at a cost per iteration that does not grow with them.

    Each row has posterior probabilities for its few best components only, and searches for better ones among the
    neighbors of those (var-GMM-S). With `coreset_size` the fit uses a weighted sample (vc-GMM).

    Parameters
    ----------
    n_components : int
        Number of components C.
    covariance_type : {"tied_spherical", "spherical", "diag", "factors"}
        One variance for all components, which then have equal weights; one per component; one per component and
        column; or, with "factors", covariances of low rank: the outer products of `n_factors` factors and the variances
        of the noise, one per column (mixtures of factor analyzers).
    n_factors : int
        Number of factors H of each component where `covariance_type` is "factors", less than d. 0 is "diag". The
        likelihood of held-out rows can choose it: scikit-learn's GridSearchCV does so by `score`.
    n_candidates : int
        Number C' of components that each row keeps, at most C.
    n_neighbors : int
        Size G of the neighborhood of a component, itself included; at most C.
    random_candidate : bool
        Let each row try one more component in each search, drawn at random. Improves results in few dimensions.
    search_group_size : int
        Number of rows that search together, at most 512: each is compared with the candidates of all of them. Larger
        groups find better components in fewer iterations, and compute more distances in each. 1: each row searches
        alone, as in the papers.
    search_every : int
        From the fifth E-step on, search for candidates in every n-th one; the others only update the posteriors. 1: in
        each E-step, as in the papers.
    initial_e_steps : int
        Number of searches before the parameters change for the first time (Hirschberger et al., supplement F).
    coreset_size : int, optional
        Fit a lightweight coreset of this number N' of weighted rows instead of all rows (see `coterie.coresets`).
    metric : {"euclidean", "cosine"}
        "cosine": each row is divided by its length first (normalization), so the means and variances are those of rows
        at length 1. Rows of zeros are not changed; on workers they raise an error.
    init : {"auto", "afk-mc2", "k-means", "k-means++", "split-merge", "random"}, array-like of shape (C, d), model or
        callable
        Initial means: see `coterie.seeding`. "auto": "afk-mc2", and swaps of clusters if C is at most 4 C' G, as passes
        over all components then take no longer than searches. "split-merge": see `KMeans`. "k-means": the centers of
        k-means, which takes the time of its fit; factors begin with the second iteration. A fitted
        TruncatedGaussianMixture: its means, and with the same covariances its variances and weights. A callable gets
        `(X, n_components, random_state=...)`; with a coreset, its rows.
    n_init : int
        Number of runs with different initializations; the one with the highest lower bound is kept. Given means are one
        run.
    chain_length : int
        Length of the Markov chains of "auto" and "afk-mc2".
    reg_covar : float
        Added to every variance. The default is scikit-learn's; it must be small compared with the variances of the
        components.
    tol : float
        The fit has converged when the free energy changes by less than this, relative to itself.
    coreset_tol : float
        With a coreset the fit has also converged when the estimated gain of further iterations is less than this
        fraction of the sampling error p / N', for p parameters and N' rows (Akaike 1974). 0: only `tol` counts.
    max_iter : int
        Maximum number of EM iterations.
    assignment : {"auto", "exact", "truncated"}
        How `predict` and `responsibilities` find the best components of a row: by comparison with all of them, or with
        the 4 sqrt(C) around the nearest of 4 sqrt(C) cells of means. "auto" is exact up to C = 1,000.
    compute_labels : bool
        Label all rows at the end of the fit; if False, there is no `labels_`.
    verbose, max_time, random_state, n_threads, callback
        See `KMeans`.

    Attributes
    ----------
    means_, cluster_centers_ : ndarray of shape (C, d), float32 or float64
        The means.
    covariances_ : float, ndarray of shape (C,) or (C, d), float64
        The variances, by `covariance_type`; with "factors" those of the noise.
    components_ : ndarray of shape (C, H, d), float32 or float64
        The factors of each component, the strongest first; only with "factors". The covariance of component c is
        ``components_[c].T @ components_[c] + np.diag(covariances_[c])``.
    weights_ : ndarray of shape (C,), float64
        Shares of the components; they sum to 1.
    neighbors_ : ndarray of shape (C, G), int32
        Neighbors of each component at the end of the fit, the component itself first.
    labels_ : ndarray of shape (n,), int32
        The best component of each row, as `predict` returns it.
    outlier_scores_, cluster_scales_
        See `KMeans`; distances are Mahalanobis distances to the mean. Only with `compute_labels`.
    lower_bound_ : float
        Free energy per unit of weight: a lower bound of the mean log-likelihood of the fitted rows, or of the coreset.
    lower_bounds_ : ndarray of shape (n_iter,), float64
        The same after each iteration. It never decreases, except by rounding and `reg_covar`.
    n_components_ : int
        Number of components left: those without weight or variance are dropped, with a ConvergenceWarning, unless
        `covariance_type` is "tied_spherical".
    converged_ : bool
        Whether `tol` or `coreset_tol` was reached.
    n_iter_ : int
        Number of iterations.
    history_ : record array
        One row per iteration: `iteration`, `seconds`, `objective` (the lower bound), `n_distances` (evaluated).
    n_features_in_, feature_names_in_, preparation_
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
    An iteration takes about O(n C' G d) operations. Any partial E-step raises the free energy (Neal and Hinton 1998).
    Seeding takes O(chain_length C^2 d). Memory: 12 C' bytes per row and, for rows of up to 1 GiB, a copy of them.

    `init="afk-mc2", search_group_size=1, search_every=1, coreset_tol=0` is Algorithm 2 of the papers, but that a
    component that is the best one of no row keeps its neighbors, and that rows of more than 256 MiB are searched block
    by block. By default rows search in groups, and, from the fifth E-step on, in every third one; the neighborhood of a
    component is learned from the rows that had it as their best one before a search. Rows on Dask workers search
    among the components around their nearest mean instead; it is found in the search 1, 2, 4, 8, ..., in O(n C d).

    With "factors" a row is x = mean + sum_h z_h factor_h + noise, with z_h standard normal. A run starts as for "diag";
    when that has converged, or after a third of the iterations, the directions of the largest variance of each
    component become its factors, and EM continues (Ghahramani and Hinton 1996, with the E-step of Salwig et al. 2025).
    An iteration takes O(n C' G d H) operations, and the parameters are C d (H + 2) numbers. A component of less weight
    than H + 1 rows keeps its factors and noise. `components_` are the factors that are orthogonal if columns are
    divided by the noise.

    The free energy is F = sum_n w_n log sum_{c in K_n} pi_c N(y_n; mu_c, Sigma_c), with K_n the candidates of row n.

    References
    ----------
    Hirschberger, Forster and Lücke, A variational EM acceleration for efficient clustering at very large scales, IEEE
    TPAMI 2022. Ghahramani and Hinton, The EM algorithm for mixtures of factor analyzers, 1996. Salwig, Kahlke,
    Hirschberger, Forster and Lücke, Sublinear variational optimization of Gaussian mixture models with millions to
    billions of parameters, arXiv:2501.12299, 2025. Forster and Lücke, Can clustering scale sublinearly with its
    clusters?, AISTATS 2018. Bachem, Lucic and Krause, Scalable k-means clustering via lightweight coresets, KDD 2018.

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

    _WITHOUT_SCALES = "it has not labeled the rows of its fit. Fit it with compute_labels=True."

    n_components_: int
    means_: Array
    covariances_: float | FloatArray
    components_: Array
    weights_: FloatArray

    _of_rows = ("labels_", "_own_distances", "_outlier_scores", "history_", "lower_bounds_")

    def __init__(
        self,
        n_components: Components = 8,
        *,
        covariance_type: CovarianceType = "tied_spherical",
        n_factors: Factors = 5,
        n_candidates: Candidates = 5,
        n_neighbors: NeighboringComponents = 5,
        random_candidate: RandomCandidate = False,
        search_group_size: SearchGroupSize = 16,
        search_every: SearchEvery = 3,
        initial_e_steps: InitialSteps = 1,
        coreset_size: Coreset = None,
        metric: Metric = "euclidean",
        init: Init = "auto",
        n_init: Runs = 1,
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
        self.n_factors = n_factors
        self.n_candidates = n_candidates
        self.n_neighbors = n_neighbors
        self.random_candidate = random_candidate
        self.search_group_size = search_group_size
        self.search_every = search_every
        self.initial_e_steps = initial_e_steps
        self.coreset_size = coreset_size
        self.metric = metric
        self.init = init
        self.n_init = n_init
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
        X : array-like, table, Dask array or Rows of shape (n, d)
            The data, dense; see `coterie.open_rows` for files, `coterie.dask.rows` for rows on workers. What takes more
            than 1 GiB as floats is read in every iteration; with a coreset, twice in all (and once more for the
            labels).
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Non-negative weight of each row.

        Returns
        -------
        TruncatedGaussianMixture
            This estimator.
        """
        self.check_parameters()
        report = FitReport(self, HISTORY_FIELDS, n_runs=int(self.n_init))
        rows, columns = self._rows_to_fit(X)
        check_n_rows(rows, self.n_components, "n_components")
        if self._n_factors and self._n_factors >= rows.shape[1]:
            raise ValueError(
                f"n_factors={self.n_factors} should be less than the number of features, {rows.shape[1]}."
            )
        given = self._given_start(rows)
        weights, random = check_sample_weight(sample_weight, rows), random_stream(self.random_state)
        with (
            report.scikit_learn_callbacks(X),
            single_threaded_blas(math.prod(rows.shape) * self.n_components),
            open_passes(rows, weights, self.n_threads) as passes,
        ):
            if self.coreset_size is not None:
                X, coreset_weights, _ = draw_coreset(passes, self.coreset_size, random)
                data = self._measured(as_rows(X), coreset_weights)
            elif passes.is_here:
                rows = kept_rows(rows)
                data = self._measured(rows, weights)
            else:
                data = measure(passes, self.n_components)
            report.n_final_steps = self._n_label_steps(rows.shape[0] / data.n_rows)
            best = self._best_run(X, data, given, random, report)
            if (directions := best.parameters.directions) is not None:
                # As they are stored, and as `_parameters` gives them back, so that labels are those of a saved model.
                factors = directions.factors().astype(best.parameters.means.dtype).astype(np.float64)
                best = replace(best, parameters=replace(best.parameters, factors=factors))
            fitted = self._run_fitted(best)
            if self.compute_labels:
                fitted |= self._labels_fitted(passes, rows, weights, best.parameters)
        self._store_fitted(columns | fitted)
        report.warn_if_out_of_time()
        return self

    def _measured(self, rows: Rows, weights: Array | None) -> MeasuredRows:
        return measure_rows(rows, weights, n_clusters=self.n_components, n_threads=self.n_threads)

    def _best_run(
        self,
        X: Any,
        data: Any,
        given: MixtureParameters | None,
        random: np.random.RandomState,
        report: FitReport,
    ) -> EMResult:
        """Return the best run, without dropped components; `data` are the rows as a whole, wherever they are."""
        _check_variance(data.mean_variance, data.dtype, self.reg_covar)
        sizes = self.n_components, *self._truncation()
        best: EMResult | None = None
        for _ in range(1 if given is not None else int(self.n_init)):
            start = given
            if start is None:
                deadline = report.deadline.share(_SEEDING_SHARE)
                start = self._started_at(self._drawn_centers(X, data, random, deadline))
            posteriors = (
                TruncatedPosteriors(
                    data.rows, data.weights, sizes, random_candidate=self.random_candidate,
                    group_size=self.search_group_size, search_every=self.search_every, random=random,
                    n_threads=data.n_threads,
                )
                if data.passes.is_here
                else ChunkPosteriors(data, sizes, self.search_every)
            )  # fmt: skip
            result = em(posteriors, start, self._em_options(data, start), report)
            if best is None or result.objective > best.objective:
                best = result
            if report.reason is not None:
                break
        assert best is not None
        return best.without_dropped()

    def _em_options(self, data: Any, start: MixtureParameters) -> EMOptions:
        least_gain = 0.0
        if self.coreset_size is not None:
            n_parameters = count_parameters(
                self.covariance_type, self.n_components, data.rows.shape[1], self._n_factors
            )
            least_gain = self.coreset_tol * n_parameters / effective_size(data.weights)
        has_variances = not np.isnan(start.variances).any()
        return EMOptions(
            covariance_type=self.covariance_type,
            n_shared=0 if has_variances or self.covariance_type == "tied_spherical" else _SHARED_STEPS,
            n_searches=self.initial_e_steps, reg_covar=self.reg_covar,
            smallest_variance=_NO_VARIANCE * data.mean_variance,
            max_iter=self.max_iter, tol=self.tol, least_gain=least_gain, search_every=self.search_every,
            n_factors=self._n_factors, diagonal_share=0.0 if self._begins_with_k_means else 1 / 3,
            least_mass=(self._n_factors + 1) * data.total_weight / data.rows.shape[0],
        )  # fmt: skip

    def _n_label_steps(self, n_times: float) -> float:
        """Return about how many iterations take as long as labels of `n_times` as many rows as EM has."""
        if not self.compute_labels:
            return 0.0
        n_compared = float(self.n_components)
        if not self._is_exact(self.n_components):
            n_compared = min(n_compared, 8 * n_compared**0.5)
        # The first iterations have no factors; distances with H of them take about 1 + 2 H times as long.
        n_compared *= 1 + 2 * self._n_factors
        return n_times * (1 + n_compared / (_DISTANCES_OF_SEARCH * math.prod(self._truncation())))

    def _given_start(self, rows: Rows) -> MixtureParameters | None:
        """Return the initial parameters that `init` gives; None if means are to be drawn."""
        given, n_init = self.init, "auto" if self.n_init == 1 else self.n_init
        means = given_centers(given, rows, self.n_components, n_init)
        if means is None:
            return None
        kind = self.covariance_type, self._n_factors
        if isinstance(given, TruncatedGaussianMixture) and (given.covariance_type, given._n_factors) == kind:
            return replace(given._parameters(), means=means)
        return self._started_at(means)

    def _started_at(self, means: Array) -> MixtureParameters:
        """Return initial parameters with these means; the variance is NaN, to be estimated."""
        return MixtureParameters(means, np.array(np.nan), np.full(len(means), 1 / len(means)))

    def _parameters(self) -> MixtureParameters:
        """Return the parameters of the fitted mixture."""
        factors = self.components_.astype(np.float64) if self._n_factors else None
        return MixtureParameters(self.means_, np.array(self.covariances_), self.weights_, factors)

    @property
    def _begins_with_k_means(self) -> bool:
        return isinstance(self.init, str) and self.init == "k-means"

    @property
    def _n_factors(self) -> int:
        return int(self.n_factors) if self.covariance_type == "factors" else 0

    def _truncation(self) -> tuple[int, int]:
        return min(self.n_candidates, self.n_components), min(self.n_neighbors, self.n_components)

    def _drawn_centers(
        self, X: Any, data: Any, random: np.random.RandomState, deadline: Deadline = UNLIMITED
    ) -> Array:
        if self._begins_with_k_means:
            if not data.passes.is_here:
                data = sample_of(data, self.n_components, random)
            return k_means_until(
                deadline, data.rows, self.n_components, init="split-merge", sample_weight=data.weights,
                random_state=random.randint(np.iinfo(np.int32).max), n_threads=data.n_threads,
            ).cluster_centers_  # fmt: skip
        if isinstance(self.init, str) and self.init in ("auto", "afk-mc2"):
            means = seed_by_markov_chain(data, self.n_components, random, self.chain_length, deadline)[0]
            if self.init == "afk-mc2" or self.n_components > _DISTANCES_OF_SEARCH * math.prod(
                self._truncation()
            ):
                return means
            return seed_by_split_and_merge(data, self.n_components, random, centers=means, deadline=deadline)
        return draw_centers(self.init, X, data, self.n_components, random, deadline)

    def _run_fitted(self, run: EMResult) -> dict[str, Any]:
        """Return the fitted attributes that are the result of a run."""
        parameters = run.parameters
        n_components = len(parameters.weights)
        if n_components < self.n_components:
            warn(
                f"{self.n_components - n_components} of {self.n_components} components had no weight or "
                "variance left and were dropped.",
                ConvergenceWarning,
            )
        fitted = {
            "n_components_": n_components,
            "means_": parameters.means,
            "covariances_": parameters.variances
            if parameters.variances.ndim
            else float(parameters.variances),
            "weights_": parameters.weights,
            "neighbors_": run.neighbors,
            "history_": run.history,
            "lower_bounds_": np.array(run.history["objective"]),
            "lower_bound_": run.objective,
            "converged_": run.reason == "converged",
            "n_iter_": len(run.history),
        }
        if parameters.factors is not None:
            fitted["components_"] = parameters.factors.astype(parameters.means.dtype)
        return fitted

    def _labels_fitted(
        self, passes: Passes, rows: Rows, weights: Array | None, parameters: MixtureParameters
    ) -> dict[str, Any]:
        """Return the fitted attributes that are labels of the rows of a fit; one pass."""
        search = component_search(parameters, effective_n_threads(self.n_threads))
        exact = self._is_exact(len(parameters.weights))
        if passes.is_here:
            labels, distances = search.labels_and_distances(rows, exact=exact)
        else:
            labels, distances = label_all(passes, parameters, exact=exact)
        return {
            "labels_": labels,
            "_search": search,
            "_own_distances": FitDistances(labels, distances, search.rounding, weights),
        }

    # --- a fitted model ------------------------------------------------------------------------------------------

    def __getstate__(self) -> Any:
        # The search is restored from the parameters.
        return {name: value for name, value in super().__getstate__().items() if name != "_search"}

    @property
    def cluster_centers_(self) -> Array:
        """The means, under the name that clusterings use."""
        check_is_fitted(self, "means_")
        return self.means_

    @cached_property
    def _search(self) -> ComponentSearch:
        return component_search(self._parameters(), effective_n_threads(self.n_threads))

    @by_chunk
    def predict(self, X: Any, *, return_distance: bool = False) -> Any:
        """Return the component with the highest posterior probability for each row of X.

        Parameters
        ----------
        X : array-like, table, Dask array or Rows of shape (n, d)
            Any rows.
        return_distance : bool
            Whether to return the distances to the components, too, in the same pass.

        Returns
        -------
        labels : ndarray of shape (n,), int32
            Found as `assignment` says.
        distances : ndarray of shape (n,), float64
            Only with `return_distance`: the distance of each row to its component in standard deviations
            (Mahalanobis').
        """
        rows = self._fitted_rows(X)
        found = self._search.labels_and_distances(rows, exact=self._is_exact())
        return found if return_distance else found[0]

    @by_chunk
    def responsibilities(self, X: Any) -> sp.csr_array:
        """Return the truncated posterior probabilities of the components given each row of X.

        Parameters
        ----------
        X : array-like, table, Dask array or Rows of shape (n, d)
            Any rows.

        Returns
        -------
        csr_array of shape (n, C), float64
            C' entries in each row, in the order of the components, which sum to 1.
        """
        rows = self._fitted_rows(X)
        n_kept = int(min(self.n_candidates, self.n_components_))
        shape = (rows.shape[0], self.n_components_)
        ids, shares = np.empty((shape[0], n_kept), dtype=np.int32), np.empty((shape[0], n_kept))
        for part, _, found, kept in self._posteriors(rows):
            ascending = np.argsort(found, axis=1)
            ids[part] = np.take_along_axis(found, ascending, axis=1)
            shares[part] = np.take_along_axis(kept, ascending, axis=1)
        starts = np.arange(0, ids.size + 1, n_kept)
        return sp.csr_array((shares.ravel(), ids.ravel(), starts), shape=shape)

    def _membership(self, rows: Rows, labels: IntArray) -> tuple[str, FloatArray] | None:
        found = self.responsibilities(rows)
        return "posterior", np.asarray(found[np.arange(len(labels)), labels], dtype=np.float64).ravel()

    @by_chunk
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the posterior probabilities of all components given each row of X: n x C numbers.

        Parameters
        ----------
        X : array-like, table, Dask array or Rows of shape (n, d)
            Any rows.

        Returns
        -------
        ndarray of shape (n, C), float64
            Each row sums to 1.
        """
        rows = self._fitted_rows(X)
        check_allocation(
            8.0 * rows.shape[0] * self.n_components_,
            "probabilities of all rows in all components",
            "use responsibilities(X), or give fewer rows at a time",
        )
        out = np.empty((rows.shape[0], self.n_components_))
        for part, energies in self._search.energies(rows):
            np.exp(-energies - logsumexp(-energies, axis=1, keepdims=True), out=out[part])
        return out

    @by_chunk
    def transform(self, X: Any) -> FloatArray:
        """Return the posterior probabilities of all components given each row of X; see `predict_proba`.

        `responsibilities` returns those of the best few components of each row, as a sparse matrix.
        """
        return self.predict_proba(X)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    @by_chunk
    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-likelihood of each row of X under the whole mixture.

        Parameters
        ----------
        X : array-like, table, Dask array or Rows of shape (n, d)
            Any rows.

        Returns
        -------
        ndarray of shape (n,), float64
            Natural logarithms of the densities.
        """
        rows = self._fitted_rows(X)
        out = np.empty(rows.shape[0])
        for part, energies in self._search.energies(rows):
            out[part] = logsumexp(-energies, axis=1)
        return out

    @by_chunk
    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows of X; see `score_samples`."""
        return float(self.score_samples(X).mean())

    outlier_scores_ = property(scores_of_fit)
    cluster_scales_ = property(scales_of_fit)
    outlier_scores = outlier_scores

    def bic(self, X: Any) -> float:
        """Return the Bayesian information criterion of the model on X: the lower, the better."""
        log_likelihoods = np.asarray(self.score_samples(X))
        return float(-2 * log_likelihoods.sum() + self._n_parameters() * np.log(len(log_likelihoods)))

    def aic(self, X: Any) -> float:
        """Return the Akaike information criterion of the model on X: the lower, the better."""
        return float(-2 * np.asarray(self.score_samples(X)).sum() + 2 * self._n_parameters())

    def sample(self, n_samples: int = 1) -> tuple[Array, IntArray]:
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int
            How many.

        Returns
        -------
        X : ndarray of shape (n_samples, d)
            The rows, component by component.
        y : ndarray of shape (n_samples,), int32
            Which component each of them is from.
        """
        check_is_fitted(self)
        n_samples = check_positive_integer("n_samples", n_samples)
        random = random_stream(self.random_state)
        counts = random.multinomial(n_samples, self.weights_ / self.weights_.sum())
        y = np.repeat(np.arange(self.n_components_, dtype=np.int32), counts)
        deviations = np.sqrt(self.covariances_)
        if self.covariance_type != "tied_spherical":
            deviations = deviations[y].reshape(n_samples, -1)
        X = self.means_[y] + deviations * random.standard_normal((n_samples, self.means_.shape[1]))
        if self._n_factors:
            ends = np.cumsum(counts)
            for component in np.flatnonzero(counts):
                part = slice(ends[component] - counts[component], ends[component])
                factors = self.components_[component].astype(np.float64)
                X[part] += random.standard_normal((counts[component], len(factors))) @ factors
        return X.astype(self.means_.dtype), y

    @by_chunk
    def denoise(self, X: Any) -> Array:
        """Return the posterior mean of each row of X without its noise.

        Parameters
        ----------
        X : array-like, table, Dask array or Rows of shape (n, d)
            Any rows.

        Returns
        -------
        ndarray of shape (n, d), dtype of the means
            For rows on Dask workers a Dask array. The sum over the components of the truncated posterior times mean
            plus, with `covariance_type` "factors", the posterior means of the factors times the factors (Salwig et al.
            2025). Without factors a row becomes a mixture of means.

        Examples
        --------
        >>> import numpy as np
        >>> from coterie import TruncatedGaussianMixture
        >>> random = np.random.default_rng(0)
        >>> clean = random.normal(size=(500, 1)) * np.ones(20)
        >>> X = clean + random.normal(size=(500, 20))
        >>> model = TruncatedGaussianMixture(1, covariance_type="factors", n_factors=1, random_state=0).fit(X)
        >>> bool(np.mean((model.denoise(X) - clean) ** 2) < 0.1)
        True
        """
        rows = self._fitted_rows(X)
        out = np.empty(rows.shape, dtype=self.means_.dtype)
        for part, block, ids, shares in self._posteriors(rows):
            clean = np.zeros(block.shape)
            for own, share in zip(ids.T, shares.T):
                found = self.means_[own].astype(np.float64)
                if isinstance(self._search, FactorSearch):
                    found += self._search.factor_means(block, own)
                clean += share[:, None] * found
            out[part] = clean
        return out

    def _posteriors(self, rows: Rows) -> Iterator[tuple[slice, Array, IntArray, FloatArray]]:
        """Yield blocks of rows, with the best components of each row and their truncated posteriors."""
        n_kept = int(min(self.n_candidates, self.n_components_))
        for part, block, ids, energies in self._search.best(rows, n_kept, exact=self._is_exact()):
            shares = np.exp(energies[:, :1] - energies)
            yield part, block, ids, shares / shares.sum(axis=1, keepdims=True)

    def _fitted_attributes(self) -> dict[str, str]:
        covariances = {"spherical": "float k", "diag": "float k d", "factors": "float k d"}
        declared = {
            **super()._fitted_attributes(),
            "n_features_in_": "size d",
            "n_components_": "size k",
            "means_": "float k d",
            "weights_": "float k",
            "covariances_": covariances.get(self.covariance_type, "float"),
            "neighbors_": "int<k k g?",
            "labels_": "int<k n?",
            "lower_bound_": "float?",
            "lower_bounds_": "float t?",
            "history_": "records?",
            "converged_": "bool?",
            "n_iter_": "int?",
            **SCALES,
            "_search": "unsaved?",
        }
        if self.covariance_type == "factors":
            declared["components_"] = "float k h d"
        return declared

    def _n_parameters(self) -> int:
        n_components, n_columns = self.means_.shape
        return count_parameters(self.covariance_type, n_components, n_columns, self._n_factors)

    def _fitted_rows(self, X: Any) -> Rows:
        check_is_fitted(self, "means_")
        return self._rows_of(X)

    def _distances_to(self, X: Any, labels: IntArray, to_centers: FloatArray | None) -> FloatArray:
        return self._search.distances(self._fitted_rows(X), labels)

    def _is_exact(self, n_components: int | None = None) -> bool:
        """Whether rows are compared with all components to be labeled."""
        if self.assignment == "auto":
            return (n_components or self.n_components_) <= _EXACT_COMPONENTS
        return self.assignment == "exact"

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.coreset_size is not None and self.coreset_size < self.n_components:
            raise ValueError(
                f"coreset_size={self.coreset_size} should be >= n_components={self.n_components}."
            )


def _check_variance(variance: float, dtype: npt.DTypeLike, reg_covar: float) -> None:
    """Raise a ValueError if variances vanish in the rows' dtype; warn if `reg_covar` is a large part of them."""
    if 0 < variance < np.finfo(dtype).tiny / _NO_VARIANCE and reg_covar == 0:
        raise ValueError(
            f"The rows of X differ too little for {np.dtype(dtype)}: their variance is {variance:.3g}. Multiply X by "
            "a large number, such as a power of 2."
        )
    if 0 < _LARGE_SHARE * variance < reg_covar:
        warn(
            f"reg_covar={reg_covar:g}, which is added to each variance, is more than a tenth of that of all rows, "
            f"{variance:.3g}, so clusters can be lost. Multiply X by a large number, or give less.",
        )
