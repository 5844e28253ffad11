"""Assignment of rows to clusters of bounded size at the least cost: ascent of the dual, then rounding by moves.

The dual of ``min sum_i w_i s(i, label_i)`` with sizes from L to U is concave, and a lower bound of the cost at any p:

    sum_i w_i min_c (s(i, c) + p_c) - sum_c (U max(p_c, 0) + L min(p_c, 0)).

Newton's method ascends it: the slope is the size of c minus a bound, the curvature the Laplacian of the numbers of rows
between two clusters per unit of p. Rows left over move along shortest paths between clusters (Ahuja, Magnanti and
Orlin, Network Flows, 1993, section 9.7): with equal weights labels have the least cost on the candidates of the rows.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import csgraph_from_dense, dijkstra
from scipy.sparse.linalg import cg

from coterie import _kernels
from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, IntArray
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.size_constrained.sizes import SizeBounds, common_weight

# Maximum number of Newton steps, and of consecutive ones that do not ascend.
_MOST_STEPS, _MOST_FAILURES = 40, 5

# Damping of the curvature relative to its mean, and its factors after a good and a bad step (Levenberg and Marquardt).
_DAMPING, _EASIER, _HARDER = 0.01, 4.0, 8.0

# Rows of the least margins that count for the curvature and for moves: a multiple of those that are out of place,
# and a number per cluster.
_PER_MOVE, _PER_CLUSTER = 8, 32

# Duals under which more than this share of the rows is out of place are found anew, at temperatures that are lowered
# this often by this factor, with this number of updates at each.
_FAR, _COOLINGS, _COOLER, _UPDATES = 0.25, 12, 0.5, 3

# Excess of the cost over its bound, relative to the sum of the largest scores, that is rounding.
_ROUNDING = 1e-12

# With more clusters than this, rows are moved without the table of all pairs of clusters, at a higher cost.
_MOST_CLUSTERS = 4096


@dataclass(frozen=True)
class Candidates:
    """The clusters that each row may be assigned to, (n, m) int32, and what they cost it, (n, m) float32 or float64."""

    ids: IntArray
    scores: Array
    n_clusters: int
    n_threads: int = 1

    @classmethod
    def of_all(cls, scores: Array, n_threads: int = 1) -> Candidates:
        """Return all clusters as candidates of each row, by their costs."""
        n_rows, n_clusters = scores.shape
        ids = np.tile(np.arange(n_clusters, dtype=np.int32), (n_rows, 1))
        return cls(ids, np.ascontiguousarray(scores), n_clusters, n_threads)

    @property
    def is_whole(self) -> bool:
        """Whether all clusters are candidates of all rows."""
        return self.ids.shape[1] == self.n_clusters

    def cheapest(self, duals: FloatArray) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
        """Return the cheapest cluster of each row, its score plus dual, the next one, and the difference."""
        n = len(self.ids)
        labels, seconds = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        values, margins = np.empty(n), np.empty(n)
        _kernels.least_of_lists(
            self.ids, self.scores, duals, labels, values, seconds, margins, self.n_threads
        )
        return labels, values, seconds, margins

    def costs(self, labels: IntArray) -> FloatArray:
        """Return the score of each row's cluster; infinite where that is no candidate."""
        is_own = self.ids == labels[:, None]
        own = self.scores[np.arange(len(labels)), np.argmax(is_own, axis=1)].astype(np.float64)
        return np.where(np.any(is_own, axis=1), own, np.inf)


@dataclass(frozen=True)
class SizedLabels:
    """Labels (n,) within size bounds, dual variables (k,), and their lower bound of the cost. `cost` is the (weighted)
    sum of scores, infinite if a label is no candidate.
    """

    labels: IntArray
    duals: FloatArray
    cost: float
    bound: float


