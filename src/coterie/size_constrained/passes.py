"""Assignment of rows to centers with size constraints, by the dual variables of the constraints ("prices").

Each row is assigned to the cluster of the least squared distance plus price; see
`coterie.size_constrained.assignment`. Prices are found on lists of the nearest centers of each row (`Listing`), which
are computed again where they turn out too short.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import FitRows, SquareDistances, total_weight, weighted_sum
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.assignment import RowLabels
from coterie.centers.frame import CenterFrame
from coterie.centers.lloyd import ClusteredRows
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.passes import ChunkRows, MeasuredRows
from coterie.size_constrained.assignment import PricedAssignment, assign_within
from coterie.size_constrained.dual_ascent import PriceProblem, ascend
from coterie.size_constrained.priced_lists import Followed, PricedLists, Pricing
from coterie.size_constrained.sizes import SizeBounds, common_weight

Blocks = Callable[[], Iterator[tuple[slice, Any]]]

# All centroids of each row are listed where that takes no more than this.
_WHOLE_BYTES = 4 << 20

# Lists grow to this, where they are not right as they are.
_LONGEST_BYTES = 128 << 20

# Rows that are listed again at a time.
_TAKEN = 1 << 16

# Bytes of choices and bounds of each row in addition to its list, and of temporary arrays.
_PER_ROW = 200

# Places for centroids whose prices have fallen far.
FOLLOWED = 4

# Centroids on the list of a row.
_LISTED = 8

# Maximum number of rounds that compute lists again, in part or in whole, and the factor of their length.
_MOST_LISTINGS, _LONGER = 24, 2

# Rounds in which lists may be computed again in part.
_PATIENCE = 6

# Lists of at most this part of the rows are computed again separately.
_MOST_AGAIN = 0.3

# If more than this part of the clusters is separate, all lists are computed again.
_MOST_FOLLOWED = 0.25

# Prices start from those of a sample of this number of rows per cluster, if there are this many times more rows.
_SAMPLED, _TIMES_SAMPLED = 50, 4

# Lists of the sample are longer, because prices may change much; they are computed again until a centroid that is not
# listed may cost less for at most this part of the rows.
_LISTED_OF_SAMPLE, _MOST_SAMPLE_LISTINGS, _UNCERTAIN_SAMPLE = 32, 8, 0.001

# Prices are kept if at most this part of a sample is out of place, which is within its noise (0.8 / sqrt(50)).
_NOISE = 0.14


@dataclass(frozen=True)
class Listing:
    """Lists the cheapest centroids of rows under prices.

    Attributes
    ----------
    blocks : callable
        Yields (slice of the rows, kernel rows) each time.
    take : callable
        Returns rows of ascending numbers.
    n_rows : int
        Number of rows n.
    frame : CenterFrame
        The centroids.
    n_threads : int
        Threads of the kernel.
    """

    blocks: Blocks
    take: Callable[[IndexArray], Any]
    n_rows: int
    frame: CenterFrame
    n_threads: int

    def of_all(self, prices: FloatArray, at_least: int) -> PricedLists:
        """List the cheapest centroids of all rows, at least `at_least` or all: one pass over the rows."""
        return self._of(self.blocks, self.n_rows, prices, self._length(self.n_rows, at_least))

    def some(self, numbers: IndexArray) -> Listing:
        """Return the listing of some rows, which are kept in memory; numbers are ascending."""
        held = self.take(numbers)
        x = kernel_rows(held)
        whole = slice(0, len(numbers))
        return replace(
            self, blocks=lambda: iter([(whole, x)]), take=lambda places: held[places], n_rows=len(numbers)
        )

    def list_again(self, lists: PricedLists, numbers: IndexArray, prices: FloatArray) -> PricedLists:
        """List centroids of some of all rows under other prices. The lists that are given are changed."""
        first = 0 if lists.followed is None else lists.followed.length
        new = self._of(lambda: self._taken(numbers), len(numbers), prices, lists.ids.shape[1] - first)
        for place in range(first):
            new.scores[new.ids == lists.ids[numbers, place, None]] = np.inf
        lists.ids[numbers, first:], lists.scores[numbers, first:] = new.ids, new.scores
        lists.last[numbers], lists.under[numbers] = new.last, len(lists.prices)
        return replace(lists, prices=np.concatenate([lists.prices, new.prices]))

    def list_separately(self, lists: PricedLists, clusters: IndexArray, prices: FloatArray) -> PricedLists:
        """List some centroids by themselves for all rows, beside the others: a pass over the rows with these alone.

        Those that are followed already stay so.
        """
        if lists.followed is not None:
            clusters = np.union1d(clusters, lists.followed.clusters)
        length = min(FOLLOWED, len(clusters))
        part = replace(self, frame=self.frame.some(clusters))
        # One more, which bounds the others.
        new = part._of(self.blocks, self.n_rows, prices[clusters], min(length + 1, len(clusters)))
        ids = clusters.astype(np.int32)[new.ids[:, :length]]
        others = slice(0 if lists.followed is None else lists.followed.length, None)
        all_ids = np.concatenate([ids, lists.ids[:, others]], axis=1)
        all_scores = np.concatenate([new.scores[:, :length], lists.scores[:, others]], axis=1)
        for place in range(length):
            all_scores[:, length:][all_ids[:, length:] == ids[:, place, None]] = np.inf
        under = prices.astype(new.scores.dtype).astype(np.float64)
        return replace(
            lists,
            ids=all_ids,
            scores=all_scores,
            followed=Followed(clusters, under, new.last, length),
        )

    def nearest(self) -> IntArray:
        """Return the nearest centroid of each row: one pass over the rows."""
        return self._of(self.blocks, self.n_rows, np.zeros(len(self.frame)), 1).ids[:, 0]

    def _length(self, n_rows: int, at_least: int) -> int:
        n_clusters, itemsize = len(self.frame), self.frame.centers.dtype.itemsize
        is_whole = n_rows * n_clusters * (4 + itemsize) <= _WHOLE_BYTES
        return n_clusters if is_whole else min(n_clusters, at_least)

    def _taken(self, numbers: IndexArray) -> Iterator[tuple[slice, Any]]:
        for start in range(0, len(numbers), _TAKEN):
            some = numbers[start : start + _TAKEN]
            yield slice(start, start + len(some)), kernel_rows(self.take(some))

    def _of(self, blocks: Blocks, n_rows: int, prices: FloatArray, length: int) -> PricedLists:
        frame = self.frame
        n_clusters, dtype = len(frame), frame.centers.dtype
        is_whole = length == n_clusters
        added: Array = np.zeros(n_clusters, dtype=dtype) if is_whole else prices.astype(dtype)
        ids, scores = np.empty((n_rows, length), dtype=np.int32), np.empty((n_rows, length), dtype=dtype)
        for part, x in blocks():
            _kernels.nearest(
                x, frame.relative, frame.offsets + added, ids[part], scores[part], self.n_threads
            )
        last = np.full(n_rows, np.inf) if is_whole else scores[:, -1].astype(np.float64)
        if not is_whole:
            for start in range(0, n_rows, _TAKEN):
                part = slice(start, start + _TAKEN)
                scores[part] -= added[ids[part]]
        under = np.zeros(n_rows, dtype=np.int32)
        return PricedLists(ids, scores, added.astype(np.float64)[None, :], last, under, self.n_threads)


def _longest(n_rows: int, n_clusters: int, itemsize: int) -> int:
    """Return the maximum number of centroids in lists, without those that are followed."""
    return min(n_clusters, max(_LONGER * _LISTED, _LONGEST_BYTES // (n_rows * (4 + itemsize))))


class SizedSearch:
    """Assigns rows within bounds of the sizes of clusters, beginning with the prices of the last time.

    Parameters
    ----------
    bounds : SizeBounds
        Of the (weighted) sizes, for rows of total weight `total`.
    total : float
        Fewer rows have bounds in proportion.
    n_clusters : int
        Number of clusters k.
    gap : float
        Relative to the inertia, the duality gap that will do.
    n_threads : int
        Threads of the kernels.
    deadline : Deadline, optional
        When to make do with labels within the bounds that are not the cheapest: the gap tells how much they cost.

    Attributes
    ----------
    gap : float
        That of the last assignment, relative to its inertia.
    """

    def __init__(
        self,
        bounds: SizeBounds,
        total: float,
        n_clusters: int,
        *,
        gap: float,
        n_threads: int,
        deadline: Deadline = UNLIMITED,
    ) -> None:
        self._bounds, self._total, self._tolerance = bounds, total, gap
        self.n_threads = n_threads
        self._prices = np.zeros(n_clusters)
        self._deadline = deadline
        self._strata = np.empty(0, dtype=np.int32)  # the nearest centroids of the last rows
        self.gap = self._excess = self._inertia = 0.0

    def labels(
        self,
        blocks: Blocks,
        frame: CenterFrame,
        squares: Array,
        weights: Array | None,
        take: Callable[[IndexArray], Any],
    ) -> tuple[IntArray, float]:
        """Assign rows.

        Parameters
        ----------
        blocks : callable
            Yields (slice of the rows, kernel rows) each time.
        frame : CenterFrame
            The centroids.
        squares : ndarray of shape (n,)
            Squared distances of the rows to the shift.
        weights : ndarray of shape (n,) or None
            None for 1.
        take : callable
            Returns rows of ascending numbers.

        Returns
        -------
        labels : ndarray of shape (n,), int32
        inertia : float
            Of the labels.

        Raises
        ------
        ValueError
            If weights are so uneven that no sizes within the bounds were found.
        """
        n_rows = len(squares)
        listing = Listing(blocks, take, n_rows, frame, self.n_threads)
        if n_rows >= _TIMES_SAMPLED * _SAMPLED * len(frame) and not self._deadline.is_over:
            self._price_sample(listing, weights)
        constant = weighted_sum(squares.astype(np.float64), weights)
        found, lists = self._search(listing, weights, constant)
        self._strata = lists.nearest()
        labels, value = found.labels, found.value
        if not found.is_within:
            if not self._deadline.is_over and lists.is_whole and common_weight(weights) is None:
                raise ValueError(
                    "No sizes within size_min and size_max were found, even up to the largest sample_weight: weights "
                    "differ too much. Widen the bounds, or cap the weights."
                )
            bounds = self._bounds_of(n_rows, weights)
            labels = balanced(lists.price(found.prices), bounds, len(frame), weights)
            value = self._inertia_of(blocks, frame, labels, weights) - constant
        inertia = max(value + constant, 0.0)
        self._excess = max(value - found.bound, 0.0)
        self._note(inertia)
        return labels, inertia

    def keep(self, difference: float) -> None:
        """Record that other labels are kept, whose cost is lower by this difference."""
        self._excess = max(self._excess - difference, 0.0)
        self._note(self._inertia - difference)

    def _note(self, inertia: float) -> None:
        self._inertia = inertia
        self.gap = self._excess / inertia if inertia > 0 else 0.0

    def _bounds_of(self, n_rows: int, weights: Array | None) -> SizeBounds:
        """Return the bounds of the sizes for some rows, in proportion to their weight."""
        total = total_weight(n_rows, weights)
        return self._bounds if total == self._total else self._bounds.scaled(total / self._total)

    def _search(
        self, listing: Listing, weights: Array | None, constant: float
    ) -> tuple[PricedAssignment, PricedLists]:
        """Assign rows; compute lists again that are wrong under the current prices, until all are right."""
        bounds, length = self._bounds_of(listing.n_rows, weights), _LISTED
        lists = listing.of_all(self._prices, length)
        longest = _longest(listing.n_rows, lists.n_clusters, listing.frame.centers.dtype.itemsize)
        for number in range(_MOST_LISTINGS):
            gap = self._tolerance if number < _PATIENCE else 0.0
            found = assign_within(
                lists, bounds, weights,
                prices=self._prices, deadline=self._deadline, gap=gap, constant=constant,
            )  # fmt: skip
            self._prices = found.prices
            is_near = found.gap <= self._tolerance * max(found.value + constant, 0.0)
            if (found.is_within and (is_near or lists.is_whole)) or self._deadline.is_over:
                break
            better = self._better(listing, PriceProblem(lists, bounds, weights))
            if better is None or better is lists or number >= _PATIENCE:
                if number > _PATIENCE and length == longest:
                    break
                length = min(length * (_LONGER if better is lists or number > 1 else 1), longest)
                del lists, better  # before there are new ones
                better = listing.of_all(self._prices, length)
            lists = better
        return found, lists

    def _better(self, listing: Listing, problem: PriceProblem) -> PricedLists | None:
        """Return the lists with wrong ones computed again: the same lists if none is wrong, None if most are."""
        lists, prices = problem.lists, self._prices
        values = lists.price(prices).values
        far = np.union1d(lists.outdated_centroids(values, prices), problem.underlisted_clusters())
        known = np.empty(0, dtype=np.intp) if lists.followed is None else lists.followed.clusters
        n_new = len(np.setdiff1d(far, known))
        if len(known) + n_new > _MOST_FOLLOWED * lists.n_clusters:
            return None
        if n_new > 0 or lists.are_followed_uncertain(values, prices):
            lists = listing.list_separately(lists, np.union1d(far, known), prices)
            values = lists.price(prices).values
        unsure = np.flatnonzero(lists.uncertain_rows(values, prices))
        if len(unsure) > _MOST_AGAIN * lists.n_rows:
            return None
        return listing.list_again(lists, unsure, prices) if len(unsure) > 0 else lists

    def _price_sample(self, listing: Listing, weights: Array | None) -> None:
        """Approximate the prices of all rows by those of a sample, so that few lists must be computed again."""
        numbers = _spread(listing.n_rows, _SAMPLED * len(listing.frame))
        some = self._sample_weights(listing, numbers, weights)
        sample, bounds = listing.some(numbers), self._bounds_of(len(numbers), some)

        def of(lists: PricedLists) -> PriceProblem:
            return PriceProblem(lists, bounds, some)

        before = self._prices
        if np.any(before):
            problem = of(sample.of_all(before, 1))
            kept = problem.at(before)
            if problem.size_error(kept) <= _NOISE * float(kept.sizes.sum()):
                return
            # Prices of other centroids lead astray where these have moved far.
            none = np.zeros(len(listing.frame))
            if of(sample.of_all(none, 1)).at(none).value >= kept.value:
                self._prices = none
        lists = sample.of_all(self._prices, _LISTED_OF_SAMPLE)
        for _ in range(_MOST_SAMPLE_LISTINGS):
            point = ascend(of(lists), self._prices, self._deadline)
            self._prices = point.prices
            if lists.is_whole or of(lists).uncertain_share(point)[0] <= _UNCERTAIN_SAMPLE:
                break
            lists = sample.of_all(point.prices, _LISTED_OF_SAMPLE)

    def _sample_weights(self, listing: Listing, numbers: IndexArray, weights: Array | None) -> FloatArray:
        """Return weights of a sample by which as many rows are near each centroid as are among all.

        Where rows are in separate groups, chance that gives a group some more rows than its clusters have room for
        sends rows to another group, at prices that are those of no other sample.
        """
        if len(self._strata) != listing.n_rows:
            self._strata = listing.nearest()
        n_strata, drawn = len(listing.frame), self._strata[numbers]
        masses = np.bincount(self._strata, weights, minlength=n_strata)
        own = np.ones(len(numbers)) if weights is None else weights[numbers].astype(np.float64)
        sampled = np.bincount(drawn, own, minlength=n_strata)
        return own * (masses / np.where(sampled > 0, sampled, 1.0))[drawn]

    def _inertia_of(
        self, blocks: Blocks, frame: CenterFrame, labels: IntArray, weights: Array | None
    ) -> float:
        """Return the cost of labels that may not be on the lists."""
        distances, squares = SquareDistances(frame.centers, self.n_threads), np.empty(len(labels))
        for part, x in blocks():
            distances.write(x, labels[part], squares[part])
        return weighted_sum(squares, weights)


@dataclass(frozen=True)
class SizedRule:
    """The assignment of rows with size constraints; see `coterie.centers.assignment.AssignmentRule`."""

    search: SizedSearch

    def bounds(self, rows: FitRows, frame: CenterFrame) -> SizedAssignment:
        """Return the assignment of all rows."""
        return SizedAssignment(self.search, rows)


class SizedAssignment:
    """The labels of the rows of a fit with size constraints.

    They are those of the last pass where new ones would not lower the inertia, so that it never rises.
    """

    algorithm = "lloyd"

    def __init__(self, search: SizedSearch, data: FitRows) -> None:
        self._data, self._search = data, search
        self.labels = np.full(data.n_rows, -1, dtype=np.int32)

    def start(self, frame: CenterFrame) -> None:
        """Take the centers of the next pass, and assign all rows."""
        data = self._data
        self._found, _ = self._search.labels(data.blocks, frame, data.squares, data.weights, data.take)
        if np.all(self.labels >= 0):
            difference = _difference(data, frame.centers, self.labels, self._found)
            if difference >= 0:
                self._search.keep(difference)
                self._found = self.labels.copy()

    def assign(self, part: slice, x: Any) -> None:
        """Bring the labels of one block up to date."""
        self.labels[part] = self._found[part]

    def relabel(self, rows: IndexArray, labels: IntArray) -> None:
        """Give some rows labels that a distance did not choose."""
        self.labels[rows] = labels


class SizedClusters(ClusteredRows):
    """Clusters of rows of this process whose labels satisfy size constraints."""

    def __init__(
        self, data: MeasuredRows, search: SizedSearch, n_clusters: int, *, unit_length: bool = False
    ) -> None:
        super().__init__(data, n_clusters, SizedRule(search), unit_length=unit_length)
        self._search = search

    def progress(self) -> dict[str, Any]:
        return {"gap": self._search.gap}

    def _labels_and_squares(self, frame: CenterFrame) -> list[tuple[IntArray, FloatArray, float]]:
        return self.passes.run(_labels_and_squares, frame.centers, self.labels)


def _labels_and_squares(
    rows: ChunkRows, centers: Array, state: RowLabels
) -> tuple[IntArray, FloatArray, float]:
    squares = rows.own_square_distances(centers, state.labels)
    return state.labels, squares, weighted_sum(squares, rows.weights)


def _difference(data: FitRows, centers: Array, before: IntArray, after: IntArray) -> float:
    """Return by how much labels cost more than those before, measured accurately."""
    distances = SquareDistances(centers, data.n_threads)
    difference = 0.0
    for part, x in data.blocks():
        old, new = np.empty(part.stop - part.start), np.empty(part.stop - part.start)
        distances.write(x, before[part], old)
        distances.write(x, after[part], new)
        difference += weighted_sum(new - old, data.weights_of(part))
    return difference


def _spread(n_rows: int, n_sampled: int) -> IndexArray:
    """Return ascending numbers of rows, one drawn from each of equal parts: they depend on both numbers alone."""
    places = np.random.RandomState(0).random_sample(n_sampled)
    return ((np.arange(n_sampled) + places) * (n_rows / n_sampled)).astype(np.int64)


def balanced(pricing: Pricing, bounds: SizeBounds, n_clusters: int, weights: Array | None) -> IntArray:
    """Give rows of the largest clusters to the smallest ones until all sizes are within bounds.

    Parameters
    ----------
    pricing : Pricing
        What the rows would choose. Those go first that have another centroid nearly as near.
    bounds : SizeBounds
        Of the (weighted) sizes.
    n_clusters : int
        Number of clusters k.
    weights : ndarray of shape (n,) or None
        None for 1. Where they differ, sizes hold up to the largest.

    Returns
    -------
    ndarray of shape (n,), int32
    """
    labels = pricing.labels.copy()
    common = common_weight(weights)
    masses = np.ones(len(labels)) if weights is None else weights.astype(np.float64)
    counted = np.flatnonzero(masses > 0)
    grain = 0.0 if common is not None else float(masses.max())
    if common is not None:
        bounds, masses = bounds.in_units(common, n_clusters, len(counted)), (masses > 0).astype(np.float64)
    order = counted[np.lexsort((pricing.margins[counted], labels[counted]))]
    starts = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    _balance(labels, order, starts, masses, bounds, grain)
    return labels


def _balance(
    labels: IntArray, order: IndexArray, starts: IndexArray, masses: Array, bounds: SizeBounds, grain: float
) -> None:
    """Move rows, those of each cluster in their order: they are where it starts and before where the next one does."""
    n_clusters = len(starts) - 1
    sizes = np.bincount(labels, masses, minlength=n_clusters)
    waiting, stops = starts[:-1].tolist(), starts[1:].tolist()
    largest = [(-size, c) for c, size in enumerate(sizes.tolist())]
    smallest = [(size, c) for c, size in enumerate(sizes.tolist())]
    heapq.heapify(largest)
    heapq.heapify(smallest)
    while largest and smallest:
        (size, source), (least, target) = largest[0], smallest[0]
        if -size != sizes[source] or waiting[source] == stops[source]:
            heapq.heappop(largest)
        elif least != sizes[target]:
            heapq.heappop(smallest)
        elif -size <= bounds.most + grain and least >= bounds.least - grain:
            return
        else:
            row = order[waiting[source]]
            waiting[source] += 1
            labels[row] = target
            for cluster, more in ((source, -masses[row]), (target, masses[row])):
                sizes[cluster] += more
                heapq.heappush(largest, (-sizes[cluster], cluster))
                heapq.heappush(smallest, (sizes[cluster], cluster))
