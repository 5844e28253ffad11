"""Assignment of rows to clusters of bounded size at the least cost, with a certificate of optimality.

Each row is assigned to the cluster of the least score plus price, where prices are the dual variables of the bounds.
Any prices give a lower bound of the cost of an assignment within the bounds; the difference from the cost found is the
duality gap. Newton's method (`coterie.size_constrained.dual_ascent`) finds prices under which few rows are left to be
moved. These are moved one by one until all sizes are within the bounds.

For the moves the clusters are the nodes of a graph. An arc between two is the row of the first that costs least to
give to the second, at its reduced cost, which is not negative where rows are assigned to the cheapest cluster under the
prices. One more node stands for the slack of the bounds: a cluster above its lower bound may give a row to it, one
below its upper bound may take one. Rows are moved along shortest paths from clusters that are too large to clusters
that are too small, and prices change by the lengths of the paths, which keeps all reduced costs non-negative (Ahuja,
Magnanti & Orlin 1993, section 9.7). So the moves have the least cost.

Paths to a cluster far from all others cost far more than paths between the others. Expensive arcs are therefore only
considered from or to such a cluster. The paths found then need not be the shortest: rows that have a cheaper cluster in
the end are assigned to it, and the rows this leaves out of place are moved again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, BoolArray, FloatArray, IntArray
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.size_constrained.dual_ascent import DualPoint, PriceProblem, ascend
from coterie.size_constrained.priced_lists import PricedLists, Pricing
from coterie.size_constrained.sizes import SizeBounds, common_weight

# Part of the rows that may be nearer to a centroid that is not listed before lists are computed again.
_MOST_UNCERTAIN = 0.01

# Part of the tolerated gap that such rows may lose, for the same.
_MOST_LOST = 0.5

# Part of the rows that may have to be moved one by one, for the same.
_MOST_MISPLACED = 0.02

# Rows near another cluster that are considered first: a multiple of those to be moved, and a number per cluster.
_ROWS_PER_MOVE, _ROWS_PER_CLUSTER = 2, 16

# Factor by which the search is widened if no path is found, and the number of widenings without halving the rest before
# all rows are searched.
_WIDER, _MOST_WIDENINGS = 2.0, 4

# Searches of paths from and to clusters that lie apart before rows are assigned to the cheapest cluster again.
_MOST_FAR = 4

# Clusters are separate if no path is found for at most this part of them; more if paths need not be the shortest.
_FAR, _FAR_WITH_SLACK = 0.05, 0.25

# Relative rounding error of the values of rows and of prices.
_ROUNDING = 1e-12

# Paths between two checks of the deadline. Rows of different weights may cycle: paths at most, for each row
# that is out of place and each cluster.
_PATHS_AT_ONCE, _MOST_UNEVEN_PATHS = 4096, 8

# What `move_rows` returns.
_ALL_MOVED, _BAND_ENDED = 0, 1


@dataclass(frozen=True)
class PricedAssignment:
    """An assignment within bounds of the sizes of clusters.

    Attributes
    ----------
    labels : ndarray of shape (n,), int32
        Cluster of each row.
    prices : ndarray of shape (k,), float64
        What each cluster costs its rows beside their scores, in units of the scores; below 0 where it must be filled.
        Those of the labels; the bound may be by others, those before the last moves.
    value : float
        (Weighted) sum of the scores.
    bound : float
        No assignment within the bounds costs less, fractions of rows included.
    is_within : bool
        Whether the sizes are within the bounds. Else the lists were too short, or weights too uneven: with lists that
        are made under these prices, or longer ones, it goes on.
    """

    labels: IntArray
    prices: FloatArray
    value: float
    bound: float
    is_within: bool = True

    @property
    def gap(self) -> float:
        """The duality gap. Below 0 only where weights differ, for sizes may then be off by one of them."""
        return self.value - self.bound


def assign_within(
    lists: PricedLists,
    bounds: SizeBounds,
    weights: Array | None = None,
    *,
    prices: FloatArray | None = None,
    deadline: Deadline = UNLIMITED,
    gap: float = 0.0,
    constant: float = 0.0,
) -> PricedAssignment:
    """Assign rows to clusters at the least cost, with all sizes within bounds.

    Parameters
    ----------
    lists : PricedLists
        What clusters cost rows: `PricedLists.of_all` of a matrix, or the near ones of each row.
    bounds : SizeBounds
        Of the (weighted) sizes. Where all weights are equal, or there are none, they hold exactly, else up to the
        largest weight: rows are not divided.
    weights : ndarray of shape (n,), optional
        Not negative.
    prices : ndarray of shape (k,), float64, optional
        Initial prices, such as those of a similar assignment.
    deadline : Deadline
        When to stop early; then sizes may not be within the bounds.
    gap : float
        The tolerated duality gap, if that saves time, relative to the value and the constant.
    constant : float
        What rows cost beside their scores, all together.

    Returns
    -------
    PricedAssignment
        The cheapest there is, if lists are whole, weights equal and `gap` is 0, but for the rounding of the sums.
    """
    common = common_weight(weights)
    if weights is None or common is None:
        return _assign(PriceProblem(lists, bounds, weights), prices, deadline, gap, constant)
    counted: Array = weights > 0
    units = bounds.in_units(common, lists.n_clusters, int(np.count_nonzero(counted)))
    some = None if np.all(counted) else counted.astype(np.float64)
    found = _assign(PriceProblem(lists, units, some), prices, deadline, gap, constant / common)
    return replace(found, value=found.value * common, bound=found.bound * common)


def _assign(
    problem: PriceProblem,
    prices: FloatArray | None,
    deadline: Deadline,
    gap: float,
    constant: float,
) -> PricedAssignment:
    lists = problem.lists
    if problem.weights is None:
        problem = replace(problem, bounds=problem.bounds.in_units(1.0, lists.n_clusters, lists.n_rows))
    point = ascend(problem, np.zeros(lists.n_clusters) if prices is None else prices, deadline)
    slack = gap * max(point.value + constant, 0.0)
    if not lists.is_whole and _needs_new_lists(problem, point, slack):
        return _certified(problem, point, MovedRows(point.pricing.labels, point.prices, point.sizes, False))
    return _certified(problem, point, move_rows(problem, point, slack, deadline))


def _needs_new_lists(problem: PriceProblem, point: DualPoint, slack: float) -> bool:
    """Return whether new lists under these prices take less work than moving rows one by one."""
    unsure, loss = problem.uncertain_share(point)
    return (
        problem.size_error(point) > _MOST_MISPLACED * float(point.sizes.sum())
        or unsure > _MOST_UNCERTAIN
        or (slack > 0 and loss > _MOST_LOST * slack)
        or len(problem.underlisted_clusters()) > 0
    )


def _certified(problem: PriceProblem, point: DualPoint, found: MovedRows) -> PricedAssignment:
    """Return an assignment with the better of the bounds by the prices before and after the moves."""
    value = problem.cost(found.labels)
    after = problem.at(found.prices)
    best = max(point, after, key=lambda one: one.value)
    return PricedAssignment(found.labels, found.prices, value, best.value, found.is_within)


@dataclass(frozen=True)
class MovedRows:
    """Result of moves.

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


