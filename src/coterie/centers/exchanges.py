"""Moves of single rows until all sizes are within their bounds, along the cheapest ways between clusters.

The clusters are the nodes of a graph. An arc from one to another is the row of the first that it costs least to give to
the second, at its reduced cost, which is not negative where rows are with the cheapest cluster under the prices. One
node more stands for the room within the bounds: a cluster above its lower bound may give a place to it, one below its
upper bound may take one. Rows go from where there are too many along shortest paths to where there are too few; then
prices change by the lengths of these paths (Ahuja, Magnanti & Orlin 1993, section 9.7), which leaves all reduced costs
as they must be. So what is moved is moved at the least cost; with a `slack` more rows are moved at once, each at most
so much dearer than need be.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, IntArray
from coterie.centers.price_ascent import DualPoint, PriceProblem

__all__ = ["Exchange", "exchanged"]

# Entries of lists that are looked at in every round without asking whether rows are near another cluster.
_FEW_ENTRIES = 1 << 16

# Rows near another cluster that are looked at first: so many times those that have to be moved, and per cluster.
_ROWS_PER_MOVE, _ROWS_PER_CLUSTER = 8, 64

# Rounds at most; every one moves a row. Rows of different weights may go round in circles.
_MOST_ROUNDS, _MOST_UNEVEN_ROUNDS = 20_000, 300


@dataclass(frozen=True)
class Exchange:
    """What moves ended with.

    Attributes
    ----------
    labels : ndarray of shape (n,), int32
    prices : ndarray of shape (k,), float64
        Under which the labels are the cheapest, but for the slack.
    sizes : ndarray of shape (k,), float64
    is_within : bool
        Whether the sizes are within the bounds (for weights that differ: but for the largest weight).
    """

    labels: IntArray
    prices: FloatArray
    sizes: FloatArray
    is_within: bool


def exchanged(problem: PriceProblem, point: DualPoint, slack: float) -> Exchange:
    """Move rows until all clusters are within their bounds.

    Parameters
    ----------
    problem : PriceProblem
        The rows and bounds.
    point : DualPoint
        Where to begin.
    slack : float
        How much dearer than the cheapest a moved row may be; 0 for the least cost of all.

    Returns
    -------
    Exchange
    """
    return _Moves(problem, point, slack).run()


class _Moves:
    """Labels on their way to sizes within the bounds."""

    def __init__(self, problem: PriceProblem, point: DualPoint, slack: float) -> None:
        lists = problem.lists
        self._problem, self._slack = problem, slack
        self._n, self._k = lists.n_rows, lists.n_clusters
        self._prices = np.append(point.prices, 0.0)  # the last one is that of the room
        self._places = np.argmax(lists.ids == point.pricing.labels[:, None], axis=1)
        self._labels = point.pricing.labels.copy()
        self._margins = point.pricing.margins
        self._drift = 0.0
        weights = problem.weights
        self._weights = np.ones(self._n) if weights is None else weights.astype(np.float64)
        # Rows of different weights cannot fill a cluster exactly.
        self._grain = 0.0 if weights is None else float(self._weights.max()) / 2
        self._place = float(self._weights.mean())
        self._sizes = point.sizes.copy()
        if self._grain > 0:
            self._held = np.clip(point.sizes, problem.bounds.least, problem.bounds.most)
        else:
            self._held = problem.goals(point.sizes, point.prices)

    def run(self) -> Exchange:
        """Go on until nothing is out of bounds, or nothing can be moved."""
        band = self._first_band()
        for _ in range(_MOST_ROUNDS if self._grain == 0 else _MOST_UNEVEN_ROUNDS):
            excess = self._excess()
            sources, sinks = self._ends(excess)
            if len(sources) == 0 or len(sinks) == 0:
                break
            if self._round(excess, sources, sinks, band):
                continue
            if not np.isfinite(band):
                break
            band = band * 8 if band < 1e3 * self._largest_margin else np.inf
        bounds, allowed = self._problem.bounds, 2 * self._grain + 1e-9 * float(self._sizes.sum())
        is_within = bool(
            np.all((self._sizes <= bounds.most + allowed) & (self._sizes >= bounds.least - allowed))
        )
        prices = self._prices[: self._k] - self._prices[self._k]
        return Exchange(self._labels, prices, self._sizes, is_within)

    def _first_band(self) -> float:
        """Return the margin below which rows are looked at first."""
        finite = self._margins[np.isfinite(self._margins)]
        self._largest_margin = float(np.max(finite, initial=0.0))
        if len(finite) == 0 or self._problem.lists.ids.size <= _FEW_ENTRIES:
            return np.inf
        n_wrong = float(np.abs(self._excess()[: self._k]).sum() / self._weights.mean())
        rank = min(int(_ROWS_PER_MOVE * n_wrong + _ROWS_PER_CLUSTER * self._k), len(finite) - 1)
        return max(float(np.partition(finite, rank)[rank]), float(np.finfo(np.float64).tiny))

    def _excess(self) -> FloatArray:
        """Return how much too large the clusters are, and the room at last."""
        return np.append(self._sizes - self._held, float(np.sum(self._held) - np.sum(self._sizes)))

    def _ends(self, excess: FloatArray) -> tuple[IndexArray, IndexArray]:
        """Return where rows are to be taken from, and where to: of rows that differ only by more than half of one."""
        rounding = 1e-9 * max(1.0, float(self._sizes.max()))
        grain = max(self._grain, rounding)
        sources, sinks = excess > grain, excess < -grain
        if self._grain > 0:
            # The room is only the other end.
            sources[-1] = sinks[-1] = False
            sinks[-1] = bool(np.any(sources)) and not np.any(sinks)
            sources[-1] = bool(np.any(sinks[:-1])) and not np.any(sources)
        return np.flatnonzero(sources), np.flatnonzero(sinks)

    # --- one round -----------------------------------------------------------------------------------------------

    def _round(self, excess: FloatArray, sources: IndexArray, sinks: IndexArray, band: float) -> bool:
        """Move rows along the shortest paths there are; return whether any has been."""
        arcs = self._arcs(band)
        distances, before, _ = dijkstra(arcs.graph, indices=sources, min_only=True, return_predecessors=True)
        served = sinks[distances[sinks] <= band]
        served = served[np.argsort(distances[served], kind="stable")]
        served = served[np.isfinite(distances[served])]
        if len(served) == 0:
            return False
        farthest = float(distances[served[-1]])
        self._prices -= np.minimum(distances, farthest)
        self._drift += farthest
        moved, any_moved = np.zeros(self._n, dtype=bool), False
        for sink in served:
            path = [int(sink)]
            while before[path[-1]] >= 0:
                path.append(int(before[path[-1]]))
            path.reverse()
            while self._is_due(excess, path[0], int(sink)):
                if not self._move_along(path, arcs, distances, moved, excess):
                    break
                any_moved = True
        return any_moved

    def _is_due(self, excess: FloatArray, source: int, sink: int) -> bool:
        """Tell whether there is still too much at one end, and too little at the other; the room takes and gives."""
        of_source = (self._grain > 0 and source == self._k) or excess[source] > self._grain / 2
        of_sink = (self._grain > 0 and sink == self._k) or excess[sink] < -self._grain / 2
        return bool(of_source and of_sink)

    def _move_along(
        self, path: list[int], arcs: _Arcs, distances: FloatArray, moved: BoolArray, excess: FloatArray
    ) -> bool:
        """Move one row along each arc of a path; return whether there were such rows."""
        chosen: list[tuple[int, int, int]] = []
        for source, target in pairwise(path):
            if self._k in (source, target):
                if not self._has_room(source, target):
                    return False
                chosen.append((-1, source, target))
                continue
            most = distances[target] - distances[source] + self._slack
            row = arcs.next_row(source, target, moved, most)
            if row < 0:
                return False
            chosen.append((row, source, target))
        first = next((row for row, _, _ in chosen if row >= 0), -1)
        for row, source, target in chosen:
            amount = self._weights[row if row >= 0 else first]
            if row < 0:
                self._held[source if target == self._k else target] += amount * (
                    1 if target == self._k else -1
                )
            else:
                moved[row] = True
                self._labels[row] = target
                self._places[row] = int(np.argmax(self._problem.lists.ids[row] == target))
                self._sizes[source] -= amount
                self._sizes[target] += amount
            excess[source] -= amount
            excess[target] += amount
        return True

    def _has_room(self, source: int, target: int) -> bool:
        """Tell whether a cluster may give a place of the mean weight to the room, or take one."""
        bounds = self._problem.bounds
        if target == self._k:
            return bool(self._held[source] + self._place <= bounds.most + self._grain)
        return bool(self._held[target] - self._place >= bounds.least - self._grain)

    # --- the graph -----------------------------------------------------------------------------------------------

    def _arcs(self, band: float) -> _Arcs:
        lists, prices = self._problem.lists, self._prices
        rows = self._near(band)
        whole = len(rows) == self._n
        ids = lists.ids if whole else lists.ids[rows]
        scores = lists.scores if whole else lists.scores[rows]
        costs = scores.astype(np.float64) + prices[: self._k][ids]
        own = costs[np.arange(len(rows)), self._places[rows]]
        costs -= own[:, None]
        labels = self._labels[rows]
        within = (ids != labels[:, None]) & (costs <= band) & (self._weights[rows] > 0)[:, None]
        at, place = np.nonzero(within)
        ends = labels[at].astype(np.int64) * self._k + ids[at, place]
        return _Arcs(ends, rows[at], costs[at, place], self._k, *self._room())

    def _near(self, band: float) -> IndexArray:
        """Return the rows that can have another cluster within the band; margins are those of a while ago."""
        if not np.isfinite(band):
            return np.arange(self._n)
        if self._drift > band:
            pricing = self._problem.lists.price(self._prices[: self._k])
            # A row that has been moved is a little dearer than its cheapest one.
            self._margins = np.where(pricing.labels == self._labels, pricing.margins, 0.0)
            self._drift = 0.0
        return np.flatnonzero(self._margins <= band + self._drift)

    def _room(self) -> tuple[IndexArray, IndexArray, FloatArray]:
        """Return arcs to and from the room within the bounds, with their reduced costs."""
        k, bounds, prices = self._k, self._problem.bounds, self._prices
        giving = np.flatnonzero(self._held < bounds.most)
        taking = np.flatnonzero(self._held > bounds.least)
        heads = np.concatenate([giving, np.full(len(taking), k)])
        tails = np.concatenate([np.full(len(giving), k), taking])
        return heads, tails, prices[tails] - prices[heads]


class _Arcs:
    """Rows that can go from one cluster to another, the cheapest first, and the graph of the cheapest."""

    def __init__(
        self,
        ends: IndexArray,
        rows: IndexArray,
        costs: FloatArray,
        n_clusters: int,
        heads: IndexArray,
        tails: IndexArray,
        room: FloatArray,
    ) -> None:
        order = np.lexsort((rows, costs, ends))
        ends, self._rows, self._costs = ends[order], rows[order], costs[order]
        unique, starts = np.unique(ends, return_index=True)
        stops = np.append(starts[1:], len(ends))
        self._queues = dict(zip(unique.tolist(), zip(starts.tolist(), stops.tolist())))
        self._k = n_clusters
        self._next: dict[int, int] = {}
        # What is 0 but for rounding must not be less.
        lengths = np.maximum(np.concatenate([self._costs[starts], room]), 0)
        heads = np.concatenate([unique // n_clusters, heads])
        tails = np.concatenate([unique % n_clusters, tails])
        self.graph: Array = sp.csr_array((lengths, (heads, tails)), shape=(n_clusters + 1, n_clusters + 1))

    def next_row(self, source: int, target: int, moved: BoolArray, most: float) -> int:
        """Return the cheapest row left that has not been moved yet and costs no more, -1 if there is none."""
        key = source * self._k + target
        start, stop = self._queues[key]
        place = self._next.get(key, start)
        while place < stop and moved[self._rows[place]]:
            place += 1
        self._next[key] = place
        if place == stop or self._costs[place] > max(most, self._costs[start]):
            return -1
        return int(self._rows[place])
