"""Nested mini-batch k-means (Newling & Fleuret 2016): a random sample that doubles when the centroids ask for more."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.blocks.dataset import Dataset
from coterie.blocks.kernel_rows import kept_rows
from coterie.blocks.shuffled import ShuffledRows, run_length, shuffled
from coterie.centers.assignment import Assignment, PlainAssignment
from coterie.centers.bounded import BoundedAssignment
from coterie.centers.means import Means
from coterie.centers.sized import SizedAssignment
from coterie.centers.sparse_means import SparseMeans
from coterie.estimators.declared import Declared
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
    SizeBound,
    SizeGap,
    Threads,
    Tolerance,
    Verbose,
    ZeroRows,
)
from coterie.fitting.callbacks import with_callbacks
from coterie.fitting.randomness import random_stream
from coterie.fitting.report import Report
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.kmeans.base import CentroidEstimator
from coterie.kmeans.kept_bounds import n_bounds_per_row
from coterie.kmeans.rounds import Rounds
from coterie.kmeans.votes import EarlierVotes, LocalVotes, Sample, Votes
from coterie.rows import RowSource, as_rows

__all__ = [
    "BOUNDS",
    "HISTORY_FIELDS",
    "Bounds",
    "DoublingThreshold",
    "FirstBatch",
    "LeastGain",
    "NestedMiniBatchKMeans",
    "have_settled",
]

# What `bounds` may be.
FirstBatch = Annotated[
    Literal["auto"] | int,
    Param("Number of rows of the first batch; auto: 5000, or 64 k if that is more.", least=1),
]
DoublingThreshold = Annotated[
    float,
    Param("The sample is doubled when centers move by less than their standard error over this.", least=0),
]
LeastGain = Annotated[
    float,
    Param(
        "Stop when a doubling of the sample lowered its inertia by less than this fraction.", least=0, below=1
    ),
]
Bounds = Annotated[
    Literal["auto", "elkan", "yinyang", "off"],
    Param(
        "Lower bounds that skip distances: per center (elkan), per group of centers (yinyang), or none (off)."
    ),
]
BOUNDS = get_args(get_args(Bounds)[0])

# The first batch of "auto".
_FIRST_ROWS = 5000
_FIRST_ROWS_PER_CLUSTER = 64

# Part of the time left that the initialization may take.
_SEEDING_SHARE = 0.25

HISTORY_FIELDS = (("batch_size", np.int64), ("n_changed", np.int64), ("center_shift", np.float64))


class NestedMiniBatchKMeans(CentroidEstimator):
    """K-means on a random sample that doubles whenever the centroids have settled on it.

    Comes within 1% of the best inertia orders of magnitude sooner than exact k-means or mini-batches that are drawn
    anew each time, and, if it is left to finish, ends where exact k-means does: at a local minimum over all rows.

    Each row counts once, with its latest cluster. While the centroids still move by more than a hundredth of their
    standard errors, more rows would not tell them more, so the same sample is gone over again, by bounds at a fraction
    of the cost; once they have settled, the sample is doubled.

    Parameters
    ----------
    n_clusters : int
        Number of clusters k.
    init : {"k-means++", "afk-mc2", "random"}, array-like of shape (k, d), fitted model, or callable
        Where to begin. What is drawn is drawn from the first batch: "random" is the paper's choice. Of a fitted model
        its `cluster_centers_` are taken. A callable gets `(rows of the first batch, n_clusters, random_state=...)`.
    batch_size : "auto" or int
        Rows of the first batch (b_0); at least k are taken. "auto": the paper's 5000, or 64 k if that is more, for
        too few rows per cluster make bad centroids to begin with.
    doubling_threshold : float
        The sample is doubled when each centroid moves by less than its standard error divided by this (rho), or only by
        rounding. Smaller: more rows sooner. 0: in every round.
    least_gain : float
        The fit ends, too, when the last doubling has lowered the inertia of its sample by less than this part of it:
        0.01 means 1%. 0, the default: it goes on until all rows are in the sample. See Notes.
    max_iter : int
        Rounds, at most.
    tol : float
        The fit has converged when all rows are in the sample and the centroids' squared movement is at most `tol` times
        the mean variance of the columns (of the rows at length 1, where `metric` is "cosine"), or no label changed.
    verbose : bool or int
        Print each round.
    compute_labels : bool
        Whether to label all rows at the end, which takes one pass; without, there is no `labels_`, and `inertia_` is
        the last estimate of `history_`.
    metric : {"euclidean", "cosine"}
        "cosine": spherical k-means, which clusters by the angles between rows. Rows and centroids are scaled to
        length 1, and the inertia is the (weighted) sum of 1 - cos; see `KMeans` and Notes.
    zero_rows : {"error", "ignore"}
        What to do with rows of zeros, which have no direction, where `metric` is "cosine": refuse them, or leave them
        out. Ignored rows get the label -1, here and in `predict`, and the model is that of the other rows, to the bit;
        to find them takes one more pass over the rows.
    bounds : {"auto", "elkan", "yinyang", "off"}
        Which lower bounds skip distances when rows are gone over again: one per row and centroid, the paper's; one per
        row and group of centroids, which takes less memory; or none. The clusters are the same, bit for bit. "auto"
        chooses by a measured rule, see Notes.
    size_min, size_max, size_gap
        Bounds of the sizes of all clusters, of each sample in proportion; see `KMeans`. In `partial_fit` fractions.
    max_time : float, optional
        Seconds, from the call on, labels included; see `KMeans`.
    random_state, n_threads
        See `KMeans`.
    callback : callable, optional
        Called with a `FitProgress` after each round; the fit stops if it returns True. Its `centers` are the current
        centroids, so that the energy of held-out rows can be followed.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d), float32 or float64
        The centroids.
    labels_ : ndarray of shape (n,), int32
        Which centroid is the nearest to each row.
    inertia_ : float
        (Weighted) sum of squared distances of the rows to their centroids, or of 1 - cos.
    outlier_scores_ : ndarray of shape (n,), float32
        Distance of each of these rows to its centroid over the scale of the cluster; see `KMeans`.
    cluster_scales_ : ndarray of shape (k,), float64
        The (weighted) lower median of the distances of each cluster's rows to its centroid.
    counts_ : ndarray of shape (k,), float64
        (Weighted) votes that each centroid is the mean of.
    size_range_ : ndarray of shape (2,), float64
        The smallest and the largest (weighted) size of a cluster; only with `size_min` or `size_max`.
    n_iter_ : int
        Number of rounds.
    history_ : record array
        One row per round: `iteration`, `seconds` (since the fit began), `objective` (inertia of the sample, with the
        centroids that gave its labels, scaled up to all rows), `batch_size`, `n_changed` (labels, those of new rows
        included), `center_shift` (sum of the squared movements of the centroids), and with bounds of sizes `gap`.
    n_features_in_, feature_names_in_, preparation_
        See `KMeans`.

    Raises
    ------
    ValueError
        On NaN or infinity (with the row's number, when the row is met), an empty or one-dimensional X, k > n, negative
        weights, an unknown option, or bounds for sparse rows.

    Notes
    -----
    Order of the rows. Data of at most 1 GiB as floats, and sparse data, are shuffled row by row. Larger data are
    shuffled in runs of neighbouring rows of at most 64 KiB, 256 runs or more to the first batch, so that files are
    read in pieces worth a read; if such rows are sorted, let `batch_size` be large. What one doubling adds is read
    forwards. The order depends on the seed and the shape alone. Of files larger than 1 GiB, 256 MiB are kept as floats,
    the rest is read in every round; what must be parsed (Parquet, text, ...) is parsed once, and copied to a temporary
    file in TMPDIR (or /var/tmp) that is gone when the fit ends.

    Bounds. With k (rounded up to whole panels of 16) at most d / 10, "auto" keeps one lower bound per row and centroid
    (Elkan's); else one per group of centroids (Yinyang's), at most k / 10 and d / 2 of them and 1 GiB in all, so that
    memory does not grow with n k; with fewer than 4 clusters none. Sparse rows are compared with all centroids: for
    them a blocked product was faster than any bounds. Memory beside the data is 20 bytes per row for these, 2 bytes per
    bound beside them, and 20 k d bytes for the centroids. The clusters do not depend on the bounds.

    Few rows for many. What centroids are worse by than those fitted to all rows falls in proportion to the rows of the
    sample, so that a doubling lowers the inertia of its rows by about as much as all further ones would together:
    `least_gain` compares that with what is wanted. It is an estimate, no bound: with 0.01 three fits ended 0.4, 0.5 and
    1.0% above those of all rows, after a seventh to a half of the processor time; where a later doubling would have
    found another cluster, 2.0%, and 1.8% with 0.001 (docs/decisions/kmeans.md).

    Cosine. The standard error of a centroid is then that of a direction: the spread of its votes at right angles to it,
    over the mean of cos.

    Time. A round costs O(b k d) at worst for a sample of b rows, in practice far less; with sparse rows in proportion
    to the entries of the sample, for any d.

    References
    ----------
    Newling and Fleuret, Nested mini-batch k-means, NeurIPS 2016, Algorithm 5 and section 3.3. Fisher, Lewis and
    Embleton, Statistical analysis of spherical data, 1987.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import NestedMiniBatchKMeans
    >>> X = np.random.default_rng(0).normal(size=(20_000, 2))
    >>> X[::2] += 10
    >>> model = NestedMiniBatchKMeans(n_clusters=2, batch_size=500, random_state=0).fit(X)
    >>> sorted((model.cluster_centers_[:, 0] > 5).tolist())
    [False, True]
    >>> int(model.history_.batch_size[0]), int(model.history_.batch_size[-1])
    (500, 20000)
    """

    def __init__(
        self,
        n_clusters: Clusters = 8,
        *,
        init: Init = "k-means++",
        batch_size: FirstBatch = "auto",
        doubling_threshold: DoublingThreshold = 100.0,
        least_gain: LeastGain = 0.0,
        max_iter: Iterations = 10_000,
        tol: Tolerance = 1e-4,
        verbose: Verbose = 0,
        compute_labels: ComputeLabels = True,
        random_state: RandomState = None,
        metric: Metric = "euclidean",
        zero_rows: ZeroRows = "error",
        bounds: Bounds = "auto",
        size_min: SizeBound = None,
        size_max: SizeBound = None,
        size_gap: SizeGap = 1e-3,
        max_time: MaxTime = None,
        n_threads: Threads = None,
        callback: Callback = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.batch_size = batch_size
        self.doubling_threshold = doubling_threshold
        self.least_gain = least_gain
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.compute_labels = compute_labels
        self.random_state = random_state
        self.metric = metric
        self.zero_rows = zero_rows
        self.bounds = bounds
        self.size_min = size_min
        self.size_max = size_max
        self.size_gap = size_gap
        self.max_time = max_time
        self.n_threads = n_threads
        self.callback = callback

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> NestedMiniBatchKMeans:
        """Find the clusters of X.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
            The data; see `coterie.open_rows` for files. Never changed; float arrays are never copied.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Non-negative weight of each row's vote.

        Returns
        -------
        NestedMiniBatchKMeans
            This estimator.
        """
        return self._fit(X, sample_weight, goes_on=False)

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> NestedMiniBatchKMeans:
        """Go on with more rows of a stream.

        The votes of earlier rows stay as they were last cast; those of X are cast and recast until X has converged, as
        in `fit`. So every row of the stream counts once. The first call is the same as `fit`.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
            Rows that have not been seen yet.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Non-negative weight of each row's vote.

        Returns
        -------
        NestedMiniBatchKMeans
            This estimator; `labels_`, `inertia_` and `history_` are those of X.
        """
        self._check_goes_on()
        return self._fit(X, sample_weight, goes_on=hasattr(self, "cluster_centers_"))

    def _fit(self, X: Any, sample_weight: npt.ArrayLike | None, goes_on: bool) -> NestedMiniBatchKMeans:
        n_threads = effective_n_threads(self.n_threads)
        self.check_parameters()
        report = Report(self, self._history_fields(HISTORY_FIELDS))
        fit_rows = self._fit_rows_of(X, reset=not goes_on)
        self._check_bounds(fit_rows)
        rows = kept_rows(fit_rows, n_threads)
        centers = self.cluster_centers_.astype(rows.dtype) if goes_on else self._given_centers(rows)
        if not goes_on:
            self._check_n_rows(rows)
        weights = self._weights_of(fit_rows, sample_weight)
        self._search = self._size_search(rows.shape[0], weights, n_threads, report.deadline)
        random = random_stream(self.random_state)
        with report.scikit_learn_callbacks(X), single_threaded_blas():
            earlier = self._earlier_votes(rows) if goes_on else None
            data = self._shuffled(rows, weights, random, None if earlier is None else earlier.shift)
            if centers is None:
                centers = self._centers_from_first_batch(data, random, report)
            self._check_distances(centers, data.shift)
            means = self._new_means(rows, centers, data.shift, n_threads)
            votes = LocalVotes(data, means, self._assignment(data, means), earlier)
            self._run(data, votes, report)
            if self.compute_labels:
                self._label(rows, weights, self._search)
            else:
                self._leave_unlabelled()
        if self.compute_labels and not goes_on:
            self._warn_of_empty_clusters()
        self._mark_ignored(fit_rows)
        report.warn_if_out_of_time()
        return self

    def _shuffled(
        self,
        rows: RowSource,
        weights: Array | None,
        random: np.random.RandomState,
        shift: FloatArray | None,
    ) -> ShuffledRows:
        """Return the rows in random order, the first batch taken in."""
        size = self._first_size()
        order = shuffled(rows.shape[0], run_length(rows, size), random)
        order, n_threads = self._those_that_count_first(order, weights), effective_n_threads(self.n_threads)
        data = ShuffledRows(
            rows, weights, order, n_clusters=self.n_clusters, n_threads=n_threads, shift=shift
        )
        data.grow(min(size, data.n_rows))
        return data

    @staticmethod
    def _those_that_count_first(order: IndexArray, weights: Array | None) -> IndexArray:
        if weights is None:
            return order
        return np.concatenate([order[weights[order] > 0], order[weights[order] == 0]])

    def _first_size(self) -> int:
        if self.batch_size == "auto":
            return max(_FIRST_ROWS, _FIRST_ROWS_PER_CLUSTER * self.n_clusters)
        return max(int(self.batch_size), self.n_clusters)

    def _earlier_votes(self, rows: RowSource) -> EarlierVotes:
        """Return a copy of the votes of earlier calls, relative to a shift that suits the rows."""
        sums, masses, squares = (part.copy() for part in self._votes)
        shift = self._shift
        if rows.is_sparse:  # they are never shifted
            squares += 2 * sums @ shift + masses * (shift @ shift)
            sums += masses[:, None] * shift
            shift = np.zeros_like(shift)
        return EarlierVotes(sums, masses, squares, shift)

    def _check_bounds(self, rows: RowSource) -> None:
        if rows.is_sparse and self.bounds in ("elkan", "yinyang"):
            raise ValueError(
                f"bounds={self.bounds!r} is for dense rows: sparse ones are compared with all centroids. "
                'Use bounds="auto" or bounds="off".'
            )

    def fitted_attributes(self) -> dict[str, Declared]:
        return {**super().fitted_attributes(), **self._votes_of(3)}

    # --- the algorithm -------------------------------------------------------------------------------------------

    def _run(
        self,
        data: Sample,
        votes: Votes,
        report: Report,
        rounds: Rounds | None = None,
    ) -> None:
        """Rounds over the sample: assign, let each row vote, move; double it when the centroids have settled.

        `rounds` is what those before have told, where there were some.
        """
        means, rounds = votes.means, rounds or Rounds()
        descent, growth, first_size = rounds.descent, rounds.growth, data.size
        report.start_run()
        # The first round compares its rows with all centroids, as labels do.
        report.n_final_steps = data.n_rows / first_size if self.compute_labels else 0.0
        begin = report.seconds
        for iteration in range(self.max_iter):
            n_changed = votes.update()
            if iteration == 0 and self._search is None and votes.rounding_decides():
                votes.settle()
                votes.update()
            shifts, within = votes.move()
            center_shift = float(np.sum(shifts**2))
            if iteration == 0:
                per_row = (report.seconds - begin) / first_size
            stop = report(
                self._inertia_of(votes.scaled_up(within)),
                lambda: means.centers,
                batch_size=data.size,
                n_changed=n_changed,
                center_shift=center_shift,
                gap=0.0 if self._search is None else self._search.gap,
            )
            stalled = descent.has_stalled(float(within.sum()))
            growth.note(data.size, float(within.sum()))
            if data.size < data.n_rows and not stop:
                errors = votes.standard_errors(within)
                if stalled or have_settled(errors, shifts, self.doubling_threshold):
                    if growth.gain() < self.least_gain:
                        break
                    size = min(2 * data.size, data.n_rows)
                    if not report.has_time_for(per_row * size):
                        break
                    data.grow(size)
                    descent.begin()
            elif stop or stalled or n_changed == 0 or center_shift <= self.tol * votes.mean_variance:
                break
        self._store_votes(votes, data.shift, report)

    def _store_votes(self, votes: Votes, shift: FloatArray, report: Report) -> None:
        """Store what the rounds have found by now."""
        means = votes.means
        self._store_centers(means.centers, shift)
        self._votes = (means.sums, means.masses, votes.squares)
        self.counts_ = means.masses
        self.history_ = report.history()
        self.n_iter_ = len(self.history_)

    def _centers_from_first_batch(self, data: Sample, random: np.random.RandomState, report: Report) -> Array:
        batch = data.rows.take(data.order[: data.size])
        weights = None if data.weights is None else data.weights[: data.size]
        sample = Dataset(as_rows(batch), weights, n_clusters=self.n_clusters, n_threads=data.n_threads)
        return self._drawn_centers(batch, sample, random, report.deadline.share(_SEEDING_SHARE))

    def _assignment(self, data: ShuffledRows, means: Means) -> Assignment:
        if self._search is not None:
            return SizedAssignment(data, self._search)
        if isinstance(means, SparseMeans):
            return PlainAssignment(data)
        n_bounds = n_bounds_per_row(
            data.n_rows, data.n_columns, self.n_clusters, data.dtype.itemsize, self.bounds
        )
        if n_bounds == 0:
            return PlainAssignment(data)
        return BoundedAssignment(data, means.frame, n_bounds, unit_length=self._by_angle)


def have_settled(errors: FloatArray, shifts: FloatArray, threshold: float) -> bool:
    """Whether every centroid moved by less than its standard error over the threshold: more rows will tell more."""
    return bool(np.all((shifts == 0) | (errors > threshold * shifts)))
