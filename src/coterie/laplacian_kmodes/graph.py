"""The graph of a fit, and what finds modes among its vertices: of rows, of affinities, or of a pair of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, IntArray
from coterie.fitting.deadline import Phase
from coterie.graphs import check_graph, gaussian_bandwidth, graph_of_neighbors
from coterie.graphs.hurried import neighbors_in_time
from coterie.laplacian_kmodes.kernel_modes import KernelModes
from coterie.laplacian_kmodes.modes import ModeSearch
from coterie.laplacian_kmodes.pairs import checked_kernel
from coterie.laplacian_kmodes.vector_modes import VectorModes
from coterie.rows import Block

__all__ = ["graph_and_search", "of_neighbors"]


def graph_and_search(
    model: Any, rows: Block, kernel: Any, random: np.random.RandomState, n_threads: int, phase: Phase
) -> tuple[sp.csr_array, ModeSearch]:
    """Return the affinities of rows, and what finds modes.

    Parameters
    ----------
    model : LaplacianKModes
        Whose parameters say how.
    rows : ndarray or csr_array
        The rows, shape (n, d), or affinities, shape (n, n).
    kernel : sparse matrix or array-like of shape (n, n), or None
        The kernel of a pair, of which `rows` are the graph.
    random : RandomState
        Of approximate neighbours.
    n_threads : int
        Threads.
    phase : Phase
        How long it may take.

    Returns
    -------
    graph : csr_array of shape (n, n)
    search : ModeSearch
    """
    if kernel is not None:
        graph, matrix = check_graph(rows), checked_kernel(kernel, rows.shape[0])
        graph = graph.astype(np.result_type(graph.dtype, matrix.dtype), copy=False)
        return graph, KernelModes(matrix, mode_update=model.mode_update)
    if model.affinity == "precomputed":
        graph = check_graph(rows, rows.shape[0], symmetric=True)
        return graph, KernelModes(graph, mode_update=model.mode_update)
    ids, squares = neighbors_in_time(
        rows, model.n_neighbors, random_state=random, n_threads=n_threads, phase=phase
    )
    return of_neighbors(model, rows, ids, squares, n_threads)


def of_neighbors(
    model: Any, rows: Block, ids: IntArray, squares: Array, n_threads: int
) -> tuple[sp.csr_array, ModeSearch]:
    """Return the graph of rows whose neighbours have been found, and what finds modes.

    Parameters
    ----------
    model : LaplacianKModes
        Whose parameters say how.
    rows : ndarray or csr_array of shape (n, d)
        The rows.
    ids, squares : ndarray of shape (n, n_neighbors)
        See `coterie.graphs.nearest_neighbors`.
    n_threads : int
        Threads.

    Returns
    -------
    graph : csr_array of shape (n, n)
    search : ModeSearch
    """
    bandwidth = gaussian_bandwidth(squares) if model.bandwidth is None else float(model.bandwidth)
    graph = graph_of_neighbors(
        ids, squares, weights=model.weights, bandwidth=bandwidth, symmetrize=model.symmetrize
    )
    return graph, VectorModes(rows, bandwidth, mode_update=model.mode_update, n_threads=n_threads)