def assign_within(
    candidates: Candidates,
    bounds: SizeBounds,
    weights: Array | None = None,
    *,
    duals: FloatArray | None = None,
    deadline: Deadline = UNLIMITED,
) -> SizedLabels:
    """Assign rows within bounds of (weighted) sizes from dual variables (0 if None); a ValueError if none are found.
    With unequal weights sizes may exceed the bounds by the largest weight.
    """
    common = common_weight(weights)
    masses = np.ones(len(candidates.ids)) if weights is None else weights.astype(np.float64)
    if common is not None:  # sizes are numbers of rows
        bounds = bounds.in_units(common, candidates.n_clusters, int(np.count_nonzero(masses)))
        masses = (masses > 0).astype(np.float64)
    problem = _Problem(candidates, bounds, masses)
    point = _ascend(problem, np.zeros(candidates.n_clusters) if duals is None else duals, deadline)
    labels, found = point.labels, point.duals
    if common is not None and candidates.n_clusters <= _MOST_CLUSTERS:
        for rows in (problem.near_rows(point), np.arange(len(masses))):
            if deadline.is_over:
                break
            labels, found = _move_along_paths(problem, point, rows, deadline)
            excess = float(np.sum(masses * candidates.costs(labels))) - problem.at(found).value
            if excess <= _ROUNDING * float(np.abs(candidates.scores).max()) * len(masses):
                break  # no other row could have moved at a lower cost
    labels = _move_greedily(problem, found, labels, 0.0 if common is not None else float(masses.max()))
    unit = common or 1.0
    cost = float(np.sum(masses * candidates.costs(labels)))
    bound = max(point.value, problem.at(found).value)
    return SizedLabels(labels, found, unit * cost, unit * bound)


@dataclass(frozen=True)
class _Point:
    """Dual variables, the value of the dual, and the cheapest clusters of the rows with their sizes."""

    duals: FloatArray
    value: float
    labels: IntArray
    seconds: IntArray
    margins: FloatArray
    sizes: FloatArray


@dataclass(frozen=True)
class _Problem:
    candidates: Candidates
    bounds: SizeBounds
    masses: FloatArray

    def at(self, duals: FloatArray) -> _Point:
        """Return the value of the dual, and the sizes of the clusters."""
        labels, values, seconds, margins = self.candidates.cheapest(duals)
        of_bounds = self.bounds.most * np.maximum(duals, 0) + self.bounds.least * np.minimum(duals, 0)
        value = float(np.sum(self.masses * values)) - float(np.sum(of_bounds))
        return _Point(duals, value, labels, seconds, margins, self.sizes(labels))

    def sizes(self, labels: IntArray) -> FloatArray:
        return np.bincount(labels, self.masses, minlength=self.candidates.n_clusters).astype(np.float64)

    def goals(self, point: _Point) -> FloatArray:
        """Return the sizes that clusters have at the optimum of these duals: a bound where the dual is not 0."""
        goals = np.clip(point.sizes, self.bounds.least, self.bounds.most)
        goals[point.duals > 0] = self.bounds.most
        goals[point.duals < 0] = self.bounds.least
        return goals

    def near_rows(self, point: _Point) -> IndexArray:
        """Return the rows of the least margins: enough for the moves that are needed."""
        n_wrong = float(np.abs(point.sizes - self.goals(point)).sum())
        mean = max(float(self.masses.mean()), np.finfo(np.float64).tiny)
        rank = int(_PER_MOVE * n_wrong / mean) + _PER_CLUSTER * self.candidates.n_clusters
        if rank >= len(point.margins):
            return np.arange(len(point.margins))
        return np.flatnonzero(point.margins <= np.partition(point.margins, rank)[rank])


def _smoothed(problem: _Problem, deadline: Deadline) -> FloatArray:
    """Return dual variables p, smoothed by less and less entropy (Sinkhorn's algorithm). At the temperature t shares
    are proportional to exp(-(s + p) / t); each update brings a size to its bound.
    """
    ids, scores = problem.candidates.ids, problem.candidates.scores.astype(np.float64)
    k, bounds = problem.candidates.n_clusters, problem.bounds
    least, most = max(bounds.least, 1e-3), max(bounds.most, 1e-3)
    duals = np.zeros(k)
    relative = scores - scores.min(axis=1, keepdims=True)
    temperature = max(float(relative.mean()), np.finfo(np.float64).tiny)
    for _ in range(_COOLINGS):
        for _ in range(_UPDATES):
            if deadline.is_over:
                return duals
            exponents = -(relative + duals[ids]) / temperature
            exponents -= exponents.max(axis=1, keepdims=True)
            shares = np.exp(exponents)
            shares *= (problem.masses / shares.sum(axis=1))[:, None]
            sizes = np.bincount(ids.ravel(), shares.ravel(), minlength=k)
            logarithms = np.log(np.maximum(sizes, 1e-300)) + duals / temperature
            above, below = logarithms - np.log(most), logarithms - np.log(least)
            duals = temperature * np.where(above > 0, above, np.where(below < 0, below, 0.0))
        temperature *= _COOLER
    return duals


