"""Cuts of a graph, by what they cost."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie.graphs import check_graph
from coterie.graphs.edges import Edges, edges_of_graph

__all__ = ["balanced_cut", "check_asymmetry", "cut_of_edges"]


def balanced_cut(
    graph: Any, labels: npt.ArrayLike, n_clusters: int | None = None, *, asymmetry: float | None = None
) -> float:
    """Sum over the clusters of the edges that leave them, relative to their sizes.

    ``sum_r Cut(A_r) / min(lambda |A_r|, n - |A_r|)``, lambda = R - 1: the energy (P) of Bresson et al. 2013, lowest for
    few edges between clusters of equal size.

    Parameters
    ----------
    graph : sparse matrix or array-like of shape (n, n)
        Symmetric non-negative weights; edges from a vertex to itself do not count.
    labels : array-like of shape (n,)
        Cluster of each vertex: integers or strings; integers from 0 with `n_clusters`.
    n_clusters : int, optional
        R; by default the clusters that occur.
    asymmetry : float, optional
        lambda, above 0: a cluster costs least, for as many edges, if it has n / (lambda + 1) vertices. By default
        R - 1, for equal sizes; 1 is the sum of the balanced cuts of each cluster from all others (Cheeger).

    Returns
    -------
    float
        0 for one cluster, infinite if one of several is empty.

    Raises
    ------
    ValueError, TypeError
        If the graph is not symmetric or else wrong (see `coterie.graphs.check_graph`), the labels do not fit, or
        `asymmetry` is not a number above 0.

    Notes
    -----
    O(n + edges).

    References
    ----------
    Bresson, Laurent, Uminsky and von Brecht, Multiclass total variation clustering, NeurIPS 2013, problem (P).

    Examples
    --------
    >>> from coterie.metrics import balanced_cut
    >>> path = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> balanced_cut(path, [0, 0, 1, 1])
    1.0
    >>> balanced_cut(path, [0, 1, 1, 1])
    2.0
    >>> balanced_cut(path, [0, 1, 1, 1], asymmetry=3)
    1.3333333333333333
    """
    checked = check_graph(graph, symmetric=True)
    n = checked.shape[0]
    clusters = np.asarray(labels)
    if clusters.shape != (n,):
        raise ValueError(f"labels must have shape ({n},), one for each vertex, got {clusters.shape}.")
    if n_clusters is None:
        names, clusters = np.unique(clusters, return_inverse=True)
        n_clusters = len(names)
    elif clusters.dtype.kind not in "iu" or clusters.min() < 0 or clusters.max() >= n_clusters:
        raise ValueError(f"labels must be integers from 0 to n_clusters - 1 = {n_clusters - 1}.")
    check_asymmetry(asymmetry)
    if n_clusters == 1:
        return 0.0
    return cut_of_edges(edges_of_graph(checked), clusters, n_clusters, asymmetry)


def check_asymmetry(asymmetry: float | None) -> None:
    """Check lambda of (P): None, or a finite number above 0."""
    if asymmetry is None:
        return
    if isinstance(asymmetry, bool) or not isinstance(asymmetry, Real):
        raise TypeError(f"asymmetry must be a number above 0 or None, got {asymmetry!r}.")
    if not 0 < asymmetry < np.inf:
        raise ValueError(f"asymmetry must be a finite number above 0 or None, got {asymmetry!r}.")


def cut_of_edges(
    edges: Edges, clusters: npt.NDArray[np.integer[Any]], n_clusters: int, asymmetry: float | None = None
) -> float:
    """Return the `balanced_cut` of clusters from 0 to n_clusters - 1, at least 2; nothing is checked."""
    if asymmetry is None:
        asymmetry = n_clusters - 1
    heads, tails = clusters[edges.heads], clusters[edges.tails]
    leaving = np.flatnonzero(heads != tails)
    weights = edges.weights[leaving]
    cuts = sum(np.bincount(ends[leaving], weights, minlength=n_clusters) for ends in (heads, tails))
    sizes = np.bincount(clusters, minlength=n_clusters)
    if np.any(sizes == 0):
        return float("inf")
    return float(np.sum(cuts / np.minimum(asymmetry * sizes, len(clusters) - sizes)))
