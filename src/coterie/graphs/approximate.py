"""Approximate nearest neighbors of dense rows: each row looks in the few cells whose centroids are nearest to it.

Within a cell everything is a product of blocks, at the speed of the exact search. Where few directions suffice to tell
near rows from far ones, cells are searched in these, and what is found there is measured in all columns. How many
directions and cells are enough is measured on probes, rows whose neighbors are known. What is found does not depend
on the number of threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from coterie.arrays import Array, IntArray
from coterie.blocks.dataset import check_vanishing
from coterie.graphs.cell_search import CellSearch, VisitedCells, Work
from coterie.graphs.directions import candidates_of, few_directions, rows_in_directions
from coterie.graphs.exact import (
    IdsAndSquares,
    nearest_of_candidates,
    neighbors_by_differences,
    relative_rows,
)
from coterie.graphs.probes import draw_probes

__all__ = ["Aim", "CellIndex", "approximate_neighbors"]


# Probes are left out of the points that cells are learned from where there are so many points for each.
_LEFT_OUT = 2


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

    def work(self, n_asked: int) -> Work:
        """Return what a search for so many rows may take."""
        return Work(n_asked, self.least_work, self.most_work)


def approximate_neighbors(
    points: Array, queries: Array | None, n_neighbors: int, aim: Aim, seed: int, n_threads: int
) -> tuple[IntArray, Array, float]:
    """Return near points of each query, their squared distances, and which share of the nearest was found.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Where to look.
    queries : ndarray of shape (q, d), of the same dtype, or None
        None: the points among each other, none of them its own neighbor.
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
    if queries is not None:
        index = CellIndex(points, queries, n_neighbors, aim, seed, n_threads, n_asked=len(queries))
        return *index.neighbors(queries, n_neighbors, n_threads), index.recall
    space = _Space(points, None, n_neighbors, aim, seed, n_threads)
    search = CellSearch(space.near, seed, n_threads)
    visited = search.plan(
        space.near, space.probes.rows, list(space.probes.ids), space.recall_by_cells,
        aim.work(len(points)), n_threads, are_shared=True,
    )  # fmt: skip
    ids, squares = _measured(points, None, visited, space, n_neighbors, n_threads)
    return ids, squares, space.judges.recall(space.centered, ids[space.judges.rows])


class CellIndex:
    """Points in cells, made once and asked often.

    Each row looks into its own cells alone, so that what is found for it depends on no other row. How many cells and
    directions that takes is planned once, by probes.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Where to look. They are not copied.
    sample : ndarray of shape (s, d), of the same dtype, or None
        Rows such as will ask, of which probes are drawn. None: the points, which are not their own neighbors.
    n_neighbors : int
        At most n: the most that will be asked for.
    aim : Aim
        How many of the nearest are to be found.
    seed : int
        Of all draws.
    n_threads : int
        Threads of the kernels.
    n_asked : int
        How many rows the work of the aim is for.

    Attributes
    ----------
    recall : float
        The share of the nearest points that was found of other probes than those it was planned by.
    """

    method: ClassVar[str] = "approximate"

    def __init__(
        self,
        points: Array,
        sample: Array | None,
        n_neighbors: int,
        aim: Aim,
        seed: int,
        n_threads: int,
        *,
        n_asked: int,
    ) -> None:
        if sample is None and len(points) == 1:
            sample = points
        are_points = sample is None
        self._n_planned = min(n_neighbors, len(points) - are_points)
        space = _Space(points, sample, self._n_planned, aim, seed, n_threads)
        self._points, self._space = points, space
        # Probes stand for rows that are not among the points.
        drawn = np.concatenate([space.probes.rows, space.judges.rows])
        left_out = drawn if are_points and _LEFT_OUT * len(drawn) <= len(points) else None
        self._search = CellSearch(space.near, seed, n_threads, left_out)
        probes = space.probes
        near = space.of(np.ascontiguousarray(probes.vectors), n_threads)
        visited = self._search.plan(
            near, np.arange(len(probes.rows)), list(probes.ids),
            space.recall_by_cells, aim.work(n_asked), n_threads,
        )  # fmt: skip
        self._n_visits = visited.n_visits
        judges = space.judges
        asked = (points if sample is None else sample)[judges.rows]
        found = self.neighbors(asked, self._n_planned + are_points, n_threads)[0]
        self.recall = judges.recall(space.centered, found)
        space.forget()

    def neighbors(self, queries: Array, n_neighbors: int, n_threads: int) -> IdsAndSquares:
        """Return near points of each query and their squared distances, see `approximate_neighbors`."""
        near = self._space.of(relative_rows(queries, self._space.shift, n_threads)[0], n_threads)
        visited = self._search.visited(near, self._n_visits, n_threads)
        return _measured(self._points, queries, visited, self._space, n_neighbors, n_threads)


class _Space:
    """Points relative to their mean, in few directions where these suffice, and the probes that tell so."""

    def __init__(
        self, points: Array, sample: Array | None, n_neighbors: int, aim: Aim, seed: int, n_threads: int
    ) -> None:
        self.shift = points.mean(axis=0, dtype=np.float64)
        centered, squares = relative_rows(points, self.shift, n_threads)
        check_vanishing(squares, points.dtype, [points])
        self.offsets = squares.astype(points.dtype)
        are_points = sample is None
        asked = centered if sample is None else relative_rows(sample, self.shift, n_threads)[0]
        drawn = draw_probes(
            asked, centered, self.offsets, n_neighbors, seed, are_points=are_points, n_threads=n_threads
        )
        self.centered = centered
        self.probes, self.judges = drawn.halves() if len(asked) > 1 else (drawn, drawn)
        # What directions miss and what cells miss add up.
        missed = 1 - aim.recall
        self.recall_by_cells = 1 - 3 * missed / 4
        found = few_directions(centered, self.offsets, self.probes, 1 - missed / 4, seed, n_threads)
        self.directions = None if found is None else found.directions
        if found is None:
            self.near = centered
            self.n_candidates = min(candidates_of(n_neighbors, False) + are_points, len(points))
        else:
            # At least as many as are asked for: rows with fewer would be compared with all.
            self.near, self.n_candidates = found.near, max(found.n_candidates, n_neighbors + are_points)

    def of(self, relative: Array, n_threads: int) -> Array:
        """Return rows relative to the mean in the directions, the same bits whatever others there are."""
        if self.directions is None:
            return relative
        return rows_in_directions(relative, self.directions, n_threads)

    def forget(self) -> None:
        """Forget what is only needed to plan."""
        del self.centered, self.probes, self.judges


def _measured(
    points: Array,
    queries: Array | None,
    visited: VisitedCells,
    space: _Space,
    n_neighbors: int,
    n_threads: int,
) -> IdsAndSquares:
    """Return the nearest of the candidates in the cells that rows visit."""
    candidates, row_order = visited.candidates(space.offsets, space.n_candidates), visited.row_order
    ids, squares = nearest_of_candidates(points, queries, candidates, row_order, n_neighbors, n_threads)
    # Rows whose cells hold too few points are compared with all.
    few = np.flatnonzero(ids[:, -1] < 0)
    if len(few):
        own = few.astype(np.int32) if queries is None else None
        rows = (points if queries is None else queries)[few]
        ids[few], squares[few] = neighbors_by_differences(points, rows, own, n_neighbors, n_threads)
    return ids, squares
