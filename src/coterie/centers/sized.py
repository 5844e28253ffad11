"""Assignment of rows to centroids with bounds of the sizes of clusters: the plain one, under prices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import Dataset, FitRows, SquareDistances, total_weight, weighted_sum
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.assignment import Frame
from coterie.centers.frame import CenterFrame
from coterie.centers.levelling import levelled
from coterie.centers.passes import LocalPasses
from coterie.centers.price_ascent import PriceProblem, climb
from coterie.centers.priced_lists import PricedLists
from coterie.centers.prices import PricedAssignment, assign_within
from coterie.centers.sizes import SizeBounds, common_weight
from coterie.centers.sparse_means import SparseMeans
from coterie.fitting.deadline import Deadline

__all__ = ["SizedAssignment", "SizedPasses", "SizedSearch", "listed", "sized_labels_and_squares"]

Blocks = Callable[[], Iterator[tuple[slice, Any]]]

# All centroids of each row are listed where that takes no more than this; else as many as these.
_WHOLE_BYTES, _LISTED = 4 << 20, 8

# Times that the lists are made anew, and how much longer they become where they have been too short again.
_MOST_LISTINGS, _LONGER = 12, 2

# Prices begin with those of a sample of so many rows per cluster, where there are so many times more.
_SAMPLED, _TIMES_SAMPLED = 50, 4

# Lists of the sample are longer, for prices may have far to go; they are made anew until a centroid that is not listed
# may cost less for no more than this part of the rows.
_LISTED_OF_SAMPLE, _MOST_SAMPLE_LISTINGS, _UNSURE_SAMPLE = 32, 8, 0.001

# Prices that leave no more than this part of a sample out of place stay: so much is chance (0.8 / sqrt(50), and a bit).
_NOISE = 0.14


def listed(n_rows: int, n_clusters: int, itemsize: int, at_least: int = _LISTED) -> int:
    """Return how many centroids the lists of so many rows have, with scores of a size."""
    whole = n_rows * n_clusters * (4 + itemsize) <= _WHOLE_BYTES
    return n_clusters if whole else min(n_clusters, at_least)


class SizedSearch:
    """Assigns rows within bounds of the sizes of clusters, beginning with the prices of the last time.

    Parameters
    ----------
    bounds : SizeBounds
        Of the (weighted) sizes, for so many rows as all that weigh `total`.
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
        deadline: Deadline | None = None,
    ) -> None:
        self._bounds, self._total, self._tolerance = bounds, total, gap
        self.n_threads = n_threads
        self._prices = np.zeros(n_clusters)
        self._deadline = Deadline() if deadline is None else deadline
        self.gap = self._excess = self._inertia = 0.0

    def anew(self) -> SizedSearch:
        """Return one that knows no prices yet."""
        return SizedSearch(
            self._bounds,
            self._total,
            len(self._prices),
            gap=self._tolerance,
            n_threads=self.n_threads,
            deadline=self._deadline,
        )

    def labels(
        self,
        blocks: Blocks,
        frame: Frame,
        squares: Array,
        weights: Array | None,
        take: Callable[[IndexArray], Any] | None = None,
    ) -> tuple[IntArray, float]:
        """Assign rows.

        Parameters
        ----------
        blocks : callable
            Yields (slice of the rows, kernel rows) each time.
        frame : Frame
            The centroids.
        squares : ndarray of shape (n,)
            Squared distances of the rows to the shift.
        weights : ndarray of shape (n,) or None
            None for 1.
        take : callable, optional
            Returns rows of ascending numbers. With it, prices begin with those of a sample of many rows.

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
        frame = _dense(frame, self.n_threads)
        n_rows = len(squares)
        n_sampled = _SAMPLED * len(frame)
        is_sampled = take is not None and n_rows >= _TIMES_SAMPLED * n_sampled
        if take is not None and is_sampled and not self._is_late():
            self._price_sample(take, frame, _spread(n_rows, n_sampled), weights)
        bounds = self._bounds_of(n_rows, weights)
        constant = weighted_sum(squares.astype(np.float64), weights)
        found, lists = self._search(blocks, frame, weights, constant, n_rows, is_sampled=is_sampled)
        labels, value = found.labels, found.value
        if not found.is_within:
            if not self._is_late() and common_weight(weights) is None:
                raise ValueError(
                    "No sizes within size_min and size_max were found, even up to the largest sample_weight: weights "
                    "differ too much. Widen the bounds, or cap the weights."
                )
            labels = levelled(lists.price(found.prices), bounds, len(frame), weights)
            value = self._inertia_of(blocks, frame, labels, weights) - constant
        inertia = max(value + constant, 0.0)
        self._excess = max(value - found.bound, 0.0)
        self._note(inertia)
        return labels, inertia

    def _is_late(self) -> bool:
        return self._deadline.is_over

    def keep(self, difference: float) -> None:
        """Take note that other labels stay, which cost so much less than the last ones."""
        self._excess = max(self._excess - difference, 0.0)
        self._note(self._inertia - difference)

    def _note(self, inertia: float) -> None:
        self._inertia = inertia
        self.gap = self._excess / inertia if inertia > 0 else 0.0

    def _bounds_of(self, n_rows: int, weights: Array | None) -> SizeBounds:
        """Return the bounds of so many rows: fewer than all have them in proportion."""
        total = total_weight(n_rows, weights)
        return self._bounds if total == self._total else self._bounds.scaled(total / self._total)

    def _search(
        self,
        blocks: Blocks,
        frame: CenterFrame,
        weights: Array | None,
        constant: float,
        n_rows: int,
        *,
        is_sampled: bool,
    ) -> tuple[PricedAssignment, PricedLists]:
        """Assign rows; make lists anew under the prices so far until they are long enough."""
        bounds, began, length = self._bounds_of(n_rows, weights), self._prices, _LISTED
        for number in range(_MOST_LISTINGS):
            lists = self._lists(blocks, frame, n_rows, length)
            found = assign_within(lists, bounds, weights, prices=self._prices, is_late=self._is_late)
            self._prices = found.prices
            is_near = found.gap <= self._tolerance * max(found.value + constant, 0.0)
            if (found.is_within and (is_near or lists.is_whole)) or self._is_late():
                break
            if number == 0 and not found.is_within and np.any(began) and not is_sampled:
                # See the sample, whose prices are not those of other centroids.
                self._prices = np.zeros(len(frame))
            elif number > 1:
                length = min(length * _LONGER, len(frame))
        return found, lists

    def _price_sample(
        self,
        take: Callable[[IndexArray], Any],
        frame: CenterFrame,
        numbers: IndexArray,
        weights: Array | None,
    ) -> None:
        """Bring prices near those of all rows: a pass over a sample costs little, and lists are right at once then."""
        x, some = kernel_rows(take(numbers)), None if weights is None else weights[numbers]
        whole, n_sampled = slice(0, len(numbers)), len(numbers)
        bounds = self._bounds_of(n_sampled, some)

        def listed_anew(length: int) -> PriceProblem:
            lists = self._lists(lambda: iter([(whole, x)]), frame, n_sampled, length)
            return PriceProblem(lists, bounds, some)

        before = self._prices
        if np.any(before):
            problem = listed_anew(1)
            kept = problem.at(before)
            if problem.wrong(kept) <= _NOISE * float(kept.sizes.sum()):
                return
            # Prices of other centroids lead astray where these have moved far.
            self._prices = np.zeros(len(frame))
            if listed_anew(1).at(self._prices).value < kept.value:
                self._prices = before
        for _ in range(_MOST_SAMPLE_LISTINGS):
            problem = listed_anew(_LISTED_OF_SAMPLE)
            point = climb(problem, self._prices, self._is_late)
            self._prices = point.prices
            if problem.lists.is_whole or problem.unsure_at(point) <= _UNSURE_SAMPLE:
                break

    def _inertia_of(
        self, blocks: Blocks, frame: CenterFrame, labels: IntArray, weights: Array | None
    ) -> float:
        """Return what labels cost that need not be listed."""
        distances, squares = SquareDistances(frame.centers, self.n_threads), np.empty(len(labels))
        for part, x in blocks():
            distances.write(x, labels[part], squares[part])
        return weighted_sum(squares, weights)

    def _lists(self, blocks: Blocks, frame: CenterFrame, n_rows: int, at_least: int) -> PricedLists:
        """List the cheapest centroids of each row under the prices: one pass over the rows."""
        n_clusters, dtype = len(frame), frame.centers.dtype
        length = listed(n_rows, n_clusters, dtype.itemsize, at_least)
        whole = length == n_clusters
        added = np.zeros(n_clusters, dtype=dtype) if whole else self._prices.astype(dtype)
        ids, scores = np.empty((n_rows, length), dtype=np.int32), np.empty((n_rows, length), dtype=dtype)
        for part, x in blocks():
            _kernels.nearest(
                x, frame.relative, frame.offsets + added, ids[part], scores[part], self.n_threads
            )
        last = np.full(n_rows, np.inf) if whole else scores[:, -1].astype(np.float64)
        if not whole:
            scores -= added[ids]
        return PricedLists(ids, scores, added.astype(np.float64), last, self.n_threads)


class SizedAssignment:
    """The labels of the rows of a fit within bounds of the sizes of clusters.

    They are those of the last pass where new ones would not lower the inertia, so that it never rises.

    Parameters
    ----------
    data : FitRows
        The rows.
    search : SizedSearch
        Assigns them.
    """

    algorithm = "lloyd"

    def __init__(self, data: FitRows, search: SizedSearch) -> None:
        self._data, self._search = data, search
        self.labels = np.full(data.n_rows, -1, dtype=np.int32)

    def start(self, frame: Frame) -> None:
        """Take the centroids of the coming pass, and assign all rows."""
        data = self._data
        n_rows = max(part.stop for part, _ in data.blocks())
        weights = data.weights_of(slice(0, n_rows))
        self._found, _ = self._search.labels(data.blocks, frame, data.squares[:n_rows], weights, data.take)
        before = self.labels[:n_rows]
        if np.all(before >= 0):
            difference = _difference(data, _dense(frame, data.n_threads).centers, before, self._found)
            if difference >= 0:
                self._search.keep(difference)
                self._found = before.copy()

    def assign(self, part: slice, x: Any) -> None:
        """Bring the labels of one block up to date."""
        self.labels[part] = self._found[part]

    def relabel(self, rows: IndexArray, labels: IntArray) -> None:
        """Give some rows labels that a distance did not choose."""
        self.labels[rows] = labels


class SizedPasses(LocalPasses):
    """Passes over blocks of this process whose labels are within bounds of the sizes of clusters.

    Parameters
    ----------
    data : Dataset
        The rows.
    search : SizedSearch
        Assigns them.
    n_clusters, unit_length
        See `LocalPasses`.
    """

    def __init__(
        self, data: Dataset, search: SizedSearch, n_clusters: int, *, unit_length: bool = False
    ) -> None:
        super().__init__(data, SizedAssignment(data, search), n_clusters, unit_length=unit_length)

    def rounding_decides(self, frame: CenterFrame) -> bool:
        # Rows need not be with their nearest centroids.
        return False

    def labels_and_squares(self, frame: CenterFrame) -> tuple[IntArray, FloatArray]:
        labels = self._assignment.labels
        return labels, self.data.own_square_distances(frame.centers, labels)


def sized_labels_and_squares(
    data: Dataset, frame: CenterFrame, search: SizedSearch
) -> tuple[IntArray, FloatArray]:
    """Return labels of all rows within bounds of sizes, and the squared distances to their centroids, accurately."""
    labels, _ = search.labels(data.blocks, frame, data.squares, data.weights, data.take)
    return labels, data.own_square_distances(frame.centers, labels)


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


def _dense(frame: Frame, n_threads: int) -> CenterFrame:
    """Return centroids as they are, or those of sparse rows as a frame: such rows have no shift."""
    if isinstance(frame, SparseMeans):
        return CenterFrame(frame.centers, np.zeros(frame.centers.shape[1]), n_threads)
    assert isinstance(frame, CenterFrame)
    return frame
