"""What tells one clustering from a better one, whatever found it: its cut of the graph and its spread."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, FloatArray, IntArray
from coterie.centers.labels import squares_to_centers
from coterie.rows import Block, as_rows

__all__ = [
    "cluster_means",
    "cut_weight",
    "demerit",
    "demerits_in_doubt",
    "effective_clusters",
    "in_main_directions",
    "normalized_cut",
    "spreads",
]

# Cuts below this are all alike: an edge or two of a small graph.
_SMALLEST_CUT = 1e-4

# How many times more a relative change of the spread counts than one of the cut: a tenth of the cut is worth a spread
# of twice the size. The same of the number of effective clusters: with 0 islands win, from 1 on clusters of equal size.
# See docs/decisions/laplacian_kmodes.md.
_WEIGHT_OF_SPREAD, _WEIGHT_OF_CLUSTERS = 3, 0.5

# The same where a clustering is compared with one that never saw the graph.
_WEIGHT_OF_SPREAD_IN_DOUBT, _WEIGHT_OF_CLUSTERS_IN_DOUBT = 4, 1


def demerit(graph: sp.csr_array, rows: Block | None, labels: IntArray, n_clusters: int) -> float:
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
    """
    cut = float(np.log(normalized_cut(graph, labels, n_clusters) + _SMALLEST_CUT))
    if rows is None:
        return cut
    return cut + _of_sizes(rows, labels, n_clusters, _WEIGHT_OF_SPREAD, _WEIGHT_OF_CLUSTERS)


def demerits_in_doubt(graph: sp.csr_array, rows: Block, labels: IntArray, n_clusters: int) -> FloatArray:
    """Return two demerits, of the normalised cut and of the share of the edges that is cut.

    Spread and sizes count for more than in `demerit`. Of the normalised cut each cluster has a part, so that one
    outlier apart costs as much as a cluster that is cut in two; of the other each edge.

    Parameters
    ----------
    graph, rows, labels, n_clusters
        See `demerit`.

    Returns
    -------
    ndarray of shape (2,)
        What is better has both lower.
    """
    all_weight = float(graph.sum(dtype=np.float64))
    share = cut_weight(graph, labels) / all_weight if all_weight > 0 else 0.0
    cuts = np.log(np.array([normalized_cut(graph, labels, n_clusters), share]) + _SMALLEST_CUT)
    return cuts + _of_sizes(
        rows, labels, n_clusters, _WEIGHT_OF_SPREAD_IN_DOUBT, _WEIGHT_OF_CLUSTERS_IN_DOUBT
    )


def _of_sizes(
    rows: Block, labels: IntArray, n_clusters: int, weight_of_spread: float, weight_of_clusters: float
) -> float:
    """Return what spread and sizes add to a demerit; without a spread nothing is lower."""
    with np.errstate(divide="ignore"):
        spread = float(np.log(spreads(rows, labels, n_clusters).sum()))
    return weight_of_spread * spread - weight_of_clusters * float(np.log(effective_clusters(labels)))


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


def cut_weight(graph: sp.csr_array, labels: IntArray) -> float:
    """Return the weight of the edges between clusters, each way by itself: sum_pq K_pq ||z_p - z_q||^2 / 2."""
    sources = np.repeat(labels, np.diff(graph.indptr))
    return float(np.sum(graph.data[sources != labels[graph.indices]], dtype=np.float64))


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
