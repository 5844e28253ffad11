"""The lists of near centroids of the rows of an assignment: of all of them, of a sample, or of some once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.frame import CenterFrame
from coterie.centers.priced_lists import Followed, PricedLists

__all__ = ["FOLLOWED", "Blocks", "Listing", "list_length", "longest_list"]

Blocks = Callable[[], Iterator[tuple[slice, Any]]]

# All centroids of each row are listed where that takes no more than this.
_WHOLE_BYTES = 4 << 20

# Lists grow to this, where they are not right as they are.
_LONGEST_BYTES = 128 << 20

# Rows that are taken at a time to be listed once more.
_TAKEN = 1 << 16

# Places for centroids whose prices have fallen far.
FOLLOWED = 4


def list_length(n_rows: int, n_clusters: int, itemsize: int, at_least: int) -> int:
    """Return how many centroids the lists of so many rows have, with scores of a size."""
    is_whole = n_rows * n_clusters * (4 + itemsize) <= _WHOLE_BYTES
    return n_clusters if is_whole else min(n_clusters, at_least)


def longest_list(n_rows: int, n_clusters: int, itemsize: int, at_least: int) -> int:
    """Return how many centroids the lists of so many rows may have: so many, or more in memory that is not much."""
    return min(n_clusters, max(at_least, _LONGEST_BYTES // (n_rows * (4 + itemsize))))


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
        """List centroids of all rows, so many or all: one pass over the rows."""
        return self._of(self.blocks, self.n_rows, prices, self._length(self.n_rows, at_least))

    def some(self, numbers: IndexArray) -> Listing:
        """Return what lists the rows of ascending numbers: they are held."""
        held = self.take(numbers)
        x = kernel_rows(held)
        whole = slice(0, len(numbers))
        return replace(
            self, blocks=lambda: iter([(whole, x)]), take=lambda places: held[places], n_rows=len(numbers)
        )

    def again(self, lists: PricedLists, numbers: IndexArray, prices: FloatArray) -> PricedLists:
        """List centroids of some of all rows under other prices. The lists that are given are changed."""
        first = 0 if lists.followed is None else lists.followed.length
        new = self._of(lambda: self._taken(numbers), len(numbers), prices, lists.ids.shape[1] - first)
        for place in range(first):
            new.scores[new.ids == lists.ids[numbers, place, None]] = np.inf
        lists.ids[numbers, first:], lists.scores[numbers, first:] = new.ids, new.scores
        lists.last[numbers], lists.under[numbers] = new.last, len(lists.prices)
        return replace(lists, prices=np.concatenate([lists.prices, new.prices]))

    def following(self, lists: PricedLists, clusters: IndexArray, prices: FloatArray) -> PricedLists:
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
        return list_length(n_rows, len(self.frame), self.frame.centers.dtype.itemsize, at_least)

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
