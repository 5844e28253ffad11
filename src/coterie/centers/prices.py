"""Assignments under bounds of the sizes of clusters: prices on clusters, and a certificate of how good they are.

Each row goes where its score plus the price of the cluster is least: a cluster with too many rows is dear, one with too
few is cheap. The prices are the dual variables of the bounds, so any prices give a lower bound of what an assignment
within the bounds can cost, and the difference from what ours costs, the duality gap, says how much there could be to
gain at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from coterie.arrays import Array, FloatArray, IntArray
from coterie.centers.exchanges import Exchange, exchanged
from coterie.centers.price_ascent import DualPoint, PriceProblem, climb, never
from coterie.centers.priced_lists import PricedLists
from coterie.centers.sizes import SizeBounds, common_weight

__all__ = ["PricedAssignment", "assign_within"]

# Part of the rows that may be nearer to a centroid that is not listed before lists are better made anew.
_MOST_UNSURE = 0.01

# Part of the gap that will do that such rows may take from the bound, for the same.
_MOST_LOST = 0.5

# Part of the rows that may have to be moved one by one, for the same.
_MOST_WRONG = 0.02


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
    is_late: Callable[[], bool] = never,
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
        Where to begin, such as those of a similar assignment.
    is_late : callable
        Tells when to give up; then sizes may not be within the bounds.
    gap : float
        The duality gap that will do where that saves time, relative to the value and the constant.
    constant : float
        What rows cost beside their scores, all together.

    Returns
    -------
    PricedAssignment
        The cheapest there is, if lists are whole, weights equal and `gap` is 0, but for the rounding of the sums.
    """
    common = common_weight(weights)
    if weights is None or common is None:
        return _assign(PriceProblem(lists, bounds, weights), prices, is_late, gap, constant)
    counted: Array = weights > 0
    units = bounds.in_units(common, lists.n_clusters, int(np.count_nonzero(counted)))
    some = None if np.all(counted) else counted.astype(np.float64)
    found = _assign(PriceProblem(lists, units, some), prices, is_late, gap, constant / common)
    return replace(found, value=found.value * common, bound=found.bound * common)


def _assign(
    problem: PriceProblem,
    prices: FloatArray | None,
    is_late: Callable[[], bool],
    gap: float,
    constant: float,
) -> PricedAssignment:
    lists = problem.lists
    if problem.weights is None:
        problem = replace(problem, bounds=problem.bounds.in_units(1.0, lists.n_clusters, lists.n_rows))
    point = climb(problem, np.zeros(lists.n_clusters) if prices is None else prices, is_late)
    slack = gap * max(point.value + constant, 0.0)
    if not lists.is_whole and _wants_lists(problem, point, slack):
        return _certified(problem, point, Exchange(point.pricing.labels, point.prices, point.sizes, False))
    return _certified(problem, point, exchanged(problem, point, is_late, slack))


def _wants_lists(problem: PriceProblem, point: DualPoint, slack: float) -> bool:
    """Tell whether lists are better made anew under these prices before rows are moved one by one."""
    unsure, loss = problem.unsure_at(point)
    return (
        problem.wrong(point) > _MOST_WRONG * float(point.sizes.sum())
        or unsure > _MOST_UNSURE
        or (slack > 0 and loss > _MOST_LOST * slack)
        or len(problem.short()) > 0
    )


def _certified(problem: PriceProblem, point: DualPoint, found: Exchange) -> PricedAssignment:
    """Return an assignment with the better of the bounds by the prices before and after the moves."""
    value = problem.cost(found.labels)
    after = problem.at(found.prices)
    best = max(point, after, key=lambda one: one.value)
    return PricedAssignment(found.labels, found.prices, value, best.value, found.is_within)
