"""K-means passes whose assignment of rows keeps the sizes of clusters within bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import ChunkRows, own_squares, weighted_sum
from coterie.centers.frame import CenterFrame
from coterie.centers.lloyd import ClusteredRows
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.passes import MeasuredRows
from coterie.size_constrained.assignment import Candidates, SizedLabels, assign_within
from coterie.size_constrained.sizes import SizeBounds

Blocks = Callable[[], Iterator[tuple[slice, Any]]]

# All centers are candidates of each row where that takes no more than this; otherwise this number at first, and twice
# as many in each round, up to this size.
_WHOLE_BYTES, _CANDIDATES, _LONGEST_BYTES = 16 << 20, 16, 256 << 20

# Rounds with more candidates, under the dual variables of the round before.
_MOST_ROUNDS = 8


class SizedSearch:
    """Assigns rows within size bounds from the last dual variables, with candidates added until the duality gap is at
    most `tolerance` times the inertia. `gap` is that of the last assignment.
    """

    def __init__(
        self,
        bounds: SizeBounds,
        total: float,
        n_clusters: int,
        *,
        gap: float,
        n_threads: int,
        deadline: Deadline = UNLIMITED,
    ) -> None:
        self._bounds, self._total, self._tolerance = bounds, total, gap
        self._duals = np.zeros(n_clusters)
        self._n_threads, self._deadline = n_threads, deadline
        self.gap = self._excess = self._inertia = 0.0

    def labels(
        self,
        blocks: Blocks,
        frame: CenterFrame,
        squares: Array,
        weights: Array | None,
    ) -> IntArray:
        """Return labels of the rows, whose squared distances to the shift are given."""
        n_rows, n_clusters, itemsize = len(squares), len(frame), frame.centers.dtype.itemsize
        constant = weighted_sum(squares.astype(np.float64), weights)
        per_candidate = n_rows * (4 + itemsize)
        n_candidates = n_clusters if per_candidate * n_clusters <= _WHOLE_BYTES else _CANDIDATES
        longest = max(2 * _CANDIDATES, _LONGEST_BYTES // per_candidate)
        best: SizedLabels | None = None
        bound, was_whole = -np.inf, False
        for _ in range(_MOST_ROUNDS):
            n_candidates = min(n_candidates, longest, n_clusters)
            candidates = self._candidates(blocks, n_rows, frame, n_candidates, self._duals)
            # The cheapest center of each row is a candidate, so that this bound holds for all centers.
            bound = max(bound, self._dual_value(candidates, self._duals, weights))
            found = assign_within(
                candidates, self._bounds, weights, duals=self._duals, deadline=self._deadline
            )
            if candidates.is_whole:
                value = found.bound
            else:  # one more pass over the rows
                nearest = self._candidates(blocks, n_rows, frame, 1, found.duals)
                value = self._dual_value(nearest, found.duals, weights)
            if value > bound:  # else there were too few candidates
                bound, self._duals = value, found.duals
            best = found if best is None or found.cost < best.cost else best
            is_near = best.cost - bound <= self._tolerance * max(best.cost + constant, 0.0)
            if (is_near and np.isfinite(best.cost)) or was_whole or self._deadline.is_over:
                break
            n_candidates, was_whole = 2 * n_candidates, candidates.is_whole
        assert best is not None
        cost = (
            best.cost
            if np.isfinite(best.cost)
            else self._cost(blocks, frame, best.labels, weights) - constant
        )
        self._excess = max(cost - bound, 0.0)
        self._note(max(cost + constant, 0.0))
        return best.labels

    def keep(self, difference: float) -> None:
        """Record that other labels are kept, whose cost is lower by this difference."""
        self._excess = max(self._excess - difference, 0.0)
        self._note(self._inertia - difference)

    def _note(self, inertia: float) -> None:
        self._inertia = inertia
        self.gap = self._excess / inertia if inertia > 0 else 0.0

    def _candidates(
        self, blocks: Blocks, n_rows: int, frame: CenterFrame, n_candidates: int, duals: FloatArray
    ) -> Candidates:
        """Return the cheapest centers of each row under dual variables: one pass over the rows."""
        dtype = frame.centers.dtype
        is_whole = n_candidates == len(frame)
        added: Array = np.zeros(len(frame), dtype) if is_whole else duals.astype(dtype)
        ids, scores = np.empty((n_rows, n_candidates), np.int32), np.empty((n_rows, n_candidates), dtype)
        for part, x in blocks():
            _kernels.nearest(
                x, frame.relative, frame.offsets + added, ids[part], scores[part], self._n_threads, 0
            )
            if not is_whole:
                scores[part] -= added[ids[part]]
        return Candidates(ids, scores, len(frame), self._n_threads)

    def _dual_value(self, candidates: Candidates, duals: FloatArray, weights: Array | None) -> float:
        """Return the value of the dual on the candidates."""
        of_bounds = self._bounds.most * np.maximum(duals, 0) + self._bounds.least * np.minimum(duals, 0)
        return weighted_sum(candidates.cheapest(duals)[1], weights) - float(np.sum(of_bounds))

    def _cost(self, blocks: Blocks, frame: CenterFrame, labels: IntArray, weights: Array | None) -> float:
        """Return the inertia of labels that are not among the candidates."""
        squares = np.empty(len(labels))
        for part, x in blocks():
            squares[part] = own_squares(x, labels[part], frame.centers, self._n_threads)
        return weighted_sum(squares, weights)


@dataclass(frozen=True)
class SizedRule:
    """The assignment of rows with size constraints; see `coterie.centers.assignment.AssignmentRule`."""

    search: SizedSearch

    def bounds(self, rows: ChunkRows, frame: CenterFrame) -> SizedAssignment:
        """Return the assignment of all rows."""
        return SizedAssignment(self.search, rows)


class SizedAssignment:
    """The labels of a fit with size constraints; new ones that would not lower the inertia are dropped."""

    algorithm = "lloyd"

    def __init__(self, search: SizedSearch, data: ChunkRows) -> None:
        self._data, self._search = data, search
        self.labels = np.full(data.n_rows, -1, dtype=np.int32)

    def start(self, frame: CenterFrame) -> None:
        """Take the centers of the next pass, and assign all rows."""
        data = self._data
        self._found = self._search.labels(data.blocks, frame, data.squares, data.weights)
        if np.all(self.labels >= 0):
            difference = _difference(data, frame.centers, self.labels, self._found)
            if difference >= 0:
                self._search.keep(difference)
                self._found = self.labels.copy()

    def assign(self, part: slice, x: Any) -> None:
        """Bring the labels of one block up to date."""
        self.labels[part] = self._found[part]

    def relabel(self, rows: IndexArray, labels: IntArray) -> None:
        """Give some rows labels that a distance did not choose."""
        self.labels[rows] = labels


class SizedClusters(ClusteredRows):
    """Clusters of rows of this process whose labels satisfy size constraints."""

    def __init__(
        self, data: MeasuredRows, search: SizedSearch, n_clusters: int, *, unit_length: bool = False
    ) -> None:
        super().__init__(data, n_clusters, SizedRule(search), unit_length=unit_length)
        self._search = search

    def progress(self) -> dict[str, Any]:
        return {"gap": self._search.gap}


def _difference(data: ChunkRows, centers: Array, before: IntArray, after: IntArray) -> float:
    """Return by how much labels cost more than those before, measured accurately."""
    difference = 0.0
    for part, x in data.blocks():
        old, new = (own_squares(x, labels[part], centers, data.n_threads) for labels in (before, after))
        difference += weighted_sum(new - old, data.weights_of(part))
    return difference
