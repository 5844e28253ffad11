"""Clusters along the shortest edges of a graph, none left behind: a start where clusters are long, bent or nested."""

from __future__ import annotations

from collections import Counter

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from coterie.arrays import FloatArray, IntArray
from coterie.rows import Block

__all__ = ["linked_clusters"]

# The Gini index of the clusters' sizes from which on the smallest cluster is joined next: its authors' choice.
_MOST_UNEVEN = 0.3

# Numbers of differences that are looked at at a time.
_NUMBERS_AT_A_TIME = 1 << 20


def linked_clusters(graph: sp.csr_array, rows: Block, n_clusters: int) -> IntArray | None:
    """Return the clusters of single linkage along a graph, with sizes that are kept from becoming too uneven.

    The shortest edge between two clusters joins them; where sizes are uneven, the shortest one of a smallest cluster
    (Gagolewski, Bartoszuk and Cena, Genie, 2016). So islands and outliers join others before clusters do.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Whose edges count, not their weights.
    rows : ndarray or csr_array of shape (n, d)
        The rows, whose distances do.
    n_clusters : int
        Number of clusters.

    Returns
    -------
    ndarray of shape (n,), int32, or None
        None where the graph has more parts than clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.graphs import knn_graph
    >>> from coterie.laplacian_kmodes.linkage import linked_clusters
    >>> X = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [8.0]])
    >>> linked_clusters(knn_graph(X, 3), X, 2).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    n_nodes = graph.shape[0]
    tree = _spanning_tree(graph, rows)
    if tree.nnz < n_nodes - n_clusters:
        return None
    order = np.lexsort((tree.col, tree.row, tree.data))
    parents = _joined(tree.row[order].tolist(), tree.col[order].tolist(), n_nodes, n_clusters)
    return np.unique(parents, return_inverse=True)[1].astype(np.int32)


def _spanning_tree(graph: sp.csr_array, rows: Block) -> sp.coo_array:
    """Return the edges of a minimum spanning tree, with the places of their lengths among those of all edges."""
    edges = graph.tocoo()
    heads, tails = edges.coords
    lengths = np.empty(len(heads))
    at_a_time = max(1, _NUMBERS_AT_A_TIME // rows.shape[1])
    for first in range(0, len(heads), at_a_time):
        part = slice(first, first + at_a_time)
        lengths[part] = _squares(rows[heads[part]] - rows[tails[part]])
    # From 1 on: what is 0 would be no edge.
    places = 1.0 + np.unique(lengths, return_inverse=True)[1]
    return csgraph.minimum_spanning_tree(sp.csr_array((places, (heads, tails)), graph.shape)).tocoo()


def _squares(differences: Block) -> FloatArray:
    if sp.issparse(differences):
        return np.asarray(differences.multiply(differences).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", differences, differences, dtype=np.float64)


def _joined(heads: list[int], tails: list[int], n_nodes: int, n_clusters: int) -> list[int]:
    """Return for each node one that stands for its cluster; edges ascend and make a forest."""
    parents, sizes = list(range(n_nodes)), [1] * n_nodes
    n_of_size = Counter({1: n_nodes})
    is_used = bytearray(len(heads))
    shortest = of_smallest = 0
    smallest, differences = 1, 0  # the latter between the sizes of all pairs of clusters

    def root(node: int) -> int:
        while parents[node] != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    def differences_to(size: int) -> int:
        return sum(count * abs(other - size) for other, count in n_of_size.items())

    for n_left in range(n_nodes, n_clusters, -1):
        if differences <= _MOST_UNEVEN * (n_left - 1) * n_nodes:
            while is_used[shortest]:
                shortest += 1
            edge = shortest
        else:
            if min(n_of_size) != smallest:
                smallest, of_smallest = min(n_of_size), 0
            while is_used[of_smallest] or smallest not in (
                sizes[root(heads[of_smallest])],
                sizes[root(tails[of_smallest])],
            ):
                of_smallest += 1
            edge = of_smallest
        is_used[edge] = True
        larger, smaller = root(heads[edge]), root(tails[edge])
        if sizes[larger] < sizes[smaller]:
            larger, smaller = smaller, larger
        for size in (sizes[larger], sizes[smaller]):
            n_of_size[size] -= 1
            if n_of_size[size] == 0:
                del n_of_size[size]
            differences -= differences_to(size)
        parents[smaller] = larger
        sizes[larger] += sizes[smaller]
        differences += differences_to(sizes[larger])
        n_of_size[sizes[larger]] += 1
    return [root(node) for node in range(n_nodes)]
