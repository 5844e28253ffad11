"""Assignment of rows to centroids with bounds of the sizes of clusters: the plain one, under prices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import Dataset, FitRows, SquareDistances, total_weight, weighted_sum
from coterie.centers.assignment import Frame
from coterie.centers.frame import CenterFrame
from coterie.centers.passes import LocalPasses
from coterie.centers.priced_lists import PricedLists
from coterie.centers.prices import PricedAssignment, assign_within
from coterie.centers.sizes import SizeBounds
from coterie.centers.sparse_means import SparseMeans

__all__ = ["SizedAssignment", "SizedPasses", "SizedSearch", "listed", "sized_labels_and_squares"]

Blocks = Callable[[], Iterator[tuple[slice, Any]]]

# All centroids of each row are listed where that takes no more than this; else as many as these.
_WHOLE_BYTES, _LISTED = 4 << 20, 16

# Times that the lists are made anew, and how much longer they become where they have been too short again.
_MOST_LISTINGS, _LONGER = 12, 2


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

    Attributes
    ----------
    gap : float
        That of the last assignment, relative to its inertia.
    """

    def __init__(
        self, bounds: SizeBounds, total: float, n_clusters: int, *, gap: float, n_threads: int
    ) -> None:
        self._bounds, self._total, self._tolerance = bounds, total, gap
        self.n_threads = n_threads
        self._prices = np.zeros(n_clusters)
        self.gap = 0.0

    def anew(self) -> SizedSearch:
        """Return one that knows no prices yet."""
        return SizedSearch(
            self._bounds, self._total, len(self._prices), gap=self._tolerance, n_threads=self.n_threads
        )

    def labels(
        self, blocks: Blocks, frame: Frame, squares: Array, weights: Array | None
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
        total = total_weight(len(squares), weights)
        bounds = self._bounds if total == self._total else self._bounds.scaled(total / self._total)
        constant = weighted_sum(squares.astype(np.float64), weights)
        allowed, began, length = 0.0, self._prices, _LISTED
        for number in range(_MOST_LISTINGS):
            lists = self._lists(blocks, frame, len(squares), length)
            if number == 0:
                allowed = self._tolerance * self._least_inertia(lists, weights, constant)
            found = assign_within(lists, bounds, weights, prices=self._prices, allowed=allowed)
            self._prices = found.prices
            if found.is_within and (found.gap <= allowed or lists.is_whole):
                break
            if number == 0 and not found.is_within and np.any(began):
                # Prices of other centroids lead astray where these have moved far.
                self._prices = np.zeros(len(frame))
            elif number > 1:
                length = min(length * _LONGER, len(frame))
        if not found.is_within:
            raise ValueError(
                "No sizes within size_min and size_max were found, even up to the largest sample_weight: weights "
                "differ too much. Widen the bounds, or cap the weights."
            )
        return found.labels, self._note(found, constant)

    def _note(self, found: PricedAssignment, constant: float) -> float:
        inertia = max(found.value + constant, 0.0)
        self.gap = found.gap / inertia if inertia > 0 else 0.0
        return inertia

    def _least_inertia(self, lists: PricedLists, weights: Array | None, constant: float) -> float:
        """Return what the rows cost if each is with its nearest centroid: there is no less."""
        nearest = lists.price(np.zeros(lists.n_clusters)).values
        return max(weighted_sum(nearest, weights) + constant, 0.0)

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
        self._found, _ = self._search.labels(data.blocks, frame, data.squares[:n_rows], weights)
        before = self.labels[:n_rows]
        centers = _dense(frame, data.n_threads).centers
        if np.all(before >= 0) and _is_no_better(data, centers, before, self._found):
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
    labels, _ = search.labels(data.blocks, frame, data.squares, data.weights)
    return labels, data.own_square_distances(frame.centers, labels)


def _is_no_better(data: FitRows, centers: Array, before: IntArray, after: IntArray) -> bool:
    """Tell whether labels cost as much as those before, or more, measured accurately."""
    distances = SquareDistances(centers, data.n_threads)
    difference = 0.0
    for part, x in data.blocks():
        old, new = np.empty(part.stop - part.start), np.empty(part.stop - part.start)
        distances.write(x, before[part], old)
        distances.write(x, after[part], new)
        difference += weighted_sum(new - old, data.weights_of(part))
    return difference >= 0


def _dense(frame: Frame, n_threads: int) -> CenterFrame:
    """Return centroids as they are, or those of sparse rows as a frame: such rows have no shift."""
    if isinstance(frame, SparseMeans):
        return CenterFrame(frame.centers, np.zeros(frame.centers.shape[1]), n_threads)
    assert isinstance(frame, CenterFrame)
    return frame
