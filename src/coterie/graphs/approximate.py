"""Approximate nearest neighbours of dense rows: each row looks in the few cells whose centroids are nearest to it.

Within a cell everything is a product of blocks, at the speed of the exact search. Where few directions suffice to tell
near rows from far ones, cells are searched in these, and what is found there is measured in all columns. How many
directions and cells are enough is measured on probes, rows whose neighbours are known. What is found does not depend
on the number of threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, IndexArray, IntArray
from coterie.blocks.dataset import check_vanishing
from coterie.blocks.kernel_rows import kernel_rows
from coterie.graphs.cell_search import CellSearch
from coterie.graphs.directions import candidates_of, few_directions, in_directions
from coterie.graphs.exact import (
    IdsAndSquares,
    neighbors_by_differences,
    relative_rows,
)
from coterie.graphs.probes import draw_probes

__all__ = ["Aim", "approximate_neighbors", "nearest_of_candidates"]

# What one call of the kernel that measures may take, in numbers: some 50 ms. Where it must copy the points, there are a
# few calls at most.
_CALL_NUMBERS, _MOST_CALLS = 2e8, 4


@dataclass(frozen=True)
class Aim:
    """What a search is to reach.

    Attributes
    ----------
    recall : float
        The share of the nearest points that is to be found, from 0 to 1.
    least_work : float
        Multiply-adds that the search may take in any case: where fewer are enough, more cells are visited.
    most_work : float
        Multiply-adds that it may take at most, whatever is found then; some cells are visited in any case.
    """

    recall: float
    least_work: float = 0.0
    most_work: float = math.inf


def approximate_neighbors(
    points: Array, queries: Array | None, n_neighbors: int, aim: Aim, seed: int, n_threads: int
) -> tuple[IntArray, Array, float]:
    """Return near points of each query, their squared distances, and which share of the nearest was found.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Where to look.
    queries : ndarray of shape (q, d), of the same dtype, or None
        None: the points among each other, none of them its own neighbour.
    n_neighbors : int
        At most n, or n - 1 of the points among each other.
    aim : Aim
        How many of the nearest are to be found.
    seed : int
        Of all draws.
    n_threads : int
        Threads of the kernels.

    Returns
    -------
    ids : ndarray of shape (q, n_neighbors), int32
        By distance, ascending; equally far ones by number.
    squares : ndarray of shape (q, n_neighbors), dtype of the points
    recall : float
        The share of the nearest points that was found, as far as other probes tell than those it was planned by.
    """
    shift = points.mean(axis=0, dtype=np.float64)
    centered, squares = relative_rows(points, shift, n_threads)
    check_vanishing(squares, points.dtype, [points])
    offsets = squares.astype(points.dtype)
    are_points = queries is None
    asked = centered if queries is None else relative_rows(queries, shift, n_threads)[0]
    drawn = draw_probes(
        asked, centered, offsets, n_neighbors, seed, are_points=are_points, n_threads=n_threads
    )
    probes, judges = drawn.halves() if len(asked) > 1 else (drawn, drawn)
    # What directions miss and what cells miss add up.
    missed = 1 - aim.recall
    found = few_directions(centered, offsets, probes, 1 - missed / 4, seed, n_threads)
    if found is None:
        n_candidates = min(candidates_of(n_neighbors, False) + are_points, len(points))
        near, near_asked = centered, asked
    else:
        near, n_candidates = found.near, found.n_candidates
        near_asked = near if are_points else in_directions(asked, found.directions, n_threads)
    search = CellSearch(near, near_asked, seed, n_threads)
    search.plan(probes, 1 - 3 * missed / 4, aim.least_work, aim.most_work)
    candidates, row_order = search.visited.candidates(offsets, n_candidates), search.visited.row_order
    ids, squares = nearest_of_candidates(points, queries, candidates, row_order, n_neighbors, n_threads)
    # Rows whose cells hold too few points are compared with all.
    few = np.flatnonzero(ids[:, -1] < 0)
    if len(few):
        own = few.astype(np.int32) if are_points else None
        rows = (points if queries is None else queries)[few]
        ids[few], squares[few] = neighbors_by_differences(points, rows, own, n_neighbors, n_threads)
    return ids, squares, judges.recall(centered, ids[judges.rows])


def nearest_of_candidates(
    points: Array,
    queries: Array | None,
    candidates: IntArray,
    row_order: IndexArray,
    n_neighbors: int,
    n_threads: int,
) -> IdsAndSquares:
    """Return the nearest of the candidates of each row, by differences.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Where candidates come from.
    queries : ndarray of shape (q, d), or None
        The rows; None: the points, none of which is its own neighbour.
    candidates : ndarray of shape (q, m), int32
        Points, none twice; -1 for none.
    row_order : ndarray of shape (q,)
        The rows so that those with candidates in common lie together: these stay in the processor's cache.
    n_neighbors : int
        How many are wanted.
    n_threads : int
        Threads of the kernel.

    Returns
    -------
    ids : ndarray of shape (q, n_neighbors), int32
        By distance, then number; -1 where there are too few.
    squares : ndarray of shape (q, n_neighbors)
        Infinite there.
    """
    asked = points if queries is None else queries
    ids = np.empty((len(asked), n_neighbors), dtype=np.int32)
    squares = np.empty(ids.shape, dtype=points.dtype)
    n_calls = int(np.ceil(candidates.size * points.shape[1] / _CALL_NUMBERS))
    for some in np.array_split(row_order, min(max(1, n_calls), _MOST_CALLS)):
        _kernels.nearest_of_candidates(
            kernel_rows(asked), points, some, candidates, queries is None, ids, squares, n_threads
        )
    return ids, squares
