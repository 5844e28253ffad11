"""Nested mini-batch k-means (Newling & Fleuret 2016): a random sample that doubles on convergence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

import numpy as np
import numpy.typing as npt

from coterie import _kernels
from coterie.arrays import LINE_BYTES, Array, FloatArray, IndexArray
from coterie.blocks.dataset import own_squares, total_weight, useful_n_threads
from coterie.blocks.measures import robust_shift
from coterie.blocks.shuffled import ShuffledRows, run_length, shuffled
from coterie.cached import cached_property
from coterie.centers.assignment import RowLabels
from coterie.centers.bounded import n_bounds_of
from coterie.centers.choice import BoundsRule
from coterie.centers.frame import CenterFrame
from coterie.centers.labels import label_all
from coterie.centers.lloyd import LEAST_INERTIA
from coterie.centers.means import Means
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
    Threads,
    Tolerance,
    Verbose,
    ZeroRows,
)
from coterie.fitting.checks import random_stream
from coterie.fitting.report import FitReport, Stop, with_callbacks
from coterie.fitting.threads import single_threaded_blas
from coterie.kmeans.base import CentroidEstimator
from coterie.passes import Begin, ChunkRows, Passes, Total, largest_square, measure_rows, open_passes
from coterie.rows import Rows, as_rows

__all__ = ["NestedMiniBatchKMeans", "nested"]

FirstBatch = Annotated[
    Literal["auto"] | int,
    Param("Number of rows of the first batch; auto: 5000, or 64 k if that is more.", least=1),
]
DoublingThreshold = Annotated[
    float,
    Param("The sample is doubled when centers move by less than their standard error over this.", least=0),
]
MinImprovement = Annotated[
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

# Rounds on the same sample in which rows near a tie may go to and fro by rounding, before that counts as settled.
_ROUNDS_WITHOUT_PROGRESS = 5

# Lower bounds may take this much of the memory of the rows themselves.
_BOUNDS_OF_ROW = 0.5
_LANE_BOUNDS_OF_ROW = 0.1

HISTORY_FIELDS = (("batch_size", np.int64), ("n_changed", np.int64), ("center_shift", np.float64))


@dataclass
class EarlierSums:
    """Cluster sums of the rows of earlier calls; see `SampleSums`."""

    sums: FloatArray
    masses: FloatArray
    squares: FloatArray
    shift: FloatArray


class GrowingSample:
    """The rows of a fit in the random `order`, the first `size` of them the sample; workers keep their rows of it."""

    def __init__(
        self,
        passes: Passes,
        order: IndexArray,
        size: int,
        *,
        n_clusters: int,
        shift: FloatArray | None = None,
    ) -> None:
        self.passes, self.order, self.size = passes, order, 0
        self._sizes = [0]
        self.n_rows, self.rows = len(order), passes.rows
        self.total_weight = total_weight(self.n_rows, passes.weights)
        self.n_threads = useful_n_threads(self.n_rows * passes.n_columns * n_clusters, passes.n_threads)
        # In this process, the order is that of the only chunk.
        own_order = order if passes.is_here else None
        self.state = passes.state(partial(_new_sample, n_clusters=n_clusters, order=own_order), "sample")
        if shift is None and self.rows.is_sparse:
            shift = np.zeros(passes.n_columns)
        self._shift = shift
        sums = self.grow(min(size, self.n_rows))
        if shift is None:
            self._measure(np.sum(sums, axis=0) / self.size if len(sums) > 1 else sums[0] / self.size)

    @property
    def shift(self) -> FloatArray:
        """A central point of the rows."""
        assert self._shift is not None
        return self._shift

    def grow(self, size: int) -> list[Any]:
        """Take in the rows up to a position."""
        self.order[self.size : size].sort()
        sums = self.passes.run(
            _extend, (self._shift,), self.state, given=self._new(self.size, size), writes=True
        )
        self.size = size
        self._sizes.append(size)
        self.passes.keep_begin(
            self.state,
            lambda: [
                Begin(_extend, (self._shift,), self.state, given=self._new(*piece))
                for piece in pairwise(self._sizes)
            ],
        )
        return sums

    def _new(self, low: int, high: int) -> list[IndexArray]:
        """Return the numbers of some rows in each chunk."""
        new = self.passes.split(self.order[low:high])
        return new if self.passes.is_here else [numbers.astype(np.int32) for numbers in new]

    def sizes_of(self, size: int) -> list[int]:
        """Return how many of the first rows are in each chunk."""
        chunks = np.searchsorted(self.passes.firsts, self.order[:size], side="right") - 1
        found: list[int] = np.bincount(chunks, minlength=len(self.passes.firsts) - 1).tolist()
        return found

    def first_rows(self) -> tuple[Any, Array | None]:
        """Return the rows of the sample, and their weights; on workers few enough to be sent here."""
        numbers, weights = self.order[: self.size], self.passes.weights
        return self.passes.take(numbers), None if weights is None else weights[numbers]

    def _measure(self, mean: FloatArray) -> None:
        """Measure the first rows relative to their mean, or another central point."""

        def squares_to(point: FloatArray) -> Array:
            self._shift = point
            return np.concatenate(self.passes.run(_measure, point, self.state, writes=True))

        def take(positions: IndexArray) -> Any:
            return self.passes.take(self.order[positions])

        middle = robust_shift(take, mean, squares_to(mean), self.passes.dtype)
        if middle is not None:
            squares_to(middle)


class SampleSums:
    """Sums over the sample, each row in its last cluster. `n_bounds` is the number of lower bounds per row (0: none,
    None: one per center), `squares` (k,) are weighted sums of squared distances to the shift.
    """

    def __init__(
        self, data: GrowingSample, means: Means, n_bounds: int | None, earlier: EarlierSums | None = None
    ) -> None:
        self.means = means
        self.squares = np.zeros(len(means.masses))
        self._sample, self._continues = data, earlier is not None
        self._rule = BoundsRule("lloyd")
        if n_bounds != 0:
            self._rule = BoundsRule("yinyang", n_bounds, unit_length=means.unit_length)
        self._labels = data.passes.state(SampleLabels)
        if earlier is not None:
            means.sums, means.masses, self.squares = earlier.sums, earlier.masses, earlier.squares
        self._earlier_masses = means.masses.copy()
        passes, mass, shape = data.passes, 2 * data.total_weight, self.squares.shape
        largest = 1.0 if passes.is_here else largest_square(passes, data.shift)
        self._totals = SampleTotals(
            squares=passes.total(shape, 4 * mass * largest, self.squares),
            counts=passes.total(shape, 2 * data.n_rows),
            within=passes.total(shape, 4 * mass * largest),
            sums=passes.total(means.sums.shape, mass * float(np.sqrt(largest)), means.sums),
            masses=passes.total(shape, mass, means.masses),
        )

    def update(self) -> int:
        """Assign all rows of the sample and update the sums; return the number of changed labels."""
        means, totals = self.means, self._totals
        totals.counts.clear()
        frame, states, size = means.frame, (self._sample.state, self._labels), self._sample.size
        changed = self._sample.passes.run(_update, (frame, self._rule), states, totals, writes=True)
        self._sample.passes.keep_begin(
            self._labels, lambda: [Begin(_label_sample, frame, states, given=self._sample.sizes_of(size))]
        )
        self.squares = totals.squares.total()
        means.sums, means.masses = totals.sums.total(), totals.masses.total()
        self._counts = totals.counts.total()
        return sum(changed)

    def move(self) -> tuple[FloatArray, FloatArray]:
        """Bring each center to the mean of its rows; see `Means.move`."""
        empty = self.empty_clusters()
        for total in (self._totals.sums, self._totals.masses):
            total.clear(empty)
        before = self.means.frame
        shifts, within = self.means.move(self.squares, empty)
        hides = float(within.sum()) < LEAST_INERTIA * float(self.squares.sum())
        if hides and not self._continues:
            # By the rows where rounding of the sums hides it; of these rows alone.
            self._totals.within.clear()
            states = self._sample.state, self._labels
            self._sample.passes.run(_add_within, before.centers, states, self._totals)
            within = self._totals.within.total()
        return shifts, within

    def empty_clusters(self) -> IndexArray:
        """Return the clusters without a row of positive weight, now or earlier."""
        return np.flatnonzero((self._counts == 0) & (self._earlier_masses == 0))

    def standard_errors(self, within: FloatArray) -> FloatArray:
        """Return sigma_C of each cluster: sqrt(sse / (v (v - 1))), infinite for fewer than two rows."""
        unit = self._sample.total_weight / self._sample.n_rows
        n_rows = self.means.masses / unit
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.means.unit_length:
                within = _perpendicular_errors(within, self.means.masses)
            return np.where(n_rows > 1, np.sqrt(within / unit / (n_rows * (n_rows - 1))), np.inf)

    def scaled_up(self, within: FloatArray) -> float:
        """Return the inertia of the sample, scaled up to all rows."""
        mass = float(self.means.masses.sum())
        return float(within.sum()) * self._sample.total_weight / mass if mass > 0 else 0.0

    @cached_property
    def mean_variance(self) -> float:
        """Mean variance of the columns; for a sample of all rows, and constant from then on."""
        mass = self.means.masses.sum()
        mean = self.means.sums.sum(axis=0) / mass
        return float(self.squares.sum() / mass - mean @ mean) / len(mean)


class SampleTotals(NamedTuple):
    """Sums over the sample by cluster; of the last round only `counts` of rows with a weight, and `within`, squared
    distances to the centers where sums lose them.
    """

    squares: Total
    counts: Total
    within: Total
    sums: Total
    masses: Total


class SampleLabels:
    """The labels of the rows of the sample of a chunk."""

    def __init__(self, _: ChunkRows) -> None:
        self._labels: RowLabels | None = None

    def of(self, sample: ShuffledRows) -> RowLabels:
        """Return the labels, in the order of the sample."""
        if self._labels is None:
            self._labels = RowLabels(sample)
        return self._labels


def _new_sample(rows: ChunkRows, *, n_clusters: int, order: IndexArray | None) -> ShuffledRows:
    return ShuffledRows(
        rows.rows, rows.weights, np.empty(rows.n_rows, dtype=np.intp) if order is None else order,
        n_clusters=n_clusters, n_threads=rows.most_threads, first=rows.first,
    )  # fmt: skip


def _extend(
    _: ChunkRows, known: tuple[FloatArray | None], sample: ShuffledRows, numbers: IndexArray
) -> FloatArray | None:
    """Take rows into the sample; return their sum where the shift is not known yet."""
    (shift,) = known
    stop = sample.size + len(numbers)
    sample.order[sample.size : stop] = numbers
    new = sample.extend(stop)
    if shift is None:
        return sample.sum_of(sample.blocks_of(new))
    sample.shift = shift
    sample.measure(new)
    return None


def _measure(_: ChunkRows, shift: FloatArray, sample: ShuffledRows) -> Array:
    sample.shift = shift
    sample.measure(slice(0, sample.size))
    return sample.squares[: sample.size]


def _update(
    _: ChunkRows,
    params: tuple[CenterFrame, BoundsRule],
    sample: ShuffledRows,
    state: SampleLabels,
    totals: SampleTotals,
) -> int:
    """Assign the rows of the sample, and move those whose labels have changed between the sums."""
    (frame, rule), row_labels, size, n_threads = params, state.of(sample), sample.size, sample.n_threads
    row_labels.start(frame, rule)
    labels, bounds = row_labels.labels[:size], row_labels.bounds
    before = labels.copy()
    with _parts_of(totals) as (squares, counts, _within, sums, masses):
        for part, x in sample.blocks():
            if bounds is None:
                frame.nearest(x, labels[part], known=sample.squares[part], n_threads=n_threads)
            else:
                bounds.assign(part, x)
            own = sample.weights_of(part)
            _kernels.add_to_clusters(
                x, labels[part], before[part], own, sample.shift, sums, masses, n_threads
            )
        changed, k = np.flatnonzero(labels != before), len(squares)
        moved = sample.squares[changed].astype(np.float64)
        weights = None if sample.weights is None else sample.weights[:size]
        if weights is not None:
            moved *= weights[changed]
        squares += np.bincount(labels[changed], moved, minlength=k)
        squares -= np.bincount(before[changed] + 1, moved, minlength=k + 1)[1:]
        counts += np.bincount(labels, None if weights is None else weights > 0, minlength=k)
    return len(changed)


def _label_sample(
    _: ChunkRows, frame: CenterFrame, sample: ShuffledRows, state: SampleLabels, size: int
) -> None:
    """Label the first rows of the sample by the centers alone; the others have no label yet."""
    row_labels = state.of(sample)
    row_labels.start(frame, BoundsRule("lloyd"))
    for part, x in sample.blocks():
        frame.nearest(x, row_labels.labels[part], n_threads=sample.n_threads)
    row_labels.labels[size:] = -1


@contextmanager
def _parts_of(totals: SampleTotals) -> Iterator[list[Any]]:
    """Return the arrays to which the rows of a chunk are added."""
    with ExitStack() as stack:
        yield [stack.enter_context(total.part()) for total in totals]


def _add_within(
    _: ChunkRows, centers: Array, sample: ShuffledRows, state: SampleLabels, totals: SampleTotals
) -> None:
    labels = state.of(sample).labels[: sample.size]
    squares = np.empty(sample.size)
    for part, x in sample.blocks():
        squares[part] = own_squares(x, labels[part], centers, sample.n_threads)
    weights = None if sample.weights is None else sample.weights[: sample.size]
    with totals.within.part() as within:
        own = squares if weights is None else squares * weights
        within += np.bincount(labels, own, minlength=len(centers))


def _perpendicular_errors(within: FloatArray, masses: FloatArray) -> FloatArray:
    """Return the sum of squared errors perpendicular to the directions c = S / |S| of rows of length 1; infinite
    without one. sigma_C^2 = sum (1 - cos^2) / (r^2 v (v - 1)) with r = mean cos (Fisher, Lewis and Embleton 1987,
    section 5.3), from within = 2 v (1 - r) and the upper bound sum (1 - cos^2) <= v (1 - r^2).
    """
    mean_cosine = 1 - within / (2 * masses)
    return np.where(mean_cosine > 0, masses * (1 - mean_cosine**2) / mean_cosine**2, np.inf)


class Growth:
    """The relative decrease of the energy of a sample since its last growth: infinite before the first."""

    def __init__(self) -> None:
        self.size = 0
        self.at_first = self.energy = np.inf

    def note(self, size: int, energy: float) -> None:
        """Add the energy of a round; that of the first round of a sample is by the centers before."""
        if 0 < self.size < size:
            self.at_first = energy
        self.size, self.energy = size, energy

    def gain(self) -> float:
        """Return by which part of itself the energy fell."""
        return 0.0 if self.energy <= 0 else (self.at_first - self.energy) / self.energy


class Descent:
    """The energy of one sample, which falls from round to round until only rounding is left to gain."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin with another sample."""
        self.lowest = np.inf
        self.n_without_progress = 0

    def has_stalled(self, energy: float) -> bool:
        """Add the energy of a round; return whether it has not decreased for several rounds."""
        self.n_without_progress = 0 if energy < self.lowest else self.n_without_progress + 1
        self.lowest = min(energy, self.lowest)
        return self.n_without_progress >= _ROUNDS_WITHOUT_PROGRESS


