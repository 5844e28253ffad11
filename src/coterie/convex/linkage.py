"""The merges of a path: which clusters fuse at which gamma, and which split."""

from __future__ import annotations

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
    pairs = np.unique(finer.astype(np.int64) * (int(coarser.max()) + 1) + coarser)
    return len(pairs) - int(finer.max()) - 1


def longest_lived(gammas: FloatArray, n_clusters_path: IndexArray) -> int:
    """Return the number of clusters, from 2 to 10, that lasts for the longest factor of gamma; else the last."""
    counts = n_clusters_path[:-1]
    spans = np.diff(np.log(np.maximum(gammas, gammas[gammas > 0].min(initial=1.0))))
    lives = {int(count): spans[counts == count].sum() for count in counts if 2 <= count <= _MOST_CHOSEN}
    return max(lives, key=lambda count: (lives[count], count)) if lives else int(n_clusters_path[-1])


def linkage_of_path(gammas: FloatArray, labels_path: IntArray, edges: IntArray) -> FloatArray:
    """Return the merges of a path as a linkage matrix of SciPy, (n - 1, 4), from `labels_path` (m, n). Clusters that
    split again are not separated; clusters that never fuse are joined at 1.25 times the last gamma.
    """
    n = labels_path.shape[1]
    order = np.argsort(labels_path[0], kind="stable")
    firsts, seconds = (np.append(edges[:, side], order[slice(side, n - 1 + side)]) for side in (0, 1))
    fused_at = np.full(len(firsts), len(gammas))
    for number in range(len(gammas) - 1, -1, -1):
        fused_at[labels_path[number, firsts] == labels_path[number, seconds]] = number
    by_height = np.argsort(fused_at, kind="stable")
    last = float(gammas[-1])
    heights = np.append(gammas, _BEYOND_THE_END * last if last > 0 else 1.0)[fused_at[by_height]]
    firsts, seconds = (ends[by_height].astype(np.int32) for ends in (firsts, seconds))
    joined, linkage = np.empty(n - 1, dtype=np.int64), np.empty((n - 1, 4))
    _kernels.join_certified(
        firsts, seconds, heights, np.full(n, np.inf), np.arange(n, dtype=np.int32), joined
    )
    _kernels.linkage_of_edges(firsts[joined], seconds[joined], heights[joined], linkage)
    return linkage


def cut_between(
    finer: IntArray, coarser: IntArray, edges: IntArray, lengths: Array, n_clusters: int
) -> IntArray:
    """Return clusters between two steps of a path: edges fuse in the order of their lengths at the finer step."""
    inside = (coarser[edges[:, 0]] == coarser[edges[:, 1]]) & (finer[edges[:, 0]] != finer[edges[:, 1]])
    order = np.argsort(lengths[inside], kind="stable")
    firsts, seconds = (finer[edges[inside, side]][order].astype(np.int32) for side in (0, 1))
    n_finer = int(finer.max()) + 1
    groups, joined = np.arange(n_finer, dtype=np.int32), np.empty(max(n_finer - 1, 0), dtype=np.int64)
    n_joined = _kernels.join_certified(
        firsts, seconds, np.arange(float(len(firsts))), np.full(n_finer, np.inf), groups, joined
    )
    fused = joined[: min(n_joined, n_finer - n_clusters)]
    graph = sp.coo_array((np.ones(len(fused)), (firsts[fused], seconds[fused])), shape=(n_finer, n_finer))
    return numbered_by_first_rows(csgraph.connected_components(graph, directed=False)[1][finer])
