"""Graphs of nearest neighbors, and functions of graphs for clustering.

A graph of n vertices is a `scipy.sparse.csr_array` of shape (n, n) of non-negative weights: entry (i, j) is the edge
from i to j. Rows are sorted and no entry occurs twice. Each stored entry is an edge, even with weight 0, such as the
edge between two equal rows with ``weights="distance"``.
"""

from coterie.graphs.bridges import bridge_components
from coterie.graphs.checks import check_graph
from coterie.graphs.given import extend_neighbors, given_neighbors
from coterie.graphs.index import NeighborIndex
from coterie.graphs.knn import edge_weights, gaussian_bandwidth, graph_of_neighbors, knn_graph
from coterie.graphs.matrices import connected_components, graph_laplacian
from coterie.graphs.neighbors import Neighbors, nearest_neighbors

__all__ = [
    "NeighborIndex",
    "Neighbors",
    "bridge_components",
    "check_graph",
    "connected_components",
    "edge_weights",
    "extend_neighbors",
    "gaussian_bandwidth",
    "given_neighbors",
    "graph_laplacian",
    "graph_of_neighbors",
    "knn_graph",
    "nearest_neighbors",
]
