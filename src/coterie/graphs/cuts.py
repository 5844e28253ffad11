"""Costs of cuts of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie.arrays import FloatArray, IntArray
from coterie.graphs.checks import check_graph
from coterie.graphs.edges import Edges, edges_of_graph

# Tolerance of the sum of priors.
_PRIORS_TOLERANCE = 1e-6


def balanced_cut(
    graph: Any,
    labels: npt.ArrayLike,
    n_clusters: int | None = None,
    *,
    class_priors: npt.ArrayLike | None = None,
) -> float:
    """Sum over the clusters of the edges that leave them, relative to their sizes.

    ``sum_r Cut(A_r) / min(lambda |A_r|, n - |A_r|)``, lambda = R - 1: the energy (P) of Bresson et al. 2013, which
    favors few edges between clusters of equal size.

    Parameters
    ----------
    graph : sparse matrix or array-like of shape (n, n)
        Symmetric non-negative weights; edges from a vertex to itself do not count.
    labels : array-like of shape (n,)
        Cluster of each vertex: integers or strings; integers from 0 with `n_clusters`.
    n_clusters : int, optional
        R; by default the clusters that occur.
    class_priors : array-like of shape (R,), optional
        Expected fraction of the vertices in each cluster: positive, with sum 1. The lambda of cluster r is then
        (1 - prior) / prior.

    Returns
    -------
    float
        0 for one cluster, infinite if one of several is empty.

    Raises
    ------
    ValueError, TypeError
        If the graph is not symmetric or has weights that are negative or not finite, the labels do not match
        it, or `class_priors` are not priors of R classes.

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
    >>> round(balanced_cut(path, [0, 1, 1, 1], class_priors=[0.25, 0.75]), 4)
    1.3333
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
    lambdas = None if class_priors is None else balance_weights_of(checked_priors(class_priors, n_clusters))
    if n_clusters == 1:
        return 0.0
    return cut_of_edges(edges_of_graph(checked), clusters, n_clusters, lambdas)


def checked_priors(priors: npt.ArrayLike, n_clusters: int) -> FloatArray:
    """Return priors of R classes as an array with sum 1; raise a ValueError if they are invalid."""
    try:
        checked = np.array(priors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"class_priors must be numbers, got {priors!r}.") from error
    if checked.shape != (n_clusters,):
        raise ValueError(
            f"class_priors must have shape ({n_clusters},), one for each cluster, got {checked.shape}."
        )
    if not np.all(checked > 0) or not abs(checked.sum() - 1) <= _PRIORS_TOLERANCE:
        raise ValueError(
            "class_priors must be above 0 and sum to 1 (shares: divide numbers of rows by their sum), got "
            f"{checked.tolist()[:10]} with sum {checked.sum():g}."
        )
    return checked / checked.sum()


def balance_weights_of(priors: FloatArray) -> FloatArray:
    """Return lambda of each class for its prior; exactly R - 1 for equal priors."""
    lambdas = np.maximum(1 - priors, np.finfo(np.float64).eps) / priors
    whole = np.maximum(np.rint(lambdas), 1)
    return np.where(np.abs(lambdas - whole) <= 1e-12 * whole, whole, lambdas)


def degrees_of(graph: sp.csr_array) -> FloatArray:
    """Return the sum of the weights at each vertex, without loops."""
    return np.asarray(graph.sum(axis=1, dtype=np.float64)).ravel() - graph.diagonal()


def cuts_and_sizes(
    edges: Edges, clusters: npt.NDArray[np.integer[Any]], n_clusters: int, weights: FloatArray | None = None
) -> tuple[FloatArray, npt.NDArray[Any]]:
    """Return the weights of the edges that leave each cluster, and the sizes of the clusters."""
    heads, tails = clusters[edges.heads], clusters[edges.tails]
    leaving = np.flatnonzero(heads != tails)
    counted = edges.weights[leaving]
    cuts = sum(np.bincount(ends[leaving], counted, minlength=n_clusters) for ends in (heads, tails))
    return np.asarray(cuts), np.bincount(clusters, weights, minlength=n_clusters)


def cut_of_edges(
    edges: Edges,
    clusters: npt.NDArray[np.integer[Any]],
    n_clusters: int,
    balance_weights: FloatArray | None = None,
    weights: FloatArray | None = None,
) -> float:
    """Return the `balanced_cut` of clusters 0 to n_clusters - 1 (at least 2), unchecked. `balance_weights` are lambda
    of each cluster, R - 1 by default, `weights` those of the vertices in the sizes.
    """
    lambdas = n_clusters - 1 if balance_weights is None else balance_weights
    cuts, sizes = cuts_and_sizes(edges, clusters, n_clusters, weights)
    if np.any(sizes == 0):
        return float("inf")
    return float(np.sum(cuts / np.minimum(lambdas * sizes, sizes.sum() - sizes)))


def normalized_cut(graph: sp.csr_array, labels: IntArray, n_clusters: int) -> float:
    """Return the sum over clusters of the share of their edge weight that leaves them (Shi and Malik 2000). Directed
    edges count half in each direction; clusters without edges count 0.
    """
    sources, targets = np.repeat(labels, np.diff(graph.indptr)), labels[graph.indices]
    weights = graph.data.astype(np.float64)
    leaving = weights * (sources != targets)
    volumes, cuts = (
        sum(np.bincount(ends, some, minlength=n_clusters) for ends in (sources, targets))
        for some in (weights, leaving)
    )
    return float(np.sum(cuts / np.where(volumes > 0, volumes, 1)))


def modularity(graph: sp.csr_array, labels: IntArray) -> float:
    """Return the modularity (Newman and Girvan, Phys. Rev. E 69, 2004, Eq. 5); directed edges count half each way."""
    sources, targets = np.repeat(labels, np.diff(graph.indptr)), labels[graph.indices]
    weights = graph.data.astype(np.float64)
    whole = float(weights.sum())
    if whole == 0:
        return 0.0
    n_labels = int(labels.max()) + 1
    volumes = sum(np.bincount(ends, weights, minlength=n_labels) for ends in (sources, targets)) / (2 * whole)
    return float(weights[sources == targets].sum()) / whole - float(np.sum(volumes**2))
