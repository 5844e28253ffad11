"""What a fit of centres asks of its rows: passes over blocks, which may be at hand or on other machines.

`lloyd` decides what is to be done next; a `ClusterPasses` goes through the rows and holds what belongs to each of them,
its label and its bounds. `LocalPasses` does so for blocks of this process. `coterie.dask` has another one, whose
blocks, labels and bounds stay where the rows are: centres go there, sums of clusters come back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from coterie.arrays import FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import Dataset, weighted_sum
from coterie.centers.assignment import Assignment
from coterie.centers.frame import CenterFrame
from coterie.centers.rounding import Doubts, SettledAssignment, rounding_decides
from coterie.centers.sums import ClusterSums, Totals
from coterie.fitting.deadline import UNLIMITED, Deadline

__all__ = ["ALGORITHMS_OF_HISTORY", "ClusterPasses", "LocalPasses", "MeasuredRows"]

# In fewer passes than this, bounds cost more time than they save.
_PASSES_FOR_BOUNDS = 4

# What the numbers in the history's column `algorithm` stand for.
ALGORITHMS_OF_HISTORY = ("lloyd", "elkan", "yinyang", "hamerly")


class MeasuredRows(Protocol):
    """What is known of the rows of a fit as a whole; `coterie.blocks.dataset.Dataset` says what each word means."""

    n_rows: int
    n_threads: int
    total_weight: float
    has_far_rows: bool
    shift: FloatArray


class ClusterPasses(Protocol):
    """Rows with the numbers of their clusters. Rows and labels come in the order of the data."""

    @property
    def data(self) -> MeasuredRows:
        """The rows as a whole."""

    def progress(self) -> dict[str, Any]:
        """Return what the history of a fit has of the last pass beside the rest, such as the `algorithm`."""

    @property
    def sums(self) -> Totals:
        """The sums of the clusters, up to date after `assign` and `move`."""

    def assign(self, frame: CenterFrame, *, afresh: bool) -> int:
        """Give all rows the labels of their nearest centroids; return how many are others than before.

        The sums take in the rows that have moved, or all rows (`afresh`).
        """

    def rounding_decides(self, frame: CenterFrame) -> bool:
        """Tell by some rows whether rounding may choose labels; see `coterie.centers.rounding`."""

    def settle(self) -> None:
        """From now on give rows that are in doubt their nearest centroids."""

    def measured_inertia(self, frame: CenterFrame) -> float | None:
        """Return the inertia of the labels by the distances of all rows, None where sums tell it as well."""

    def exact_masses(self) -> FloatArray:
        """Return the sum of the weights of the rows of each cluster, counted anew."""

    def farthest(self, frame: CenterFrame, n_rows: int) -> tuple[IndexArray, IntArray]:
        """Return the numbers and labels of the rows that are the farthest from their centroids, the farthest first.

        At most `n_rows`, each with a weight and a distance; of equal ones the first.
        """

    def move(self, rows: IndexArray, before: IntArray, labels: IntArray) -> None:
        """Give some rows other labels, which no distance chose, and move them between the sums."""

    def finish(self, frame: CenterFrame) -> tuple[IntArray, FloatArray, float]:
        """Return the labels of the last pass, near-ties resolved, their squared distances, and the sum of these."""


class LocalPasses:
    """Passes over blocks of this process.

    Parameters
    ----------
    data : Dataset
        The rows.
    assignment : Assignment
        Finds their labels, and holds them.
    n_clusters : int
        Number of clusters k.
    unit_length : bool
        Whether centroids have length 1.
    later : callable, optional
        Returns the assignment that goes on after the first pass, if the deadline leaves time for some passes.
    deadline : Deadline, optional
        When the fit is to end.
    """

    data: Dataset
    sums: ClusterSums

    def __init__(
        self,
        data: Dataset,
        assignment: Assignment,
        n_clusters: int,
        *,
        unit_length: bool = False,
        later: Callable[[CenterFrame], Assignment] | None = None,
        deadline: Deadline = UNLIMITED,
    ) -> None:
        self.data = data
        self._later, self._deadline = later, deadline
        self._first_seconds: float | None = None
        self.sums = ClusterSums(data, n_clusters, unit_length=unit_length)
        self._assignment = assignment

    def progress(self) -> dict[str, Any]:
        return {"algorithm": ALGORITHMS_OF_HISTORY.index(self._assignment.algorithm)}

    def assign(self, frame: CenterFrame, *, afresh: bool) -> int:
        if self._later is None:
            return self._assign(frame, afresh=afresh)
        if self._first_seconds is None:
            begin = self._deadline.seconds
            n_changed = self._assign(frame, afresh=afresh)
            self._first_seconds = self._deadline.seconds - begin
            return n_changed
        is_plain = not isinstance(self._assignment, SettledAssignment)
        if is_plain and self._deadline.left > _PASSES_FOR_BOUNDS * self._first_seconds:
            labels, self._assignment = self._assignment.labels, self._later(frame)
            self._assignment.labels[:] = labels
        self._later = None
        return self._assign(frame, afresh=afresh)

    def _assign(self, frame: CenterFrame, *, afresh: bool) -> int:
        assignment = self._assignment
        if afresh:
            self.sums.clear()
        assignment.start(frame)
        n_changed = 0
        for part, x in self.data.blocks():
            before = assignment.labels[part].copy()
            assignment.assign(part, x)
            labels = assignment.labels[part]
            self.sums.add(part, x, labels, None if afresh else before)
            n_changed += int(np.count_nonzero(labels != before))
        return n_changed

    def rounding_decides(self, frame: CenterFrame) -> bool:
        return rounding_decides(self.data, frame, self._assignment.labels)

    def settle(self) -> None:
        self._assignment = SettledAssignment(self.data, self._assignment)

    def measured_inertia(self, frame: CenterFrame) -> float | None:
        if isinstance(self._assignment, SettledAssignment):
            squares = self._assignment.squares
        elif self.data.has_far_rows:
            squares = self.data.own_square_distances(frame.centers, self._assignment.labels)
        else:
            return None
        return weighted_sum(squares, self.data.weights)

    def exact_masses(self) -> FloatArray:
        n_clusters = len(self.sums.masses)
        masses = np.bincount(self._assignment.labels, weights=self.data.weights, minlength=n_clusters)
        return masses.astype(np.float64, copy=False)

    def farthest(self, frame: CenterFrame, n_rows: int) -> tuple[IndexArray, IntArray]:
        labels = self._assignment.labels
        squares = self.data.own_square_distances(frame.centers, labels)
        if self.data.weights is not None:
            squares[self.data.weights == 0] = 0
        farthest = np.argsort(-squares, kind="stable")[:n_rows]
        farthest = farthest[squares[farthest] > 0]
        return farthest, labels[farthest]

    def move(self, rows: IndexArray, before: IntArray, labels: IntArray) -> None:
        for row, source, target in zip(rows.tolist(), before.tolist(), labels.tolist()):
            self.sums.move(row, source, target)
        self._assignment.relabel(rows, labels)

    def finish(self, frame: CenterFrame) -> tuple[IntArray, FloatArray, float]:
        labels, data = self._assignment.labels, self.data
        doubts, squares = Doubts(frame), np.empty(data.n_rows)
        for part, x in data.blocks():
            doubts.measure(x, labels[part], squares[part])
            doubts.settle(x, data.take, labels[part], squares[part], part.start)
        return labels, squares, weighted_sum(squares, data.weights)