@dataclass(frozen=True, slots=True)
class NestedResult:
    """The result of nested mini-batch k-means: centers (k, d), sums over the sample, and the reason of the end:
    "converged", "min_improvement", "max_iter", "max_time" or "callback".
    """

    centers: Array
    sums: SampleSums
    history: Array
    reason: str


def nested(
    data: GrowingSample,
    sums: SampleSums,
    *,
    doubling_threshold: float,
    min_improvement: float,
    stop: Stop,
    report: FitReport,
    labels_follow: bool,
) -> NestedResult:
    """Assign the sample and move the centers of `sums`; double the sample of `data` once they settle (Newling and
    Fleuret 2016, algorithm 5). `stop` gets the squared movement of the centers relative to the mean variance of the
    columns; with `labels_follow` time is kept for the labels of all rows.
    """
    means, descent, growth, first_size = sums.means, Descent(), Growth(), data.size
    scale, reason, begin = 0.5 if means.unit_length else 1.0, "max_iter", report.seconds
    # The first round compares its rows with all centers, as labels do.
    report.n_final_steps = data.n_rows / first_size if labels_follow else 0.0
    for iteration in range(stop.max_iter):
        n_changed = sums.update()
        shifts, within = sums.move()
        center_shift = float(np.sum(shifts**2))
        if iteration == 0:
            per_row = (report.seconds - begin) / first_size
        is_over = report(
            scale * sums.scaled_up(within),
            means.frame.centers,
            batch_size=data.size,
            n_changed=n_changed,
            center_shift=center_shift,
        )
        energy = float(within.sum())
        stalled = descent.has_stalled(energy)
        growth.note(data.size, energy)
        if is_over:
            reason = report.reason or "converged"
            break
        if data.size < data.n_rows:
            errors = sums.standard_errors(within)
            if stalled or have_settled(errors, shifts, doubling_threshold):
                if growth.gain() < min_improvement:
                    reason = "min_improvement"
                    break
                size = min(2 * data.size, data.n_rows)
                if not report.has_time_for(per_row * size):
                    reason = "max_time"
                    break
                data.grow(size)
                descent.begin()
        elif stalled or n_changed == 0 or center_shift <= stop.tolerance * sums.mean_variance:
            reason = "converged"
            break
    return NestedResult(means.frame.centers, sums, report.history(), reason)


