"""Mini-batch k-means (Sculley 2010): centroids as running means of small random batches, and of streams."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, FloatArray, IntArray
from coterie.blocks.batches import Batch, RowReader, draw_batch
from coterie.blocks.dataset import total_weight, useful_n_threads, weighted_sum
from coterie.blocks.kernel_rows import dense, kept_rows
from coterie.blocks.shuffled import run_length, shuffled
from coterie.centers.labels import labels_and_squares
from coterie.centers.means import Means
from coterie.centers.sparse_means import SparseMeans
from coterie.estimators.base import Description, Objective, Progress, overflow_message
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
from coterie.fitting.report import Report, Stop, with_callbacks
from coterie.fitting.threads import single_threaded_blas
from coterie.kmeans.base import CentroidEstimator
from coterie.passes import MeasuredRows, measure_rows
from coterie.rows import Rows, as_rows

__all__ = ["MiniBatchKMeans", "MiniBatchResult", "MiniBatchState", "mini_batch"]

# Part of the time left that the initialization may take.
_SEEDING_SHARE = 0.5

_HISTORY_FIELDS = (("center_shift", np.float64),)

# Rows between two searches for clusters of few rows, per cluster, as in scikit-learn.
_ROWS_BETWEEN_REASSIGNMENTS = 10

# Inertia and weight of a batch, of which a thousand can be summed up.
_MOST_IN_A_BATCH = float(np.finfo(np.float64).max) / 1024


BatchSize = Annotated[int, Param("Number of rows of a batch.", least=1)]
MaxNoImprovement = Annotated[
    int | None, Param("Stop after this many batches without a lower smoothed inertia; none: never.", least=0)
]
InitSize = Annotated[
    int | None,
    Param("Number of rows for the initialization; by default three batches, at least 3 k.", least=1),
]
ReassignmentRatio = Annotated[
    float,
    Param("Centers with fewer rows than this fraction of the largest cluster are moved at times.", least=0),
]


@dataclass
class MiniBatchState:
    """State of mini-batch k-means between batches.

    Attributes
    ----------
    means : Means
        The centers, with the sums and masses of the rows that they are means of.
    shift : ndarray of shape (d,), float64
        What rows and centers are relative to.
    mean_variance : float
        Mean variance of the columns, of the rows that the centers were drawn from.
    random : RandomState
        Of batches and reassignments.
    n_since_reassignment : int
        Rows since the last search for clusters with few rows.
    n_steps : int
        Batches.
    """

    means: Means
    shift: FloatArray
    mean_variance: float
    random: np.random.RandomState
    n_since_reassignment: int = 0
    n_steps: int = 0

    def copy(self) -> MiniBatchState:
        """Return a state that moves independently of this one, but for the random numbers."""
        return replace(self, means=self.means.copy())


@dataclass(frozen=True, slots=True)
class MiniBatchResult:
    """Result of a run of mini-batch k-means.

    Attributes
    ----------
    centers : ndarray of shape (k, d)
        The centers.
    history : record array
        What was reported of each batch.
    reason : str
        What ended it: "converged", "max_iter", "max_time" or "callback".
    """

    centers: Array
    history: Array
    reason: str


def mini_batch(
    rows: Rows,
    weights: Array | None,
    state: MiniBatchState,
    *,
    batch_size: int,
    reassignment_ratio: float,
    patience: int | None,
    stop: Stop,
    report: Report,
) -> MiniBatchResult:
    """Move centers to the running means of random batches.

    Parameters
    ----------
    rows : Rows of shape (n, d)
        The data.
    weights : ndarray of shape (n,) or None
        Weights of the rows.
    state : MiniBatchState
        The initial centers; changed.
    batch_size : int
        Rows of a batch, at most n.
    reassignment_ratio : float
        See `MiniBatchKMeans`.
    patience : int or None
        Batches without a lower smoothed inertia that end the run.
    stop : Stop
        Batches at most, and the squared movement of the centers in a batch that ends the run.
    report : Report
        Told of each batch: `objective` is its inertia scaled up to all rows, with the centers that gave its labels.

    Returns
    -------
    MiniBatchResult

    References
    ----------
    Sculley, Web-scale k-means clustering, WWW 2010, Algorithm 1.
    """
    n_rows, n_clusters = rows.shape[0], len(state.means.masses)
    mass = total_weight(n_rows, weights)
    run, reader, reason = run_length(rows, batch_size), RowReader(rows), "max_iter"
    smoothed = SmoothedInertia(min(1.0, 2 * batch_size / (n_rows + 1)), patience)
    for _ in range(stop.max_iter):
        numbers = draw_batch(n_rows, batch_size, run, state.random)
        batch = Batch(rows, weights, numbers, reader, n_clusters)
        inertia, center_shift = take_batch(state, batch, reassignment_ratio)
        objective = inertia / batch.mass if batch.mass > 0 else 0.0
        is_over = report(objective * mass, lambda: state.means.centers, center_shift=center_shift)
        if is_over or center_shift <= stop.tolerance or smoothed.has_stalled(objective):
            reason = report.reason or "converged"
            break
    return MiniBatchResult(state.means.centers, report.history(), reason)


def take_batch(state: MiniBatchState, batch: Batch, reassignment_ratio: float) -> tuple[float, float]:
    """Assign the rows of a batch and move the centers to the means of all rows so far.

    Returns
    -------
    inertia : float
        Of the batch, with the centers before the move.
    center_shift : float
        Sum of the squared movements of the centers.
    """
    means = state.means
    labels, inertia = assign_batch(state, batch)
    # Checked before the update, so that an invalid batch changes nothing.
    most = inertia + batch.mass
    if not most <= _MOST_IN_A_BATCH:
        raise ValueError(overflow_message("MiniBatchKMeans", "inertia", most))
    for part, x in batch.blocks():
        means.add(x, labels[part], None, None if batch.weights is None else batch.weights[part])
    shifts, _ = means.move(np.zeros(len(means.masses)))
    state.n_since_reassignment += batch.n_rows
    state.n_steps += 1
    _reassign_starved(state, batch, reassignment_ratio)
    return inertia, float((shifts**2).sum())


def assign_batch(state: MiniBatchState, batch: Batch) -> tuple[IntArray, float]:
    """Return the labels of the rows of a batch, and their inertia."""
    means, labels = state.means, np.empty(batch.n_rows, dtype=np.int32)
    squares = batch.squares(state.shift, means.n_threads)  # an error where they overflow
    if isinstance(means, SparseMeans):
        scores = np.empty(batch.n_rows, dtype=means.dtype)
        for part, x in batch.blocks():
            means.frame.nearest(x, labels[part], scores[part])
        squares = np.maximum(squares + scores, 0)
    else:
        squares = np.empty(batch.n_rows)
        for part, x in batch.blocks():
            means.frame.nearest(x, labels[part], squares[part])
    return labels, (0.5 if means.unit_length else 1.0) * weighted_sum(squares, batch.weights)


def _reassign_starved(state: MiniBatchState, batch: Batch, ratio: float) -> None:
    """Move centers of too few rows to rows of the batch; they count as many as the fewest of the others."""
    masses = state.means.masses
    waited = state.n_since_reassignment >= _ROWS_BETWEEN_REASSIGNMENTS * len(masses)
    if ratio == 0 or not (waited or (masses == 0).any()):
        return
    state.n_since_reassignment = 0
    starved = np.flatnonzero(masses < ratio * masses.max())
    if len(starved) == 0:
        return
    starved = np.sort(starved[np.argsort(masses[starved], kind="stable")][: batch.n_rows // 2])
    numbers = np.sort(state.random.choice(batch.numbers, len(starved), replace=False))
    least = float(np.delete(masses, starved).min())
    state.means.put(starved, dense(batch.rows.take(numbers)), least)


class SmoothedInertia:
    """An exponentially weighted mean of the inertia per row, and how long it has not fallen."""

    def __init__(self, weight: float, patience: int | None) -> None:
        self._weight = weight
        self._patience = patience
        self._n_batches = 0
        self._value = 0.0
        self._lowest = np.inf
        self._n_without_progress = 0

    def has_stalled(self, inertia: float) -> bool:
        """Add the inertia of the next batch; return whether to stop. The first batch is ignored."""
        self._n_batches += 1
        if self._n_batches == 1 or self._patience is None:
            return False
        first = self._n_batches == 2
        self._value = inertia if first else (1 - self._weight) * self._value + self._weight * inertia
        self._n_without_progress += 1
        if self._value < self._lowest:
            self._lowest = self._value
            self._n_without_progress = 0
        return self._n_without_progress >= self._patience


class MiniBatchKMeans(CentroidEstimator):
    """Mini-batch k-means: each center is the running mean of all rows that were assigned to it.

    The interface and the rules (early stopping, reassignment of small clusters, several initializations) are
    scikit-learn's. For a fit of complete data, `NestedMiniBatchKMeans` gives better clusters in less time; this
    estimator is for streams (`partial_fit`), for comparison, and for a rough result after a few batches.

    Parameters
    ----------
    n_clusters : int
        Number of clusters k.
    init : {"k-means++", "split-merge", "afk-mc2", "random"}, array-like of shape (k, d), fitted model, or callable
        Initialization of the centers, see `KMeans`; names draw from `init_size` random rows. A fitted model: its
        `cluster_centers_`. A callable gets `(these rows, n_clusters, random_state=...)`.
    max_iter : int
        Maximum number of epochs: of batches as large together as the data.
    batch_size : int
        Rows of a batch, drawn uniformly with replacement.
    verbose : bool or int
        Print each batch.
    compute_labels : bool
        Label all rows at the end, and each batch of `partial_fit` with the moved centers. If False, there is no
        `labels_`, and `inertia_` of a fit is the last estimate of `history_`.
    tol : float
        If positive, stop when the squared movement of the centers in one batch is at most `tol` times the mean variance
        of the columns (of the rows used for initialization, at length 1 if `metric` is "cosine").
    max_no_improvement : int or None
        Stop after this number of consecutive batches without a lower smoothed inertia; None: never.
    init_size : int or None
        Rows for the initialization; None: 3 * batch_size, or 3 * k if that is more.
    n_init : "auto" or int
        Number of initializations, of which the one with the lowest inertia on `init_size` other rows is used. "auto": 3
        for "random" and callables, 1 otherwise.
    reassignment_ratio : float
        A center with fewer rows than this fraction of those of the largest cluster is at times moved to a random row.
        0: never.
    metric, zero_rows
        See `KMeans`.
    max_time : float, optional
        Time limit in seconds, labels included; see `KMeans`.
    random_state, n_threads, callback
        See `KMeans`; an iteration is a batch.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d), float32 or float64
        The centroids.
    labels_ : ndarray of shape (n,), int32
        Index of the nearest center of each row (after `partial_fit`: of its batch).
    inertia_ : float
        (Weighted) sum of squared distances of these rows to their centers, or of 1 - cos.
    outlier_scores_, cluster_scales_
        Outlier scores and scales, see `KMeans`; not after `partial_fit`.
    counts_ : ndarray of shape (k,), float64
        (Weighted) number of rows that each center is the mean of.
    n_iter_, n_steps_ : int
        Number of epochs, the last one maybe incomplete, and of batches.
    history_ : record array
        One row per batch: `iteration`, `seconds` (since the fit began), `objective` (inertia of the batch, with the
        centers that gave its labels, scaled up to all rows), `center_shift` (sum of the squared movements of the
        centers).
    n_features_in_, feature_names_in_, preparation_
        See `KMeans`.

    Raises
    ------
    ValueError
        On NaN or infinity (with the row's number, when the row is met), an empty or one-dimensional X, k > n, negative
        weights, or an unknown option.

    Notes
    -----
    A batch of b rows costs O(b k d + k d), with sparse rows in proportion to their entries times k, for any d. Memory
    in addition to the data: O(k d), 4 bytes per row for the labels, and a few batches.

    Data of more than 1 GiB as floats are drawn in runs of neighboring rows of at most 64 KiB, with at least 256 runs
    per batch, so that files are read in large pieces.

    References
    ----------
    Sculley, Web-scale k-means clustering, WWW 2010. Newling and Fleuret, Nested mini-batch k-means, NeurIPS 2016,
    Algorithms 1 and 2, for the form of the running means.

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
    >>> float(model.counts_.sum())
    2000.0
    """

    # `max_iter` limits epochs, but each batch is reported.
    _description = Description(Objective("inertia_", "inertia"), Progress(step="step", limit=None))

    _means: Means
    _centers: Array | None
    _n_since_reassignment: int
    _votes: tuple[FloatArray, FloatArray]
    _mean_variance: float
    _random: np.random.RandomState
    n_steps_: int

    def __init__(
        self,
        n_clusters: Clusters = 8,
        *,
        init: Init = "k-means++",
        max_iter: Iterations = 100,
        batch_size: BatchSize = 1024,
        verbose: Verbose = 0,
        compute_labels: ComputeLabels = True,
        random_state: RandomState = None,
        tol: Tolerance = 0.0,
        max_no_improvement: MaxNoImprovement = 10,
        init_size: InitSize = None,
        n_init: Runs = "auto",
        reassignment_ratio: ReassignmentRatio = 0.01,
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
    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> MiniBatchKMeans:
        """Find the clusters of X.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
            The data; see `coterie.open_rows` for files. Never changed.
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
        report = Report(self, _HISTORY_FIELDS)
        fit_rows, columns = self._rows_to_fit(X)
        rows = kept_rows(fit_rows)
        given = self._given_centers(rows, self.n_init)
        self._check_n_rows(rows)
        weights, random = self._weights_of(fit_rows, sample_weight), random_stream(self.random_state)
        n_rows = rows.shape[0]
        batch_size = min(self.batch_size, n_rows)
        n_steps = self.max_iter * n_rows // batch_size
        report.n_steps = n_steps if self.max_no_improvement is None and self.tol == 0 else None
        report.n_final_steps = n_steps / self.max_iter if self.compute_labels else 0.0
        n_threads = useful_n_threads(self.batch_size * rows.shape[1] * self.n_clusters, self._n_threads)
        with report.scikit_learn_callbacks(X), single_threaded_blas(math.prod(rows.shape) * self.n_clusters):
            state = self._begin(
                rows, weights, given, random, n_threads, report.deadline.share(_SEEDING_SHARE)
            )
            tolerance = self.tol * state.mean_variance if self.tol > 0 else -math.inf
            result = mini_batch(
                rows, weights, state,
                batch_size=batch_size, reassignment_ratio=self.reassignment_ratio,
                patience=self.max_no_improvement, stop=Stop(n_steps, tolerance), report=report.start_run(),
            )  # fmt: skip
            found = {"inertia_": float(result.history["objective"][-1])}
            if self.compute_labels:
                labels, squares = labels_and_squares(rows, result.centers, state.shift, self._n_threads)
                self._warn_of_empty_clusters(labels)
                found = self._labels_fitted(fit_rows, result.centers, labels, squares, weights)
        self._store_fitted(
            columns
            | self._state_fitted(state, result.centers)
            | found
            | {"history_": result.history, "n_iter_": -(-state.n_steps * batch_size // n_rows)}
        )
        report.warn_if_out_of_time()
        return self

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> MiniBatchKMeans:
        """Take one batch of a stream: assign its rows, move the centroids to the means of all rows so far.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
            The batch; the first one needs at least k rows, from which the centroids are drawn.
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
        self._check_continuation()
        is_first = not hasattr(self, "_centers")
        if is_first:
            fit_rows, columns = self._rows_to_fit(X)
        else:
            fit_rows = self._with_direction(self._rows_of(X))
            kept = {name: value for name, value in vars(self).items() if name in ("history_", "n_iter_")}
            columns = self._known_columns() | kept
        weights = self._weights_of(fit_rows, sample_weight)
        with single_threaded_blas(math.prod(fit_rows.shape) * self.n_clusters):
            if is_first:
                rows, random = fit_rows, random_stream(self.random_state)
                given = self._given_centers(rows, self.n_init)
                self._check_n_rows(rows)
                state = self._begin(rows, weights, given, random, self._n_threads)
            else:
                state = self._state_for(fit_rows)
                rows = fit_rows.with_dtype(state.means.dtype)
            batch = Batch(rows, weights, np.arange(rows.shape[0]), RowReader(rows), self.n_clusters)
            take_batch(state, batch, self.reassignment_ratio)
            fitted = columns | self._state_fitted(state, None)
            if self.compute_labels:
                labels, fitted["inertia_"] = assign_batch(state, batch)
                fitted["labels_"] = self._scattered(fit_rows, labels)
        self._store_fitted(fitted)
        return self

    @property
    def cluster_centers_(self) -> Array:
        """The centroids; after `partial_fit` they are computed on first access."""
        if not hasattr(self, "_centers"):
            raise AttributeError("This MiniBatchKMeans is not fitted yet: it has no cluster_centers_.")
        if self._centers is None:
            self._centers = self._means.centers
        return self._centers

    @cluster_centers_.setter
    def cluster_centers_(self, centers: Array) -> None:
        self._centers = centers

    def __getstate__(self) -> Any:
        if hasattr(self, "_centers"):
            self.cluster_centers_ = self.cluster_centers_
        return super().__getstate__()

    def _fitted_attributes(self) -> dict[str, str]:
        of_all = super()._fitted_attributes()
        n_features, centers = of_all.pop("n_features_in_"), of_all.pop("cluster_centers_")
        return {
            "n_features_in_": n_features, "_centers": centers, **of_all, "counts_": "float k", "_votes": "floats k",
            "_random": "random?", "_mean_variance": "float", "_n_since_reassignment": "int", "n_steps_": "int",
        }  # fmt: skip

    def _begin(
        self,
        rows: Rows,
        weights: Array | None,
        given: Array | None,
        random: np.random.RandomState,
        n_threads: int,
        deadline: Deadline = UNLIMITED,
    ) -> MiniBatchState:
        """Return the initial state: at given centers, or at the best of some drawn from a sample."""
        shift, mean_variance = np.zeros(rows.shape[1]), 0.0
        centers = given
        if given is None or self.tol > 0 or not rows.is_sparse:
            # Given centers must not change the stream of random numbers, because sparse rows need no sample.
            sample = self._sample(rows, weights, random if given is None else np.random.RandomState(0))
            shift, mean_variance = sample.shift, sample.mean_variance
        if centers is None:
            drawn = []
            for _ in range(self._n_draws()):
                drawn.append(self._drawn_centers(sample.rows.read(), sample, random, deadline))
                if deadline.is_over:
                    break
            centers = drawn[0]
            if len(drawn) > 1:
                test = self._sample(rows, weights, random)
                centers = min(drawn, key=lambda tried: _inertia(tried, test))
        self._check_distances(centers, shift)
        means = self._new_means(rows, centers, shift, n_threads)
        return MiniBatchState(means, shift, mean_variance, random)

    def _state_for(self, rows: Rows) -> MiniBatchState:
        """Return a copy of the state that the last batch has left, for more rows."""
        means, shift = getattr(self, "_means", None), self._shift
        if means is None or isinstance(means, SparseMeans) != rows.is_sparse:
            sums, masses = (part.copy() for part in self._votes)
            if rows.is_sparse:  # there are no shifts between sparse rows
                sums, shift = sums + masses[:, None] * shift, np.zeros_like(shift)
            means = self._new_means(rows, self.cluster_centers_, shift, self._n_threads)
            means.restore(sums, masses)
        else:
            means = means.copy()
        return MiniBatchState(
            means, shift, self._mean_variance, self._random, self._n_since_reassignment, self.n_steps_
        )

    def _state_fitted(self, state: MiniBatchState, centers: Array | None) -> dict[str, Any]:
        """Return the fitted attributes of a state; centers that are None are computed on first access."""
        means = state.means
        return {
            "_centers": centers, "_shift": state.shift, "_n_features_out": len(means.masses), "_means": means,
            "_votes": (means.sums, means.masses), "counts_": means.masses, "_random": state.random,
            "_mean_variance": state.mean_variance, "_n_since_reassignment": state.n_since_reassignment,
            "n_steps_": state.n_steps,
        }  # fmt: skip

    def _sample(self, rows: Rows, weights: Array | None, random: np.random.RandomState) -> MeasuredRows:
        size = self.init_size or 3 * self.batch_size
        if size < self.n_clusters:
            if self.init_size is not None:
                expected = f"n_clusters={self.n_clusters}. Setting it to 3 * n_clusters."
                warn(f"init_size={size} should be larger than {expected}", RuntimeWarning)
            size = 3 * self.n_clusters
        order = shuffled(rows.shape[0], run_length(rows, size), random)
        if weights is not None:
            order = order[weights[order] > 0]
        numbers = np.sort(order[:size])
        return measure_rows(
            as_rows(rows.take(numbers)),
            None if weights is None else weights[numbers],
            n_clusters=self.n_clusters,
            n_threads=self._n_threads,
        )

    def _n_draws(self) -> int:
        if self.n_init != "auto":
            return int(self.n_init)
        return 3 if callable(self.init) or self.init == "random" else 1


def _inertia(centers: Array, data: MeasuredRows) -> float:
    _, squares = labels_and_squares(data.rows, centers, data.shift, data.n_threads)
    return weighted_sum(squares, data.weights)
