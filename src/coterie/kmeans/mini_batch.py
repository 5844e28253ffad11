"""Mini-batch k-means (Sculley 2010): centroids as running means of small random batches, and of streams."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, FloatArray, IntArray
from coterie.blocks.batches import Batch, RowReader, draw_batch
from coterie.blocks.dataset import Dataset, total_weight, weighted_sum, worthwhile_threads
from coterie.blocks.kernel_rows import dense, kept_rows
from coterie.blocks.shuffled import run_length, shuffled
from coterie.centers.labels import labels_and_squares
from coterie.centers.means import Means
from coterie.centers.rounding import Doubts
from coterie.centers.sparse_means import SparseMeans
from coterie.estimators.base import overflow_message
from coterie.estimators.declared import Declared, One, RandomNumbers
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
    SizeBound,
    SizeGap,
    Threads,
    Tolerance,
    Verbose,
    ZeroRows,
)
from coterie.fitting.callbacks import with_callbacks
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.fitting.randomness import random_stream
from coterie.fitting.report import Report
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.fitting.warn import warn
from coterie.kmeans.base import CentroidEstimator
from coterie.kmeans.smoothed_inertia import BatchStep, SmoothedInertia
from coterie.rows import RowSource, as_rows

__all__ = ["MiniBatchKMeans"]

# Part of the time left that the initialization may take.
_SEEDING_SHARE = 0.5

_HISTORY_FIELDS = (("center_shift", np.float64),)

# Votes between two searches for starved centroids, per centroid, as in scikit-learn.
_VOTES_BETWEEN_REASSIGNMENTS = 10

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
    Param(
        "Centers with fewer rows than this fraction of the largest cluster are moved now and then.", least=0
    ),
]


class MiniBatchKMeans(CentroidEstimator):
    """K-means by small random batches: each centroid is the mean of all rows that were ever assigned to it.

    The interface and the rules (early stop, starved centroids, several starts) are scikit-learn's. For a fit of data
    that are at hand, `NestedMiniBatchKMeans` gives better clusters sooner; this estimator is for streams
    (`partial_fit`), for comparison, and for a rough result after a few batches.

    Parameters
    ----------
    n_clusters : int
        Number of clusters k.
    init : {"k-means++", "afk-mc2", "random"}, array-like of shape (k, d), fitted model, or callable
        Where to begin. What is drawn is drawn from `init_size` random rows. Of a fitted model its `cluster_centers_`
        are taken. A callable gets `(these rows, n_clusters, random_state=...)`.
    max_iter : int
        Epochs: as many batches as would go `max_iter` times over the data, at most.
    batch_size : int
        Rows of a batch, drawn uniformly with replacement.
    verbose : bool or int
        Print each batch.
    compute_labels : bool
        Whether to label all rows at the end, and each batch of `partial_fit` with the moved centroids; without, there
        is no `labels_`, and `inertia_` of a fit is the last estimate of `history_`.
    tol : float
        If positive, stop when the centroids' squared movement in one batch is at most `tol` times the mean variance of
        the columns (of the rows that the centroids were drawn from, at length 1 where `metric` is "cosine").
    max_no_improvement : int or None
        Stop after so many batches in a row without a lower smoothed inertia; None: never.
    init_size : int or None
        Rows for the initialisation; None: 3 * batch_size, or 3 * k if that is more.
    n_init : "auto" or int
        Number of initialisations, of which the one with the lowest inertia on `init_size` other rows is used. "auto": 3
        for "random" and callables, 1 otherwise.
    reassignment_ratio : float
        A centroid whose votes are fewer than this fraction of those of the largest is moved to a random row from time
        to time. 0: never.
    metric, zero_rows, size_min, size_max, size_gap
        See `KMeans`. Each batch has bounds of sizes in proportion; in `partial_fit` they are fractions.
    max_time : float, optional
        Seconds, from the call on, labels included; see `KMeans`.
    random_state, n_threads, callback
        See `KMeans`; an iteration is a batch.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d), float32 or float64
        The centroids.
    labels_ : ndarray of shape (n,), int32
        Which centroid is the nearest to each row (after `partial_fit`: of its batch).
    inertia_ : float
        (Weighted) sum of squared distances of these rows to their centroids, or of 1 - cos.
    outlier_scores_, cluster_scales_
        How far out rows are, see `KMeans`; not after `partial_fit`.
    counts_ : ndarray of shape (k,), float64
        (Weighted) votes that each centroid is the mean of.
    n_iter_, n_steps_ : int
        Epochs begun, and batches.
    history_ : record array
        One row per batch: `iteration`, `seconds` (since the fit began), `objective` (inertia of the batch, with the
        centroids that gave its labels, scaled up to all rows), `center_shift` (sum of the squared movements of the
        centroids), and with bounds of sizes `gap`.
    size_range_, n_features_in_, feature_names_in_, preparation_
        See `KMeans`.

    Raises
    ------
    ValueError
        On NaN or infinity (with the row's number, when the row is met), an empty or one-dimensional X, k > n, negative
        weights, or an unknown option.

    Notes
    -----
    A batch of b rows costs O(b k d + k d), with sparse rows in proportion to their entries times k, for any d. Memory
    beside the data: O(k d), 4 bytes per row for the labels, and a few batches.

    Data of more than 1 GiB as floats are drawn in runs of neighbouring rows of at most 64 KiB, 256 runs or more to a
    batch, so that files are read in pieces worth a read.

    References
    ----------
    Sculley, Web-scale k-means clustering, WWW 2010. The running means in the form of Newling and Fleuret, Nested
    mini-batch k-means, NeurIPS 2016, Algorithms 1 and 2.

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

    _means: Means
    _centers: Array | None
    _n_since_reassignment: int

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
        size_min: SizeBound = None,
        size_max: SizeBound = None,
        size_gap: SizeGap = 1e-3,
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
        self.size_min, self.size_max, self.size_gap = size_min, size_max, size_gap
        self.max_time = max_time
        self.n_threads = n_threads
        self.callback = callback

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> MiniBatchKMeans:
        """Find the clusters of X.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
            The data; see `coterie.open_rows` for files. Never changed.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Non-negative weight of each row's votes.

        Returns
        -------
        MiniBatchKMeans
            This estimator.
        """
        self.check_parameters()
        fit_rows = self._fit_rows_of(X, reset=True)
        is_fixed = self.max_no_improvement is None and self.tol == 0
        n_steps = self._most_steps(fit_rows.shape[0])
        report = Report(self, self._history_fields(_HISTORY_FIELDS), n_steps=n_steps if is_fixed else None)
        n_threads = effective_n_threads(self.n_threads)
        rows = kept_rows(fit_rows, n_threads)
        given = self._given_centers(rows, self.n_init)
        self._check_n_rows(rows)
        weights = self._weights_of(fit_rows, sample_weight)
        self._search = self._size_search(rows.shape[0], weights, n_threads, report.deadline)
        n_threads = worthwhile_threads(self.batch_size * rows.shape[1] * self.n_clusters, n_threads)
        random = random_stream(self.random_state)
        with report.scikit_learn_callbacks(X), single_threaded_blas(math.prod(rows.shape) * self.n_clusters):
            self._start(rows, weights, given, random, n_threads, report.deadline.share(_SEEDING_SHARE))
            report.start_run()
            report.n_final_steps = n_steps / self.max_iter if self.compute_labels else 0.0
            self._run(rows, weights, random, report)
            self._random = random
            self._store_centers(self._means.centers, self._shift)
            if self.compute_labels:
                self._label(rows, weights, self._search)
                self._warn_of_empty_clusters()
                self._mark_ignored(fit_rows)
            else:
                self._leave_unlabelled()
        report.warn_if_out_of_time()
        return self

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> MiniBatchKMeans:
        """Take one batch of a stream: assign its rows, move the centroids to the means of all votes so far.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
            The batch; the first one needs at least k rows, from which the centroids are drawn.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Non-negative weight of each row's vote.

        Returns
        -------
        MiniBatchKMeans
            This estimator.
        """
        first = not hasattr(self, "_centers")
        self.check_parameters()
        self._check_goes_on()
        rows = fit_rows = self._fit_rows_of(X, reset=first)
        weights = self._weights_of(fit_rows, sample_weight)
        n_threads = effective_n_threads(self.n_threads)
        self._search = self._size_search(rows.shape[0], weights, n_threads)
        with single_threaded_blas(math.prod(rows.shape) * self.n_clusters):
            if first:
                self._random = random_stream(self.random_state)
                given = self._given_centers(rows, self.n_init)
                self._check_n_rows(rows)
                self.n_steps_ = 0
                self._start(rows, weights, given, self._random, n_threads)
            else:
                rows = self._means_for(rows)
            batch = Batch(rows, weights, np.arange(rows.shape[0]), RowReader(rows), self.n_clusters)
            self._step(batch, self._random)
            self._centers = None
            self._forget_distances()
            if self.compute_labels:
                self.labels_, self.inertia_ = self._assigned(batch)
                self._note_sizes(self.labels_, weights)
                self._mark_ignored(fit_rows)
        self.n_steps_ += 1
        return self

    @property
    def cluster_centers_(self) -> Array:
        """The centroids; after `partial_fit` they are computed when they are first asked for."""
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

    def fitted_attributes(self) -> dict[str, Declared]:
        of_all = super().fitted_attributes()
        centers = {"_centers": of_all.pop("cluster_centers_")}
        n_features = {"n_features_in_": of_all.pop("n_features_in_")}
        return {
            **n_features, **centers, **of_all, **self._votes_of(2), "_random": RandomNumbers(),
            "_mean_variance": One(), "_n_since_reassignment": One("integer", 0), "n_steps_": One("integer", 0),
        }  # fmt: skip

    # --- the algorithm -------------------------------------------------------------------------------------------

    def _run(
        self,
        rows: RowSource,
        weights: Array | None,
        random: np.random.RandomState,
        report: Report,
    ) -> None:
        """Batch after batch, until the centroids have settled."""
        n_rows, mass = rows.shape[0], total_weight(rows.shape[0], weights)
        batch_size = min(self.batch_size, n_rows)
        run, reader = run_length(rows, batch_size), RowReader(rows)
        smoothed = SmoothedInertia(min(1.0, 2 * batch_size / (n_rows + 1)), self.max_no_improvement)
        for _ in range(self._most_steps(n_rows)):
            numbers = draw_batch(n_rows, batch_size, run, random)
            batch = Batch(rows, weights, numbers, reader, self.n_clusters)
            step = self._step(batch, random)
            objective = step.inertia / batch.mass if batch.mass > 0 else 0.0
            stop = report(
                objective * mass,
                lambda: self._means.centers,
                center_shift=step.center_shift,
                gap=0.0 if self._search is None else self._search.gap,
            )
            settled = self.tol > 0 and step.center_shift <= self.tol * self._mean_variance
            if stop or settled or smoothed.has_stalled(objective):
                break
        self.history_ = report.history()
        self.n_steps_ = len(self.history_)
        self.n_iter_ = -(-self.n_steps_ * batch_size // n_rows)

    def _most_steps(self, n_rows: int) -> int:
        """Return how many batches are as many rows as `max_iter` passes."""
        return self.max_iter * n_rows // min(self.batch_size, n_rows)

    def _step(self, batch: Batch, random: np.random.RandomState) -> BatchStep:
        """Assign the rows of a batch, let them vote, move the centroids."""
        means = self._means
        labels, inertia = self._assigned(batch)
        # Before any vote counts: a step that fails leaves all as it was.
        most = inertia + batch.mass
        if not most <= _MOST_IN_A_BATCH:
            raise ValueError(overflow_message(type(self).__name__, "inertia", most))
        for part, x in batch.blocks():
            means.vote(x, labels[part], None, None if batch.weights is None else batch.weights[part])
        shifts, _ = means.move(np.zeros(self.n_clusters))
        self._n_since_reassignment += batch.n_rows
        self._reassign_starved(batch, random)
        return BatchStep(inertia, float((shifts**2).sum()))

    def _assigned(self, batch: Batch) -> tuple[IntArray, float]:
        """Return the labels of the rows of a batch and their inertia."""
        squares = batch.squares(self._shift, self._means.n_threads)
        if self._search is not None:
            found, inertia = self._search.labels(
                batch.blocks, self._means.frame, squares, batch.weights, batch.take, are_others=True
            )
            return found, self._inertia_of(inertia)
        labels = np.empty(batch.n_rows, dtype=np.int32)
        scores = np.empty(batch.n_rows, dtype=self._means.dtype)
        for part, x in batch.blocks():
            self._means.frame.nearest(x, labels[part], scores[part])
        settled = self._settled(batch, labels)
        own = np.maximum(squares + scores, 0) if settled is None else settled
        return labels, self._inertia_of(weighted_sum(own, batch.weights))

    def _settled(self, batch: Batch, labels: IntArray) -> FloatArray | None:
        """Give rows in doubt their nearest centroids; return squared distances, None if there is no doubt.

        Where no row of the first batch is in doubt, none is looked for in others.
        """
        means = self._means
        if isinstance(means, SparseMeans) or means.settles is False:
            return None
        doubts, squares = Doubts(means.frame), np.empty(batch.n_rows)
        for part, x in batch.blocks():
            doubts.measure(x, labels[part], squares[part])
        if means.settles is None:
            means.settles = len(doubts.doubtful(labels, squares)) > 0
        for part, x in batch.blocks() if means.settles else ():
            doubts.settle(x, batch.take, labels[part], squares[part], part.start)
        return squares if means.settles else None

    def _reassign_starved(self, batch: Batch, random: np.random.RandomState) -> None:
        """Move centroids with too few votes to rows of the batch, with as many votes as the least of the others."""
        masses = self._means.masses
        waited = self._n_since_reassignment >= _VOTES_BETWEEN_REASSIGNMENTS * self.n_clusters
        if self.reassignment_ratio == 0 or not (waited or (masses == 0).any()):
            return
        self._n_since_reassignment = 0
        starved = np.flatnonzero(masses < self.reassignment_ratio * masses.max())
        if len(starved) == 0:
            return
        starved = np.sort(starved[np.argsort(masses[starved], kind="stable")][: batch.n_rows // 2])
        numbers = np.sort(random.choice(batch.numbers, len(starved), replace=False))
        least = float(np.delete(masses, starved).min())
        self._means.put(starved, dense(batch.rows.take(numbers)), least)

    def _start(
        self,
        rows: RowSource,
        weights: Array | None,
        given: Array | None,
        random: np.random.RandomState,
        n_threads: int,
        deadline: Deadline = UNLIMITED,
    ) -> None:
        """Set the first centroids: those given, or the best of some drawn from a sample."""
        shift, self._mean_variance = np.zeros(rows.shape[1]), 0.0
        centers = given
        if given is None or self.tol > 0 or not rows.is_sparse:
            # Given centroids leave the stream of random numbers alone, for sparse rows need no sample.
            sample = self._sample(rows, weights, random if given is None else np.random.RandomState(0))
            shift, self._mean_variance = sample.shift, sample.mean_variance
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
        self._means = self._new_means(rows, centers, shift, n_threads)
        self._votes = (self._means.sums, self._means.masses)
        self._store_centers(centers, shift)
        self._n_since_reassignment = 0
        self.counts_ = self._means.masses

    def _sample(self, rows: RowSource, weights: Array | None, random: np.random.RandomState) -> Dataset:
        size = self.init_size or 3 * self.batch_size
        if size < self.n_clusters:
            if self.init_size is not None:
                wanted = f"n_clusters={self.n_clusters}. Setting it to 3 * n_clusters."
                warn(f"init_size={size} should be larger than {wanted}", RuntimeWarning)
            size = 3 * self.n_clusters
        order = shuffled(rows.shape[0], run_length(rows, size), random)
        if weights is not None:
            order = order[weights[order] > 0]
        numbers = np.sort(order[:size])
        return Dataset(
            as_rows(rows.take(numbers)),
            None if weights is None else weights[numbers],
            n_clusters=self.n_clusters,
            n_threads=effective_n_threads(self.n_threads),
        )

    def _n_draws(self) -> int:
        if self.n_init != "auto":
            return int(self.n_init)
        return 3 if callable(self.init) or self.init == "random" else 1

    def _means_for(self, rows: RowSource) -> RowSource:
        """Make the means ready for more rows; return these in the float type of the means."""
        if not hasattr(self, "_means") or isinstance(self._means, SparseMeans) != rows.is_sparse:
            sums, masses = self._votes
            if rows.is_sparse:  # there are no shifts between sparse rows
                sums, self._shift = sums + masses[:, None] * self._shift, np.zeros_like(self._shift)
            n_threads = effective_n_threads(self.n_threads)
            self._means = self._new_means(rows, self.cluster_centers_, self._shift, n_threads)
            self._means.restore(sums, masses)
            self._votes = (sums, masses)
            self.counts_ = masses
        return rows.with_dtype(self._means.dtype)


def _inertia(centers: Array, data: Dataset) -> float:
    _, squares = labels_and_squares(data.rows, centers, data.shift, data.n_threads)
    return weighted_sum(squares, data.weights)
