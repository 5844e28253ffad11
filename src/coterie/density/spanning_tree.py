"""The minimum spanning tree of mutual reachability of rows some of which may be equal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.arrays import Array, FloatArray, IntArray
from coterie.graphs import Neighbors
from coterie.graphs.equal_rows import EqualRows
from coterie.graphs.spanning import spanning_tree


@dataclass(frozen=True, slots=True)
class ReachabilityTree:
    """A minimum spanning tree of mutual reachability."""

    firsts: IntArray  # (n - 1,), int32: ends of the edges,
    seconds: IntArray  # by ascending height
    heights: FloatArray  # (n - 1,), float64: max(core distance of either end, distance)
    core_distances: FloatArray  # (n,): distance to the `min_samples`-th nearest row
    is_exact: bool  # whether the weight of the tree is certified to be the least
    n_searched: int  # rows that were compared with others because the graph did not certify their edges


def core_squares(ids: IntArray, squares: Array, counts: Any, own: Any, min_samples: int) -> Array:
    """Return the squared distance of rows to their `min_samples`-th nearest row, or to the farthest of fewer. `counts`
    (m,) are copies of each distinct row; `own` (q,) a row and its copies, counted first.
    """
    if not ids.shape[1]:  # there is one distinct row
        return np.zeros(len(ids), dtype=squares.dtype)
    own = np.broadcast_to(own, len(ids))
    is_enough = own[:, None] + np.cumsum(counts[ids], axis=1) >= min_samples
    place = np.where(is_enough.any(axis=1), is_enough.argmax(axis=1), ids.shape[1] - 1)
    reached = squares[np.arange(len(ids)), place]
    return np.where(own >= min_samples, squares.dtype.type(0), reached)


def reachability_tree(
    points: Array, equal: EqualRows, found: Neighbors, min_samples: int, *, n_threads: int
) -> ReachabilityTree:
    """Find the minimum spanning tree of mutual reachability (Campello et al. 2015) from nearest distinct rows."""
    cores = core_squares(found.ids, found.square_distances, equal.counts, equal.counts, min_samples)
    tree = spanning_tree(points, found, cores, n_threads=n_threads)
    # Equal rows are at their core distance from each other.
    again = np.ones(len(equal.places), dtype=bool)
    again[equal.first] = False
    repeated = np.flatnonzero(again)
    firsts = np.concatenate([equal.first[tree.firsts], equal.first[equal.places[repeated]]])
    seconds = np.concatenate([equal.first[tree.seconds], repeated.astype(np.int32)])
    squares = np.concatenate([tree.squares, cores[equal.places[repeated]]])
    order = np.argsort(squares, kind="stable")
    heights = np.sqrt(squares[order].astype(np.float64))
    core_distances = np.sqrt(cores.astype(np.float64))[equal.places]
    return ReachabilityTree(
        firsts[order], seconds[order], heights, core_distances, tree.is_exact, tree.n_searched
    )
