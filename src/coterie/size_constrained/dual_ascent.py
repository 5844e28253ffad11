"""Ascent of the dual of an assignment within bounds: prices under which clusters have about the sizes they may have.

The dual of ``min sum_i w_i s(i, label_i)`` with sizes between L and U is the concave
``sum_i w_i min_c (s(i, c) + p_c) - sum_c (U max(p_c, 0) + L min(p_c, 0))``. Its slope in p_c is the size of the cluster
minus a bound; how the sizes change with the prices, its curvature, is a Laplacian: as many rows go over from c to b as
lie between both, per unit of price. So each step is one of Newton's, with that Laplacian counted from the rows next to
changing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from coterie import _kernels
from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, IntArray
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.size_constrained.priced_lists import PricedLists, Pricing
from coterie.size_constrained.sizes import SizeBounds

# How well a system is solved, and products with its matrix at most.
_SOLVED, _MOST_PRODUCTS = 1e-3, 500

# Maximum number of Newton steps, of consecutive failures, and of rounds that determine which prices are 0.
_MOST_STEPS, _MOST_FAILURES, _MOST_ROUNDS = 80, 8, 12

# Initial damping of the curvature, relative to its mean, and its factors after a good and a bad step (Levenberg and
# Marquardt).
_DAMPING, _EASIER, _HARDER = 0.01, 4.0, 8.0

# Rows near a change that the curvature is computed from: a multiple of those to be moved, and a number per cluster.
_ROWS_PER_MOVE, _ROWS_PER_CLUSTER = 2.0, 8

# Single moves are faster if at most this share of the rows is misplaced, and a step leaves more than this share of them
# misplaced.
_FEW, _SLOW = 0.005, 0.9

# The ascent ends if at most this number of rows per cluster remains to be moved one by one.
_LEFT_PER_CLUSTER = 1.0


@dataclass(frozen=True)
class DualPoint:
    """Prices, and the assignment that they give.

    Attributes
    ----------
    prices : ndarray of shape (k,), float64
    pricing : Pricing
        What the rows choose.
    sizes : ndarray of shape (k,), float64
        Of the clusters then.
    value : float
        Of the dual: no assignment within the bounds costs less.
    """

    prices: FloatArray
    pricing: Pricing
    sizes: FloatArray
    value: float


@dataclass(frozen=True)
class PriceProblem:
    """Rows with lists of centroids, and bounds of the sizes of clusters.

    Attributes
    ----------
    lists : PricedLists
        What centroids cost rows.
    bounds : SizeBounds
        In the unit of the weights.
    weights : ndarray of shape (n,) or None
        None for 1.
    """

    lists: PricedLists
    bounds: SizeBounds
    weights: Array | None

    def sizes(self, labels: Array) -> FloatArray:
        """Return the (weighted) sizes of all clusters."""
        return np.bincount(labels, self.weights, minlength=self.lists.n_clusters).astype(np.float64)

    def sum(self, values: FloatArray) -> float:
        """Return the weighted sum."""
        return float(np.sum(values if self.weights is None else values * self.weights, dtype=np.float64))

    def cost(self, labels: Array) -> float:
        """Return the cost of labels that are on the lists."""
        lists = self.lists
        places = np.argmax(lists.ids == labels[:, None], axis=1)
        return self.sum(lists.scores[np.arange(lists.n_rows), places].astype(np.float64))

    def at(self, prices: FloatArray) -> DualPoint:
        """Return the assignment at these prices."""
        pricing = self.lists.price(prices)
        costs = self.bounds.most * np.maximum(prices, 0) + self.bounds.least * np.minimum(prices, 0)
        value = self.sum(self.lists.least(pricing.values, prices)) - float(np.sum(costs))
        return DualPoint(prices, pricing, self.sizes(pricing.labels), value)

    def size_error(self, point: DualPoint) -> float:
        """Return the differences of sizes from their goals."""
        return float(np.abs(point.sizes - self.goals(point.sizes, point.prices)).sum())

    def underlisted_clusters(self) -> IndexArray:
        """Return the clusters that are listed by fewer rows than they must have."""
        repeated = None if self.weights is None else np.repeat(self.weights, self.lists.ids.shape[1])
        listed = np.bincount(self.lists.ids.ravel(), repeated, minlength=self.lists.n_clusters)
        return np.flatnonzero(listed < self.bounds.least)

    def uncertain_share(self, point: DualPoint) -> tuple[float, float]:
        """Return the part of the rows to which a centroid that is not listed may cost less, and how much in all."""
        values = point.pricing.values
        least = self.lists.least(values, point.prices)
        return float(np.mean(least < values)), self.sum(values - least)

    def goals(self, sizes: FloatArray, prices: FloatArray) -> FloatArray:
        """Return the sizes that clusters should have at such prices: a bound where they have one."""
        goals = np.clip(sizes, self.bounds.least, self.bounds.most)
        goals[prices > 0] = self.bounds.most
        goals[prices < 0] = self.bounds.least
        return goals


def ascend(problem: PriceProblem, prices: FloatArray, deadline: Deadline = UNLIMITED) -> DualPoint:
    """Ascend the dual from some prices, until few rows are left to be moved or nothing is gained.

    Parameters
    ----------
    problem : PriceProblem
        The rows and bounds.
    prices : ndarray of shape (k,), float64
        Initial prices.
    deadline : Deadline
        When to stop early.

    Returns
    -------
    DualPoint
        The best one found.
    """
    point = problem.at(prices)
    mean_weight = float(np.sum(point.sizes)) / problem.lists.n_rows
    enough = _LEFT_PER_CLUSTER * problem.lists.n_clusters * mean_weight
    few = _FEW * float(np.sum(point.sizes))
    lowest = problem.lists.lowest_prices(point.pricing.values, prices)
    damping, n_failures, wrong = _DAMPING, 0, np.inf
    for _ in range(_MOST_STEPS):
        before, wrong = wrong, problem.size_error(point)
        if n_failures == 0 and _SLOW * before < wrong <= few:
            break
        if wrong <= enough or n_failures > _MOST_FAILURES or deadline.is_over:
            break
        step = _newton_step(problem, point, _curvature(problem, point, wrong / mean_weight, damping))
        after = problem.at(np.maximum(point.prices + step, np.minimum(lowest, point.prices)))
        if after.value > point.value:
            point, damping, n_failures = after, damping / _EASIER, 0
        else:
            damping, n_failures = damping * _HARDER, n_failures + 1
    return point


def _newton_step(problem: PriceProblem, point: DualPoint, curvature: Curvature) -> FloatArray:
    """Return the Newton step of the prices toward the goals of the sizes, from the rows near a change."""
    bounds, prices, sizes = problem.bounds, point.prices, point.sizes
    if bounds.least == bounds.most:
        return curvature.solved(sizes - bounds.most, np.ones(len(sizes), dtype=bool))
    sides = np.sign(problem.goals(sizes, prices) - sizes)
    sides = np.where(prices != 0, np.sign(prices), -sides)
    step = -prices
    for _ in range(_MOST_ROUNDS):
        # Where a price becomes 0 is known.
        known = np.where(sides == 0, -prices, 0.0)
        goals = np.where(sides > 0, bounds.most, bounds.least)
        step = known + curvature.solved(sizes - goals - curvature.times(known), sides != 0)
        left = sizes - curvature.times(step)
        becomes = np.where(sides == 0, (left > bounds.most).astype(float) - (left < bounds.least), sides)
        becomes[(sides != 0) & (np.sign(prices + step) == -sides)] = 0
        if np.array_equal(becomes, sides):
            break
        sides = becomes
    return step


def _curvature(problem: PriceProblem, point: DualPoint, n_wrong: float, damping: float) -> Curvature:
    """Return how sizes change, by the rows next to changing: more where more have to move."""
    n_clusters, pricing = problem.lists.n_clusters, point.pricing
    n_near = max(_ROWS_PER_MOVE * n_wrong, _ROWS_PER_CLUSTER * n_clusters)
    return Curvature.of_rows(
        pricing.labels, pricing.seconds, pricing.margins, problem.weights, int(n_near), n_clusters, damping
    )


@dataclass(frozen=True)
class Curvature:
    """The Laplacian of the graph of clusters, with a multiple of its mean added.

    Attributes
    ----------
    starts, ends, weights : ndarray
        Rows that move between two clusters per unit of price, in compressed rows.
    diagonal : ndarray of shape (k,), float64
        The sums of these rows plus the damping, without which clusters without rows near a change diverge.
    """

    starts: IntArray
    ends: IntArray
    weights: FloatArray
    diagonal: FloatArray

    @classmethod
    def of_rows(
        cls,
        heads: IntArray,
        tails: IntArray,
        margins: FloatArray,
        weights: Array | None,
        n_near: int,
        n_nodes: int,
        damping: float,
    ) -> Curvature:
        """Count the rows that are next to changing.

        Parameters
        ----------
        heads, tails : ndarray of shape (n,), int32
            Where rows are, and where they would go.
        margins : ndarray of shape (n,), float64
            How much dearer that is.
        weights : ndarray of shape (n,) or None
            None for 1.
        n_near : int
            How many rows are counted, those of the least margins.
        n_nodes : int
            Number of clusters k.
        damping : float
            Relative to the mean of the diagonal, what is added to it.
        """
        near, width = _nearest(margins, n_near)
        counted = None if weights is None else weights[near].astype(np.float64)
        starts = np.empty(n_nodes + 1, dtype=np.int32)
        ends, sums = np.empty(2 * len(near), dtype=np.int32), np.empty(2 * len(near))
        n_ends = _kernels.add_pairs(heads[near], tails[near], counted, starts, ends, sums)
        # Half of them on each side of what is between two clusters.
        between = sums[:n_ends] / (2 * width)
        heads_of = np.repeat(np.arange(n_nodes), np.diff(starts))
        degrees = np.bincount(heads_of, between, minlength=n_nodes).astype(np.float64)
        added = damping * max(float(degrees.mean()), float(np.finfo(np.float64).tiny))
        diagonal: FloatArray = degrees + added
        return cls(starts, ends[:n_ends], between, diagonal)

    def solved(self, right: FloatArray, is_free: BoolArray) -> FloatArray:
        """Solve for those that are free, by conjugate gradients; the others stay 0."""
        solution = np.empty(len(right))
        _kernels.solve_laplacian(
            self.starts, self.ends, self.weights, self.diagonal, is_free.view(np.uint8), right,
            _SOLVED**2, _MOST_PRODUCTS, solution,
        )  # fmt: skip
        return solution

    def times(self, step: FloatArray) -> FloatArray:
        """Return by how much a step lowers sizes."""
        n = len(step)
        between = sp.csr_array((self.weights, self.ends, self.starts), shape=(n, n))
        product: FloatArray = self.diagonal * step - between @ step
        return product


def _nearest(margins: FloatArray, n_near: int) -> tuple[IndexArray, float]:
    """Return the rows of the least margins, and the margin that they have at most."""
    rank = min(n_near, len(margins) - 1)
    width = float(np.partition(margins, rank)[rank])
    largest = float(np.max(margins[np.isfinite(margins)], initial=0.0))
    if not np.isfinite(width):
        width = max(largest, 1.0)
    # Rows that are all alike have no margins at all: any unit will do.
    width = max(width, float(np.finfo(np.float64).eps) * largest) or 1.0
    return np.flatnonzero(margins <= width), width
