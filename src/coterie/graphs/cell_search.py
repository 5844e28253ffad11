"""Search among the points of few cells: which cells each row visits, how many are enough, and the search itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, IndexArray, IntArray, lanes_of
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.cells import cell_centers
from coterie.centers.frame import CenterFrame, nearest_centers
from coterie.graphs.exact import CALL_MULTIPLY_ADDS
from coterie.graphs.probes import Probes

__all__ = [
    "FEWEST_VISITS",
    "MOST_VISITS",
    "CellSearch",
    "VisitedCells",
    "enough_visits",
    "sample_of_cells",
    "visiting_order",
]

# Cells per square root of the number of points, and rows per cell that they are learnt from; measured, see
# docs/benchmarks/graphs.md.
_CELLS_PER_ROOT = 2
_SAMPLE_PER_CELL = 32

# A row visits at least so many cells, and at most so many: the second number where the first is not enough.
FEWEST_VISITS = 4
MOST_VISITS = (32, 128)

# Rows that the kernel takes together: all of them visit the cells of each, some three times as many.
_GROUP = 24
_GROUP_VISITS = 3


class VisitedCells:
    """Points in cells, and rows of which it is known which cells they visit.

    Parameters
    ----------
    points, asked : ndarray of shape (n, d) and (q, d)
        The points, and the rows that ask for those near to them; the same array where these are the points.
    own : ndarray of shape (n,), int32
        The cell of each point.
    visits : ndarray of shape (q, n_visits), int32
        The cells that each row visits, the nearest first.
    row_order : ndarray of shape (q,)
        The rows that ask, so that those that visit the same cells lie together: see `visiting_order`.
    n_cells : int
        How many there are.
    n_threads : int
        Threads of the kernels.
    """

    def __init__(
        self,
        points: Array,
        own: IntArray,
        asked: Array,
        visits: IntArray,
        row_order: IndexArray,
        *,
        n_cells: int,
        n_threads: int,
    ) -> None:
        self._points, self._own, self._asked, self._visits = points, own, asked, visits
        self._n_cells, self._n_threads = n_cells, n_threads
        self.row_order = row_order

    def ranks(self, rows: IndexArray, near: Sequence[IntArray]) -> IndexArray:
        """Return after how many visits of its group each of some rows comes to the cell of each point near to it."""
        place = np.empty(len(self._visits), dtype=np.intp)
        place[self.row_order] = np.arange(len(place))
        n_visits = self._visits.shape[1]
        ranks = [np.empty(0, dtype=np.intp)]
        for row, points in zip(rows, near):
            first = place[row] // _GROUP * _GROUP
            group = self._visits[self.row_order[first : first + _GROUP]]
            earliest = np.full(self._n_cells, n_visits)
            earliest[group[:, ::-1].T.ravel()] = np.repeat(np.arange(n_visits)[::-1], len(group))
            ranks.append(earliest[self._own[points]])
        return np.concatenate(ranks)

    def visit_only(self, n_visits: int) -> None:
        """Let each row visit but so many of its cells."""
        self._visits = np.ascontiguousarray(self._visits[:, :n_visits])

    def candidates(self, offsets: Array, n_candidates: int) -> IntArray:
        """Return the points of lowest score |y|^2 - 2 x.y in the cells that the group of each row visits.

        Parameters
        ----------
        offsets : ndarray of shape (n,)
            Squared lengths of the points.
        n_candidates : int
            How many.

        Returns
        -------
        ndarray of shape (q, n_candidates), int32
            Ascending by score; -1 where there are too few.
        """
        ids = np.empty((len(self._asked), n_candidates), dtype=np.int32)
        scores = np.empty(ids.shape, dtype=self._points.dtype)
        order, panel_starts = _slots(self._own, self._n_cells, lanes_of(self._points.dtype))
        size = self._rows_per_call()
        for first in range(0, len(ids), size):
            _kernels.nearest_in_cells(
                kernel_rows(self._asked), self._points, offsets, order, panel_starts,
                self.row_order[first : first + size], self._visits, ids, scores, self._n_threads,
            )  # fmt: skip
        return ids

    def _rows_per_call(self) -> int:
        """Return how many rows a call of the kernel takes, in whole groups."""
        n_compared = _GROUP_VISITS * self._visits.shape[1] * self._points.size / self._n_cells
        return max(8192, int(CALL_MULTIPLY_ADDS / n_compared)) // _GROUP * _GROUP


def visiting_order(visits: IntArray) -> IndexArray:
    """Return rows so that those that visit the same cells first lie together."""
    return np.lexsort(visits.T[2::-1])


def enough_visits(ranks: IndexArray, recall: float) -> int:
    """Return how many visits come to such a share of the points near to some rows, whose ranks these are."""
    ascending = np.sort(ranks, axis=None)
    return int(ascending[min(len(ascending) - 1, int(np.ceil(recall * len(ascending))))]) + 1


class CellSearch:
    """Points in cells, and rows that visit as many of these as it takes.

    Parameters
    ----------
    points, asked : ndarray of shape (n, d) and (q, d)
        The points, and the rows that ask for those near to them; the same array where these are the points.
    seed : int
        Of the cells.
    n_threads : int
        Threads of the kernels.

    Attributes
    ----------
    visited : VisitedCells
        What the rows visit; known once `plan` is done.
    """

    visited: VisitedCells

    def __init__(self, points: Array, asked: Array, seed: int, n_threads: int) -> None:
        self._points, self._asked, self._n_threads = points, asked, n_threads
        self._cells = _cells(points, seed, n_threads)
        self._own = self._nearest_cells(points, 1)[:, 0]

    def plan(self, probes: Probes, recall: float, least_work: float, most_work: float = math.inf) -> None:
        """Choose how many cells each row visits.

        Parameters
        ----------
        probes : Probes
            Rows whose nearest points are known.
        recall : float
            The share of these points that is to be in visited cells.
        least_work : float
            Multiply-adds that the search may take even if fewer visits are enough.
        most_work : float
            Multiply-adds that it may take at most, even if more visits are wanted.
        """
        n_cells = len(self._cells)
        n_groups_of_work = len(self._asked) * self._points.size / n_cells * _GROUP_VISITS
        least = max(FEWEST_VISITS, int(least_work / n_groups_of_work))
        affordable = max(FEWEST_VISITS, int(min(most_work / n_groups_of_work, n_cells)))
        for most in MOST_VISITS:
            visits = self._nearest_cells(self._asked, min(most, n_cells))
            # Rows of one group look where any of them does.
            self.visited = VisitedCells(
                self._points, self._own, self._asked, visits, visiting_order(visits),
                n_cells=n_cells, n_threads=self._n_threads,
            )  # fmt: skip
            enough = enough_visits(self.visited.ranks(probes.rows, list(probes.ids)), recall)
            if min(max(enough, least), affordable) <= most:
                break
        self.visited.visit_only(min(max(enough, least), affordable, visits.shape[1]))

    def _nearest_cells(self, rows: Array, n_visits: int) -> IntArray:
        ids = np.empty((len(rows), n_visits), dtype=np.int32)
        scores = np.empty(ids.shape, dtype=rows.dtype)
        nearest_centers(kernel_rows(rows), self._cells, ids, scores, self._n_threads)
        return ids


def sample_of_cells(n_rows: int) -> tuple[int, int]:
    """Return how many cells so many rows are put into, and from how many of the rows these are learnt."""
    n_cells = min(n_rows, int(np.ceil(_CELLS_PER_ROOT * np.sqrt(n_rows))))
    return n_cells, min(n_rows, _SAMPLE_PER_CELL * n_cells)


def _cells(rows: Array, seed: int, n_threads: int) -> CenterFrame:
    n_cells, size = sample_of_cells(len(rows))
    sample = np.sort(np.random.RandomState(seed).choice(len(rows), size, replace=False))
    centers = cell_centers(rows[sample], n_cells, seed=seed, n_threads=n_threads)
    return CenterFrame(centers, np.zeros(rows.shape[1]), n_threads)


def _slots(own: IntArray, n_cells: int, lanes: int) -> tuple[IntArray, IndexArray]:
    """Return which point is in each slot of the panels (-1 for none), and the first panel of each cell."""
    counts = np.bincount(own, minlength=n_cells)
    panel_starts = np.concatenate([[0], np.cumsum(-(-counts // lanes))])
    order = np.full(panel_starts[-1] * lanes, -1, dtype=np.int32)
    points = np.argsort(own, kind="stable").astype(np.int32)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    order[np.arange(len(own)) + np.repeat(panel_starts[:-1] * lanes - first, counts)] = points
    return order, panel_starts
