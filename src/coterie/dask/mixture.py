"""Gaussian mixtures of rows on a Dask cluster: var-GMM-S with the E-step on the workers, and vc-GMM."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array
from coterie.blocks.dataset import Dataset
from coterie.coresets import draw_coreset
from coterie.dask.backend import rows as rows_on_workers
from coterie.dask.chunks import chunks_of
from coterie.dask.crew import ClusterLostError, Crew
from coterie.dask.estimator import OnCluster, WorkerInit, is_elsewhere
from coterie.dask.extra import client_of
from coterie.dask.posteriors import WorkerPosteriors, label_by_mixture
from coterie.dask.predictions import totals_of
from coterie.dask.worker import Plan
from coterie.dask.worker_rows import WorkerRows, gathered
from coterie.estimators.outliers import OwnDistances
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.fitting.randomness import random_stream
from coterie.fitting.report import FitProgress, Report
from coterie.fitting.threads import single_threaded_blas
from coterie.mixture.em import HISTORY_FIELDS, EMResult, em, own_variances
from coterie.mixture.estimator import Assignment, CovarianceType
from coterie.mixture.estimator import TruncatedGaussianMixture as LocalTruncatedGaussianMixture
from coterie.mixture.parameters import MixtureParameters
from coterie.rows import as_rows

__all__ = ["TruncatedGaussianMixture"]

# What is noted with each E-step.
_STEP = {
    "told", "firsts", "options", "candidates", "order", "random", "neighbors", "means", "variances", "weights",
    "n_shared",
}  # fmt: skip


class TruncatedGaussianMixture(OnCluster, LocalTruncatedGaussianMixture):
    """A mixture of up to tens of thousands of Gaussians of rows on the workers of a Dask cluster.

    `coterie.TruncatedGaussianMixture`, whose loop and parameters it has. Rows, their candidates and their posteriors
    stay on the workers: in each E-step parameters and neighbourhoods go there, in each M-step moments come back. With
    `coreset_size` the workers draw a coreset, which is fitted here, and label their rows.

    Parameters
    ----------
    n_components, covariance_type, n_factors, n_candidates, n_neighbors, random_candidate, search_group_size, \
search_every, initial_e_steps, n_init, means_init, weights_init, warm_start, chain_length, reg_covar, tol, \
coreset_tol, max_iter, assignment, compute_labels, random_state, verbose, max_time, callback
        See `coterie.TruncatedGaussianMixture`.
    coreset_size : int, optional
        Draw a lightweight coreset of so many rows on the workers, and fit that here.
    init : {"afk-mc2", "k-means++", "k-means||", "random"}, array-like of shape (C, d), fitted model, or callable
        Where the means begin; "k-means++" chooses among a sample, see `coterie.KMeans`.
    n_threads : int, optional
        Threads of each worker's kernels. None: as many as the worker has.
    client : distributed.Client, optional
        None: the current one.
    checkpoint : path, optional
        File to which the model is written after each iteration, complete or not at all. With the same rows and chunks
        `init=coterie.load(checkpoint)` goes on from there with the same bits: the file has the candidates of all rows,
        which come here with each E-step, 2 C' + 4 bytes for each row (4 C' + 4 from 65,537 components on). Of other
        rows it is but means, variances and weights.
    open_options : dict, optional
        Options of `coterie.open_rows` for a path, such as `columns`; `columns` and `exclude` for a Dask DataFrame.

    Attributes
    ----------
    means_, cluster_centers_, covariances_, weights_, neighbors_, lower_bound_, lower_bounds_, n_components_, \
