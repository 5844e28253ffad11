"""Lists of the near centroids of each row, and what rows cost under prices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IntArray

__all__ = ["PricedLists", "Pricing"]

# Part of the rows for which prices may fall so far that a centroid that is not listed could be nearer.
_MAY_BE_UNSURE = 0.005


@dataclass(frozen=True)
class Pricing:
    """What rows choose under prices.

    Attributes
    ----------
    labels : ndarray of shape (n,), int32
        The listed centroid of least score plus price.
    values : ndarray of shape (n,), float64
        That sum.
    seconds : ndarray of shape (n,), int32
        The next one.
    margins : ndarray of shape (n,), float64
        By how much that is dearer; infinite where there is no other.
    """

    labels: IntArray
    values: FloatArray
    seconds: IntArray
    margins: FloatArray


@dataclass(frozen=True)
class PricedLists:
    """The near centroids of each row with their scores; those that are not listed are bounded from below.

    Attributes
    ----------
    ids : ndarray of shape (n, m), int32
        Centroids, none twice in a row.
    scores : ndarray of shape (n, m), float32 or float64
        What they cost the row, without prices.
    prices : ndarray of shape (k,), float64
        Prices under which they were listed.
    last : ndarray of shape (n,), float64
        No centroid that is not listed costs the row less than this under those prices; infinite where all are listed.
    n_threads : int
        Threads of the kernel.
    """

    ids: IntArray
    scores: Array
    prices: FloatArray
    last: FloatArray
    n_threads: int = 1

    @classmethod
    def of_all(cls, scores: Array, n_threads: int = 1) -> PricedLists:
        """Return lists of all centroids, from a matrix of what each costs each row."""
        n_rows, n_clusters = scores.shape
        ids = np.tile(np.arange(n_clusters, dtype=np.int32), (n_rows, 1))
        return cls(
            ids, np.ascontiguousarray(scores), np.zeros(n_clusters), np.full(n_rows, np.inf), n_threads
        )

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return len(self.ids)

    @property
    def n_clusters(self) -> int:
        """Number of centroids k."""
        return len(self.prices)

    @property
    def is_whole(self) -> bool:
        """Whether all centroids are listed."""
        return self.ids.shape[1] == self.n_clusters

    def price(self, prices: FloatArray) -> Pricing:
        """Return what the rows choose of their lists."""
        n = self.n_rows
        labels, seconds = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        values, margins = np.empty(n), np.empty(n)
        _kernels.price_lists(self.ids, self.scores, prices, labels, values, seconds, margins, self.n_threads)
        return Pricing(labels, values, seconds, margins)

    def least(self, values: FloatArray, prices: FloatArray) -> FloatArray:
        """Return what each row costs at least, with the centroids that are not listed: values at most."""
        if self.is_whole:
            return values
        return np.minimum(values, self.last + float(np.min(prices - self.prices)))

    def lowest(self, values: FloatArray) -> FloatArray:
        """Return the prices below which too many rows might rather have a centroid that they do not list.

        A single price far below would make the bound by the last of each list useless for all rows.
        """
        if self.is_whole:
            return np.full(self.n_clusters, -np.inf)
        rank = int(_MAY_BE_UNSURE * self.n_rows)
        return self.prices - max(float(np.partition(self.last - values, rank)[rank]), 0.0)

    def unsure(self, values: FloatArray, prices: FloatArray) -> float:
        """Return the part of the rows for which a centroid that is not listed may cost less."""
        return float(np.mean(self.least(values, prices) < values))
