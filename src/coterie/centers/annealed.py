"""Annealed mini-batch k-means: running means of random batches, whose memory grows with the rows seen.

A center is the mean of about the last rows that it has received: as many as a tenth of what a mean cluster has received
so far. At first centers move a lot, out of poor local minima; in the end they settle.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray
from coterie.blocks.dataset import total_weight, useful_n_threads, weighted_sum
from coterie.blocks.kernel_rows import KEPT_BYTES, kernel_rows, read_ahead
from coterie.blocks.shuffled import run_length
from coterie.centers.frame import CenterFrame, moved_centers
from coterie.centers.lloyd import ClusterSums
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.fitting.report import FitReport, Stop
from coterie.passes import ChunkRows, MeasuredRows, Passes, largest_square

# Rows that a running mean remembers at least, and those of all of them together; and what share of the rows seen.
_LEAST_ROWS, _LEAST_ROWS_OF_ALL, _SHARE = 6, 768, 0.1

HISTORY_FIELDS = (("center_shift", np.float64),)

# The tolerance of a fit that ends after a given number of epochs.
NEVER = -1.0

# Rows of a batch for each center: usually, and at most, as in larger ones fewer moves follow each other and little is
# annealed; and at least.
_ROWS_PER_CENTER, _MOST_ROWS_PER_CENTER, _LEAST_BATCH = 2, 8, 256

# Bytes of neighboring rows that are worth a read, and how many such runs a batch should hold, to be a fair sample even
# of sorted rows.
_RUN_BYTES, _RUNS_PER_BATCH = 1 << 16, 16

# Multiply-adds between two reports of a fit, and bytes that are read at a time.
_MULTIPLY_ADDS, _READ_BYTES = 1 << 32, 16 << 20

# Entries of a batch of sparse rows for each column, so that moving the centers takes no longer than comparing them.
_ENTRIES_PER_COLUMN = 8


class RowsSeen(NamedTuple):
    """How many rows of positive weight have been seen, their mass, and the largest weight."""

    n_rows: float = 0.0
    mass: float = 0.0
    heaviest: float = 0.0

    def and_more(self, weights: Array | None, n_rows: int) -> RowsSeen:
        """Return the same after more rows."""
        n_more, heaviest = float(n_rows), 1.0
        if weights is not None:
            n_more, heaviest = float(np.count_nonzero(weights)), float(weights.max())
        mass = self.mass + total_weight(n_rows, weights)
        return RowsSeen(self.n_rows + n_more, mass, max(self.heaviest, heaviest))


class Memory(NamedTuple):
    """The mass that a running mean remembers at most: M = max(least, share * mass of the rows seen)."""

    least: float
    share: float

    @classmethod
    def of(cls, n_clusters: int, rows: RowsSeen) -> Memory:
        """Return the memory for rows of such weights: a mean never forgets its heaviest row."""
        least = max(_LEAST_ROWS, _LEAST_ROWS_OF_ALL / n_clusters) * rows.mass / rows.n_rows
        return cls(max(least, rows.heaviest), _SHARE / n_clusters)

    def after(self, mass: Any) -> Any:
        """Return M when rows of this mass have been seen."""
        return np.maximum(self.least, self.share * mass)


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How rows are put into batches: about equal ones of `batch_size` rows, in runs of neighboring rows."""

    n_rows: int
    batch_size: int
    run: int = 1

    @classmethod
    def of(cls, passes: Passes, n_clusters: int, batch_size: int | None = None) -> BatchPlan:
        """Return the batches of the rows of positive weight. None: of 2 k rows, at least 256; up to 8 k on workers and
        where large data are read in runs; of sparse rows 8 entries for each column.
        """
        rows, weights = passes.rows, passes.weights
        n_rows = passes.n_rows if weights is None else int(np.count_nonzero(weights))
        if batch_size is None:
            most = max(_MOST_ROWS_PER_CENTER * n_clusters, _LEAST_BATCH)
            batch_size = max(_ROWS_PER_CENTER * n_clusters, _LEAST_BATCH)
            row_bytes = rows.shape[1] * rows.dtype.itemsize
            if not passes.is_here:
                batch_size = most
            elif rows.is_sparse:
                n_entries = rows.row_bytes() / (rows.dtype.itemsize + 4)
                batch_size = max(
                    batch_size, math.ceil(_ENTRIES_PER_COLUMN * rows.shape[1] / max(n_entries, 1))
                )
            elif rows.shape[0] * row_bytes > KEPT_BYTES:
                batch_size = min(max(batch_size, _RUNS_PER_BATCH * _RUN_BYTES // row_bytes), most)
        batch_size = min(batch_size, n_rows)
        return cls(n_rows, batch_size, run_length(rows, batch_size, _RUNS_PER_BATCH))

    @property
    def n_batches(self) -> int:
        """Number of batches of an epoch."""
        return min(-(-self.n_rows // self.run), -(-self.n_rows // self.batch_size))

    def per_report(self, size: int) -> int:
        """Return the number of batches between two reports, for centers of this size, k d."""
        return min(self.n_batches, max(1, _MULTIPLY_ADDS // (size * self.batch_size)))

    def shuffled(self, random: np.random.RandomState) -> tuple[IndexArray, IndexArray]:
        """Put all rows into random batches; return row numbers, ascending in each batch, and their ends."""
        n_rows, run, n_batches = self.n_rows, self.run, self.n_batches
        n_runs = -(-n_rows // run)
        batches = np.arange(n_runs, dtype=np.int64) % n_batches
        # Numbers of 16 bits are sorted much faster.
        of_run = random.permutation(batches.astype(np.uint16) if n_batches <= 1 << 16 else batches)
        numbers = np.argsort(of_run, kind="stable")
        sizes = run * np.bincount(of_run, minlength=n_batches)
        if run > 1:
            sizes[of_run[-1]] -= n_runs * run - n_rows
            numbers = (numbers[:, None] * run + np.arange(run)).ravel()
            numbers = numbers[numbers < n_rows]
        return numbers, np.cumsum(sizes)


class Batches(NamedTuple):
    """Consecutive batches: their rows, ascending within each, weights of rows, and ends, masses and memories."""

    numbers: IndexArray
    weights: Array | None
    ends: IndexArray
    masses: FloatArray
    memories: FloatArray

    @classmethod
    def of(
        cls, numbers: IndexArray, weights: Array | None, ends: IndexArray, memory: Memory, seen: float
    ) -> Batches:
        """Return batches after rows of the mass `seen`."""
        masses = np.diff(ends, prepend=0).astype(np.float64)
        if weights is not None:
            starts = np.concatenate([[0], ends[:-1]])
            masses = np.add.reduceat(weights, starts, dtype=np.float64)
        return cls(numbers, weights, ends, masses, memory.after(seen + np.cumsum(masses) - masses))

    def cut(self, n_batches: int) -> Iterator[Batches]:
        """Yield pieces of this number of batches, at least one."""
        step = max(1, n_batches)
        for first in range(0, len(self.ends), step):
            some = slice(first, first + step)
            begin = int(self.ends[first - 1]) if first > 0 else 0
            ends = self.ends[some]
            rows = slice(begin, int(ends[-1]))
            weights = None if self.weights is None else self.weights[rows]
            yield Batches(self.numbers[rows], weights, ends - begin, self.masses[some], self.memories[some])


class EpochSums(NamedTuple):
    """The sums of the rows of each cluster in an epoch, relative to the shift, and their masses."""

    sums: FloatArray
    masses: FloatArray


class RunningMeans:
    """Centers that are means of rows, of the mass `counts` each: one loop over batches in C++."""

    def __init__(
        self, centers: Array, counts: FloatArray, shift: FloatArray, n_threads: int, *, unit_length: bool
    ) -> None:
        self.counts, self.shift, self.n_threads, self.unit_length = counts, shift, n_threads, unit_length
        self.frame = frame = CenterFrame(np.array(centers), shift, n_threads)
        self.centers = frame.centers
        self._kernel = _kernels.running_means(
            frame.centers, frame.relative, frame.offsets, frame.squares, shift,
            frame.centers.astype(np.float64) - shift, counts, unit_length,
        )  # fmt: skip

    def take(self, passes: Passes, batches: Batches, epoch: EpochSums | None) -> float:
        """Assign the rows of each batch, move the centers, and add to the sums of the epoch. Returns the inertia of the
        rows by the centers before their batch.
        """
        sums, masses = (None, None) if epoch is None else epoch

        def step(rows: ChunkRows) -> float:
            inertias = []
            for x, part in _read(rows, batches):
                inertias.append(np.empty(len(part.ends)))
                _kernels.take_batches(
                    x, part.weights, part.ends, part.memories, inertias[-1], self._kernel, sums, masses,
                    self.n_threads,
                )  # fmt: skip
            return float(np.sum(np.concatenate(inertias)))

        return float(passes.run(step)[0])


def _read(rows: ChunkRows, batches: Batches) -> Iterator[tuple[Any, Batches]]:
    """Yield batches with their rows for the kernels: all at once, or as many as are worth a read."""
    kept = rows.rows
    if kept.in_memory:
        yield rows.reader(batches.numbers), batches
        return

    def read(part: Batches) -> tuple[Any, Batches]:
        order = np.argsort(part.numbers, kind="stable")
        block = kernel_rows(kept.take(part.numbers[order]))
        return _kernels.select_rows(block, np.argsort(order, kind="stable")), part

    row_bytes, n_rows = kept.shape[1] * kept.dtype.itemsize, len(batches.numbers) // len(batches.ends)
    yield from read_ahead(map(read, batches.cut(_READ_BYTES // (row_bytes * n_rows))))


class SummedRunningMeans(RunningMeans):
    """The same by the sums of each batch, O(k d) more: of sparse rows, and of rows on workers, whose sums are exact."""

    def take(self, passes: Passes, batches: Batches, epoch: EpochSums | None) -> float:
        """See `RunningMeans.take`."""
        inertia, begin, mass = 0.0, 0, 2 * total_weight(passes.n_rows, passes.weights)
        largest = mass * (1.0 if passes.is_here else float(np.sqrt(largest_square(passes, self.shift))))
        totals = ClusterSums(passes.total(self.centers.shape, largest), passes.total(self.counts.shape, mass))
        for end, memory in zip(batches.ends.tolist(), batches.memories.tolist()):
            for total in totals:
                total.clear()
            given = passes.split(batches.numbers[begin:end])
            inertia += sum(passes.run(_add_nearest, self.frame, sums=totals, given=given))
            sums, masses = totals.sums.total(), totals.masses.total()
            if epoch is not None:
                np.add(epoch.sums, sums, out=epoch.sums)
                np.add(epoch.masses, masses, out=epoch.masses)
            _kernels.take_sums(sums, masses, memory, self._kernel, self.n_threads)
            begin = end
        return inertia


def _add_nearest(rows: ChunkRows, frame: CenterFrame, totals: ClusterSums, numbers: IndexArray) -> float:
    """Add some rows to the sums of their nearest centers; return their inertia."""
    n_threads = rows.most_threads
    x, weights = rows.reader(numbers), None if rows.weights is None else rows.weights[numbers]
    labels, squares = np.empty(len(numbers), dtype=np.int32), np.empty(len(numbers))
    frame.nearest(x, labels, squares, n_threads=n_threads)
    with totals.sums.part() as sums, totals.masses.part() as masses:
        _kernels.add_to_clusters(x, labels, None, weights, frame.shift, sums, masses, n_threads)
    return weighted_sum(squares, weights)


def running_means(
    passes: Passes,
    centers: Array,
    counts: FloatArray,
    shift: FloatArray,
    batch_size: int,
    *,
    unit_length: bool,
) -> RunningMeans:
    """Return centers that are means of the mass `counts` each, and will receive such rows; `counts` is changed."""
    n_threads, is_sparse = (
        useful_n_threads(batch_size * centers.size, passes.n_threads),
        passes.rows.is_sparse,
    )
    kind = RunningMeans if passes.is_here and not is_sparse else SummedRunningMeans
    shift = np.zeros_like(shift) if is_sparse else shift  # sparse rows are never shifted
    return kind(centers, counts, shift, n_threads, unit_length=unit_length)


@dataclass(frozen=True, slots=True)
class AnnealedResult:
    """The result of annealed k-means: centers (k, d), numbers of epochs and batches, the mass of the rows seen, and the
    reason of the end: "max_iter", "converged", "max_time" or "callback".
    """

    centers: Array
    n_epochs: int
    n_batches: int
    seen: float
    history: Array
    reason: str


def anneal(
    passes: Passes,
    means: RunningMeans,
    memory: Memory,
    plan: BatchPlan,
    random: np.random.RandomState,
    *,
    seen: float = 0.0,
    stop: Stop,
    report: FitReport,
    scale: float = 1.0,
) -> AnnealedResult:
    """Assign random batches and move the running means, in O(n k d) time for each epoch; return the means of the
    rows of the last epoch, or the running means if it is cut short. `seen` is the mass of rows seen before, `stop`
    gets the squared movement of the centers in an epoch, and `report` the inertia, times `scale`.
    """
    numbers = None if passes.weights is None else np.flatnonzero(passes.weights > 0)
    mass, n_batches = total_weight(passes.n_rows, passes.weights), 0
    for epoch in range(1, stop.max_iter + 1):
        order, ends = plan.shuffled(random)
        if numbers is not None:
            order = numbers[order]
        weights = None if passes.weights is None else passes.weights[order]
        before, n_taken, epoch_sums = np.array(means.centers), 0, None
        shifts = np.empty(len(before))
        if epoch == stop.max_iter or stop.tolerance >= 0:
            epoch_sums = EpochSums(np.zeros(before.shape), np.zeros(len(before)))
        for batches in Batches.of(order, weights, ends, memory, seen).cut(plan.per_report(before.size)):
            inertia, batch_mass = means.take(passes, batches, epoch_sums), float(batches.masses.sum())
            n_batches, n_taken = n_batches + len(batches.ends), n_taken + len(batches.numbers)
            seen += batch_mass
            centers = means.centers
            if epoch_sums is not None and n_taken == plan.n_rows:
                unit_length = means.unit_length
                centers = moved_centers(
                    *epoch_sums, means.shift, centers, means.n_threads, unit_length=unit_length
                )
            _kernels.compare_centers(means.centers, before, np.empty(len(before)), shifts, means.n_threads)
            shift = float(shifts.sum())
            if report(scale * inertia * mass / batch_mass, centers, center_shift=shift):
                break
        if report.reason is not None or shift <= stop.tolerance:
            break
    reason = report.reason or ("converged" if shift <= stop.tolerance else "max_iter")
    return AnnealedResult(np.array(centers), epoch, n_batches, seen, report.history(), reason)


def anneal_centers(
    data: MeasuredRows,
    centers: Array,
    n_epochs: int,
    random: np.random.RandomState,
    *,
    unit_length: bool,
    deadline: Deadline = UNLIMITED,
) -> Array:
    """Return centers after some annealed epochs over all rows, as a step of another fit."""
    passes, seen = data.passes, RowsSeen().and_more(data.weights, data.n_rows)
    plan, memory = BatchPlan.of(passes, len(centers)), Memory.of(len(centers), seen)
    counts = np.full(len(centers), memory.after(0.0))
    means = running_means(passes, centers, counts, data.shift, plan.batch_size, unit_length=unit_length)
    report, stop = FitReport(fields=HISTORY_FIELDS, deadline=deadline), Stop(n_epochs, NEVER)
    return anneal(passes, means, memory, plan, random, stop=stop, report=report).centers
