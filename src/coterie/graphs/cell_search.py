"""Search among the points of few cells: which cells each row visits, how many are enough, and the search itself."""

from __future__ import annotations

import math

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, IndexArray, IntArray, lanes_of
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.cells import cell_centers
from coterie.centers.frame import CenterFrame, nearest_centers
from coterie.graphs.exact import CALL_MULTIPLY_ADDS
from coterie.graphs.probes import Probes

__all__ = ["CellSearch"]

# Cells per square root of the number of points, and rows per cell that they are learnt from; measured, see
# docs/benchmarks/graphs.md.
_CELLS_PER_ROOT = 2
_SAMPLE_PER_CELL = 32

# A row visits at least so many cells, and at most so many: the next number where one is not enough.
_FEWEST_VISITS = 4
_MOST_VISITS = (16, 48, 128)

# Rows that the kernel takes together: all of them visit the cells of each, some three times as many.
_GROUP = 24
_GROUP_VISITS = 3


class CellSearch:
    """Points in cells, and rows that visit some of these.

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
    row_order : ndarray of shape (q,)
        The rows that ask, so that those that visit the same cells lie together; known once `plan` is done.
    """

    row_order: IndexArray

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
        least = max(_FEWEST_VISITS, int(least_work / n_groups_of_work))
        affordable = max(_FEWEST_VISITS, int(min(most_work / n_groups_of_work, n_cells)))
        for most in _MOST_VISITS:
            visits = self._nearest_cells(self._asked, min(most, n_cells))
            # Rows of one group look where any of them does.
            self.row_order = np.lexsort(visits.T[2::-1])
            ranks = np.sort(self._ranks(visits, probes), axis=None)
            enough = int(ranks[min(len(ranks) - 1, int(np.ceil(recall * len(ranks))))]) + 1
            if min(max(enough, least), affordable) <= most:
                break
        n_visits = min(max(enough, least), affordable, visits.shape[1])
        self._visits = np.ascontiguousarray(visits[:, :n_visits])

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
        order, panel_starts = _slots(self._own, len(self._cells), lanes_of(self._points.dtype))
        size = self._rows_per_call()
        for first in range(0, len(ids), size):
            _kernels.nearest_in_cells(
                kernel_rows(self._asked), self._points, offsets, order, panel_starts,
                self.row_order[first : first + size], self._visits, ids, scores, self._n_threads,
            )  # fmt: skip
        return ids

    def _nearest_cells(self, rows: Array, n_visits: int) -> IntArray:
        ids = np.empty((len(rows), n_visits), dtype=np.int32)
        scores = np.empty(ids.shape, dtype=rows.dtype)
        nearest_centers(kernel_rows(rows), self._cells, ids, scores, self._n_threads)
        return ids

    def _ranks(self, visits: IntArray, probes: Probes) -> IndexArray:
        """Return after how many visits of its group each probe comes to the cell of each of its nearest points."""
        place = np.empty(len(visits), dtype=np.intp)
        place[self.row_order] = np.arange(len(visits))
        n_visits = visits.shape[1]
        ranks = np.empty(probes.ids.shape, dtype=np.intp)
        for i, (row, true) in enumerate(zip(probes.rows, probes.ids)):
            first = place[row] // _GROUP * _GROUP
            group = visits[self.row_order[first : first + _GROUP]]
            earliest = np.full(len(self._cells), n_visits)
            earliest[group[:, ::-1].T.ravel()] = np.repeat(np.arange(n_visits)[::-1], len(group))
            ranks[i] = earliest[self._own[true]]
        return ranks

    def _rows_per_call(self) -> int:
        """Return how many rows a call of the kernel takes, in whole groups."""
        n_compared = _GROUP_VISITS * self._visits.shape[1] * self._points.size / len(self._cells)
        return max(8192, int(CALL_MULTIPLY_ADDS / n_compared)) // _GROUP * _GROUP


def _cells(rows: Array, seed: int, n_threads: int) -> CenterFrame:
    n_cells = min(len(rows), int(np.ceil(_CELLS_PER_ROOT * np.sqrt(len(rows)))))
    size = min(len(rows), _SAMPLE_PER_CELL * n_cells)
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
