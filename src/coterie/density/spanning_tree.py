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
    """A minimum spanning tree of mutual reachability.

    Attributes
    ----------
    firsts, seconds : ndarray of shape (n - 1,), int32
        The ends of the edges, by ascending height.
    heights : ndarray of shape (n - 1,), float64
        max(core distance of either end, distance).
    core_distances : ndarray of shape (n,), float64
        Distance of each row to the `min_samples`-th nearest row, itself counted.
    is_exact : bool
        Whether the weight of the tree is certified to be the least.
    n_searched : int
        Rows that were compared with others because the graph did not certify their edges.
    """

    firsts: IntArray
    seconds: IntArray
    heights: FloatArray
    core_distances: FloatArray
    is_exact: bool
    n_searched: int


def core_squares(ids: IntArray, squares: Array, counts: Any, own: Any, min_samples: int) -> Array:
    """Return the squared distance of rows to their `min_samples`-th nearest row.

    Parameters
    ----------
    ids, squares : ndarray of shape (q, k)
        The nearest distinct rows of each row, ascending, and the squared distances; at least `min_samples` rows with
        `own`, or all.
    counts : ndarray of shape (m,)
        How often each distinct row occurs.
    own : ndarray of shape (q,), or 0
        Rows that count before those of the lists: of a row of the fit, itself and those equal to it.
    min_samples : int
        As in `DensityClustering`. Where there are fewer rows, the farthest one counts.

    Returns
    -------
    ndarray of shape (q,), the dtype of the squares
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
    """Find the minimum spanning tree of mutual reachability.

    Parameters
    ----------
    points : ndarray of shape (m, d)
        The distinct rows.
    equal : EqualRows
        Which rows they are.
    found : Neighbors
        At least `min_samples` neighbors of each distinct row, or all.
    min_samples : int
        Rows, itself counted, within the core distance of a row.
    n_threads
        See `coterie.graphs.spanning.spanning_tree`.

    Returns
    -------
    ReachabilityTree

    References
    ----------
    Campello, Moulavi, Zimek and Sander, Hierarchical density estimates for data clustering, visualization, and outlier
    detection, ACM Transactions on Knowledge Discovery from Data, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.density.spanning_tree import reachability_tree
    >>> from coterie.graphs.equal_rows import equal_rows
    >>> from coterie.graphs.spanning import near_rows
    >>> rows = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> found = near_rows(rows, 1, method="exact", seed=0, n_threads=1)
    >>> reachability_tree(rows, equal_rows(rows), found, 2, n_threads=1).heights
    array([1., 2., 4.])
    """
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
