"""The edges of convex clustering: which rows are drawn together, and how strongly."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from coterie.arrays import Array
from coterie.graphs import bridge_components, check_graph, knn_graph

__all__ = ["WEIGHTS", "weight_graph"]


WEIGHTS = ("knn", "dense", "precomputed")


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


def _gaussian(phi: float, squares: Array) -> Array:
    return np.exp(-phi * squares)


def _dense_graph(X: Array, phi: float) -> sp.csr_array:
    n = len(X)
    heads, tails = np.triu_indices(n, 1)
    values = _gaussian(phi, pdist(X, "sqeuclidean")).astype(X.dtype)
    upper = sp.coo_array((values, (heads, tails)), shape=(n, n)).tocsr()
    return sp.csr_array(upper + upper.T)
