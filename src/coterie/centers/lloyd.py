"""Lloyd's loop: rows to their nearest centroids, centroids to the means of their rows, until nothing changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import Dataset, weighted_sum
from coterie.centers.assignment import Assignment, PlainAssignment
from coterie.centers.bounded import BoundedAssignment, n_bounds_of
from coterie.centers.frame import CenterFrame
from coterie.centers.rounding import Doubts, SettledAssignment, rounding_decides
from coterie.centers.sized import SizedAssignment, SizedSearch
from coterie.centers.sums import ClusterSums

__all__ = ["ALGORITHMS", "Lloyd", "LloydStep", "algorithm_of", "choose_algorithm"]

ALGORITHMS = ("auto", "lloyd", "elkan", "yinyang", "hamerly")

# Bounds that take more memory than this cost "elkan" more time than they save.
_ELKAN_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class LloydStep:
    """What one step did.

    Attributes
    ----------
    objective : float
        Inertia of the labels with the centroids that gave them.
    n_changed : int
        Labels that changed.
    center_shift : float
        Sum of the squared movements of the centroids; 0 once no label changes.
    """

    objective: float
    n_changed: int
    center_shift: float


class Lloyd:
    """Centroids of some rows, moved step by step.

    Parameters
    ----------
    data : Dataset
        The rows.
    centers : ndarray of shape (k, d), dtype of the rows
        Where the centroids begin.
    algorithm : {"auto", "lloyd", "elkan", "yinyang", "hamerly"}
        How rows find their nearest centroids; the labels are the same, bit for bit.
    unit_length : bool
        Whether centroids are scaled to length 1 after each move. Bounds hold all the same: what they add up is how far
        the centroids are from where they were.
    search : SizedSearch, optional
        Assigns the rows within bounds of the sizes of clusters, whatever the algorithm.
    """

    def __init__(
        self,
        data: Dataset,
        centers: Array,
        algorithm: str = "auto",
        *,
        unit_length: bool = False,
        search: SizedSearch | None = None,
    ) -> None:
        self._data = data
        self._frame = CenterFrame(centers, data.shift, data.n_threads)
        self._clusters = ClusterSums(data, len(centers), unit_length=unit_length)
        self._assignment: Assignment
        if search is None:
            self._assignment = _assignment(data, self._frame, algorithm, unit_length)
        else:
            self._assignment = SizedAssignment(data, search)
        self._n_changed: int | None = None

    @property
    def centers(self) -> Array:
        """The centroids, shape (k, d)."""
        return self._frame.centers

    @property
    def gap(self) -> float:
        """Duality gap of the last assignment within bounds of sizes, relative to its inertia; 0 without bounds."""
        return self._assignment.gap if isinstance(self._assignment, SizedAssignment) else 0.0

    def step(self) -> LloydStep:
        """Assign all rows, move the centroids to the means of theirs."""
        n_changed = self._assign()
        objective = self._objective()
        if n_changed == 0:
            return LloydStep(objective, 0, 0.0)
        self._relocate_empty()
        before = self._frame
        moved = self._clusters.centers(before.centers)
        self._frame = CenterFrame(moved, self._data.shift, self._data.n_threads)
        return LloydStep(objective, n_changed, float(np.sum(self._frame.square_distances(before))))

    def labels_and_squares(self) -> tuple[IntArray, FloatArray]:
        """Return the nearest centroid of each row, and the squared distance to it, accurately: one or two passes."""
        if self._n_changed != 0:
            self._assign()
        labels, data = self._assignment.labels, self._data
        if self._is_sized:
            return labels, data.own_square_distances(self.centers, labels)
        doubts, squares = Doubts(self._frame), np.empty(data.n_rows)
        for part, x in data.blocks():
            doubts.measure(x, labels[part], squares[part])
            doubts.settle(x, data.take, labels[part], squares[part], part.start)
        return labels, squares

    @property
    def _is_sized(self) -> bool:
        """Whether rows need not be with their nearest centroids."""
        return isinstance(self._assignment, SizedAssignment)

    def _assign(self) -> int:
        """One pass over the data: bring labels and sums up to date; return how many labels changed."""
        data, assignment = self._data, self._assignment
        is_first = self._n_changed is None
        # Moving a row costs two additions, so sums are made afresh while many rows move; that also sheds rounding.
        afresh = is_first or 2 * (self._n_changed or 0) > data.n_rows or data.has_far_rows
        self._n_changed = self._pass_over(afresh=afresh)
        if is_first and not self._is_sized and rounding_decides(data, self._frame, assignment.labels):
            self._assignment = SettledAssignment(data, assignment)
            self._pass_over(afresh=True)
        return self._n_changed

    def _pass_over(self, *, afresh: bool) -> int:
        assignment = self._assignment
        if afresh:
            self._clusters.clear()
        assignment.start(self._frame)
        n_changed = 0
        for part, x in self._data.blocks():
            before = assignment.labels[part].copy()
            assignment.assign(part, x)
            labels = assignment.labels[part]
            self._clusters.add(part, x, labels, None if afresh else before)
            n_changed += int(np.count_nonzero(labels != before))
        return n_changed

    def _objective(self) -> float:
        """Return the inertia of the labels: from the sums, unless rounding would hide what it is."""
        data, assignment = self._data, self._assignment
        if isinstance(assignment, SettledAssignment):
            squares = assignment.squares
        elif data.has_far_rows:
            squares = data.own_square_distances(self.centers, assignment.labels)
        else:
            return self._clusters.inertia(self._frame)
        return weighted_sum(squares, data.weights)

    def _relocate_empty(self) -> None:
        """Give each cluster without mass a row of its own: those that are the farthest from their centroids."""
        empty = self._without_mass()
        if len(empty) == 0:
            return
        data, labels = self._data, self._assignment.labels
        squares = data.own_square_distances(self.centers, labels)
        if data.weights is not None:
            squares[data.weights == 0] = 0
        farthest = np.argsort(-squares, kind="stable")[: len(empty)]
        farthest = farthest[squares[farthest] > 0]
        empty = empty[: len(farthest)]
        for row, target in zip(farthest, empty):
            self._clusters.move(int(row), int(labels[row]), int(target))
        self._assignment.relabel(farthest, empty.astype(np.int32))

    def _without_mass(self) -> IndexArray:
        """Return the empty clusters, after removing what rounding left of their sums."""
        clusters = self._clusters
        n_clusters = len(clusters.masses)
        doubtful = np.flatnonzero(clusters.masses <= 1e-9 * self._data.total_weight / n_clusters)
        if len(doubtful) == 0:
            return doubtful
        exact = np.bincount(self._assignment.labels, weights=self._data.weights, minlength=n_clusters)
        empty = doubtful[exact[doubtful] == 0]
        clusters.masses[empty] = 0
        clusters.sums[empty] = 0
        return empty


def choose_algorithm(data: Dataset, n_clusters: int) -> str:
    """Return what `algorithm="auto"` stands for; see the notes of `coterie.KMeans`."""
    shape = data.n_rows, data.n_columns
    return algorithm_of(
        "auto", shape, n_clusters, itemsize=data.dtype.itemsize, is_sparse=data.rows.is_sparse
    )


def algorithm_of(
    algorithm: str, shape: tuple[int, int], n_clusters: int, *, itemsize: int, is_sparse: bool
) -> str:
    """Return which algorithm so many rows, columns and clusters get: "auto" chooses."""
    if algorithm != "auto":
        return algorithm
    n_rows, n_columns = shape
    if n_clusters < 4 or is_sparse:
        return "lloyd"
    elkan_fits = n_rows * n_clusters * itemsize <= _ELKAN_BYTES
    return "elkan" if n_columns >= 256 and n_clusters <= 2 * n_columns and elkan_fits else "yinyang"


def _assignment(
    data: Dataset, frame: CenterFrame, algorithm: str, unit_length: bool
) -> PlainAssignment | BoundedAssignment:
    n_clusters = len(frame)
    if algorithm == "auto":
        algorithm = choose_algorithm(data, n_clusters)
    if algorithm == "lloyd" or n_clusters == 1:
        return PlainAssignment(data)
    n_bounds = n_bounds_of(algorithm, data.n_rows, n_clusters, data.dtype.itemsize)
    return BoundedAssignment(data, frame, n_bounds, unit_length=unit_length)