def have_settled(errors: FloatArray, shifts: FloatArray, threshold: float) -> bool:
    """Return whether every center moved by less than its standard error over the threshold: more rows are needed."""
    return bool(np.all((shifts == 0) | (errors > threshold * shifts)))


def n_bounds_per_row(
    n_rows: int, n_columns: int, n_clusters: int, itemsize: int, kind: str = "auto"
) -> int | None:
    """Return the number of lower bounds per row: 0 for none, None for one per centroid; see the estimator's notes."""
    if kind == "off" or (kind == "auto" and n_clusters < 4):
        return 0
    if kind != "auto":
        return n_bounds_of(kind, n_rows, n_clusters)
    lanes = LINE_BYTES // itemsize
    if -(-n_clusters // lanes) * lanes <= _LANE_BOUNDS_OF_ROW * n_columns:
        return None
    groups = n_bounds_of("yinyang", n_rows, n_clusters)
    assert groups is not None
    return max(1, min(groups, int(_BOUNDS_OF_ROW * n_columns)))


class NestedMiniBatchKMeans(CentroidEstimator):
    """K-means on a random sample that doubles whenever the centers have converged on it.

    On many rows it is near the best inertia sooner than exact k-means or mini-batches that are drawn independently, and
    it converges, like exact k-means, to a local minimum over all rows.

    Each row counts once, with its latest cluster. While centers move by more than a hundredth of their standard errors,
    the same sample is used again, and bounds skip most distances; then the sample is doubled.

    Parameters
    ----------
    n_clusters : int
        Number of clusters k.
    init : {"split-merge", "k-means++", "afk-mc2", "random"}, array-like of shape (k, d), fitted model, or callable
        Initialization of the centers, see `KMeans`; names draw from the first batch ("random" in the paper). A fitted
        model: its `cluster_centers_`. A callable gets `(rows of the first batch, n_clusters, random_state=...)`.
    batch_size : "auto" or int
        Number of rows of the first batch (b_0), at least k. "auto": 5000 as in the paper, or 64 k if that is more,
        because initial centers of few rows are poor.
    doubling_threshold : float
        The sample is doubled when each center moves by less than its standard error divided by this (rho), or only by
        rounding. Smaller values double earlier. 0: in every round.
    min_improvement : float
        The fit also ends when the last doubling has lowered the inertia of its sample by less than this fraction: 0.01
        means 1%. 0, the default: not before all rows are in the sample. See Notes.
    max_iter : int
        Maximum number of rounds.
    tol : float
        The fit has converged when all rows are in the sample and the squared movement of the centers is at most `tol`
        times the mean variance of the columns (of the rows at length 1, if `metric` is "cosine"), or no label has
        changed.
    verbose : bool or int
        Print each round.
    compute_labels : bool
        Label all rows at the end, in one pass. If False, there is no `labels_`, and `inertia_` is the last estimate of
        `history_`.
    metric, zero_rows
        See `KMeans`, and Notes.
    bounds : {"auto", "elkan", "yinyang", "off"}
        Lower bounds that skip distances when rows are compared again: one per row and center, as in the paper; one per
        row and group of centers, which takes less memory; or none. The clusters are bit-identical. "auto" chooses by n,
        k and d, see Notes.
    max_time : float, optional
        Time limit in seconds, labels included; see `KMeans`.
    random_state, n_threads
        See `KMeans`.
    callback : callable, optional
        Called with a `FitProgress` after each round; the fit stops if it returns True. Its `centers` are the current
        centers, for example to follow the inertia of held-out rows.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d), float32 or float64
        The centroids.
    labels_ : ndarray of shape (n,), int32
        Index of the nearest center of each row.
    inertia_ : float
        (Weighted) sum of squared distances of the rows to their centers, or of 1 - cos.
    outlier_scores_, cluster_scales_
        See `KMeans`.
    counts_ : ndarray of shape (k,), float64
        (Weighted) number of rows that each center is the mean of.
    n_iter_ : int
        Number of rounds.
    history_ : record array
        One row per round: `iteration`, `seconds` (since the fit began), `objective` (inertia of the sample, with the
        centers that gave its labels, scaled up to all rows), `batch_size`, `n_changed` (labels, those of new rows
        included), `center_shift` (sum of the squared movements of the centers).
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
    shuffled in runs of neighboring rows of at most 64 KiB, with at least 256 runs in the first batch, so that files are
    read in large pieces; if the rows are sorted, choose a large `batch_size`. The rows of one doubling are read in
    ascending order. The order depends on the seed and the shape only. Of files larger than 1 GiB, 256 MiB are kept as
    floats, and the rest is read in every round; formats that must be parsed (Parquet, text, ...) are parsed once, into
    a temporary file in TMPDIR (or /var/tmp) that is removed when the fit ends.

    Bounds. If k (rounded up to whole panels of 16) is at most d / 10, "auto" keeps one lower bound per row and center
    (Elkan's); else one per group of centers (Yinyang's), at most k / 10, d / 2 and 1 GiB in all, so that memory does
    not grow with n k; with fewer than 4 clusters none. Sparse rows are compared with all centers, which a blocked
    product does faster. Memory in addition to the data: up to 50 bytes per row, in float64 58, 2 bytes per bound,
    and 20 k d bytes for the centers.

    Early stopping. The excess inertia of centers that are fitted to a sample decreases in proportion to its size, so
    that one doubling gains about as much as all later ones together: `min_improvement` compares the gain of the last
    doubling with the wanted accuracy. It is an estimate, not a bound: with 0.01 three fits ended 0.4, 0.5 and 1.0%
    above those of all rows, after a seventh to a half of the processor time; where a later doubling would have found
    another cluster, 2.0%, and 1.8% with 0.001.

    Cosine. The standard error of a center is that of a direction: the spread of its rows perpendicular to it, over the
    mean of cos.

    Time. A round costs at most O(b k d) for a sample of b rows, in practice far less; with sparse rows O(k d) and
    O(k) for each entry of the sample.

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
        init: Init = "split-merge",
        batch_size: FirstBatch = "auto",
        doubling_threshold: DoublingThreshold = 100.0,
        min_improvement: MinImprovement = 0.0,
        max_iter: Iterations = 10_000,
        tol: Tolerance = 1e-4,
        verbose: Verbose = 0,
        compute_labels: ComputeLabels = True,
        random_state: RandomState = None,
        metric: Metric = "euclidean",
        zero_rows: ZeroRows = "error",
        bounds: Bounds = "auto",
        max_time: MaxTime = None,
        n_threads: Threads = None,
        callback: Callback = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.batch_size = batch_size
        self.doubling_threshold = doubling_threshold
        self.min_improvement = min_improvement
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.compute_labels = compute_labels
        self.random_state = random_state
        self.metric = metric
        self.zero_rows = zero_rows
        self.bounds = bounds
        self.max_time = max_time
        self.n_threads = n_threads
        self.callback = callback

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        self.check_parameters()
        self._fit(X, sample_weight)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> NestedMiniBatchKMeans:
        """Continue with more rows of a stream.

        Earlier rows keep their clusters; those of X are assigned repeatedly until X has converged, as in `fit`. So
        every row of the stream counts once. The first call is the same as `fit`.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
            Rows that have not been seen yet.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Non-negative weight of each row.

        Returns
        -------
        NestedMiniBatchKMeans
            This estimator; `labels_`, `inertia_` and `history_` are those of X.
        """
        self.check_parameters()
        self._check_continuation()
        self._fit(X, sample_weight, goes_on=hasattr(self, "cluster_centers_"))
        return self

    def _fit(self, X: Any, sample_weight: npt.ArrayLike | None, goes_on: bool = False) -> None:
        report = FitReport(self, HISTORY_FIELDS)
        if goes_on:
            rows = self._rows_of(X)
            dtype = np.result_type(rows.dtype, self.cluster_centers_)  # of the batches so far
            rows = self._with_direction(rows.with_dtype(dtype))
            columns = self._known_columns()
        else:
            rows, columns = self._rows_to_fit(X)
        self._check_bounds(rows)
        centers = self.cluster_centers_.astype(rows.dtype) if goes_on else self._given_centers(rows)
        if not goes_on:
            self._check_n_rows(rows)
        weights, random = self._weights_of(rows, sample_weight), random_stream(self.random_state)
        with (
            report.scikit_learn_callbacks(X),
            single_threaded_blas(),
            open_passes(rows, weights, self.n_threads) as passes,
        ):
            earlier = self._earlier_sums(rows) if goes_on else None
            size = self._first_size()
            data = GrowingSample(
                passes, self._order(rows, weights, size, random), size,
                n_clusters=self.n_clusters, shift=None if earlier is None else earlier.shift,
            )  # fmt: skip
            if centers is None:
                centers = self._centers_from_first_batch(data, random, report)
            self._check_distances(centers, data.shift)
            means = Means(centers, data.shift, data.n_threads, unit_length=self._is_cosine)
            n_bounds = n_bounds_per_row(
                passes.rows_per_worker, rows.shape[1], self.n_clusters, rows.dtype.itemsize, self.bounds
            )
            sums = SampleSums(data, means, 0 if rows.is_sparse else n_bounds, earlier)
            result = nested(
                data, sums,
                doubling_threshold=self.doubling_threshold, min_improvement=self.min_improvement,
                stop=Stop(self.max_iter, self.tol), report=report.start_run(), labels_follow=self.compute_labels,
            )  # fmt: skip
            fitted = columns | self._result_fitted(result, data.shift)
            if self.compute_labels:
                labels, squares = label_all(passes, result.centers, data.shift)
                fitted |= self._labels_fitted(rows, result.centers, labels, squares, weights)
                if not goes_on:
                    self._warn_of_empty_clusters(labels)
        self._store_fitted(fitted)
        report.warn_if_out_of_time()

    def _result_fitted(self, result: NestedResult, shift: FloatArray) -> dict[str, Any]:
        """Return the fitted attributes of a result without labels."""
        means, history = result.sums.means, result.history
        return self._centers_fitted(result.centers, shift) | {
            "_sums": means.sums, "counts_": means.masses, "_squares": result.sums.squares,
            "history_": history, "n_iter_": len(history), "inertia_": float(history["objective"][-1]),
        }  # fmt: skip

    @staticmethod
    def _order(rows: Rows, weights: Array | None, size: int, random: np.random.RandomState) -> IndexArray:
        """Return the numbers of the rows with a positive weight (of all rows if there are none) in random order."""
        counted = np.arange(rows.shape[0]) if weights is None else np.flatnonzero(weights)
        if len(counted) == 0:
            counted = np.arange(rows.shape[0])
        return counted[shuffled(len(counted), run_length(rows, size), random)]

    def _first_size(self) -> int:
        if self.batch_size == "auto":
            return max(_FIRST_ROWS, _FIRST_ROWS_PER_CLUSTER * self.n_clusters)
        return max(int(self.batch_size), self.n_clusters)

    def _earlier_sums(self, rows: Rows) -> EarlierSums:
        """Return a copy of the sums of earlier calls, relative to a shift that suits the rows."""
        sums, masses, squares = (part.copy() for part in (self._sums, self.counts_, self._squares))
        shift = self._shift
        if rows.is_sparse:  # they are never shifted
            squares += 2 * sums @ shift + masses * (shift @ shift)
            sums += masses[:, None] * shift
            shift = np.zeros_like(shift)
        return EarlierSums(sums, masses, squares, shift)

    def _check_bounds(self, rows: Rows) -> None:
        if rows.is_sparse and self.bounds in ("elkan", "yinyang"):
            raise ValueError(
                f"bounds={self.bounds!r} is for dense rows: sparse ones are compared with all centroids. "
                'Use bounds="auto" or bounds="off".'
            )

    def _fitted_attributes(self) -> dict[str, str]:
        return {
            **super()._fitted_attributes(),
            "counts_": "float k",
            "_sums": "float k d",
            "_squares": "float k",
        }

    def _centers_from_first_batch(
        self, data: GrowingSample, random: np.random.RandomState, report: FitReport
    ) -> Array:
        batch, weights = data.first_rows()
        if weights is not None and not weights.any():
            weights = None
        sample = measure_rows(as_rows(batch), weights, n_clusters=self.n_clusters, n_threads=data.n_threads)
        return self._drawn_centers(batch, sample, random, report.deadline.share(_SEEDING_SHARE))