converged_, n_iter_, history_, runs_, n_features_in_, feature_names_in_
        See `coterie.TruncatedGaussianMixture`.
    labels_ : ndarray of shape (n,), int32, or Dask array
        The best component of each row; of more than 10,000,000 rows a lazy Dask array.
    traffic_ : record array
        One row per pass; see `coterie.dask.WorkerRows`.

    Raises
    ------
    ConnectionError
        If the scheduler is lost, or has no workers for five minutes. With `max_time` a ConvergenceWarning says so, and
        the model is that of the last iteration, without labels.
    ImportError
        If the extra `dask` is not installed.
    ValueError
        As `coterie.TruncatedGaussianMixture`, with the file and the row where they are known.

    Notes
    -----
    The bits are the same for any number of workers, whichever holds which chunk, and whether or not one dies. Against
    one machine the free energy is about the same: each chunk draws the first candidates of its rows, and in one E-step
    all search with the neighbourhoods of the step before. Where every row keeps all components (`n_candidates` =
    `n_components`) nothing is drawn, and the model is that of one machine but for rounding.

    The client keeps the parameters of all steps until the fit ends, C (d + 2) numbers for each: a worker that opens the
    chunks of a dead one repeats the E-steps. A chunk takes twice its size on its worker, and 12 C' bytes per row.

    References
    ----------
    Hirschberger, Forster and Lücke, A variational EM acceleration for efficient clustering at very large scales, 2022.

    Examples
    --------
    >>> from coterie.dask import TruncatedGaussianMixture
    >>> model = TruncatedGaussianMixture(4_000, random_state=0).fit("s3://bucket/*.parquet")  # doctest: +SKIP
    """

    Local = LocalTruncatedGaussianMixture

    def __init__(
        self,
        n_components: int = 8,
        *,
        covariance_type: CovarianceType = "tied_spherical",
        n_factors: int = 5,
        n_candidates: int = 5,
        n_neighbors: int = 5,
        random_candidate: bool = False,
        search_group_size: int = 16,
        search_every: int = 3,
        initial_e_steps: int = 1,
        coreset_size: int | None = None,
        init: WorkerInit = "afk-mc2",
        n_init: int = 1,
        means_init: npt.ArrayLike | None = None,
        weights_init: npt.ArrayLike | None = None,
        warm_start: bool = False,
        chain_length: int = 20,
        reg_covar: float = 1e-6,
        tol: float = 1e-4,
        coreset_tol: float = 0.1,
        max_iter: int = 300,
        assignment: Assignment = "auto",
        compute_labels: bool = True,
        random_state: int | np.random.RandomState | None = None,
        verbose: int | bool = 0,
        max_time: float | None = None,
        n_threads: int | None = None,
        callback: Callable[[FitProgress], Any] | None = None,
        client: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        open_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            n_components, covariance_type=covariance_type, n_factors=n_factors,
            n_candidates=n_candidates, n_neighbors=n_neighbors,
            random_candidate=random_candidate, search_group_size=search_group_size, search_every=search_every,
            initial_e_steps=initial_e_steps, coreset_size=coreset_size, init=init, n_init=n_init,
            means_init=means_init, weights_init=weights_init, warm_start=warm_start, chain_length=chain_length,
            reg_covar=reg_covar, tol=tol, coreset_tol=coreset_tol, max_iter=max_iter,
            assignment=assignment, compute_labels=compute_labels, random_state=random_state, verbose=verbose,
            max_time=max_time, n_threads=n_threads, callback=callback,
        )  # fmt: skip
        self.client = client
        self.checkpoint = checkpoint
        self.open_options = open_options

    def fit(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> TruncatedGaussianMixture:
        """Fit the mixture to X.

        Parameters
        ----------
        X : Dask array, Dask DataFrame, or path
            The rows; see `coterie.dask.rows`.
        y : None
            Ignored.
        sample_weight : array-like or Dask array of shape (n,), optional
            Non-negative weight of each row.

        Returns
        -------
        TruncatedGaussianMixture
            This estimator.
        """
        client = client_of(self.client)
        self.check_parameters()
        monitor = _Monitor(self, HISTORY_FIELDS, n_runs=int(self.n_init))
        random = random_stream(self.random_state)
        plan = Plan(self.n_components, n_threads=self.n_threads)
        try:
            with Crew(client, chunks_of(X, self.open_options), plan) as crew, single_threaded_blas():
                data = self._rows_on(crew, sample_weight)
                self._check_n_rows(data.rows)
                self._check_n_factors(data.rows)
                given = self._given_start(data.rows)
                data.measure()
                begun = self._begun(data)
                if begun is not None:
                    given = MixtureParameters(
                        begun["means"], begun["variances"], begun["weights"], begun.get("factors")
                    )
                if self.coreset_size is None:
                    best = self._best_run(X, data, given, random, monitor)
                else:
                    best = self._run_on_coreset(X, data, given, random, monitor)
                self._store_run(best, monitor)
                if self.compute_labels:
                    self._label(data, X)
                self._note_traffic(crew)
        except ClusterLostError as error:
            if monitor.last is None:
                raise
            self._store_run(monitor.last, monitor)
            self._warn_of_end(error)
        monitor.warn_if_out_of_time()
        return self

    def responsibilities(self, X: Any) -> Any:
        """Return the truncated posteriors of each row of X; of rows elsewhere as a lazy Dask array of CSR chunks."""
        return self._asked("responsibilities", X)

    def predict_proba(self, X: Any) -> Any:
        """Return the posteriors of all components for each row of X; of rows elsewhere as a lazy Dask array."""
        return self._asked("predict_proba", X)

    def score_samples(self, X: Any) -> Any:
        """Return the log-likelihood of each row of X; of rows elsewhere as a lazy Dask array."""
        return self._asked("score_samples", X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows of X, computed where they are."""
        return float(self._asked("score", X))

    def bic(self, X: Any) -> float:
        """Return the Bayesian information criterion of the model on X: the lower, the better."""
        if not is_elsewhere(X):
            return super().bic(X)
        total, n_rows = totals_of(self._lean(), chunks_of(X, self.open_options))
        return float(-2 * total + self._n_parameters() * np.log(n_rows))

    def aic(self, X: Any) -> float:
        """Return the Akaike information criterion of the model on X: the lower, the better."""
        if not is_elsewhere(X):
            return super().aic(X)
        return float(
            -2 * totals_of(self._lean(), chunks_of(X, self.open_options))[0] + 2 * self._n_parameters()
        )

    # --- the algorithm, whose loop is that of one machine ------------------------------------------------------------

    def _run(
        self, data: Any, start: MixtureParameters, random: np.random.RandomState, report: Report
    ) -> EMResult:
        if not isinstance(data, WorkerRows):  # a coreset
            return super()._run(data, start, random, report)
        assert isinstance(report, _Monitor)
        options, begun = self._em_options(data, start), self._begun(data)
        if begun is not None:
            options = replace(options, n_shared=int(begun["n_shared"]), n_searches=1)
        report.n_shared = options.n_shared
        report.posteriors = WorkerPosteriors(
            data, (self.n_components, *self._truncation()), random=random,
            random_candidate=self.random_candidate, rows_per_tile=self.search_group_size,
            search_every=self.search_every, is_kept=self.checkpoint is not None, begun=begun,
        )  # fmt: skip
        return em(report.posteriors, start, options, report)

    def _store_run(self, run: EMResult, monitor: Report) -> None:
        fitted = self._run_fitted(self._in_own_shapes(run)) | {"runs_": monitor.runs()}
        self._store_fitted(self._known_columns() | fitted)

    def _in_own_shapes(self, run: EMResult) -> EMResult:
        """Return a run, ended or not, with parameters of this covariance type and without dropped components."""
        own = own_variances(run.parameters, self.covariance_type, self._n_factors)
        return replace(run, parameters=own).without_dropped()

    def _begun(self, data: WorkerRows) -> dict[str, Array] | None:
        """Return the step that another fit had begun, as its checkpoint in `init` tells; None where it is none."""
        begun = getattr(self.init, "_unfinished", None)
        is_asked = self.means_init is None and self.weights_init is None and not self.warm_start
        if not (is_asked and isinstance(begun, dict) and begun.keys() >= _STEP):
            return None
        is_same = (
            self.init.covariance_type == self.covariance_type
            and self.init.n_factors == self.n_factors
            and begun["means"].dtype == data.dtype
        )
        told = self._told(data).items()
        return begun if is_same and all(np.array_equal(begun[name], value) for name, value in told) else None

    def _told(self, data: WorkerRows) -> dict[str, Array]:
        """Return numbers that rows, weights and this model have, and hardly any others."""
        of_rows = [data.total_weight, data.total_square, data.mean_variance, data.largest_square, *data.shift]
        search = [self.random_candidate, self.search_group_size, self.search_every]
        options = np.array([self.n_components, *self._truncation(), *map(int, search)])
        return {"told": np.array(of_rows), "firsts": data.firsts, "options": options}

    def _drawn_centers(
        self, X: Any, data: Any, random: np.random.RandomState, deadline: Deadline = UNLIMITED
    ) -> Array:
        if isinstance(self.init, str) and self.init == "afk-mc2":  # with chains of this model's length
            return LocalTruncatedGaussianMixture._drawn_centers(self, X, data, random, deadline)
        return super()._drawn_centers(X, data, random, deadline)

    def _run_on_coreset(
        self,
        X: Any,
        data: WorkerRows,
        given: MixtureParameters | None,
        random: np.random.RandomState,
        monitor: Report,
    ) -> EMResult:
        lying = rows_on_workers(X, data.crew.client, **dict(self.open_options or {}))
        with lying.backend(data.weights, self.n_threads) as backend:
            rows, weights, _ = draw_coreset(backend, int(self.coreset_size or 0), random)
        sample = Dataset(as_rows(rows), weights, n_clusters=self.n_components, n_threads=data.n_threads)
        return self._best_run(rows, sample, given, random, monitor)

    def _label(self, data: WorkerRows, X: Any) -> None:
        """Label the rows of the fit where they are."""
        if not data.gathers:
            self.labels_ = self._asked("predict", X)
            return
        payload = {"parameters": self._parameters(), "exact": self._is_exact()}
        labels, distances, _ = gathered(data.crew.run("label", label_by_mixture, payload).results)
        self.labels_ = labels
        self._note_distances(OwnDistances(labels, distances, self._search.rounding, data.weights))

    def write(self, run: EMResult, posteriors: WorkerPosteriors, n_shared: int) -> None:
        """Write the checkpoint of a run as it is."""
        parameters = run.parameters
        model = self._as_local(callback=None)
        fitted = self._run_fitted(self._in_own_shapes(run))
        model.__dict__.update(self._known_columns() | fitted)
        model._unfinished = posteriors.now() | self._told(posteriors.data) | {
            "means": parameters.means, "variances": np.asarray(parameters.variances), "weights": parameters.weights,
            "n_shared": np.array(max(0, n_shared - len(run.history))),
        }  # fmt: skip
        if parameters.factors is not None:
            model._unfinished["factors"] = parameters.factors
        model.save(self.checkpoint)

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.coreset_size is not None and self.checkpoint is not None:
            raise ValueError("checkpoint is for fits of all rows: that of a coreset takes a moment.")
        if isinstance(self.init, str) and self.init == "k-means||" and self.coreset_size is not None:
            raise ValueError("init='k-means||' is for fits of all rows: give another init with coreset_size.")


class _Monitor(Report):
    """Writes the model after each iteration, where that was asked for; notes the best one where `max_time` is given."""

    posteriors: WorkerPosteriors | None = None
    n_shared = 0
    last: EMResult | None = None

    def __call__(self, objective: float, centers: Any, **fields: Any) -> bool:
        stop = super().__call__(objective, centers, **fields)
        model, posteriors = self._estimator, self.posteriors
        if posteriors is not None:
            run = EMResult(posteriors.parameters, posteriors.neighbors, objective, self.history(), "max_iter")
            if model.checkpoint is not None:
                model.write(run, posteriors, self.n_shared)
            if model.max_time is not None and (self.last is None or objective >= self.last.objective):
                self.last = run
        return stop
