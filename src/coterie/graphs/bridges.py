"""The shortest edges that connect the components of a graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from coterie.arrays import Array, IntArray
from coterie.graphs.exact import exact_neighbors, nearest_of_other_groups, row_ids
from coterie.graphs.matrices import connected_components
from coterie.graphs.spanning import ComponentSearch, ReachabilityTree
from coterie.rows import Block

# Columns up to which a k-d tree finds the shortest edges faster than comparing all rows.
_MOST_TREE_COLUMNS = 10


def bridge_components(
    graph: sp.csr_array, rows: Block, weights: Callable[[Array], Array], n_threads: int
) -> sp.csr_array:
    """Connect a graph by the shortest edges between its components (minimum spanning tree by Borůvka's algorithm), with
    weights by the squared lengths; ties go to the lower vertices. O(m n d) for the m rows outside the largest component
    at most, less by a k-d tree; in later rounds only for rows whose nearest one has joined.
    """
    labels = connected_components(graph)
    if not labels.any():
        return graph
    heads, tails, squares = _bridges(rows, labels, n_threads)
    values = np.maximum(weights(squares).astype(graph.dtype), np.finfo(graph.dtype).tiny)
    # Not by adding matrices, which drops edges of weight 0.
    old = np.repeat(row_ids(graph.shape[0]), np.diff(graph.indptr))
    ends = np.concatenate([old, heads, tails]), np.concatenate([graph.indices, tails, heads])
    joined = sp.coo_array((np.concatenate([graph.data, values, values]), ends), shape=graph.shape).tocsr()
    joined.sort_indices()
    return joined


def closeness(squares: Array, scale: float) -> Array:
    """Return s^2 / (s^2 + distance^2)."""
    return np.asarray(scale**2 / (scale**2 + squares))


def _bridges(points: Block, labels: IntArray, n_threads: int) -> tuple[IntArray, IntArray, Array]:
    """Return the ends of the edges of the tree, and their squared lengths."""
    n, found, tree = len(labels), [], None
    if not sp.issparse(points) and points.shape[1] <= _MOST_TREE_COLUMNS:
        tree = ComponentSearch(ReachabilityTree(points, np.zeros(n, dtype=points.dtype), n_threads))
    # The nearest row of another component, -1 for none, and its squared distance: at least so much where it has joined.
    tails, squares = np.full(n, -1, dtype=np.int32), np.zeros(n, dtype=points.dtype)
    while labels.any():
        is_outside = labels != np.argmax(np.bincount(labels))
        is_known = is_outside & (tails >= 0) & (labels[tails] != labels)
        limits = np.full(labels.max() + 1, np.inf, dtype=points.dtype)
        np.minimum.at(limits, labels[is_known], squares[is_known])
        rows = np.flatnonzero(is_outside & ~is_known & (squares <= limits[labels])).astype(np.int32)
        tails[rows], squares[rows] = _nearest_outside(points, labels, rows, limits, tree, n_threads)
        heads = np.flatnonzero(is_outside & (tails >= 0) & (labels[tails] != labels)).astype(np.int32)
        low, high = np.minimum(heads, tails[heads]), np.maximum(heads, tails[heads])
        # The shortest edge of each component, each edge once: two components may choose the same.
        order = np.lexsort((high, low, squares[heads], labels[heads]))
        first = order[np.unique(labels[heads][order], return_index=True)[1]]
        edges, places = np.unique(np.column_stack([low, high])[first], axis=0, return_index=True)
        found.append((edges[:, 0], edges[:, 1], squares[heads][first][places]))
        n_components = int(labels.max()) + 1
        ends = labels[edges[:, 0]], labels[edges[:, 1]]
        merged = sp.coo_array((np.ones(len(edges)), ends), shape=(n_components, n_components))
        labels = csgraph.connected_components(merged, directed=False)[1][labels]
    firsts, seconds, lengths = (np.concatenate(parts) for parts in zip(*found))
    return firsts, seconds, lengths


def _nearest_outside(
    points: Block,
    labels: IntArray,
    rows: IntArray,
    limits: Array,
    tree: ComponentSearch | None,
    n_threads: int,
) -> tuple[IntArray, Array]:
    """Return the nearest row of another component of each of some rows, and their squared distances. A tree finds only
    those up to the shortest edge of a component; for others it returns -1 and a lower bound.
    """
    own = labels[rows]
    if tree is not None:
        components, first = np.unique(own, return_index=True)
        squares = tree.edges_by_turns(rows[first], labels)[0][2]
        limits[components] = np.minimum(limits[components], squares)
        ids, squares = tree.tree.nearest(
            rows, own, np.nextafter(limits, np.inf, dtype=points.dtype)[own], labels, 1
        )
        return ids[:, 0], squares[:, 0]
    if not sp.issparse(points):
        ids, squares = nearest_of_other_groups(points, labels, points[rows], own, 1, n_threads)
        return ids[:, 0], squares[:, 0]
    tails, lengths = np.empty(len(rows), dtype=np.int32), np.empty(len(rows), dtype=points.dtype)
    for label in np.unique(own):
        some, others = own == label, np.flatnonzero(labels != label)
        ids, squares = exact_neighbors(points[others], points[rows[some]], 1, n_threads)
        tails[some], lengths[some] = others[ids[:, 0]], squares[:, 0]
    return tails, lengths
