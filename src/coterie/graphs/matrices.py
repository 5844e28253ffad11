"""Connected components of a graph, and its matrices."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from coterie.arrays import IntArray
from coterie.fitting.checks import check_option
from coterie.graphs.checks import check_graph
from coterie.graphs.exact import row_ids

__all__ = ["connected_components", "graph_laplacian", "incidence_matrix"]


_ENTRIES = ("weights", "roots", "ones")


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


def incidence_matrix(graph: Any, *, entries: Literal["weights", "roots", "ones"] = "weights") -> sp.csr_array:
    """Return the matrix B that takes differences along the edges: one row for each undirected edge.

    The row of edge (i, j), i < j, has +e in column i and -e in column j. Rows are in the order of (i, j).

    Parameters
    ----------
    graph : sparse matrix or array-like of shape (n, n)
        Symmetric non-negative weights w; edges from a vertex to itself are left out.
    entries : {"weights", "roots", "ones"}
        e = w: the norm of B f is then the total variation, sum of ``w |f_i - f_j|`` over the edges, each once.
        e = sqrt(w): B'B is the Laplacian. e = 1: plain differences.

    Returns
    -------
    csr_array of shape (edges, n), float32 or float64

    Raises
    ------
    ValueError, TypeError
        If the graph is not symmetric or `entries` is unknown; else see `check_graph`.

    Notes
    -----
    O(n + edges).

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.graphs import graph_laplacian, incidence_matrix
    >>> path = [[0, 4, 0], [4, 0, 1], [0, 1, 0]]
    >>> incidence_matrix(path).toarray()
    array([[ 4., -4.,  0.],
           [ 0.,  1., -1.]])
    >>> roots = incidence_matrix(path, entries="roots")
    >>> np.array_equal((roots.T @ roots).toarray(), graph_laplacian(path).toarray())
    True
    """
    check_option("entries", entries, _ENTRIES)
    graph = check_graph(graph, symmetric=True)
    heads = np.repeat(row_ids(graph.shape[0]), np.diff(graph.indptr))
    once = heads < graph.indices
    heads, tails, values = heads[once], graph.indices[once], graph.data[once]
    values = {"weights": values, "roots": np.sqrt(values), "ones": np.ones_like(values)}[entries]
    n_edges = len(values)
    ends = np.column_stack([heads, tails]).ravel()
    signed = np.column_stack([values, -values]).ravel()
    starts = np.arange(0, 2 * n_edges + 1, 2, dtype=graph.indptr.dtype)
    return sp.csr_array((signed, ends, starts), shape=(n_edges, graph.shape[0]))
