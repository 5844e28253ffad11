"""The edges of convex clustering: which rows are drawn together, and how strongly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse import csgraph
from scipy.spatial.distance import pdist

from coterie.graphs import bridge_components, check_graph, knn_graph

__all__ = ["Edges", "WEIGHTS", "edges_of_graph", "weight_graph"]

Array = npt.NDArray[Any]
IntArray = npt.NDArray[np.int32]

WEIGHTS = ("knn", "dense", "precomputed")

# Edges per pair of rows from which the order of the rows no longer matters.
_DENSE_SHARE = 0.25


@dataclass(frozen=True)
class Edges:
    """Undirected edges in the order of their heads, and the order of nodes that keeps neighbours close.

    Attributes
    ----------
    heads, tails : ndarray of shape (n_edges,), int32
        Head < tail; edges ascend by head, then by tail.
    weights : ndarray of shape (n_edges,)
        Positive.
    n_nodes : int
        Number of nodes.
    """

    heads: IntArray
    tails: IntArray
    weights: Array
    n_nodes: int

    def __len__(self) -> int:
        return len(self.heads)

    @property
    def is_complete(self) -> bool:
        """Whether there is an edge between any two nodes."""
        return 2 * len(self) == self.n_nodes * (self.n_nodes - 1)

    def renumbered(
        self, order: npt.NDArray[np.int64]
    ) -> tuple[Edges, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Number the nodes anew: node i becomes the former `order[i]`.

        Returns
        -------
        edges : Edges
        places : ndarray of shape (n_edges,), int64
            Which former edge each new one is.
        is_turned : ndarray of shape (n_edges,), bool
            Whether its head was the tail.
        """
        numbers = np.empty(self.n_nodes, dtype=np.int32)
        numbers[order] = np.arange(self.n_nodes, dtype=np.int32)
        heads, tails = numbers[self.heads], numbers[self.tails]
        is_turned = heads > tails
        heads, tails = np.minimum(heads, tails), np.maximum(heads, tails)
        places = np.lexsort((tails, heads))
        edges = Edges(heads[places], tails[places], self.weights[places], self.n_nodes)
        return edges, places, is_turned[places]

    def order_of_neighbors(self) -> npt.NDArray[np.int64]:
        """Return an order of the nodes in which neighbours are close (reverse Cuthill-McKee)."""
        if len(self) > _DENSE_SHARE * self.n_nodes**2 / 2:
            return np.arange(self.n_nodes, dtype=np.int64)
        ones = np.ones(len(self), dtype=np.int8)
        graph = sp.csr_array((ones, (self.heads, self.tails)), shape=(self.n_nodes, self.n_nodes))
        graph = sp.csr_array(graph + graph.T)
        return csgraph.reverse_cuthill_mckee(graph, symmetric_mode=True).astype(np.int64)

    def adjacency(self, values: Array) -> sp.csr_array:
        """Return the symmetric matrix with these values on the edges."""
        ends = np.concatenate([self.heads, self.tails]), np.concatenate([self.tails, self.heads])
        shape = (self.n_nodes, self.n_nodes)
        return sp.coo_array((np.concatenate([values, values]), ends), shape=shape).tocsr()


def weight_graph(
    X: Array,
    *,
    kind: str,
    n_neighbors: int,
    phi: float,
    connect: bool,
    graph: Any = None,
    random_state: Any = None,
    n_threads: int = 1,
) -> sp.csr_array:
    """Build the symmetric graph of weights.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        The rows.
    kind : {"knn", "dense", "precomputed"}
        Edges to the nearest neighbours of either end, between all rows, or those of `graph`.
    n_neighbors : int
        Neighbours of each row.
    phi : float
        Weights are exp(-phi ||x_i - x_j||^2), the features as they are: they depend on the features' units. 0: all 1.
    connect : bool
        Add the shortest edges that connect the components.
    graph : sparse matrix or array of shape (n, n), optional
        Symmetric weights.
    random_state, n_threads
        See `coterie.graphs.knn_graph`.

    Returns
    -------
    csr_array of shape (n, n)
        Entries whose weight underflows to 0 are left out, except where they connect components.
    """
    weights = partial(_gaussian, phi)
    if kind == "precomputed":
        found = check_graph(graph, len(X), symmetric=True)
    elif kind == "dense":
        found = _dense_graph(X, phi)
    else:
        found = knn_graph(X, n_neighbors, weights=weights, random_state=random_state, n_threads=n_threads)
    return bridge_components(found, X, weights=weights, n_threads=n_threads) if connect else found


def edges_of_graph(graph: sp.csr_array, dtype: npt.DTypeLike) -> Edges:
    """Return the edges of a symmetric graph: each once, those of weight 0 and loops not at all."""
    heads = np.repeat(np.arange(graph.shape[0], dtype=np.int32), np.diff(graph.indptr))
    kept = (heads < graph.indices) & (graph.data > 0)
    tails = graph.indices[kept].astype(np.int32)
    return Edges(heads[kept], tails, graph.data[kept].astype(dtype), graph.shape[0])


def _gaussian(phi: float, squares: Array) -> Array:
    return np.exp(-phi * squares)


def _dense_graph(X: Array, phi: float) -> sp.csr_array:
    n = len(X)
    heads, tails = np.triu_indices(n, 1)
    values = _gaussian(phi, pdist(X, "sqeuclidean")).astype(X.dtype)
    upper = sp.coo_array((values, (heads, tails)), shape=(n, n)).tocsr()
    return sp.csr_array(upper + upper.T)
