"""What tells one clustering from a better one, whatever found it: its cut of the graph and its spread."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, FloatArray, IntArray
from coterie.centers.labels import squares_to_centers
from coterie.rows import Block, as_rows

__all__ = [
    "cluster_means",
    "demerit",
    "effective_clusters",
    "in_main_directions",
    "normalized_cut",
    "spreads",
]

# Cuts below this are all alike: an edge or two of a small graph.
_SMALLEST_CUT = 1e-4

# How many times more a relative change of the spread counts than one of the cut: a tenth of the cut is worth a spread
# of twice the size. See docs/decisions/laplacian_kmodes.md.
_WEIGHT_OF_SPREAD = 3

# The same of the number of effective clusters: with 0 islands win, from 1 on clusters of equal size.
_WEIGHT_OF_CLUSTERS = 0.5


def demerit(
    graph: sp.csr_array,
    rows: Block | None,
    labels: IntArray,
    n_clusters: int,
    weight_of_spread: float = _WEIGHT_OF_SPREAD,
    weight_of_clusters: float = _WEIGHT_OF_CLUSTERS,
) -> float:
    """Return log(normalised cut / effective clusters^(1/2)) + 3 log(spread): the lower the better, whatever the units.

    The cut alone likes to put a handful of rows apart: islands cost nothing, nor does the one cluster that is left. So
    more is forgiven where more clusters count by their sizes. The spread alone is what k-means minimises.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Affinities of rows.
    rows : ndarray or csr_array of shape (n, d), or None
        The rows, as `in_main_directions` has them; without them the cut alone counts.
    labels : ndarray of shape (n,), int32
        Clusters.
    n_clusters : int
        Number of clusters L.
    weight_of_spread, weight_of_clusters : float
        In place of 3 and 1/2.
    """
    with np.errstate(divide="ignore"):
        cut = float(np.log(normalized_cut(graph, labels, n_clusters) + _SMALLEST_CUT))
        if rows is None:
            return cut
        cut -= weight_of_clusters * float(np.log(effective_clusters(labels)))
        return cut + weight_of_spread * float(np.log(spreads(rows, labels, n_clusters).sum()))


def in_main_directions(rows: Block, n_clusters: int) -> Block:
    """Return the rows in as many directions as there are clusters, those in which they vary most.

    In many columns most of the spread is the same for all clusterings: where 200 columns vary by 1 and the means of
    eight clusters by 0.3, wrong clusters have 1% more of it, and 30% more in eight directions. Where there are no more
    columns than clusters, rows are left as they are.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n, d)
        The rows.
    n_clusters : int
        Number of clusters L.

    Returns
    -------
    ndarray of shape (n, L), or rows
        Around their mean, if there are fewer directions.
    """
    if n_clusters >= min(rows.shape):
        return rows
    from sklearn.decomposition import PCA  # takes a tenth of a second, for those who fit K-modes only

    # Rows that are all equal have no share of a variance.
    with np.errstate(invalid="ignore", divide="ignore"):
        if sp.issparse(rows):
            found = PCA(n_clusters, svd_solver="arpack", random_state=0).fit_transform(rows)
        else:
            # Far from 0 what PCA makes of squares would be lost in float32.
            centered = rows - rows.mean(axis=0, dtype=np.float64).astype(rows.dtype)
            found = PCA(n_clusters, copy=False, random_state=0).fit_transform(centered)
    return np.ascontiguousarray(found)


def normalized_cut(graph: sp.csr_array, labels: IntArray, n_clusters: int) -> float:
    """Return the sum over the clusters of the share of their edges that leaves them (Shi and Malik 2000).

    An edge one way counts half in each direction; clusters without edges count 0.
    """
    sources, targets = np.repeat(labels, np.diff(graph.indptr)), labels[graph.indices]
    weights = graph.data.astype(np.float64)
    leaving = weights * (sources != targets)
    volumes, cuts = (
        sum(np.bincount(ends, some, minlength=n_clusters) for ends in (sources, targets))
        for some in (weights, leaving)
    )
    return float(np.sum(cuts / np.where(volumes > 0, volumes, 1)))


def effective_clusters(labels: IntArray) -> float:
    """Return how many clusters of equal size are as uncertain as these: exp of the entropy of their shares."""
    shares = np.bincount(labels) / len(labels)
    shares = shares[shares > 0]
    return float(np.exp(-np.sum(shares * np.log(shares))))


def spreads(rows: Block, labels: IntArray, n_clusters: int) -> FloatArray:
    """Return the sum of the squared distances of each cluster's rows to their mean."""
    means = cluster_means(rows, labels, n_clusters)
    squares = squares_to_centers(as_rows(rows), means, labels, 1)
    return np.bincount(labels, squares, minlength=n_clusters).astype(np.float64)


def cluster_means(rows: Block, labels: IntArray, n_clusters: int) -> Array:
    """Return the mean of each cluster's rows, in their dtype; 0 for a cluster without rows."""
    members = sp.csr_array(
        (np.ones(len(labels)), (labels, np.arange(len(labels)))), (n_clusters, len(labels))
    )
    sums = members @ rows
    sizes = np.maximum(np.bincount(labels, minlength=n_clusters), 1)
    return ((sums.toarray() if sp.issparse(sums) else sums) / sizes[:, None]).astype(rows.dtype)
