"""The shortest edges that connect the components of a graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from coterie.arrays import Array, IntArray
from coterie.graphs.exact import exact_neighbors, nearest_of_other_groups, row_ids
from coterie.graphs.matrices import connected_components
from coterie.rows import Block


def bridge_components(
    graph: sp.csr_array, rows: Block, weights: Callable[[Array], Array], n_threads: int
) -> sp.csr_array:
    """Connect a graph by the shortest edges between its components (minimum spanning tree by Borůvka's algorithm), with
    weights by the squared lengths; ties go to the lower vertices. O(m n d) for each of at most log2(components) rounds,
    for the m rows outside the largest component.
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
    found = []
    while labels.any():
        heads, tails, squares = _nearest_outside(points, labels, n_threads)
        low, high = np.minimum(heads, tails), np.maximum(heads, tails)
        # The shortest edge of each component, each edge once: two components may choose the same.
        order = np.lexsort((high, low, squares, labels[heads]))
        first = order[np.unique(labels[heads][order], return_index=True)[1]]
        edges, places = np.unique(np.column_stack([low, high])[first], axis=0, return_index=True)
        found.append((edges[:, 0], edges[:, 1], squares[first][places]))
        n_components = int(labels.max()) + 1
        ends = labels[edges[:, 0]], labels[edges[:, 1]]
        merged = sp.coo_array((np.ones(len(edges)), ends), shape=(n_components, n_components))
        labels = csgraph.connected_components(merged, directed=False)[1][labels]
    heads, tails, squares = (np.concatenate(parts) for parts in zip(*found))
    return heads, tails, squares


def _nearest_outside(points: Block, labels: IntArray, n_threads: int) -> tuple[IntArray, IntArray, Array]:
    """Return rows outside the largest component, the nearest row of another component, and their squared distance."""
    outside = np.flatnonzero(labels != np.argmax(np.bincount(labels))).astype(np.int32)
    if not sp.issparse(points):
        ids, squares = nearest_of_other_groups(points, labels, points[outside], labels[outside], 1, n_threads)
        return outside, ids[:, 0], squares[:, 0]
    found = []
    for label in np.unique(labels[outside]):
        own, others = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
        ids, squares = exact_neighbors(points[others], points[own], 1, n_threads)
        found.append((own.astype(np.int32), others[ids[:, 0]].astype(np.int32), squares[:, 0]))
    heads, tails, lengths = (np.concatenate(parts) for parts in zip(*found))
    return heads, tails, lengths
