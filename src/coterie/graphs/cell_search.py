"""Search among the points of a few cells for each query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, IndexArray, IntArray, lanes_of
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.frame import CenterFrame, nearest_centers
from coterie.centers.lloyd import cell_centers
from coterie.graphs.exact import CALL_MULTIPLY_ADDS

__all__ = [
    "FEWEST_VISITS",
    "MOST_VISITS",
    "CellSearch",
    "Slots",
    "VisitedCells",
    "Work",
    "enough_visits",
    "sample_of_cells",
    "visiting_order",
]

# Cells per square root of the number of points, and rows per cell that they are learned from; measured, see
# docs/benchmarks/graphs.md.
_CELLS_PER_ROOT = 2
_SAMPLE_PER_CELL = 32

# Numbers of cells that a query may visit, from the least to the largest.
FEWEST_VISITS = 4
MOST_VISITS = (16, 48, 128)

# Queries that the kernel processes together: all visit the cells of each, about three times as many. So a query that
# visits only its own cells may visit three times as many of them.
_GROUP = 24
_GROUP_VISITS = 3


@dataclass(frozen=True)
class Slots:
    """Points sorted by cells, each padded to whole panels.

    Attributes
    ----------
    order : ndarray of shape (n_slots,), int32
        The point in each slot, -1 for none.
    panel_starts : ndarray of shape (n_cells + 1,)
        The first panel of each cell.
    lanes : int
        Slots of a panel.
    """

    order: IntArray
    panel_starts: IndexArray
    lanes: int

    @classmethod
    def of(cls, own: IntArray, n_cells: int, lanes: int) -> Slots:
        """Return the slots of points whose cells are known."""
        counts = np.bincount(own, minlength=n_cells)
        panel_starts = np.concatenate([[0], np.cumsum(-(-counts // lanes))])
        order = np.full(panel_starts[-1] * lanes, -1, dtype=np.int32)
        points = np.argsort(own, kind="stable").astype(np.int32)
        first = np.concatenate([[0], np.cumsum(counts)[:-1]])
        order[np.arange(len(own)) + np.repeat(panel_starts[:-1] * lanes - first, counts)] = points
        return cls(order, panel_starts, lanes)

    def only(self, visits: IntArray) -> Slots:
        """Return the slots of the visited cells; the others are empty, so that their points are not packed."""
        n_panels = np.diff(self.panel_starts)
        is_met = np.zeros(len(n_panels), dtype=bool)
        is_met[visits] = True
        is_met &= n_panels > 0
        if is_met.all() or not is_met.any():
            return self
        first, end = self.panel_starts[:-1][is_met] * self.lanes, self.panel_starts[1:][is_met] * self.lanes
        order = np.concatenate([self.order[a:b] for a, b in zip(first, end)])
        return Slots(order, np.concatenate([[0], np.cumsum(np.where(is_met, n_panels, 0))]), self.lanes)


@dataclass(frozen=True)
class Work:
    """Limits of the work of a search.

    Attributes
    ----------
    n_asked : int
        Number of queries.
    least : float
        Multiply-adds that it uses even if fewer visits are enough.
    most : float
        Maximum number of multiply-adds, even if more visits are needed.
    """

    n_asked: int
    least: float = 0.0
    most: float = math.inf


class VisitedCells:
    """Points in cells, and the visited cells of queries.

    Parameters
    ----------
    points, asked : ndarray of shape (n, d) and (q, d)
        The points, and the queries; the same array if the points are the queries.
    own : ndarray of shape (n,), int32
        The cell of each point.
    visits : ndarray of shape (q, n_visits), int32
        The cells that each query visits, the nearest first.
    row_order : ndarray of shape (q,)
        An order of the queries that groups those with the same cells: see `visiting_order`.
    n_cells : int
        Number of cells.
    n_threads : int
        Threads of the kernels.
    slots : Slots, optional
        Slots of the points, if known.
    are_shared : bool
        Whether a query visits the cells of its whole group; if False its result does not depend on other queries.
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
        slots: Slots | None = None,
        are_shared: bool = True,
    ) -> None:
        self._points, self._own, self._asked, self._visits = points, own, asked, visits
        self._n_cells, self._n_threads = n_cells, n_threads
        self._slots, self._are_shared = slots, are_shared
        self.row_order = row_order

    @property
    def n_visits(self) -> int:
        """Number of cells that each query visits."""
        return self._visits.shape[1]

    def ranks(self, rows: IndexArray, near: Sequence[IntArray]) -> IndexArray:
        """Return the number of visits of its group after which a query reaches the cell of each near point."""
        place = np.empty(len(self._visits), dtype=np.intp)
        place[self.row_order] = np.arange(len(place))
        n_visits, size = self.n_visits, self._group
        ranks = [np.empty(0, dtype=np.intp)]
        for row, points in zip(rows, near):
            first = place[row] // size * size
            group = self._visits[self.row_order[first : first + size]]
            earliest = np.full(self._n_cells, n_visits)
            earliest[group[:, ::-1].T.ravel()] = np.repeat(np.arange(n_visits)[::-1], len(group))
            ranks.append(earliest[self._own[points]])
        return np.concatenate(ranks)

    def visit_only(self, n_visits: int) -> None:
        """Reduce the number of cells that each query visits."""
        self._visits = np.ascontiguousarray(self._visits[:, :n_visits])

    def candidates(self, offsets: Array, n_candidates: int) -> IntArray:
        """Return the points of lowest score |y|^2 - 2 x.y in the cells that the group of each query visits.

        Parameters
        ----------
        offsets : ndarray of shape (n,)
            Squared lengths of the points.
        n_candidates : int
            How many.

        Returns
        -------
        ndarray of shape (q, n_candidates), int32
            By ascending score; -1 if there are too few.
        """
        ids = np.empty((len(self._asked), n_candidates), dtype=np.int32)
        scores = np.empty(ids.shape, dtype=self._points.dtype)
        known = self._slots or Slots.of(self._own, self._n_cells, lanes_of(self._points.dtype))
        slots, size = known.only(self._visits), self._rows_per_call()
        for first in range(0, len(ids), size):
            _kernels.nearest_in_cells(
                kernel_rows(self._asked), self._points, offsets, slots.order, slots.panel_starts,
                self.row_order[first : first + size], self._visits, self._are_shared, ids, scores, self._n_threads,
            )  # fmt: skip
        return ids

    def _rows_per_call(self) -> int:
        """Return the number of queries of a call of the kernel, in whole groups."""
        n_compared = _times_visited(self._are_shared) * self.n_visits * self._points.size / self._n_cells
        return max(8192, int(CALL_MULTIPLY_ADDS / n_compared)) // _GROUP * _GROUP

    @property
    def _group(self) -> int:
        return _GROUP if self._are_shared else 1


