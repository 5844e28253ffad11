"""Passes of Lloyd's algorithm over the rows of a backend: assignment, cluster sums, empty clusters, near-ties.

Labels and bounds stay with the rows, in the state of each chunk; centers go there, cluster sums come back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.backend import Chunk
from coterie.backend.measure import MeasuredRows, rows_of, split_by_chunk
from coterie.blocks.dataset import ChunkRows, weighted_sum
from coterie.blocks.kernel_rows import kernel_rows
from coterie.blocks.measures import sample_positions
from coterie.centers.assignment import Assignment
from coterie.centers.frame import CenterFrame, moved_centers
from coterie.centers.rounding import NearTies, TieBreakingAssignment, has_near_ties
from coterie.fitting.deadline import UNLIMITED, Deadline

# With fewer passes than this, bounds cost more time than they save.
_PASSES_FOR_BOUNDS = 4

# What the numbers in the history's column `algorithm` stand for.
ALGORITHMS_OF_HISTORY = ("lloyd", "elkan", "yinyang", "hamerly")

NewAssignment: TypeAlias = Callable[[ChunkRows, CenterFrame], Assignment]
"""Returns an assignment of the rows of a chunk, given the first centers; it must be picklable."""


class ClusterPasses:
    """Passes over the rows of a backend, and the sums of the clusters.

    Parameters
    ----------
    data : MeasuredRows
        The rows.
    n_clusters : int
        Number of clusters k.
    assignment : callable
        Makes the assignment of each chunk.
    unit_length : bool
        Whether centers have length 1.
    later : callable, optional
        Makes the assignment from the second pass on, if the deadline leaves time for some passes.
    deadline : Deadline
        When the fit is to end.

    Attributes
    ----------
    sums : ndarray of shape (k, d), float64
        (Weighted) sum of the rows of each cluster relative to the shift, up to date after `assign` and `move`.
    masses : ndarray of shape (k,), float64
        Sum of their weights.
    n_passes : int
        Calls of `assign` so far.
    inertia_scale : float
        What squared distances count in the inertia: half at length 1, where that is 1 - cos.
    """

    def __init__(
        self,
        data: MeasuredRows,
        n_clusters: int,
        assignment: NewAssignment,
        *,
        unit_length: bool = False,
        later: NewAssignment | None = None,
        deadline: Deadline = UNLIMITED,
    ) -> None:
        self.data, self._backend = data, data.backend
        self._shape = n_clusters, data.n_columns
        self._new, self._later, self._deadline = assignment, later, deadline
        self._unit_length = unit_length
        self.inertia_scale = 0.5 if unit_length else 1.0
        self.n_passes, self._first_seconds = 0, 0.0
        self._breaks_ties = False
        self._algorithm = "lloyd"
        self._begin_sums()

    def _begin_sums(self) -> None:
        mass = 2 * self.data.total_weight
        largest = mass * float(np.sqrt(self.data.largest_square))
        self._into = {
            "sums": self._backend.total(self._shape, largest),
            "masses": self._backend.total(self._shape[:1], mass),
        }

    def _finish_sums(self) -> None:
        self.sums, self.masses = self._into["sums"].total(), self._into["masses"].total()

    def progress(self) -> dict[str, Any]:
        """Return the additional fields of the history for the last pass."""
        return {"algorithm": ALGORITHMS_OF_HISTORY.index(self._algorithm)}

    def assign(self, frame: CenterFrame, *, afresh: bool) -> int:
        """Assign all rows to their nearest centers; return the number of changed labels.

        The sums take in the rows that have moved, or all rows (`afresh`).
        """
        begins, keeps_labels, begin = self.n_passes == 0, False, self._deadline.seconds
        if self._later is not None and not begins:
            if not self._breaks_ties and self._deadline.left > _PASSES_FOR_BOUNDS * self._first_seconds:
                self._new, begins, keeps_labels = self._later, True, True
            self._later = None
        if afresh:
            self._begin_sums()
        payload = {
            "frame": frame, "new": self._new, "begins": begins, "keeps_labels": keeps_labels,
            "breaks_ties": self._breaks_ties, "afresh": afresh,
        }  # fmt: skip
        found = self._backend.run(_assign, payload, into=self._into, writes="labels", renews=True)
        self._finish_sums()
        self.n_passes += 1
        if self.n_passes == 1:
            self._first_seconds = self._deadline.seconds - begin
        n_changed, algorithms = zip(*found)
        self._algorithm = algorithms[0]
        return sum(n_changed)

    def rounding_decides(self, frame: CenterFrame) -> bool:
        """Return whether rounding may choose labels, of a thousand or two rows; see `coterie.centers.rounding`."""
        given = split_by_chunk(self._backend, sample_positions(self.data.n_rows))
        return any(self._backend.run(_has_near_ties, frame, given=given))

    def break_ties(self) -> None:
        """From now on decide near-ties exactly."""
        self._breaks_ties = True

    def measured_inertia(self, frame: CenterFrame) -> float | None:
        """Return the inertia of the labels by the distances of all rows, None where sums give it as well."""
        if not self._breaks_ties and not self.data.has_far_rows:
            return None
        return float(np.sum(self._backend.run(_inertia, frame.centers)))

    def inertia(self, frame: CenterFrame) -> float:
        """Return the inertia of the labels with any centers by the sums, without a pass over the rows."""
        cross, distances = np.empty(len(frame)), np.empty(len(frame))
        _kernels.compare_centers(self.sums, frame.relative, cross, distances, frame.n_threads)
        return max(0.0, self.data.total_square + float((self.masses * frame.squares - 2 * cross).sum()))

    def means(self, before: Array) -> Array:
        """Return the center of each cluster; one without mass, or whose rows sum to zero, keeps its old one."""
        return moved_centers(
            self.sums,
            self.masses,
            self.data.shift,
            before,
            self.data.n_threads,
            unit_length=self._unit_length,
        )

    def relocate_empty(self, frame: CenterFrame) -> None:
        """Give each cluster without mass a row of its own: those that are the farthest from their centers."""
        n_clusters = len(self.masses)
        candidates = np.flatnonzero(self.masses <= 1e-9 * self.data.total_weight / n_clusters)
        if len(candidates) == 0:
            return
        masses = self._backend.total(self._shape[:1], 2 * self.data.total_weight)
        self._backend.run(_add_masses, into={"masses": masses})
        empty = candidates[masses.total()[candidates] == 0]
        # Rounding may have left something of their sums.
        for total in self._into.values():
            total.clear(empty)
        self._finish_sums()
        if len(empty) == 0:
            return
        rows, before = self._farthest(frame, len(empty))
        labels = empty[: len(rows)].astype(np.int32)
        if len(rows) == 0:
            return
        order = np.argsort(rows)
        by_chunk = split_by_chunk(self._backend, rows[order])
        ends = np.cumsum([len(part) for part in by_chunk])[:-1]
        # In the order of the distances within each chunk.
        given = []
        for part, places in zip(by_chunk, np.split(order, ends)):
            ranks = np.argsort(places)
            given.append((part[ranks], before[places[ranks]], labels[places[ranks]]))
        self._backend.run(_move, given=given, into=self._into, writes="labels")
        self._finish_sums()

    def _farthest(self, frame: CenterFrame, n_rows: int) -> tuple[IndexArray, IntArray]:
        """Return the rows that are the farthest from their centers, with a weight and a distance, and their labels."""
        found = self._backend.run(_farthest, {"centers": frame.centers, "n_rows": n_rows})
        rows = np.concatenate([part + first for (part, _, _), first in zip(found, self._backend.firsts)])
        squares, labels = (np.concatenate([part[i] for part in found]) for i in (1, 2))
        best = np.lexsort((rows, -squares))[:n_rows]
        best = best[squares[best] > 0]
        return rows[best], labels[best]

    def finish(self, frame: CenterFrame) -> tuple[IntArray, FloatArray, float]:
        """Return the labels of the last pass, near-ties resolved, their squared distances, and the sum of these."""
        labels, squares, totals = zip(*self._backend.run(_finish, frame))
        return _joined(labels), _joined(squares), float(np.sum(totals))


def _joined(parts: tuple[Array, ...]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


# --- tasks -----------------------------------------------------------------------------------------------------------


def _assign(chunk: Chunk, payload: dict[str, Any], _: Any, into: Any) -> tuple[int, str]:
    rows, frame, afresh = rows_of(chunk), _frame(payload["frame"], chunk), payload["afresh"]
    assignment = _assignment(chunk, payload, frame)
    assignment.start(frame)
    n_changed = 0
    with into["sums"].part() as sums, into["masses"].part() as masses:
        for part, x in rows.blocks():
            chunk.check()
            before = assignment.labels[part].copy()
            assignment.assign(part, x)
            labels = assignment.labels[part]
            _kernels.add_to_clusters(
                x, labels, None if afresh else before, rows.weights_of(part), rows.shift, sums, masses,
                rows.n_threads,
            )  # fmt: skip
            n_changed += int(np.count_nonzero(labels != before))
    return n_changed, assignment.algorithm


def _frame(frame: CenterFrame, chunk: Chunk) -> CenterFrame:
    """Return centers for the kernels of this process."""
    frame.n_threads = rows_of(chunk).n_threads
    return frame


def _assignment(chunk: Chunk, payload: dict[str, Any], frame: CenterFrame) -> Assignment:
    current: Assignment | None = chunk.state.get("assignment")
    if current is None or payload["begins"]:
        new: Assignment = payload["new"](rows_of(chunk), frame)
        if current is not None and payload["keeps_labels"]:
            new.labels[:] = current.labels
        current = new
    if payload["breaks_ties"] and not isinstance(current, TieBreakingAssignment):
        current = TieBreakingAssignment(rows_of(chunk), current)
    chunk.state["assignment"] = current
    return current


def _has_near_ties(chunk: Chunk, frame: CenterFrame, numbers: IndexArray, _: Any) -> bool:
    return has_near_ties(rows_of(chunk), frame, chunk.state["assignment"].labels, numbers)


def _inertia(chunk: Chunk, centers: Array, _: Any, __: Any) -> float:
    rows, assignment = rows_of(chunk), chunk.state["assignment"]
    if isinstance(assignment, TieBreakingAssignment):
        return weighted_sum(assignment.squares, rows.weights)
    return weighted_sum(rows.own_square_distances(centers, assignment.labels), rows.weights)


def _add_masses(chunk: Chunk, _: Any, __: Any, into: Any) -> None:
    with into["masses"].part() as masses:
        labels, weights = chunk.state["assignment"].labels, rows_of(chunk).weights
        masses += np.bincount(labels, weights=weights, minlength=len(masses))


def _farthest(
    chunk: Chunk, payload: dict[str, Any], _: Any, __: Any
) -> tuple[IndexArray, FloatArray, IntArray]:
    rows, labels = rows_of(chunk), chunk.state["assignment"].labels
    squares = rows.own_square_distances(payload["centers"], labels)
    if rows.weights is not None:
        squares[rows.weights == 0] = 0
    farthest = np.argsort(-squares, kind="stable")[: payload["n_rows"]]
    return farthest, squares[farthest], labels[farthest]


def _move(chunk: Chunk, _: Any, given: tuple[IndexArray, IntArray, IntArray], into: Any) -> None:
    rows = rows_of(chunk)
    with into["sums"].part() as sums, into["masses"].part() as masses:
        for row, before, label in zip(*(values.tolist() for values in given)):
            part = slice(row, row + 1)
            _kernels.add_to_clusters(
                kernel_rows(rows.take(np.array([row]))), np.array([label], dtype=np.int32),
                np.array([before], dtype=np.int32), rows.weights_of(part), rows.shift, sums, masses,
                rows.n_threads,
            )  # fmt: skip
    chunk.state["assignment"].relabel(given[0], given[2])


def _finish(chunk: Chunk, frame: CenterFrame, _: Any, __: Any) -> tuple[IntArray, FloatArray, float]:
    rows, labels = rows_of(chunk), chunk.state["assignment"].labels.copy()
    near_ties, squares = NearTies(_frame(frame, chunk)), np.empty(rows.n_rows)
    for part, x in rows.blocks():
        chunk.check()
        near_ties.measure(x, labels[part], squares[part])
        near_ties.break_ties(x, rows.take, labels[part], squares[part], part.start)
    return labels, squares, weighted_sum(squares, rows.weights)
