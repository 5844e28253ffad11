"""Graphs of nearest neighbors, and functions of graphs for clustering.

A graph of n vertices is a `scipy.sparse.csr_array` of shape (n, n) of non-negative weights: entry (i, j) is the edge
from i to j. Rows are sorted and no entry occurs twice. Each stored entry is an edge, even with weight 0, such as the
edge between two equal rows with ``weights="distance"``.
"""

from coterie.graphs.given import given_neighbors
from coterie.graphs.knn import graph_of_neighbors, knn_graph
from coterie.graphs.neighbors import Neighbors, nearest_neighbors

__all__ = [
    "Neighbors",
    "given_neighbors",
    "graph_of_neighbors",
    "knn_graph",
    "nearest_neighbors",
]
