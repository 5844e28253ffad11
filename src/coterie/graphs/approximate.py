"""Approximate nearest neighbours of dense rows: each row looks in the few cells whose centroids are nearest to it.

Within a cell everything is a product of blocks, at the speed of the exact search; what is found does not depend on
the number of threads.
"""

from __future__ import annotations

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, IndexArray, IntArray, lanes_of
from coterie.blocks.dataset import check_vanishing
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.cells import cell_centers
from coterie.centers.frame import CenterFrame, nearest_centers
from coterie.graphs.exact import (
    CALL_MULTIPLY_ADDS,
    Neighbors,
    distances_to_ids,
    neighbors_by_differences,
    relative_rows,
    row_ids,
    without_self,
)

__all__ = ["approximate_neighbors", "seconds_of_visits"]


# Cells per square root of the number of points, rows per cell that they are learnt from, and how many cells a row
# visits; measured, see docs/benchmarks/graphs.md.
_CELLS_PER_ROOT = 2
_SAMPLE_PER_CELL = 32
_VISITS = 8
_SPARE = 2

# Rows that the kernel takes together.
_GROUP = 24


def approximate_neighbors(
    points: Array, queries: Array | None, n_neighbors: int, seed: int, n_threads: int, n_visits: int = _VISITS
) -> Neighbors:
    """Return near points of each query and their squared distances, ascending; equal ones by number.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Where to look.
    queries : ndarray of shape (q, d), of the same dtype, or None
        None: the points among each other, none of them its own neighbour.
    n_neighbors : int
        At most n, or n - 1 of the points among each other.
    seed : int
        Of the cells.
    n_threads : int
        Threads of the kernels.
    n_visits : int
        Cells that each query looks into: the more, the more neighbours are found.

    Returns
    -------
    ids : ndarray of shape (q, n_neighbors), int32
    squares : ndarray of shape (q, n_neighbors), dtype of the points
    """
    shift = points.mean(axis=0, dtype=np.float64)
    centered, squares = relative_rows(points, shift, n_threads)
    check_vanishing(squares, points.dtype, [points])
    asked = centered if queries is None else relative_rows(queries, shift, n_threads)[0]
    cells = _cells(centered, seed, n_threads)
    own = _visited(centered, cells, 1, n_threads)[:, 0]
    visits = _visited(asked, cells, min(n_visits, len(cells)), n_threads)
    n_candidates = min(n_neighbors + (queries is None) + _SPARE, len(points))
    ids = np.empty((len(asked), n_candidates), dtype=np.int32)
    scores = np.empty(ids.shape, dtype=points.dtype)
    order, panel_starts = _slots(own, len(cells), lanes_of(points.dtype))
    offsets = squares.astype(points.dtype)
    # Rows of one group look where any of them does.
    row_order = np.lexsort(visits.T[2::-1])
    size = _rows_per_call(len(cells), visits.shape[1], points)
    for first in range(0, len(row_order), size):
        _kernels.nearest_in_cells(
            kernel_rows(asked), centered, offsets, order, panel_starts, row_order[first : first + size], visits,
            ids, scores, n_threads,
        )  # fmt: skip
    return _measured(points, queries, ids, n_neighbors, n_threads)


def seconds_of_visits(shape: tuple[int, int], n_visits: int, seconds_per_row: float) -> float:
    """Return about how long such a search takes, where to compare all rows with one takes so many seconds."""
    n_rows = shape[0]
    n_cells = _n_cells(n_rows)
    # Cells are learnt in some passes over a sample; rows look for those to visit; groups visit three times as many.
    learning = 10 * min(1.0, _SAMPLE_PER_CELL * n_cells / n_rows) * n_cells
    return seconds_per_row * (learning + 2 * n_cells + 3 * n_visits * n_rows / n_cells)


def _n_cells(n_rows: int) -> int:
    return min(n_rows, int(np.ceil(_CELLS_PER_ROOT * np.sqrt(n_rows))))


def _cells(rows: Array, seed: int, n_threads: int) -> CenterFrame:
    n_cells = _n_cells(len(rows))
    size = min(len(rows), _SAMPLE_PER_CELL * n_cells)
    sample = np.sort(np.random.RandomState(seed).choice(len(rows), size, replace=False))
    centers = cell_centers(rows[sample], n_cells, seed=seed, n_threads=n_threads)
    return CenterFrame(centers, np.zeros(rows.shape[1]), n_threads)


def _visited(rows: Array, cells: CenterFrame, n_visits: int, n_threads: int) -> IntArray:
    ids = np.empty((len(rows), n_visits), dtype=np.int32)
    scores = np.empty(ids.shape, dtype=rows.dtype)
    nearest_centers(kernel_rows(rows), cells, ids, scores, n_threads)
    return ids


def _slots(own: IntArray, n_cells: int, lanes: int) -> tuple[IntArray, IndexArray]:
    """Return which point is in each slot of the panels (-1 for none), and the first panel of each cell."""
    counts = np.bincount(own, minlength=n_cells)
    panel_starts = np.concatenate([[0], np.cumsum(-(-counts // lanes))])
    order = np.full(panel_starts[-1] * lanes, -1, dtype=np.int32)
    points = np.argsort(own, kind="stable").astype(np.int32)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    order[np.arange(len(own)) + np.repeat(panel_starts[:-1] * lanes - first, counts)] = points
    return order, panel_starts


def _rows_per_call(n_cells: int, n_visits: int, points: Array) -> int:
    """Return how many rows a call of the kernel takes, in whole groups; these visit some three times as many cells."""
    size = int(CALL_MULTIPLY_ADDS / (3 * n_visits * points.size / n_cells))
    return max(8192, size) // _GROUP * _GROUP


def _measured(
    points: Array, queries: Array | None, ids: IntArray, n_neighbors: int, n_threads: int
) -> Neighbors:
    asked = points if queries is None else queries
    # Rows whose cells hold too few points, for which any will do until they are compared with all.
    few = np.flatnonzero(ids[:, -1] < 0)
    ids[few] = row_ids(ids.shape[1])
    squares = distances_to_ids(points, asked, ids, n_threads)
    if queries is None:
        ids, squares = without_self(ids, squares)
    ids, squares = ids[:, :n_neighbors].copy(), squares[:, :n_neighbors].copy()
    if len(few):
        own = few.astype(np.int32) if queries is None else None
        ids[few], squares[few] = neighbors_by_differences(points, asked[few], own, n_neighbors, n_threads)
    return ids, squares
