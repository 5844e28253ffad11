"""Moves of single rows until all sizes are within their bounds, along the cheapest ways between clusters.

The clusters are the nodes of a graph. An arc from one to another is the row of the first that it costs least to give to
the second, at its reduced cost, which is not negative where rows are with the cheapest cluster under the prices. One
node more stands for the room within the bounds: a cluster above its lower bound may give a place to it, one below its
upper bound may take one. Rows go from where there are too many along shortest paths to where there are too few; then
prices change by the lengths of these paths (Ahuja, Magnanti & Orlin 1993, section 9.7), which leaves all reduced costs
as they must be. So what is moved is moved at the least cost.

A cluster that lies apart has few rows that are near to it, and ways to it cost far more than ways between others. Among
a thousand clusters there are a million arcs, so those that cost so much are looked at only where they lead from or to
such a cluster. The ways found then need not be the shortest: rows that have a cheaper cluster in the end go there, and
what that leaves out of place is moved again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from coterie import _kernels
from coterie.arrays import BoolArray, FloatArray, IntArray
from coterie.centers.price_ascent import DualPoint, PriceProblem
from coterie.centers.priced_lists import Pricing

__all__ = ["Exchange", "exchanged"]

# Rows near another cluster that are looked at first: so many times those that have to be moved, and per cluster.
_ROWS_PER_MOVE, _ROWS_PER_CLUSTER = 2, 16

# How much farther is looked where no way is found, and how often without half as much left before it is looked
# everywhere.
_WIDER, _MOST_WIDENINGS = 2.0, 4

# How often ways from and to clusters that lie apart are looked for before rows go home.
_MOST_FAR = 4

# Clusters lie apart if no way is found for at most this part of them; more where ways need not be the shortest.
_FAR, _FAR_WITH_SLACK = 0.05, 0.25

# Relative to the values of rows and the prices, what is no difference but rounding.
_ROUNDING = 1e-12

# Paths between two looks at the clock. Rows of different weights may go round in circles: paths at most, for each row
# that is out of place and each cluster.
_PATHS_AT_ONCE, _MOST_UNEVEN_PATHS = 4096, 8

# What `move_rows` returns.
_ALL_MOVED, _BAND_ENDED = 0, 1


@dataclass(frozen=True)
class Exchange:
    """What moves ended with.

    Attributes
    ----------
    labels : ndarray of shape (n,), int32
    prices : ndarray of shape (k,), float64
        Under which the labels are the cheapest.
    sizes : ndarray of shape (k,), float64
    is_within : bool
        Whether the sizes are within the bounds (for weights that differ: but for the largest weight).
    """

    labels: IntArray
    prices: FloatArray
    sizes: FloatArray
    is_within: bool


def exchanged(
    problem: PriceProblem, point: DualPoint, is_late: Callable[[], bool], slack: float = 0.0
) -> Exchange:
    """Move rows until all clusters are within their bounds.

    Parameters
    ----------
    problem : PriceProblem
        The rows and bounds.
    point : DualPoint
        Where to begin.
    is_late : callable
        Tells when to give up.
    slack : float
        Labels will do that cost no more than this above the value of the dual there, also where ways were not the
        shortest. The prices of such labels are those of the beginning.

    Returns
    -------
    Exchange
    """
    return _Moves(problem, point, slack).run(is_late)


@dataclass(frozen=True)
class _State:
    """Where moves have come to: rows out of place, and the arrays of `_Moves`."""

    n_wrong: int
    labels: IntArray
    prices: FloatArray
    sizes: FloatArray
    held: FloatArray
    margins: FloatArray


class _Moves:
    """Labels on their way to sizes within the bounds."""

    def __init__(self, problem: PriceProblem, point: DualPoint, slack: float) -> None:
        self._problem, self._point, self._slack = problem, point, slack
        self._prices = np.append(point.prices, 0.0)  # the last one is that of the room
        self._labels, self._margins = point.pricing.labels.copy(), point.pricing.margins
        weights = problem.weights
        self._weights = None if weights is None else weights.astype(np.float64)
        largest = 1.0 if weights is None else float(weights.max())
        is_counted = weights is None or bool(np.all((weights == 0) | (weights == largest)))
        # Rows of different weights cannot fill a cluster exactly.
        self._grain = 0.0 if is_counted else largest / 2
        self._place = largest if weights is None or is_counted else float(weights.mean())
        self._sizes = point.sizes.copy()
        goals = problem.goals(point.sizes, point.prices)
        bounds = problem.bounds
        self._held = goals if is_counted else np.clip(point.sizes, bounds.least, bounds.most)

    def run(self, is_late: Callable[[], bool]) -> Exchange:
        """Go on until nothing is out of bounds, or nothing can be moved."""
        n_wrong = float(np.abs(self._sizes - self._held).sum()) / self._place
        uneven_paths = int(_MOST_UNEVEN_PATHS * (n_wrong + len(self._sizes)))
        band, n_widened, least_wrong = self._first_band(n_wrong), 0, np.inf
        is_far, n_far, before = np.zeros(len(self._sizes), dtype=bool), 0, self._state()
        while not is_late():
            if np.any(is_far) and n_far == 0:
                before = self._state()
            ended = self._move(band, is_far, uneven_paths if self._grain > 0 else _PATHS_AT_ONCE)
            if np.any(is_far):
                if ended == _ALL_MOVED and self._slack > 0 and self._is_near():
                    self._prices = np.append(self._point.prices, 0.0)
                    break
                n_far += 1
                if ended == _BAND_ENDED and self._slack > 0 and n_far < _MOST_FAR:
                    self._look_again()
                    is_far |= self._left_over()
                    continue
                is_far[:], n_far = False, 0
                n_sent = self._send_home(most=before.n_wrong)
                if n_sent == 0 and ended == _ALL_MOVED:
                    break
                if n_sent > before.n_wrong:
                    # Ways were so far from the shortest that it is better to look at all arcs.
                    self._return_to(before)
                    band = np.inf
                continue
            if ended == _ALL_MOVED or (not np.isfinite(band) if ended == _BAND_ENDED else self._grain > 0):
                break
            self._look_again()
            if ended == _BAND_ENDED:
                wrong = float(np.abs(self._sizes - self._held).sum())
                n_widened += wrong > least_wrong / 2
                least_wrong = min(wrong, least_wrong)
                band = band * _WIDER if n_widened <= _MOST_WIDENINGS else np.inf
                if self._grain == 0 and np.isfinite(band):
                    is_far = self._left_over()
        bounds, allowed = self._problem.bounds, 2 * self._grain + 1e-9 * float(self._sizes.sum())
        is_within = bool(
            np.all((self._sizes <= bounds.most + allowed) & (self._sizes >= bounds.least - allowed))
        )
        prices = self._prices[:-1] - self._prices[-1]
        return Exchange(self._labels, prices, self._sizes, is_within)

    def _is_near(self) -> bool:
        """Tell whether the labels cost little more than they must."""
        return self._problem.cost(self._labels) <= self._point.value + self._slack

    def _first_band(self, n_wrong: float) -> float:
        """Return the margin below which rows are looked at first."""
        finite = self._margins[np.isfinite(self._margins)]
        if len(finite) == 0:
            return np.inf
        rank = min(int(_ROWS_PER_MOVE * n_wrong + _ROWS_PER_CLUSTER * len(self._sizes)), len(finite) - 1)
        return max(float(np.partition(finite, rank)[rank]), float(np.finfo(np.float64).tiny))

    def _left_over(self) -> BoolArray:
        """Mark the clusters where there is too little, or too much, whichever are fewer; none if they are many."""
        excess = self._sizes - self._held
        allowed = 1e-9 * max(float(self._sizes.max()), 1.0)
        marks = [mark for mark in (excess < -allowed, excess > allowed) if np.any(mark)]
        left_over = min(marks, key=np.count_nonzero)
        most = (_FAR if self._slack == 0 else _FAR_WITH_SLACK) * len(left_over)
        return left_over & (np.count_nonzero(left_over) <= max(most, 1))

    def _move(self, band: float, is_far: BoolArray, most_paths: int) -> int:
        """Move rows within the band, or to and from far clusters; return what ended it."""
        lists, bounds = self._problem.lists, self._problem.bounds
        is_looked_at = self._margins <= band
        if np.any(is_far):
            is_looked_at |= np.any(is_far[lists.ids], axis=1)
        return _kernels.move_rows(
            lists.ids, lists.scores, self._weights, np.flatnonzero(is_looked_at), self._labels, self._prices,
            self._sizes, self._held, bounds.least, bounds.most, self._grain, self._place, band,
            is_far.view(np.uint8), most_paths,
        )  # fmt: skip

    def _look_again(self) -> Pricing:
        """Find out which rows are next to changing under the prices as they are now."""
        pricing = self._problem.lists.price(self._prices[:-1])
        # Of what costs the same a row need not have the first.
        self._margins = np.where(pricing.labels == self._labels, pricing.margins, 0.0)
        return pricing

    def _state(self) -> _State:
        n_wrong = int(np.abs(self._sizes - self._held).sum() / self._place)
        return _State(
            n_wrong,
            self._labels.copy(),
            self._prices.copy(),
            self._sizes.copy(),
            self._held.copy(),
            self._margins.copy(),
        )

    def _return_to(self, state: _State) -> None:
        self._labels, self._prices, self._margins = state.labels, state.prices, state.margins
        self._sizes, self._held = state.sizes, state.held

    def _send_home(self, most: int) -> int:
        """Let rows go to the cheapest cluster on their lists, if not too many are elsewhere; return how many are."""
        pricing, lists, prices = self._look_again(), self._problem.lists, self._prices[:-1]
        others = np.flatnonzero(pricing.labels != self._labels)
        places = np.argmax(lists.ids[others] == self._labels[others, None], axis=1)
        values = lists.scores[others, places] + prices[self._labels[others]]
        same = _ROUNDING * (float(np.abs(pricing.values).max()) + float(np.abs(prices).max()))
        astray = others[values - pricing.values[others] > same]
        if len(astray) > most:
            return len(astray)
        self._labels[astray] = pricing.labels[astray]
        self._margins[astray] = pricing.margins[astray]
        self._sizes[:] = self._problem.sizes(self._labels)
        return len(astray)
