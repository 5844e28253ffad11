"""Labels of rows, the state of k-means on the rows of a chunk."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from coterie.arrays import IndexArray, IntArray
from coterie.blocks.dataset import ChunkRows
from coterie.centers.frame import CenterFrame


class Bounds(Protocol):
    """Bounds of distances, by which the labels of rows are updated with fewer of these."""

    labels: IntArray

    @property
    def algorithm(self) -> str:
        """Name of the algorithm of `coterie.KMeans`; all give the same labels."""

    def start(self, frame: CenterFrame) -> None:
        """Take the centers of the next pass."""

    def assign(self, part: slice, x: Any) -> None:
        """Update the labels of one block."""

    def relabel(self, rows: IndexArray, labels: IntArray) -> None:
        """Give some rows labels that a distance did not choose."""


class AssignmentRule(Protocol):
    """How the rows of a chunk are assigned; comparable, and picklable for workers."""

    def bounds(self, rows: ChunkRows, frame: CenterFrame) -> Bounds | None:
        """Return the bounds of rows before their first pass; None to compare all rows with all centers."""


class RowLabels:
    """The labels of the rows of a chunk, (n,) int32, -1 before the first pass, and their bounds, None without."""

    def __init__(self, rows: ChunkRows) -> None:
        self._rows = rows
        self.labels: IntArray = np.full(rows.n_rows, -1, dtype=np.int32)
        self.bounds: Bounds | None = None
        self._rule: AssignmentRule | None = None

    @property
    def algorithm(self) -> str:
        """Name of the algorithm of `coterie.KMeans`."""
        return "lloyd" if self.bounds is None else self.bounds.algorithm

    def start(self, frame: CenterFrame, rule: AssignmentRule) -> None:
        """Take the centers of the next pass, and the rule by which their rows are found."""
        if rule is not self._rule and rule != self._rule:
            self._rule = rule
            self.bounds = rule.bounds(self._rows, frame)
            if self.bounds is not None:
                self.bounds.labels[:] = self.labels
                self.labels = self.bounds.labels
        if self.bounds is not None:
            self.bounds.start(frame)

    def relabel(self, rows: IndexArray, labels: IntArray) -> None:
        """Give some rows labels that a distance did not choose."""
        if self.bounds is None:
            self.labels[rows] = labels
        else:
            self.bounds.relabel(rows, labels)
