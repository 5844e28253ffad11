"""Connected components and Laplacian of a graph."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
from scipy.sparse import csgraph

from coterie.arrays import IntArray
from coterie.graphs.checks import check_graph


def connected_components(graph: Any) -> IntArray:
    """Label each vertex by its connected component.

    Parameters
    ----------
    graph : sparse matrix or array-like of shape (n, n)
        Non-negative weights; the direction of edges is ignored.

    Returns
    -------
    ndarray of shape (n,), int32
        Components are numbered from 0 in the order of their first vertices.

    Raises
    ------
    ValueError, TypeError
        See `check_graph`.

    Notes
    -----
    O(n + edges), by `scipy.sparse.csgraph.connected_components`.

    Examples
    --------
    >>> from coterie.graphs import connected_components, knn_graph
    >>> connected_components(knn_graph([[0.0], [5.0], [0.5], [5.5]], 1))
    array([0, 1, 0, 1], dtype=int32)
    """
    return csgraph.connected_components(check_graph(graph), directed=False)[1]


def graph_laplacian(graph: Any, normalized: bool = False) -> sp.csr_array:
    """Return the Laplacian D - W of a symmetric graph, or D^(-1/2) (D - W) D^(-1/2).

    Parameters
    ----------
    graph : sparse matrix or array-like of shape (n, n)
        Symmetric non-negative weights W; edges from a vertex to itself do not count. D has the sums of the rows.
    normalized : bool
        Whether to divide by the roots of the degrees; rows of isolated vertices are 0.

    Returns
    -------
    csr_array of shape (n, n), float32 or float64
        Positive semi-definite, with sorted indices.

    Raises
    ------
    ValueError, TypeError
        If the graph is not symmetric; else see `check_graph`.

    Notes
    -----
    O(n + edges), by `scipy.sparse.csgraph.laplacian`.

    Examples
    --------
    >>> from coterie.graphs import graph_laplacian
    >>> graph_laplacian([[0, 2], [2, 0]]).toarray()
    array([[ 2., -2.],
           [-2.,  2.]])
    """
    laplacian = csgraph.laplacian(check_graph(graph, symmetric=True), normed=normalized)
    laplacian = sp.csr_array(laplacian)
    laplacian.eliminate_zeros()
    laplacian.sort_indices()
    return laplacian
