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

from coterie.arrays import Array, IndexArray, IntArray
from coterie.blocks.dataset import check_vanishing
from coterie.graphs.cell_search import CellSearch
from coterie.graphs.directions import few_directions, in_directions
from coterie.graphs.exact import (
    IdsAndSquares,
    distances_to_ids,
    neighbors_by_differences,
    relative_rows,
    row_ids,
    without_self,
)
from coterie.graphs.probes import draw_probes

__all__ = ["Aim", "approximate_neighbors", "candidates_of", "distances_in_order"]

# Candidates beyond those asked for; where they are found in few directions, for each neighbour that is asked for.
_SPARE = 2
_IN_DIRECTIONS, _SPARE_IN_DIRECTIONS = 3, 8

# Calls of the kernel that measures, each of which copies the points.
_CALLS = 4


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
    n_candidates = min(candidates_of(n_neighbors, True) + are_points, len(points))
    # What directions miss and what cells miss add up.
    missed = 1 - aim.recall
    found = few_directions(centered, offsets, probes, n_candidates, 1 - missed / 4, seed, n_threads)
    near, near_asked = centered, asked
    if found is None:
        n_candidates = min(candidates_of(n_neighbors, False) + are_points, len(points))
    else:
        directions, near = found
        near_asked = near if are_points else in_directions(asked, directions, n_threads)
    search = CellSearch(near, near_asked, seed, n_threads)
    search.plan(probes, 1 - 3 * missed / 4, aim.least_work, aim.most_work)
    ids = search.visited.candidates(offsets, n_candidates)
    ids, squares = _measured(points, queries, ids, search.visited.row_order, n_neighbors, n_threads)
    return ids, squares, judges.recall(centered, ids[judges.rows])


def candidates_of(n_neighbors: int, in_few: bool) -> int:
    """Return among how many candidates neighbours are looked for, found in few directions or in all columns."""
    return _IN_DIRECTIONS * n_neighbors + _SPARE_IN_DIRECTIONS if in_few else n_neighbors + _SPARE


def _measured(
    points: Array,
    queries: Array | None,
    ids: IntArray,
    row_order: IndexArray,
    n_neighbors: int,
    n_threads: int,
) -> IdsAndSquares:
    asked = points if queries is None else queries
    # Rows whose cells hold too few points, for which any will do until they are compared with all.
    few = np.flatnonzero(ids[:, -1] < 0)
    ids[few] = row_ids(ids.shape[1])
    squares = distances_in_order(points, asked, ids, row_order, n_threads)
    if queries is None:
        ids, squares = without_self(ids, squares)
    ids, squares = ids[:, :n_neighbors].copy(), squares[:, :n_neighbors].copy()
    if len(few):
        own = few.astype(np.int32) if queries is None else None
        ids[few], squares[few] = neighbors_by_differences(points, asked[few], own, n_neighbors, n_threads)
    return ids, squares


def distances_in_order(
    points: Array, asked: Array, ids: IntArray, row_order: IndexArray, n_threads: int
) -> Array:
    """Return what `distances_to_ids` does, of rows in an order in which those that lie together have points in common.

    These stay in the processor's cache.
    """
    squares = np.empty(ids.shape, dtype=points.dtype)
    for some in np.array_split(row_order, min(_CALLS, len(row_order))):
        of_some = ids[some]
        squares[some] = distances_to_ids(points, asked[some], of_some, n_threads)
        ids[some] = of_some
    return squares