def move_rows(
    problem: PriceProblem, point: DualPoint, slack: float = 0.0, deadline: Deadline = UNLIMITED
) -> MovedRows:
    """Move rows until all clusters are within their bounds.

    Parameters
    ----------
    problem : PriceProblem
        The rows and bounds.
    point : DualPoint
        Initial prices.
    slack : float
        Labels will do that cost no more than this above the value of the dual there, also where ways were not the
        shortest. The prices of such labels are those of the beginning.
    deadline : Deadline
        When to stop early.

    Returns
    -------
    MovedRows
    """
    return _Moves(problem, point, slack).run(deadline)


@dataclass(frozen=True)
class _State:
    """State of the moves: rows out of place, and the arrays of `_Moves`."""

    n_wrong: int
    labels: IntArray
    prices: FloatArray
    sizes: FloatArray
    held: FloatArray
    margins: FloatArray


class _Moves:
    """Moves of rows until all sizes are within the bounds."""

    def __init__(self, problem: PriceProblem, point: DualPoint, slack: float) -> None:
        self._problem, self._point, self._slack = problem, point, slack
        self._prices = np.append(point.prices, 0.0)  # the last one is that of the slack of the bounds
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

    def run(self, deadline: Deadline) -> MovedRows:
        """Move rows until all sizes are within the bounds, or no row can be moved."""
        n_wrong = float(np.abs(self._sizes - self._held).sum()) / self._place
        uneven_paths = int(_MOST_UNEVEN_PATHS * (n_wrong + len(self._sizes)))
        band, n_widened, least_wrong = self._first_band(n_wrong), 0, np.inf
        is_far, n_far, before = np.zeros(len(self._sizes), dtype=bool), 0, self._state()
        while not deadline.is_over:
            if np.any(is_far) and n_far == 0:
                before = self._state()
            ended = self._move(band, is_far, uneven_paths if self._grain > 0 else _PATHS_AT_ONCE)
            if np.any(is_far):
                if ended == _ALL_MOVED and self._slack > 0 and self._is_near():
                    self._prices = np.append(self._point.prices, 0.0)
                    break
                n_far += 1
                if ended == _BAND_ENDED and self._slack > 0 and n_far < _MOST_FAR:
                    self._update_margins()
                    is_far |= self._left_over()
                    continue
                is_far[:], n_far = False, 0
                n_sent = self._assign_to_cheapest(most=before.n_wrong)
                if n_sent == 0 and ended == _ALL_MOVED:
                    break
                if n_sent > before.n_wrong:
                    # Ways were so far from the shortest that it is better to look at all arcs.
                    self._return_to(before)
                    band = np.inf
                continue
            if ended == _ALL_MOVED or (not np.isfinite(band) if ended == _BAND_ENDED else self._grain > 0):
                break
            self._update_margins()
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
        return MovedRows(self._labels, prices, self._sizes, is_within)

    def _is_near(self) -> bool:
        """Return whether the cost of the labels is close to the minimum."""
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

    def _update_margins(self) -> Pricing:
        """Update the margins of the rows under the current prices."""
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

    def _assign_to_cheapest(self, most: int) -> int:
        """Assign rows to the cheapest cluster on their lists, unless they are too many; return their number."""
        pricing, lists, prices = self._update_margins(), self._problem.lists, self._prices[:-1]
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
