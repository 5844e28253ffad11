"""The assignment step without bounds."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from coterie.arrays import Array, IndexArray, IntArray
from coterie.blocks.dataset import FitRows


class Frame(Protocol):
    """Centroids that rows can be compared with."""

    def nearest(self, x: Any, labels: IntArray, scores: Array) -> None:
        """Write the nearest centroid of each row and its score."""


class Assignment(Protocol):
    """The labels of the rows of a fit, updated block by block."""

    labels: IntArray

    @property
    def algorithm(self) -> str:
        """Name of the algorithm of `coterie.KMeans`; all give the same labels."""

    def start(self, frame: Frame) -> None:
        """Take the centroids of the coming pass."""

    def assign(self, part: slice, x: Any) -> None:
        """Bring the labels of one block up to date."""

    def relabel(self, rows: IndexArray, labels: IntArray) -> None:
        """Give some rows labels that a distance did not choose."""


class PlainAssignment:
    """Lloyd's assignment: compare every row with every centroid."""

    algorithm = "lloyd"

    def __init__(self, data: FitRows) -> None:
        self._data = data
        self._scores = np.empty(min(data.block_rows, data.n_rows), dtype=data.dtype)
        self.labels = np.full(data.n_rows, -1, dtype=np.int32)

    def start(self, frame: Frame) -> None:
        """Take the centroids of the coming pass."""
        self._frame = frame

    def assign(self, part: slice, x: Any) -> None:
        """Bring the labels of one block up to date."""
        n_rows = part.stop - part.start
        self._frame.nearest(x, self.labels[part], self._scores[:n_rows])

    def relabel(self, rows: IndexArray, labels: IntArray) -> None:
        """Give some rows labels that a distance did not choose."""
        self.labels[rows] = labels
