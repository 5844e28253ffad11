"""What compares clusterings of the same rows, whatever found them; each criterion favours its own kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import FloatArray, IntArray
from coterie.graphs import knn_graph
from coterie.graphs.cuts import balanced_cut
from coterie.rows import Block

__all__ = ["CRITERIA", "HIGHER_IS_BETTER", "common_graph", "criteria_of"]

# What each is, and what it favours, in words.
CRITERIA = {
    "balanced_cut": "edges between clusters over their sizes: favours methods that cut graphs, and equal sizes",
    "normalized_cut": "edges between clusters over all of theirs: favours methods that cut graphs",
    "quantization_error": "mean squared distance to the mean of the cluster: favours k-means, and round clusters",
    "silhouette": "how much nearer rows are to their own mean than to the next: favours k-means, and clear borders",
}
HIGHER_IS_BETTER = frozenset({"silhouette"})

_NEIGHBORS = 10

# Distances of so many rows to all means are held at once.
_ROWS_AT_ONCE = 8_192


def common_graph(rows: Any, random: np.random.RandomState, n_threads: int) -> sp.csr_array:
    """Return the graph that all clusterings are measured on: ten nearest neighbours, both ways, every edge 1."""
    n_neighbors = min(_NEIGHBORS, rows.shape[0] - 1)
    graph = knn_graph(rows, n_neighbors, random_state=int(random.randint(2**31 - 1)), n_threads=n_threads)
    return graph.maximum(graph.T)


def criteria_of(rows: Block, labels: IntArray, graph: sp.csr_array) -> dict[str, float]:
    """Return all of `CRITERIA` for a clustering.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n, d)
        What was clustered.
    labels : ndarray of shape (n,)
        Clusters, numbered from 0 without a gap.
    graph : csr_array of shape (n, n)
        Symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.choices.criteria import common_graph, criteria_of
    >>> rows = np.array([[0.0], [1], [10], [11]])
    >>> graph = common_graph(rows[:, [0, 0]], np.random.RandomState(0), 1)
    >>> found = criteria_of(rows, np.array([0, 0, 1, 1]), graph)
    >>> found["quantization_error"], round(found["silhouette"], 2)
    (0.25, 0.95)
    """
    own, other = _distances_to_means(rows, labels)
    widest = np.maximum(own, other)
    silhouette = np.where(widest > 0, (other - own) / np.where(widest > 0, widest, 1), 0)
    n_clusters = int(labels.max()) + 1
    return {
        "balanced_cut": balanced_cut(graph, labels) if n_clusters > 1 else 0.0,
        "normalized_cut": _normalized_cut(graph, labels),
        "quantization_error": float(np.mean(np.square(own))),
        "silhouette": float(silhouette.mean()) if n_clusters > 1 else 0.0,
    }


def _normalized_cut(graph: sp.csr_array, labels: IntArray) -> float:
    edges = graph.tocoo()
    inner = labels[edges.row] == labels[edges.col]
    volumes = np.bincount(labels[edges.row], edges.data)
    kept = np.bincount(labels[edges.row][inner], edges.data[inner], minlength=len(volumes))
    return float(np.sum(np.where(volumes > 0, 1 - kept / np.where(volumes > 0, volumes, 1), 0)))


def _distances_to_means(rows: Block, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the distance of each row to the mean of its cluster, and to the nearest of the others."""
    n_rows, n_clusters = rows.shape[0], int(labels.max()) + 1
    member = sp.csr_array((np.ones(n_rows), (labels, np.arange(n_rows))), shape=(n_clusters, n_rows))
    sums = member @ rows
    means = np.asarray(sums.toarray() if sp.issparse(sums) else sums) / np.bincount(labels)[:, None]
    own, other = np.empty(n_rows), np.full(n_rows, np.inf)
    # From rows near zero the formula below loses no digits.
    shift = np.zeros(rows.shape[1]) if sp.issparse(rows) else means.mean(axis=0)
    for start in range(0, n_rows, _ROWS_AT_ONCE):
        part = slice(start, min(start + _ROWS_AT_ONCE, n_rows))
        squares = _squares(rows[part], means, shift)
        places = np.arange(len(squares)), labels[part]
        own[part] = np.sqrt(squares[places])
        squares[places] = np.inf
        if n_clusters > 1:
            other[part] = np.sqrt(squares.min(axis=1))
    return own, np.where(np.isfinite(other), other, own)


def _squares(block: Block, means: FloatArray, shift: FloatArray) -> FloatArray:
    centers = means - shift
    if sp.issparse(block):
        lengths, products = (
            np.asarray(block.multiply(block).sum(axis=1)).ravel(),
            np.asarray(block @ centers.T),
        )
    else:
        moved = np.asarray(block, dtype=np.float64) - shift
        lengths, products = np.einsum("ij,ij->i", moved, moved), moved @ centers.T
    return np.maximum(lengths[:, None] + np.square(centers).sum(axis=1) - 2 * products, 0)