def _ascend(problem: _Problem, duals: FloatArray, deadline: Deadline) -> _Point:
    """Ascend the dual until at most a row per cluster is out of place, or nothing is gained."""
    point, damping, n_failures = problem.at(duals), _DAMPING, 0
    if np.abs(point.sizes - problem.goals(point)).sum() > _FAR * problem.masses.sum():
        point = max(point, problem.at(_smoothed(problem, deadline)), key=lambda one: one.value)
    few = problem.candidates.n_clusters * float(problem.masses.mean())
    for _ in range(_MOST_STEPS):
        excess = point.sizes - problem.goals(point)
        if np.abs(excess).sum() <= few or n_failures > _MOST_FAILURES or deadline.is_over:
            break
        is_free = (point.duals != 0) | (excess != 0)
        step = _newton_step(problem, point, excess, is_free, damping)
        moved = point.duals + step
        # A dual that changes its sign stops at 0, where its cluster may have any size within the bounds.
        crosses = (problem.bounds.least < problem.bounds.most) & (point.duals * moved < 0)
        after = problem.at(np.where(crosses, 0.0, moved))
        if after.value > point.value:
            point, damping, n_failures = after, damping / _EASIER, 0
        else:
            damping, n_failures = damping * _HARDER, n_failures + 1
    return point


def _newton_step(
    problem: _Problem, point: _Point, excess: FloatArray, is_free: BoolArray, damping: float
) -> FloatArray:
    """Return the step of the duals that moves the excess away, by the rows that are next to changing."""
    k = len(excess)
    near = problem.near_rows(point)
    near = near[np.isfinite(point.margins[near])]
    width = max(float(point.margins[near].max(initial=0.0)), np.finfo(np.float64).tiny)
    # Half of these rows lie on each side of a border.
    pairs = (problem.masses[near] / (2 * width), (point.labels[near], point.seconds[near]))
    between = sp.coo_array(pairs, shape=(k, k)).tocsr()
    between = between + between.T
    degrees = np.asarray(between.sum(axis=1)).ravel()
    diagonal = degrees + damping * max(float(degrees.mean()), np.finfo(np.float64).tiny)
    free = np.flatnonzero(is_free)
    matrix = (sp.diags_array(diagonal) - between).tocsr()[free][:, free]
    step = np.zeros(k)
    step[free], _ = cg(matrix, excess[free], rtol=1e-3, maxiter=500, M=sp.diags_array(1 / diagonal[free]))
    return step


def _move_along_paths(
    problem: _Problem, point: _Point, rows: IndexArray, deadline: Deadline
) -> tuple[IntArray, FloatArray]:
    """Move rows of equal weights along shortest paths from too large to too small clusters; one more node is the slack
    of the bounds. Duals change by path lengths, so that reduced costs stay non-negative.
    """
    k, bounds = problem.candidates.n_clusters, problem.bounds
    duals = np.append(point.duals, 0.0)
    labels, goals = point.labels.copy(), problem.goals(point)
    excess = np.append(point.sizes - goals, -float((point.sizes - goals).sum()))
    rows = rows[problem.masses[rows] > 0]
    arcs = _Arcs(problem.candidates, rows, labels)
    while np.any(excess > 0) and not deadline.is_over:
        reduced = np.full((k + 1, k + 1), np.inf)
        reduced[:k, :k] = np.maximum(arcs.costs + duals[None, :k] - duals[:k, None], 0)
        reduced[:k, k] = np.where(goals < bounds.most, np.maximum(duals[k] - duals[:k], 0), np.inf)
        reduced[k, :k] = np.where(goals > bounds.least, np.maximum(duals[:k] - duals[k], 0), np.inf)
        lengths, parents, _ = dijkstra(
            csgraph_from_dense(reduced, null_value=np.inf), indices=np.flatnonzero(excess > 0),
            min_only=True, return_predecessors=True,
        )  # fmt: skip
        ends = np.flatnonzero((excess < 0) & np.isfinite(lengths))
        if len(ends) == 0:
            break  # no row may move
        is_used, longest = np.zeros(k + 1, dtype=bool), 0.0
        for end in ends[np.argsort(lengths[ends], kind="stable")]:
            path = _path_to(end, parents)
            if is_used[path].any():  # in the next round, when its rows are known
                continue
            is_used[path] = True
            longest = max(longest, float(lengths[end]))
            for source, target in pairwise(path):
                if target == k:
                    goals[source] += 1
                elif source == k:
                    goals[target] -= 1
                else:
                    labels[arcs.rows[source, target]] = target
            excess[path[0]] -= 1
            excess[end] += 1
        duals -= np.minimum(lengths, longest)
        arcs.update(labels, np.flatnonzero(is_used[:k]))
    return labels, duals[:k] - duals[k]


