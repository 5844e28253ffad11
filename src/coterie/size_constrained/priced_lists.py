"""Lists of the near centroids of each row, and their costs under prices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, IntArray

# Part of the rows for which prices may fall so far that a centroid that is not listed could be nearer.
_MAY_BE_UNSURE = 0.005


@dataclass(frozen=True)
class Pricing:
    """Choices of rows under prices.

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
class Followed:
    """Centroids that are listed once more, by themselves, for their prices have changed far more than others'.

    Attributes
    ----------
    clusters : ndarray of int
        Which they are, ascending.
    prices : ndarray of shape (k,), float64
        Prices under which they were listed.
    last : ndarray of shape (n,), float64
        None of these that is not listed costs the row less than this under those prices.
    length : int
        How many are listed: the first of each list.
    """

    clusters: IndexArray
    prices: FloatArray
    last: FloatArray
    length: int


@dataclass(frozen=True)
class PricedLists:
    """The near centroids of each row with their scores; those that are not listed are bounded from below.

    Attributes
    ----------
    ids : ndarray of shape (n, m), int32
        Centroids. None is twice in a row, but for places of infinite score that come after.
    scores : ndarray of shape (n, m), float32 or float64
        What they cost the row, without prices.
    prices : ndarray of shape (g, k), float64
        Prices under which rows were listed.
    last : ndarray of shape (n,), float64
        No centroid that is not listed costs the row less than this under those prices; infinite where all are listed.
    under : ndarray of shape (n,), int32
        Which of the prices those of a row are.
    n_threads : int
        Threads of the kernel.
    followed : Followed, optional
        Centroids that these last ones do not bound.
    """

    ids: IntArray
    scores: Array
    prices: FloatArray
    last: FloatArray
    under: IntArray
    n_threads: int = 1
    followed: Followed | None = None

    @classmethod
    def of_all(cls, scores: Array, n_threads: int = 1) -> PricedLists:
        """Return lists of all centroids, from a matrix of costs of rows and centroids."""
        n_rows, n_clusters = scores.shape
        ids = np.tile(np.arange(n_clusters, dtype=np.int32), (n_rows, 1))
        return cls(
            ids,
            np.ascontiguousarray(scores),
            np.zeros((1, n_clusters)),
            np.full(n_rows, np.inf),
            np.zeros(n_rows, dtype=np.int32),
            n_threads,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return len(self.ids)

    @property
    def n_clusters(self) -> int:
        """Number of centroids k."""
        return self.prices.shape[1]

    @property
    def is_whole(self) -> bool:
        """Whether all centroids are listed."""
        return self.followed is None and self.ids.shape[1] == self.n_clusters

    def price(self, prices: FloatArray) -> Pricing:
        """Return the cheapest listed centroids of the rows."""
        n = self.n_rows
        labels, seconds = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        values, margins = np.empty(n), np.empty(n)
        _kernels.price_lists(self.ids, self.scores, prices, labels, values, seconds, margins, self.n_threads)
        return Pricing(labels, values, seconds, margins)

    def least(self, values: FloatArray, prices: FloatArray) -> FloatArray:
        """Return what each row costs at least, with the centroids that are not listed: values at most."""
        return values if self.is_whole else np.minimum(values, self._not_listed(prices))

    def lowest_prices(self, values: FloatArray, prices: FloatArray) -> FloatArray:
        """Return how far prices may fall before too many more rows might rather have a centroid that they do not list.

        A single price far below would make the bound by the last of each list useless for all rows.
        """
        if self.is_whole:
            return np.full(self.n_clusters, -np.inf)
        slack = self._slack(self._not_listed(prices) - values)
        lowest: FloatArray = np.max(self.prices + self._least_rises(prices)[:, None], axis=0) - slack
        if self.followed is not None:
            of = self.followed.clusters
            lowest[of] = self.followed.prices[of] + _least_rise(self.followed, prices) - slack
        return lowest

    def outdated_centroids(self, values: FloatArray, prices: FloatArray) -> IndexArray:
        """Return the centroids whose prices have fallen so far that the bound by the last is of no use."""
        slack = self._slack(self.last - values)
        return np.flatnonzero(np.min(prices - self.prices, axis=0) < -slack)

    def uncertain_rows(self, values: FloatArray, prices: FloatArray) -> BoolArray:
        """Return the rows for which a centroid that is not listed may cost less."""
        return self.least(values, prices) < values

    def are_followed_uncertain(self, values: FloatArray, prices: FloatArray) -> bool:
        """Return whether a followed centroid that is not listed may cost some row less."""
        followed = self.followed
        return followed is not None and bool(np.any(followed.last + _least_rise(followed, prices) < values))

    def nearest(self) -> IntArray:
        """Return the listed centroid of least score of each row."""
        return self.ids[np.arange(self.n_rows), np.argmin(self.scores, axis=1)]

    def _slack(self, slacks: FloatArray) -> float:
        """Return by how much prices may fall."""
        rank = int(_MAY_BE_UNSURE * self.n_rows)
        return max(float(np.partition(slacks, rank)[rank]), 0.0)

    def _least_rises(self, prices: FloatArray) -> FloatArray:
        """Return by how much the prices that matter have risen at least since rows were listed, for each of those."""
        risen = prices - self.prices
        if self.followed is not None:
            risen[:, self.followed.clusters] = np.inf
        return np.min(risen, axis=1)

    def _not_listed(self, prices: FloatArray) -> FloatArray:
        """Return what centroids that are not listed cost each row at least."""
        least: FloatArray = self.last + self._least_rises(prices)[self.under]
        if self.followed is None:
            return least
        return np.minimum(least, self.followed.last + _least_rise(self.followed, prices))


def _least_rise(followed: Followed, prices: FloatArray) -> float:
    return float(np.min((prices - followed.prices)[followed.clusters]))
