"""The merges of a path: which clusters fuse at which gamma, and which split."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.convex.problem import numbered_by_first_rows

# Clusters that never fuse are joined at this multiple of the last gamma.
_BEYOND_THE_END = 1.25

# Maximum default number of clusters of a path.
_MOST_CHOSEN = 10


def n_splits(finer: IntArray, coarser: IntArray) -> int:
    """Return the number of splits of the clusters of the first labels by the second ones."""
    return len(_pairs(finer, coarser)) - int(finer.max()) - 1


def longest_lived(gammas: FloatArray, n_clusters_path: IndexArray) -> int:
    """Return the number of clusters, from 2 to 10, that lasts for the longest factor of gamma; else the last
    number.
    """
    counts = n_clusters_path[:-1]
    spans = np.diff(np.log(np.maximum(gammas, gammas[gammas > 0].min(initial=1.0))))
    lives = {int(count): spans[counts == count].sum() for count in counts if 2 <= count <= _MOST_CHOSEN}
    return max(lives, key=lambda count: (lives[count], count)) if lives else int(n_clusters_path[-1])


def linkage_of_path(gammas: Array, labels_path: IntArray) -> FloatArray:
    """Return the merges of a path as a linkage matrix of SciPy, (n - 1, 4), from `labels_path` (m, n).

    Clusters that split again are not separated in it; clusters that never fuse are joined at 1.25 times the
    last gamma.
    """
    n = labels_path.shape[1]
    current = np.arange(n, dtype=np.int32)  # the tree's clusters, numbered from 0
    names, sizes = np.arange(n), np.ones(n, dtype=np.int64)  # how SciPy calls them
    merges: list[tuple[float, float, float, float]] = []
    height = 0.0
    for gamma, labels in zip(gammas, labels_path):
        height = float(gamma)
        current, names, sizes = _merged(current, labels, names, sizes, height, merges, n)
    _merged(current, np.zeros(n, dtype=np.int32), names, sizes, _height_beyond(height), merges, n)
    return np.array(merges, dtype=np.float64).reshape(-1, 4)


def linkage_of_tree(gammas: FloatArray, fused_at: IndexArray, edges: IntArray) -> FloatArray:
    """Return the merges of a path on a tree as `linkage_of_path` does; edge i vanishes at gamma
    `fused_at[i]`, -1 for never.
    """
    heights = np.append(gammas, _height_beyond(float(gammas[-1])))[fused_at]
    order = np.argsort(heights, kind="stable")
    linkage = np.empty((len(edges), 4))
    firsts, seconds = (np.ascontiguousarray(edges[order, side]) for side in (0, 1))
    _kernels.linkage_of_edges(firsts, seconds, heights[order], linkage)
    return linkage


def cut_between(
    finer: IntArray, coarser: IntArray, edges: IntArray, lengths: Array, n_clusters: int
) -> IntArray:
    """Return clusters between two steps of a path: edges fuse in the order of their lengths at the finer
    step.
    """
    inside = (coarser[edges[:, 0]] == coarser[edges[:, 1]]) & (finer[edges[:, 0]] != finer[edges[:, 1]])
    order = np.argsort(lengths[inside], kind="stable")
    ends = np.sort(finer[edges[inside]][order].astype(np.int64), axis=1)
    n_finer = int(finer.max()) + 1
    # The shortest edge between each two clusters; ranks are the weights, as 0 is no edge for SciPy.
    places = np.unique(ends[:, 0] * n_finer + ends[:, 1], return_index=True)[1]
    ranks = sp.coo_array((places + 1.0, ends[places].T.astype(np.int32)), shape=(n_finer, n_finer))
    tree = sp.coo_array(csgraph.minimum_spanning_tree(ranks.tocsr()))
    fused = np.argsort(tree.data)[: n_finer - n_clusters]
    joined = sp.coo_array((np.ones(len(fused)), (tree.row[fused], tree.col[fused])), shape=tree.shape)
    labels = csgraph.connected_components(joined, directed=False)[1][finer]
    return numbered_by_first_rows(labels)


def _height_beyond(last: float) -> float:
    return _BEYOND_THE_END * last if last > 0 else 1.0


def _pairs(first: IntArray, second: IntArray) -> IndexArray:
    """Return the distinct pairs of labels, of shape (n_pairs, 2)."""
    n_labels = int(second.max()) + 1
    return np.column_stack(np.divmod(np.unique(first.astype(np.int64) * n_labels + second), n_labels))


def _merged(
    current: IntArray, labels: IntArray, names: Array, sizes: Array, height: float, merges: list[Any], n: int
) -> tuple[IntArray, Array, Array]:
    """Join clusters that share a label; return the new labels of the rows, and the clusters' names and sizes."""
    pairs = _pairs(current, labels)
    n_clusters, n_labels = len(names), int(labels.max()) + 1
    shape = (n_clusters + n_labels, n_clusters + n_labels)
    shared = sp.coo_array((np.ones(len(pairs)), (pairs[:, 0], n_clusters + pairs[:, 1])), shape=shape)
    n_groups, groups = csgraph.connected_components(shared, directed=False)
    groups = groups[:n_clusters]
    if n_groups == n_clusters:
        return current, names, sizes
    new_names, new_sizes = np.empty(n_groups, dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
    for cluster, group in enumerate(groups):
        if new_sizes[group] == 0:
            new_names[group], new_sizes[group] = names[cluster], sizes[cluster]
            continue
        pair = sorted((int(new_names[group]), int(names[cluster])))
        new_sizes[group] += sizes[cluster]
        merges.append((*map(float, pair), height, float(new_sizes[group])))
        new_names[group] = n + len(merges) - 1
    return groups[current].astype(np.int32), new_names, new_sizes
