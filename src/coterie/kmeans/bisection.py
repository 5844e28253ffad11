"""The tree of bisecting k-means: nodes with centroids, halved one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.centers.labels import nearest_labels
from coterie.rows import RowSource, as_rows

__all__ = ["BisectionTree", "Halves", "Leaf"]


@dataclass(frozen=True)
class Leaf:
    """The rows of a node that is not halved, by number, and their inertia."""

    rows: IndexArray
    inertia: float


@dataclass(frozen=True)
class Halves:
    """What a split finds: two centroids, the shift by which rows were compared with them, and the leaves."""

    centers: Array
    shift: FloatArray
    leaves: tuple[Leaf, Leaf]


class BisectionTree:
    """Splits of nodes: node 0 is the root, and split number i makes the nodes 2 i + 1 and 2 i + 2.

    Parameters
    ----------
    root : ndarray of shape (d,)
        The centroid of all rows.
    """

    def __init__(self, root: Array) -> None:
        self._splits: list[int] = []
        self._centers: list[Array] = [root]
        self._shifts: list[FloatArray] = []

    @classmethod
    def of(cls, splits: IntArray, centers: Array, shifts: FloatArray) -> BisectionTree:
        """Return the tree of these arrays, which are those that it has."""
        tree = cls(centers[0])
        tree._splits, tree._centers, tree._shifts = splits.tolist(), list(centers), list(shifts)
        return tree

    @staticmethod
    def problem(splits: IntArray, centers: Array) -> str | None:
        """Return what is wrong with such arrays, or None."""
        if len(centers) != 2 * len(splits) + 1:
            return f"tree_centers_ has {len(centers)} rows, splits_ makes {2 * len(splits) + 1} nodes"
        if np.any(splits > 2 * np.arange(len(splits))) or len(np.unique(splits)) < len(splits):
            return "splits_ holds a node twice, or before there is one of that number"
        return None

    @property
    def splits(self) -> IntArray:
        """Which node each split halves, shape (m,)."""
        return np.array(self._splits, dtype=np.int64)

    @property
    def centers(self) -> Array:
        """The centroids of the nodes, shape (2 m + 1, d)."""
        return np.stack(self._centers)

    @property
    def shifts(self) -> FloatArray:
        """The shift of each split, shape (m, d)."""
        return np.array(self._shifts, dtype=np.float64).reshape(len(self._splits), len(self._centers[0]))

    def divide(self, node: int, halves: Halves) -> tuple[int, int]:
        """Halve a leaf; return the numbers of its halves."""
        first = len(self._centers)
        self._splits.append(node)
        self._centers += list(halves.centers)
        self._shifts.append(halves.shift)
        return first, first + 1

    def centers_of(self, nodes: Iterable[int]) -> Array:
        """Return the centroids of some nodes."""
        return np.stack([self._centers[node] for node in nodes])

    def leaves(self, n_splits: int | None = None) -> IndexArray:
        """Return the nodes that are not halved by the first splits, from left to right: the order of labels."""
        halved = {node: number for number, node in enumerate(self._splits[:n_splits])}
        found, waiting = [], [0]
        while waiting:
            node = waiting.pop()
            if node in halved:
                left = 2 * halved[node] + 1
                waiting += [left + 1, left]
            else:
                found.append(node)
        return np.array(found)

    def labels_at(self, n_clusters: int) -> IntArray:
        """Return for each leaf of the whole tree its label when there were so many clusters."""
        labels = np.full(len(self._centers), -1, dtype=np.int32)
        few = self.leaves(n_clusters - 1)
        labels[few] = np.arange(len(few))
        # Later nodes are made of earlier ones, and those above the cut are of no cluster.
        for number, node in enumerate(self._splits):
            for half in (2 * number + 1, 2 * number + 2):
                labels[half] = labels[node] if labels[node] >= 0 else labels[half]
        return labels[self.leaves()]

    def labels_of(self, rows: RowSource, n_threads: int) -> IntArray:
        """Return the label of each row: at each split it goes to the nearer centroid."""
        places = np.empty(len(self._centers), dtype=np.int32)
        leaves = self.leaves()
        places[leaves] = np.arange(len(leaves))
        labels = np.empty(rows.shape[0], dtype=np.int32)
        centers = self.centers.astype(rows.dtype, copy=False)
        for start, block in rows.blocks():
            members = {0: np.arange(block.shape[0])}
            for number, node in enumerate(self._splits):
                numbers = members.pop(node)
                left = 2 * number + 1
                side = np.empty(0, dtype=np.int32)
                if len(numbers):
                    some = as_rows(block[numbers])
                    side = nearest_labels(some, centers[left : left + 2], self._shifts[number], n_threads)
                members[left], members[left + 1] = numbers[side == 0], numbers[side == 1]
            for node, numbers in members.items():
                labels[start + numbers] = places[node]
        return labels