def _times_visited(are_shared: bool) -> int:
    """Return the ratio of the cells searched for a query to those that it visits itself."""
    return _GROUP_VISITS if are_shared else 1


def visiting_order(visits: IntArray) -> IndexArray:
    """Return an order of queries that groups those whose first cells are the same."""
    return np.lexsort(visits.T[2::-1])


def enough_visits(ranks: IndexArray, recall: float) -> int:
    """Return the number of visits that reach a share of the near points, given the rank of the cell of each."""
    ascending = np.sort(ranks, axis=None)
    return int(ascending[min(len(ascending) - 1, int(np.ceil(recall * len(ascending))))]) + 1


class CellSearch:
    """Points in cells, with the choice of the number of visited cells.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        The points.
    seed : int
        Of the cells.
    n_threads : int
        Threads of the kernels.
    left_out : ndarray of shape (r,), optional
        Points from which cells are not learned, so that they represent unseen queries.
    """

    def __init__(self, points: Array, seed: int, n_threads: int, left_out: IndexArray | None = None) -> None:
        self._points = points
        self._cells = _cells(points, seed, n_threads, left_out)
        self._own = self._nearest_cells(points, 1, n_threads)[:, 0]
        self._slots = Slots.of(self._own, len(self._cells), lanes_of(points.dtype))

    def visited(
        self, asked: Array, n_visits: int, n_threads: int, *, are_shared: bool = False
    ) -> VisitedCells:
        """Return the search with a given number of visited cells, or all.

        Parameters
        ----------
        asked : ndarray of shape (q, d)
            The queries; the points themselves if they are the queries.
        n_visits : int
            How many.
        n_threads : int
            Threads of the kernels.
        are_shared : bool
            Whether a query visits the cells of its whole group.
        """
        visits = self._nearest_cells(asked, min(n_visits, len(self._cells)), n_threads)
        return VisitedCells(
            self._points, self._own, asked, visits, visiting_order(visits),
            n_cells=len(self._cells), n_threads=n_threads, slots=self._slots, are_shared=are_shared,
        )  # fmt: skip

    def plan(
        self,
        asked: Array,
        rows: IndexArray,
        near: Sequence[IntArray],
        recall: float,
        work: Work,
        n_threads: int,
        *,
        are_shared: bool = False,
    ) -> VisitedCells:
        """Choose the number of visited cells, and return the search with it.

        Parameters
        ----------
        asked : ndarray of shape (q, d)
            The queries.
        rows : ndarray of shape (p,)
            Those of them whose nearest points are known (probes).
        near : sequence of ndarray
            These points.
        recall : float
            Target share of these in visited cells.
        work : Work
            Limits of the work.
        n_threads : int
            Threads of the kernels.
        are_shared : bool
            As for `visited`.
        """
        n_cells, times = len(self._cells), _times_visited(are_shared)
        per_visit = work.n_asked * self._points.size / n_cells * times
        least = max(FEWEST_VISITS, int(work.least / per_visit))
        affordable = max(FEWEST_VISITS, int(min(work.most / per_visit, n_cells)))
        for most in MOST_VISITS:
            most *= _GROUP_VISITS // times
            visited = self.visited(asked, most, n_threads, are_shared=are_shared)
            enough = enough_visits(visited.ranks(rows, near), recall)
            if min(max(enough, least), affordable) <= most:
                break
        visited.visit_only(min(max(enough, least), affordable, visited.n_visits))
        return visited

    def _nearest_cells(self, rows: Array, n_visits: int, n_threads: int) -> IntArray:
        ids = np.empty((len(rows), n_visits), dtype=np.int32)
        scores = np.empty(ids.shape, dtype=rows.dtype)
        nearest_centers(kernel_rows(rows), self._cells, ids, scores, n_threads)
        return ids


def sample_of_cells(n_rows: int) -> tuple[int, int]:
    """Return the number of cells for a number of rows, and the number of rows from which they are learned."""
    n_cells = min(n_rows, int(np.ceil(_CELLS_PER_ROOT * np.sqrt(n_rows))))
    return n_cells, min(n_rows, _SAMPLE_PER_CELL * n_cells)


def _cells(rows: Array, seed: int, n_threads: int, left_out: IndexArray | None) -> CenterFrame:
    n_cells, size = sample_of_cells(len(rows))
    random = np.random.RandomState(seed)
    if left_out is None:
        sample = random.choice(len(rows), size, replace=False)
    else:
        others = np.delete(np.arange(len(rows)), left_out)
        sample = random.choice(others, min(size, len(others)), replace=False)
    centers = cell_centers(rows[np.sort(sample)], n_cells, seed=seed, n_threads=n_threads)
    return CenterFrame(centers, np.zeros(rows.shape[1]), n_threads)
