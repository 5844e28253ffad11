"""A sample of rows on workers that grows, and the votes of its rows: see `coterie.kmeans.nested`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.blocks.measures import sample_positions
from coterie.blocks.shuffled import ShuffledRows
from coterie.centers.means import Means
from coterie.dask import operations
from coterie.dask.exact_sums import Steps, exact
from coterie.dask.worker_rows import WorkerRows
from coterie.kmeans.nested import EarlierSums, NestedProgress, SampleSums
from coterie.rows import RowSource, as_rows

__all__ = ["ROUND", "WorkerSample", "WorkerVotes"]

# The sums of votes, and the arrays of each.
_SUMS, _PARTS = ("sums", "masses", "squares"), ("high", "low")

# What is noted at the beginning of a round; of the random numbers, those that put the rows in order.
ROUND = {
    "told", "sizes", "centers", "before", "energies", "counts", "flags", "random",
    *(f"{name}_{part}" for name in _SUMS for part in _PARTS),
}  # fmt: skip


class WorkerSample:
    """Rows of workers in random order, of which a prefix is the sample; see `coterie.blocks.shuffled.ShuffledRows`.

    Only which rows are new travels to the workers, 4 bytes for each. The first rows come here: a bounded sample, in
    which the shift is found and centroids begin.

    Parameters
    ----------
    data : WorkerRows
        All rows.
    order : ndarray of shape (n,), intp
        Their numbers, shuffled.
    size : int
        Length of the prefix to begin with.
    shift : ndarray of shape (d,), or None
        None: that of the first rows.

    Attributes
    ----------
    sizes : list of int
        Those that the sample has had.
    told : ndarray of float64
        Numbers that rows and weights have, and hardly any others.
    """

    def __init__(self, data: WorkerRows, order: IndexArray, size: int, shift: FloatArray | None) -> None:
        self.data, self.order = data, order
        self.rows: RowSource = data.rows
        self.n_rows, self.n_threads = data.n_rows, data.n_threads
        self.total_weight = data.total_weight
        self.new: list[IndexArray] = []
        self.sizes: list[int] = []
        self.size = 0
        self.grow(min(size, data.n_rows))
        batch, self.weights = data.rows.take(order[: self.size]), None
        if data.weights is not None:
            self.weights = data.weights[order[: self.size]]
        if shift is None:
            first = ShuffledRows(
                as_rows(batch), self.weights, np.arange(self.size), n_clusters=1, n_threads=data.n_threads
            )
            first.grow(self.size)
            shift = first.shift
        self.shift = shift
        found = data.squares_to(shift)
        self.told = np.concatenate([[self.n_rows, found.total, found.weighted, found.largest], shift])

    def grow(self, size: int) -> None:
        """Take in the rows up to a position."""
        self.order[self.size : size].sort()
        self.new = [part.astype(np.int32) for part in self.data.chunk_rows(self.order[self.size : size])]
        self.size = size
        self.sizes.append(size)

    @property
    def are_new(self) -> bool:
        """Whether there are rows that have no labels yet."""
        return any(len(numbers) for numbers in self.new)

    def have_voted(self) -> None:
        """Note that the rows that were new have labels, which other workers can find again."""
        sampled = self.data.crew.sampled
        for number, numbers in enumerate(self.new):
            if len(numbers):
                sampled.setdefault(number, []).append(numbers)
        self.new = [numbers[:0] for numbers in self.new]


class WorkerVotes(SampleSums):
    """Votes of rows of workers, added without rounding.

    Parameters
    ----------
    sample : WorkerSample
        The rows.
    means : Means
        The centroids.
    n_bounds : int or None
        Lower bounds per row; see `Plan`.
    earlier : EarlierSums or None
        What earlier calls have left.

    Attributes
    ----------
    rounds : NestedProgress
        What they have told.
    is_kept : bool
        Whether what a fit that goes on needs to know is noted at the beginning of each round, as `begun`.
    """

    def __init__(
        self, sample: WorkerSample, means: Means, n_bounds: int | None, earlier: EarlierSums | None
    ) -> None:
        super().__init__(sample, means, earlier)
        self._data, self._crew = sample, sample.data.crew
        shape, mass = means.centers.shape, 2 * sample.total_weight
        of_squares = Steps.below(4 * mass * sample.data.largest_square)
        self._empty = {
            "sums": exact(shape, Steps.below(mass * float(np.sqrt(sample.data.largest_square)))),
            "masses": exact(shape[:1], Steps.below(mass)),
            "squares": exact(shape[:1], of_squares),
        }
        self._of_a_round = {
            "counts": exact(shape[:1], Steps.below(2 * sample.n_rows)),
            "within": exact(shape[:1], of_squares),
        }
        self._exact = {name: empty() for name, empty in self._empty.items()}
        self._before = (np.zeros(shape) + means.sums, means.masses.copy(), self.squares.copy())
        self._has_rounds_before = False
        self.rounds = NestedProgress()
        self.is_kept = False
        self.begun: dict[str, Any] = {}
        self._crew.plan = replace(self._crew.plan, n_bounds=n_bounds, is_sampled=True)

    def update(self) -> int:
        """See `SampleSums`."""
        centers = self.means.centers
        if self.is_kept:
            self.begun = self._now()
        answer = self._crew.run(
            "vote",
            operations.vote,
            {"centers": centers},
            given=self._data.new,
            sums=self._empty | self._of_a_round,
        )
        for name, held in self._exact.items():
            held.take_in(answer.sums[name])
        now = (self._exact[name].total() + before for name, before in zip(self._exact, self._before))
        self.means.sums, self.means.masses, self.squares = now
        self._counts, self._within = (answer.sums[name].total() for name in self._of_a_round)
        self._data.have_voted()
        self._crew.have_labels(centers)
        return int(sum(answer.results.values()))

    def _now(self) -> dict[str, Any]:
        """Return what a fit that goes on with the coming round needs to know."""
        crew, sample, descent, growth = self._crew, self._data, self.rounds.descent, self.rounds.growth
        before = np.empty(0) if crew.before is None else crew.before
        variance = vars(self).get("mean_variance", np.nan)
        energies = descent.lowest, growth.at_first, growth.energy
        sums = {
            f"{name}_{part}": getattr(held, part).copy()
            for name, held in self._exact.items()
            for part in _PARTS
        }
        return sums | {
            "told": sample.told,
            "sizes": np.array(sample.sizes),
            "centers": self.means.centers,
            "before": before,
            "energies": np.array([*energies, variance]),
            "counts": np.array([descent.n_without_progress, growth.size]),
            "flags": np.array([sample.are_new, self.is_settled, crew.was_settled]),
        }

    def go_on(self, begun: Mapping[str, Any]) -> None:
        """Be where another fit of the same rows was at the beginning of a round."""
        crew, sample = self._crew, self._data
        are_new, is_settled, was_settled = begun["flags"].tolist()
        sizes = begun["sizes"].tolist()
        for number, size in enumerate(sizes):
            if number > 0:
                sample.grow(size)
            if number + 1 < len(sizes) or not are_new:
                sample.have_voted()
        for name, held in self._exact.items():
            for part in _PARTS:
                getattr(held, part)[:] = begun[f"{name}_{part}"]
        if is_settled:
            self.settle()
        descent, growth = self.rounds.descent, self.rounds.growth
        descent.lowest, growth.at_first, growth.energy, variance = begun["energies"].tolist()
        descent.n_without_progress, growth.size = begun["counts"].tolist()
        if not np.isnan(variance):
            vars(self)["mean_variance"] = variance
        if len(begun["before"]):
            self._has_rounds_before = True
            crew.have_labels(begun["before"])
            crew.was_settled = was_settled
            crew.reopen()

    def rounding_decides(self) -> bool:
        """See `SampleSums`."""
        if self._has_rounds_before:  # in the first of which it was told
            return False
        data = self._data
        numbers = data.order[: data.size][sample_positions(data.size)]
        firsts = np.searchsorted(data.order[: data.size], data.data.firsts)
        given = [
            np.searchsorted(data.order[: data.size], part + first) - start
            for part, first, start in zip(data.data.chunk_rows(numbers), data.data.firsts, firsts)
        ]
        answer = self._crew.run("doubt", operations.doubt, {"centers": self.means.centers}, given=given)
        return any(answer.results.values())

    def settle(self) -> None:
        """See `SampleSums`."""
        self._crew.plan, self.is_settled = replace(self._crew.plan, is_settled=True), True

    def counts(self) -> Array:
        """See `SampleSums`."""
        return self._counts

    def measured(self) -> FloatArray:
        """See `SampleSums`."""
        return self._within

    def empty_clusters(self) -> IndexArray:
        """See `SampleSums`."""
        empty = super().empty_clusters()
        for held in self._exact.values():
            held.high[empty] = 0
            held.low[empty] = 0
        return empty
