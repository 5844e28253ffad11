"""Connected components and Laplacian of a graph."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
from scipy.sparse import csgraph

from coterie.arrays import IntArray
from coterie.graphs.checks import check_graph


def connected_components(graph: Any) -> IntArray:
    """Label each vertex by its component, numbered by first vertices: (n,) int32; directions are ignored."""
    return csgraph.connected_components(check_graph(graph), directed=False)[1]


def graph_laplacian(graph: Any) -> sp.csr_array:
    """Return the Laplacian D - W of a symmetric graph without loops, as sorted CSR."""
    laplacian = csgraph.laplacian(check_graph(graph, symmetric=True))
    laplacian = sp.csr_array(laplacian)
    laplacian.eliminate_zeros()
    laplacian.sort_indices()
    return laplacian
