"""Lloyd's loop: rows to their nearest centroids, centroids to the means of their rows, until nothing changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import Dataset
from coterie.centers.assignment import PlainAssignment
from coterie.centers.bounded import BoundedAssignment, n_bounds_of
from coterie.centers.frame import CenterFrame
from coterie.centers.passes import ClusterPasses, LocalPasses
from coterie.centers.racing import RacingAssignment
from coterie.centers.stored_bounds import StoredBounds

__all__ = ["ALGORITHMS", "Lloyd", "LloydStep", "algorithm_of", "choose_algorithm", "local_passes", "races"]

ALGORITHMS = ("auto", "lloyd", "elkan", "yinyang", "hamerly")

# The first pass with bounds takes as long as two without: where there is no time for so many, they do not pay.
_PASSES_FOR_BOUNDS = 4

# Multiply-adds of a pass from which on "auto" measures, and the fewest bytes of a row: its number takes eight of them.
_RACED, _RACED_BYTES = 2e8, 64

# Bounds of "elkan" may take this, or so much of the memory of the rows. More costs more time than it saves.
_ELKAN_BYTES, _ELKAN_OF_ROWS = 128 << 20, 0.75

# Passes that earn a race, and the first touch of the memory of these bounds: in fewer, those of "yinyang" were as fast
# or faster on all machines, and to go over to them takes as long as a pass.
_PASSES_OF_RACE = 20


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
    passes : ClusterPasses
        The rows, here or on other machines; also an attribute.
    centers : ndarray of shape (k, d), dtype of the rows
        Where the centroids begin.
    """

    def __init__(self, passes: ClusterPasses, centers: Array) -> None:
        self.passes = passes
        self._frame = CenterFrame(centers, passes.data.shift, passes.data.n_threads)
        self._n_changed: int | None = None

    @property
    def centers(self) -> Array:
        """The centroids, shape (k, d)."""
        return self._frame.centers

    def step(self) -> LloydStep:
        """Assign all rows, move the centroids to the means of theirs."""
        n_changed = self._assign()
        objective = self._objective()
        if n_changed == 0:
            return LloydStep(objective, 0, 0.0)
        self._relocate_empty()
        before = self._frame
        moved = self.passes.sums.centers(before.centers)
        self._frame = CenterFrame(moved, self.passes.data.shift, self.passes.data.n_threads)
        return LloydStep(objective, n_changed, float(np.sum(self._frame.square_distances(before))))

    def labels_and_squares(self) -> tuple[IntArray, FloatArray]:
        """Return the nearest centroid of each row, and the squared distance to it, accurately: one or two passes."""
        if self._n_changed != 0:
            self._assign()
        return self.passes.labels_and_squares(self._frame)

    def _assign(self) -> int:
        """One pass over the data: bring labels and sums up to date; return how many labels changed."""
        passes, is_first = self.passes, self._n_changed is None
        # Moving a row costs two additions, so sums are made afresh while many rows move; that also sheds rounding.
        afresh = is_first or 2 * (self._n_changed or 0) > passes.data.n_rows or passes.data.has_far_rows
        self._n_changed = passes.assign(self._frame, afresh=afresh)
        if is_first and passes.rounding_decides(self._frame):
            passes.settle()
            passes.assign(self._frame, afresh=True)
        return self._n_changed

    def _objective(self) -> float:
        """Return the inertia of the labels: from the sums, unless rounding would hide what it is."""
        measured = self.passes.measured_inertia(self._frame)
        return self.passes.sums.inertia(self._frame) if measured is None else measured

    def _relocate_empty(self) -> None:
        """Give each cluster without mass a row of its own: those that are the farthest from their centroids."""
        empty = self._without_mass()
        if len(empty) == 0:
            return
        rows, labels = self.passes.farthest(self._frame, len(empty))
        self.passes.move(rows, labels, empty[: len(rows)].astype(np.int32))

    def _without_mass(self) -> IndexArray:
        """Return the empty clusters, after removing what rounding left of their sums."""
        sums = self.passes.sums
        doubtful = np.flatnonzero(sums.masses <= 1e-9 * self.passes.data.total_weight / len(sums.masses))
        if len(doubtful) == 0:
            return doubtful
        empty = doubtful[self.passes.exact_masses()[doubtful] == 0]
        sums.masses[empty] = 0
        sums.sums[empty] = 0
        return empty


def local_passes(
    data: Dataset, centers: Array, algorithm: str = "auto", *, unit_length: bool = False
) -> LocalPasses:
    """Return the passes of Lloyd's loop over rows of this process.

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
    """
    frame = CenterFrame(centers, data.shift, data.n_threads)
    assignment = _assignment(data, frame, algorithm, unit_length)
    return LocalPasses(data, assignment, len(centers), unit_length=unit_length)


def choose_algorithm(data: Dataset, n_clusters: int) -> str:
    """Return what `algorithm="auto"` stands for, "race" where that is measured; see the notes of `coterie.KMeans`."""
    if data.n_passes_left < _PASSES_FOR_BOUNDS:
        return "lloyd"
    shape = data.n_rows, data.n_columns
    if races(shape, n_clusters, itemsize=data.dtype.itemsize, is_sparse=data.rows.is_sparse):
        return "race" if data.n_passes_left >= _PASSES_OF_RACE else "yinyang"
    return algorithm_of(
        "auto", shape, n_clusters, itemsize=data.dtype.itemsize, is_sparse=data.rows.is_sparse
    )


def algorithm_of(
    algorithm: str, shape: tuple[int, int], n_clusters: int, *, itemsize: int, is_sparse: bool
) -> str:
    """Return which algorithm so many rows, columns and clusters get: "auto" chooses."""
    if algorithm != "auto":
        return algorithm
    n_columns = shape[1]
    if n_clusters < 4 or is_sparse:
        return "lloyd"
    suits = n_columns >= 256 and n_clusters <= 2 * n_columns
    return "elkan" if suits and _elkan_fits(shape, n_clusters, itemsize) else "yinyang"


def races(shape: tuple[int, int], n_clusters: int, *, itemsize: int, is_sparse: bool) -> bool:
    """Tell whether "auto" measures which bounds are faster: with many rows, and memory for a bound per centroid."""
    n_rows, n_columns = shape
    return (
        not is_sparse
        and n_clusters >= 4
        and n_columns * itemsize >= _RACED_BYTES
        and float(n_rows) * n_columns * n_clusters >= _RACED
        and _elkan_fits(shape, n_clusters, itemsize)
    )


def _elkan_fits(shape: tuple[int, int], n_clusters: int, itemsize: int) -> bool:
    n_rows, n_columns = shape
    n_bytes = float(n_rows) * n_clusters * StoredBounds.dtype.itemsize
    return n_bytes <= max(_ELKAN_BYTES, _ELKAN_OF_ROWS * n_rows * n_columns * itemsize)


def _assignment(
    data: Dataset, frame: CenterFrame, algorithm: str, unit_length: bool
) -> PlainAssignment | BoundedAssignment | RacingAssignment:
    n_clusters = len(frame)
    if algorithm == "auto":
        algorithm = choose_algorithm(data, n_clusters)
    if algorithm == "lloyd" or n_clusters == 1:
        return PlainAssignment(data)
    if algorithm == "race":
        return RacingAssignment(data, frame, unit_length=unit_length)
    n_bounds = n_bounds_of(algorithm, data.n_rows, n_clusters)
    return BoundedAssignment(data, frame, n_bounds, unit_length=unit_length)
