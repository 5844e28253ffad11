"""Mini-batch k-means, annealed: centers are running means of random batches, with a memory that grows."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, FloatArray
from coterie.blocks.dataset import weighted_sum
from coterie.centers.annealed import (
    HISTORY_FIELDS,
    NEVER,
    BatchPlan,
    Memory,
    RowsSeen,
    anneal,
    running_means,
)
from coterie.centers.labels import label_all
from coterie.coresets import draw_coreset
from coterie.estimators.parameters import (
    Callback,
    Clusters,
    ComputeLabels,
    Init,
    Iterations,
    MaxTime,
    Metric,
    Param,
    RandomState,
    Runs,
    Threads,
    Tolerance,
    Verbose,
    ZeroRows,
)
from coterie.fitting.checks import random_stream, warn
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.fitting.report import FitReport, Stop, with_callbacks
from coterie.fitting.threads import single_threaded_blas
from coterie.kmeans.base import CentroidEstimator
from coterie.passes import MeasuredRows, Passes, measure, open_passes
from coterie.rows import as_rows

__all__ = ["MiniBatchKMeans"]

# Part of the time left that the initialization may take.
_SEEDING_SHARE = 0.5

# Rows that the initialization takes for each center, and numbers at least.
_ROWS_TO_SEED, _NUMBERS_TO_SEED = 64, 1 << 22

BatchSize = Annotated[
    Literal["auto"] | int,
    Param("Number of rows of a batch; auto: 2 for each cluster, at least 256.", least=1),
]
InitSize = Annotated[
    int | None, Param("Number of rows for the initialization; none: 64 k, or 2^22 numbers.", least=1)
]
_IGNORED = Param("Ignored, for compatibility with scikit-learn.", least=0)
MaxNoImprovement = Annotated[int | None, _IGNORED]
ReassignmentRatio = Annotated[float | None, _IGNORED]


class MiniBatchKMeans(CentroidEstimator):
    """Annealed mini-batch k-means: each center is the mean of about the last rows that it has received.

    How many rows a center remembers grows with the rows seen: at first centers move a lot, which leads them out of poor
    local minima, and then they settle. Typically the inertia is at or below that of `KMeans` after two to five passes
    over the data where clusters have fewer than a few hundred rows, and a few tenths of a percent above it after one;
    few large clusters gain nothing.

    Parameters
    ----------
    n_clusters : int
        Number of clusters k.
    init : {"split-merge", "k-means++", "afk-mc2", "random"}, array-like of shape (k, d), fitted model, or callable
        Initialization of the centers, see `KMeans`, on all rows, or on a lightweight coreset of `init_size` rows of
        more. A fitted model: its `cluster_centers_`. A callable gets `(these rows, n_clusters, random_state=...)`.
    max_iter : int
        Number of epochs: passes over the data.
    batch_size : "auto" or int
        Number of rows of a batch. "auto": 2 k, at least 256; up to 8 k of rows on Dask workers, and of data of more
        than 1 GiB with wide rows. Larger batches are faster, and anneal less.
    verbose : bool or int
        Print each epoch.
    compute_labels : bool
        Label all rows at the end, and each batch of `partial_fit` with the moved centers. If False, there is no
        `labels_`, and `inertia_` of a fit is the last estimate of `history_`.
    tol : float
        If positive, stop after an epoch in which the squared movement of the centers is at most `tol` times the mean
        variance of the columns (of the rows used for initialization, at length 1 if `metric` is "cosine").
    init_size : int or None
        Number of rows for the initialization; None: 64 k, or as many as have 2^22 numbers.
    max_no_improvement, n_init, reassignment_ratio
        Ignored: parameters of scikit-learn's estimator that have no meaning here. Values other than the default, None
        or 0 give a warning.
    metric, zero_rows
        See `KMeans`.
    max_time : float, optional
        Time limit in seconds, labels included; see `KMeans`.
    random_state, n_threads, callback
        See `KMeans`; an iteration is an epoch, or a part of it where an epoch takes long.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d), float32 or float64
        The centroids: of the rows that each has received in the last epoch.
    labels_ : ndarray of shape (n,), int32
        Index of the nearest center of each row (after `partial_fit`: of its batch).
    inertia_ : float
        (Weighted) sum of squared distances of these rows to their centers, or of 1 - cos.
    outlier_scores_, cluster_scales_
        Outlier scores and scales, see `KMeans`; not after `partial_fit`.
    counts_ : ndarray of shape (k,), float64
        (Weighted) number of rows that each running mean remembers.
    n_iter_, n_steps_ : int
        Number of epochs, the last one maybe incomplete, and of batches.
    history_ : record array
        One row per epoch, or several where an epoch takes more than 2^32 multiply-adds: `iteration`, `seconds` (since
        the fit began), `objective` (inertia with the centers before each batch, scaled up to all rows), `center_shift`
        (sum of the squared movements of the centers since the epoch began).
    n_features_in_, feature_names_in_, preparation_
        See `KMeans`.

    Raises
    ------
    ValueError
        On NaN or infinity (with the row's number, when the row is met), an empty or one-dimensional X, k > n or more
        than the rows of positive weight, negative weights, or an unknown option.

    Notes
    -----
    A batch whose rows nearest to center c_j have the mass m and the mean x moves it by ``N_j = min(N_j, M)``,
    ``c_j += m / (N_j + m) (x - c_j)``, ``N_j += m``. The memory M is a tenth of the mass that a mean cluster has
    received so far, at least 6 rows of mean weight (768 / k if that is more) and the largest weight. A row of weight 2
    is not the same as two rows, which may be in different batches; one of weight 0 is the same as none.

    An epoch takes O(n k d) time, as one pass of Lloyd's algorithm does without bounds; O(k d) for each batch is small
    beside it. Exact k-means with bounds skips most distances and may be as fast; see `docs/benchmarks`. Memory in
    addition to the data: O(k d), 4 bytes per row for the labels, 8 for the order, and a few batches.

    Batches depend on the seed and the shape of the data alone. Data of more than 1 GiB as floats are read in runs of
    neighboring rows of at most 64 KiB, with at least 16 runs per batch.

    In a stream, the rows of the first call must contain the clusters; k-means from these centers,
    ``KMeans(k, init=model)``, lowers the inertia by about another 0.1%.

    References
    ----------
    Sculley, Web-scale k-means clustering, WWW 2010, for running means of batches, which here forget. Bachem, Lucic and
    Krause, Scalable k-means clustering via lightweight coresets, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import MiniBatchKMeans
    >>> stream = np.random.default_rng(0)
    >>> model = MiniBatchKMeans(n_clusters=2, random_state=0)
    >>> for _ in range(20):
    ...     batch = stream.normal(size=(100, 2)) + 10 * stream.integers(2, size=(100, 1))
    ...     model = model.partial_fit(batch)
    >>> model.predict([[0.0, 0.0]]) != model.predict([[10.0, 10.0]])
    array([ True])
    """

    # `max_iter` limits epochs, of which each may be reported several times.
    counts_: FloatArray
    n_steps_: int
    _seen: FloatArray

    def __init__(
        self,
        n_clusters: Clusters = 8,
        *,
        init: Init = "split-merge",
        max_iter: Iterations = 5,
        batch_size: BatchSize = "auto",
        verbose: Verbose = 0,
        compute_labels: ComputeLabels = True,
        random_state: RandomState = None,
        tol: Tolerance = 0.0,
        max_no_improvement: MaxNoImprovement = None,
        init_size: InitSize = None,
        n_init: Runs = "auto",
        reassignment_ratio: ReassignmentRatio = None,
        metric: Metric = "euclidean",
        zero_rows: ZeroRows = "error",
        max_time: MaxTime = None,
        n_threads: Threads = None,
        callback: Callback = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.verbose = verbose
        self.compute_labels = compute_labels
        self.random_state = random_state
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.init_size = init_size
        self.n_init = n_init
        self.reassignment_ratio = reassignment_ratio
        self.metric = metric
        self.zero_rows = zero_rows
        self.max_time = max_time
        self.n_threads = n_threads
        self.callback = callback

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        self.check_parameters()
        self._warn_of_ignored_parameters()
        report = FitReport(self, HISTORY_FIELDS)
        rows, columns = self._rows_to_fit(X)
        given = self._given_centers(rows)
        self._check_n_rows(rows)
        weights, random = self._weights_of(rows, sample_weight), random_stream(self.random_state)
        batch_size = None if self.batch_size == "auto" else int(self.batch_size)
        with (
            single_threaded_blas(math.prod(rows.shape) * self.n_clusters),
            open_passes(rows, weights, self.n_threads) as passes,
        ):
            plan = BatchPlan.of(passes, self.n_clusters, batch_size)
            n_reports = -(-plan.n_batches // plan.per_report(self.n_clusters * rows.shape[1]))
            report.n_steps = self.max_iter * n_reports if self.tol == 0 else None
            report.n_final_steps = float(n_reports) if self.compute_labels else 0.0
            with report.scikit_learn_callbacks(X):
                sample = self._sample(
                    passes,
                    self._n_rows_to_seed(rows.shape[1]),
                    random if given is None else np.random.RandomState(0),
                )
                if given is None:
                    given = self._drawn_from(sample, random, report.deadline.share(_SEEDING_SHARE))
                seen = RowsSeen().and_more(weights, rows.shape[0])
                memory = Memory.of(self.n_clusters, seen)
                counts = np.full(self.n_clusters, memory.after(0.0))
                means = running_means(
                    passes, given, counts, sample.shift, plan.batch_size, unit_length=self._is_cosine
                )
                result = anneal(
                    passes, means, memory, plan, random,
                    stop=Stop(self.max_iter, self.tol * sample.mean_variance if self.tol > 0 else NEVER),
                    report=report.start_run(), scale=self._inertia_of(1.0),
                )  # fmt: skip
                found = {"inertia_": float(result.history["objective"][-1])}
                if self.compute_labels:
                    labels, squares = label_all(passes, result.centers, sample.shift)
                    self._warn_of_empty_clusters(labels)
                    found = self._labels_fitted(rows, result.centers, labels, squares, weights)
        seen_in_all = [seen.n_rows * result.seen / seen.mass, result.seen, seen.heaviest]
        self._store_fitted(
            columns
            | self._centers_fitted(result.centers, sample.shift)
            | found
            | {"counts_": counts, "_seen": np.array(seen_in_all), "history_": result.history}
            | {"n_iter_": result.n_epochs, "n_steps_": result.n_batches}
        )
        report.warn_if_out_of_time()
        return self

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> MiniBatchKMeans:
        """Take one batch of a stream: assign its rows to the nearest centroids, and move these.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
            The batch; the first one needs at least k rows, from which the centroids are initialized. Later ones are
            converted to its precision.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Non-negative weight of each row.

        Returns
        -------
        MiniBatchKMeans
            This estimator.
        """
        self.check_parameters()
        self._warn_of_ignored_parameters()
        self._check_continuation()
        is_first = not hasattr(self, "cluster_centers_")
        if is_first:
            rows, columns = self._rows_to_fit(X)
            given = self._given_centers(rows)
            self._check_n_rows(rows)
        else:
            rows = self._with_direction(self._rows_of(X).with_dtype(self.cluster_centers_.dtype))
            kept = {name: value for name, value in vars(self).items() if name in ("history_", "n_iter_")}
            columns = self._known_columns() | kept
        weights = self._weights_of(rows, sample_weight)
        with (
            single_threaded_blas(math.prod(rows.shape) * self.n_clusters),
            open_passes(rows, weights, self.n_threads) as passes,
        ):
            if is_first:
                random, before = random_stream(self.random_state), RowsSeen()
                sample = self._sample(passes, rows.shape[0], random)
                centers = self._drawn_from(sample, random) if given is None else given
                shift = sample.shift
            else:
                centers, shift, before = self.cluster_centers_, self._shift, RowsSeen(*self._seen.tolist())
            seen = before.and_more(weights, rows.shape[0])
            memory = Memory.of(self.n_clusters, seen)
            counts = np.full(self.n_clusters, memory.after(0.0)) if is_first else self.counts_.copy()
            means = running_means(passes, centers, counts, shift, rows.shape[0], unit_length=self._is_cosine)
            anneal(
                passes, means, memory, BatchPlan(int(seen.n_rows - before.n_rows), rows.shape[0]),
                np.random.RandomState(0), seen=before.mass, stop=Stop(1, 0.0), report=FitReport(fields=HISTORY_FIELDS),
            )  # fmt: skip
            fitted = columns | self._centers_fitted(np.array(means.centers), shift)
            if self.compute_labels:
                labels, squares = label_all(passes, means.centers, shift)
                fitted["labels_"] = self._scattered(rows, labels)
                fitted["inertia_"] = self._inertia_of(weighted_sum(squares, weights))
        n_steps = 1 if is_first else self.n_steps_ + 1
        self._store_fitted(fitted | {"counts_": counts, "_seen": np.array(seen), "n_steps_": n_steps})
        return self

    def _fitted_attributes(self) -> dict[str, str]:
        return {**super()._fitted_attributes(), "counts_": "float k", "_seen": "float 3", "n_steps_": "int"}

    def _warn_of_ignored_parameters(self) -> None:
        without_effect = {
            "max_no_improvement": (None,),
            "n_init": ("auto", 1),
            "reassignment_ratio": (None, 0),
        }
        for name, accepted in without_effect.items():
            if getattr(self, name) not in accepted:
                warn(f"{name}={getattr(self, name)!r} has no effect: centers are annealed, in one run.")

    def _n_rows_to_seed(self, n_columns: int) -> int:
        size = self.init_size or max(_ROWS_TO_SEED * self.n_clusters, _NUMBERS_TO_SEED // n_columns)
        if size >= self.n_clusters:
            return size
        expected = f"n_clusters={self.n_clusters}. Setting it to 3 * n_clusters."
        warn(f"init_size={size} should be larger than {expected}", RuntimeWarning)
        return 3 * self.n_clusters

    def _sample(self, passes: Passes, size: int, random: np.random.RandomState) -> MeasuredRows:
        """Return the rows of positive weight, measured, or a coreset where they are more than `size`."""
        weights = passes.weights
        n_rows = passes.n_rows if weights is None else int(np.count_nonzero(weights))
        if n_rows > size:
            some, some_weights, _ = draw_coreset(passes, size, random)
            passes = Passes(as_rows(some), some_weights, self.n_threads)
        elif weights is not None and n_rows < len(weights):
            numbers = np.flatnonzero(weights)
            passes = Passes(as_rows(passes.take(numbers)), weights[numbers], self.n_threads)
        return measure(passes, self.n_clusters)

    def _drawn_from(
        self, sample: MeasuredRows, random: np.random.RandomState, deadline: Deadline = UNLIMITED
    ) -> Array:
        return self._drawn_centers(
            sample.rows.read() if callable(self.init) else None, sample, random, deadline
        )
