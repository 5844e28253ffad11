"""An undirected graph as a list of its edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse import csgraph

from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, IntArray

# Density of edges from which the order of the nodes does not matter.
_DENSE_SHARE = 0.25

# Number of neighbors that are compared at a time.
_MOST_NEIGHBORS = 1 << 23


@dataclass(frozen=True)
class Edges:
    """Undirected edges, ascending by head, then tail; head < tail."""

    heads: IntArray  # (n_edges,), int32
    tails: IntArray  # (n_edges,), int32
    weights: Array  # (n_edges,): positive
    n_nodes: int

    def __len__(self) -> int:
        return len(self.heads)

    @property
    def is_complete(self) -> bool:
        """Whether there is an edge between any two nodes."""
        return 2 * len(self) == self.n_nodes * (self.n_nodes - 1)

    def renumbered(self, order: IndexArray) -> tuple[Edges, IndexArray, BoolArray]:
        """Make node i the former `order[i]`; also return the former index of each edge, and whether it is turned."""
        numbers = np.empty(self.n_nodes, dtype=np.int32)
        numbers[order] = np.arange(self.n_nodes, dtype=np.int32)
        heads, tails = numbers[self.heads], numbers[self.tails]
        is_turned = heads > tails
        heads, tails = np.minimum(heads, tails), np.maximum(heads, tails)
        places = np.lexsort((tails, heads))
        edges = Edges(heads[places], tails[places], self.weights[places], self.n_nodes)
        return edges, places, is_turned[places]

    def order_of_neighbors(self) -> IndexArray:
        """Return an order of the nodes in which neighbors are close (reverse Cuthill-McKee)."""
        if len(self) > _DENSE_SHARE * self.n_nodes**2 / 2:
            return np.arange(self.n_nodes, dtype=np.int64)
        ones = np.ones(len(self), dtype=np.int8)
        graph = sp.csr_array((ones, (self.heads, self.tails)), shape=(self.n_nodes, self.n_nodes))
        return csgraph.reverse_cuthill_mckee(graph).astype(np.int64)

    def adjacency(self, values: Array) -> sp.csr_array:
        """Return the symmetric matrix with these values on the edges."""
        ends = np.concatenate([self.heads, self.tails]), np.concatenate([self.tails, self.heads])
        shape = (self.n_nodes, self.n_nodes)
        return sp.coo_array((np.concatenate([values, values]), ends), shape=shape).tocsr()


def edges_of_graph(graph: sp.csr_array, dtype: npt.DTypeLike | None = None) -> Edges:
    """Return the edges of a symmetric graph: each once, without loops and edges of weight 0."""
    heads = np.repeat(np.arange(graph.shape[0], dtype=np.int32), np.diff(graph.indptr))
    kept = (heads < graph.indices) & (graph.data > 0)
    tails = graph.indices[kept].astype(np.int32)
    return Edges(heads[kept], tails, graph.data[kept].astype(dtype or graph.dtype), graph.shape[0])


def shared_neighbors(edges: Edges) -> FloatArray:
    """Return the Jaccard index of the neighbors of the ends of each edge, in O(sum of squared degrees)."""
    ends = np.concatenate([edges.heads, edges.tails])
    degrees = np.bincount(ends, minlength=edges.n_nodes)
    neighbors = edges.adjacency(np.ones(len(edges), dtype=np.float32))
    both = degrees[edges.heads] + degrees[edges.tails]
    shared = np.empty(len(edges))
    for part in np.split(np.arange(len(edges)), _cuts_of_sums(both, _MOST_NEIGHBORS)):
        of_heads, of_tails = neighbors[edges.heads[part]], neighbors[edges.tails[part]]
        shared[part] = np.asarray(of_heads.multiply(of_tails).sum(axis=1)).ravel()
    return shared / (both - shared)


def _cuts_of_sums(sizes: IndexArray, most: int) -> IndexArray:
    """Return where to cut a list into parts whose sums are about `most` at most."""
    parts = np.cumsum(sizes) // most
    return np.flatnonzero(np.diff(parts)) + 1