class _Arcs:
    """The row of each cluster a that costs least to give to each cluster b, and the difference of its scores."""

    def __init__(self, candidates: Candidates, rows: IndexArray, labels: IntArray) -> None:
        k = candidates.n_clusters
        self._candidates, self._rows = candidates, rows
        self.costs, self.rows = np.full((k, k), np.inf), np.full((k, k), -1, dtype=np.int64)
        self.update(labels, np.arange(k))

    def update(self, labels: IntArray, clusters: IndexArray) -> None:
        """Find the arcs from some clusters again."""
        k = self._candidates.n_clusters
        rows = self._rows[np.isin(labels[self._rows], clusters)]
        rows = rows[np.argsort(labels[rows], kind="stable")]
        ends = np.searchsorted(labels[rows], np.arange(k + 1))
        for cluster in clusters:
            own = rows[ends[cluster] : ends[cluster + 1]]
            self.costs[cluster] = np.inf
            if len(own) == 0:
                continue
            costs = np.full((len(own), k), np.inf)
            np.put_along_axis(costs, self._candidates.ids[own], self._candidates.scores[own], axis=1)
            # A row whose cluster is no candidate leaves it at any cost.
            with np.errstate(invalid="ignore"):
                costs = np.where(np.isinf(costs), np.inf, costs - costs[:, cluster, None])
            costs[:, cluster] = np.inf
            first = costs.argmin(axis=0)
            self.costs[cluster], self.rows[cluster] = costs[first, np.arange(k)], own[first]


def _path_to(end: int, parents: IntArray) -> list[int]:
    path = [int(end)]
    while parents[path[-1]] >= 0:
        path.append(int(parents[path[-1]]))
    return path[::-1]


def _move_greedily(problem: _Problem, duals: FloatArray, labels: IntArray, grain: float) -> IntArray:
    """Move single rows until all sizes are within the bounds, up to the grain: to candidates where these have room."""
    bounds, masses, sizes = problem.bounds, problem.masses, problem.sizes(labels)
    least, most = bounds.least - grain, bounds.most + grain
    if np.all((sizes >= least) & (sizes <= most)):
        return labels
    labels, k = labels.copy(), problem.candidates.n_clusters
    ids = problem.candidates.ids
    values = (
        problem.candidates.scores + duals[ids] - (problem.candidates.costs(labels) + duals[labels])[:, None]
    )
    fits = (masses[:, None] > 0) & (ids != labels[:, None])
    for is_wanted in ((sizes > most)[labels][:, None], (sizes < least)[ids]):
        rows, places = np.nonzero(is_wanted & fits)
        order = np.argsort(values[rows, places], kind="stable")
        for row, place in zip(rows[order], places[order]):
            source, target, mass = labels[row], ids[row, place], masses[row]
            helps = sizes[source] > most or sizes[target] < least
            if helps and sizes[target] + mass <= most and sizes[source] - mass >= least:
                labels[row] = target
                sizes[source] -= mass
                sizes[target] += mass
    # The rest: the rows of the largest clusters that have another one nearly as near, to the smallest.
    counted = np.flatnonzero(masses > 0)
    margins = problem.at(duals).margins
    order = counted[np.lexsort((margins[counted], labels[counted]))]
    ends = np.searchsorted(labels[order], np.arange(k + 1)).tolist()
    waiting, stops = ends[:-1], ends[1:]
    largest, smallest = (
        [(-size, c) for c, size in enumerate(sizes)],
        [(size, c) for c, size in enumerate(sizes)],
    )
    heapq.heapify(largest)
    heapq.heapify(smallest)
    while largest and smallest and not np.all((sizes >= least) & (sizes <= most)):
        (size, source), (other, target) = largest[0], smallest[0]
        if -size != sizes[source] or waiting[source] == stops[source]:
            heapq.heappop(largest)
        elif other != sizes[target]:
            heapq.heappop(smallest)
        else:
            row = order[waiting[source]]
            waiting[source] += 1
            labels[row] = target
            for cluster, more in ((source, -masses[row]), (target, masses[row])):
                sizes[cluster] += more
                heapq.heappush(largest, (-sizes[cluster], cluster))
                heapq.heappush(smallest, (sizes[cluster], cluster))
    if grain > 0 and not np.all((sizes >= least - grain) & (sizes <= most + grain)):
        raise ValueError(
            "No sizes within size_min and size_max were found, even up to the largest sample_weight: weights differ "
            "too much. Widen the bounds, or cap the weights."
        )
    return labels
