"""Approximate nearest neighbors of dense rows: search in the few cells whose centroids are nearest to a row.

Within a cell scores are products of blocks, at the speed of the exact search. If a few principal directions separate
near rows from far ones, cells are searched in these, and distances of the candidates are computed in all columns. The
numbers of directions and cells are chosen on probes, rows whose neighbors are known. The result does not depend on the
number of threads.
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


# With at least this number of points per probe, cells are learned without the probes.
_LEFT_OUT = 2


@dataclass(frozen=True)
class Aim:
    """Target of a search.

    Attributes
    ----------
    recall : float
        Target share of the nearest points, from 0 to 1.
    least_work : float
        Multiply-adds that the search uses at least: if fewer are enough for the target, more cells are visited.
    most_work : float
        Maximum number of multiply-adds, whether or not the target is reached; some cells are always visited.
    """

    recall: float
    least_work: float = 0.0
    most_work: float = math.inf

    def work(self, n_asked: int) -> Work:
        """Return the limits of work for a number of rows."""
        return Work(n_asked, self.least_work, self.most_work)


def approximate_neighbors(
    points: Array, queries: Array | None, n_neighbors: int, aim: Aim, seed: int, n_threads: int
) -> tuple[IntArray, Array, float]:
    """Return near points of each query, their squared distances, and the recall.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        The points to search.
    queries : ndarray of shape (q, d), of the same dtype, or None
        None: the points themselves, without a point as its own neighbor.
    n_neighbors : int
        At most n; n - 1 without queries.
    aim : Aim
        Target of the search.
    seed : int
        Seed of all draws.
    n_threads : int
        Threads of the kernels.

    Returns
    -------
    ids : ndarray of shape (q, n_neighbors), int32
        By ascending distance, ties by number.
    squares : ndarray of shape (q, n_neighbors), dtype of the points
    recall : float
        Share of the nearest points that was found, estimated on other probes than those of the plan.
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
    """Points in cells, for repeated searches.

    The cells of a query do not depend on other queries, and neither does its result. The numbers of cells and
    directions are planned once, by probes.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        The points to search. They are not copied.
    sample : ndarray of shape (s, d), of the same dtype, or None
        Typical queries, from which probes are drawn. None: the points, which are not their own neighbors.
    n_neighbors : int
        Maximum number of neighbors of a query, at most n.
    aim : Aim
        Target of the search.
    seed : int
        Seed of all draws.
    n_threads : int
        Threads of the kernels.
    n_asked : int
        Number of rows for the work of the target.

    Attributes
    ----------
    recall : float
        Share of the nearest points that was found, estimated on other probes than those of the plan.
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
        # Probes represent rows that are not among the points.
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
    """Points relative to their mean, in few directions if these are enough, and the probes of that decision."""

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
        # The errors of directions and of cells add up.
        missed = 1 - aim.recall
        self.recall_by_cells = 1 - 3 * missed / 4
        found = few_directions(centered, self.offsets, self.probes, 1 - missed / 4, seed, n_threads)
        self.directions = None if found is None else found.directions
        if found is None:
            self.near = centered
            self.n_candidates = min(candidates_of(n_neighbors, False) + are_points, len(points))
        else:
            # At least the requested number: rows with fewer candidates would be compared with all points.
            self.near, self.n_candidates = found.near, max(found.n_candidates, n_neighbors + are_points)

    def of(self, relative: Array, n_threads: int) -> Array:
        """Return rows relative to the mean in the directions, bit-identical for any other rows."""
        if self.directions is None:
            return relative
        return rows_in_directions(relative, self.directions, n_threads)

    def forget(self) -> None:
        """Drop the data that only planning needs."""
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
    # Rows whose cells hold too few points are compared with all points.
    few = np.flatnonzero(ids[:, -1] < 0)
    if len(few):
        own = few.astype(np.int32) if queries is None else None
        rows = (points if queries is None else queries)[few]
        ids[few], squares[few] = neighbors_by_differences(points, rows, own, n_neighbors, n_threads)
    return ids, squares
