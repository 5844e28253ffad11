"""Clusters of a data set: the tree, the layers, and the rows or diffused rows that they are found in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from coterie.arrays import Array, FloatArray, IntArray
from coterie.blocks.dataset import check_vanishing
from coterie.density.diffusion import GRAPH_NEIGHBORS, Diffusion, diffuse
from coterie.density.hierarchy import Cut, LeafTree, merge_tree
from coterie.density.spanning_tree import ReachabilityTree, core_squares, reachability_tree
from coterie.graphs import Neighbors, nearest_neighbors
from coterie.graphs.equal_rows import EqualRows, equal_rows
from coterie.graphs.exact import relative_rows
from coterie.graphs.spanning import near_rows

# With space="auto" the rows themselves are used if this share of them is in clusters.
_LEAST_COVERAGE = 0.85

# Numbers that are held at a time while memberships are computed.
_MOST_HEIGHTS = 4_000_000

# Diffused rows need a graph.
_LEAST_ROWS = 3


@dataclass(frozen=True, slots=True)
class DensityOptions:
    """Options; see `coterie.DensityClustering`."""

    min_samples: int = 5
    min_cluster_size: Literal["persistent"] | int = "persistent"
    selection: Literal["eom", "leaf"] = "eom"
    n_neighbors: int = 15
    space: Literal["auto", "rows", "diffused"] = "auto"
    search: Literal["auto", "exact", "approximate"] = "auto"
    seed: int = 0
    n_threads: int = 1


@dataclass(frozen=True, slots=True)
class DensityResult:
    """Clusters of rows.

    Attributes
    ----------
    spanning : ReachabilityTree
        Of mutual reachability.
    leaves : LeafTree
        Its leaves at all minimum cluster sizes.
    cut : Cut
        The clusters.
    sizes : ndarray of shape (n_layers,), int32
        The minimum cluster sizes of the layers, ascending.
    persistences : ndarray of shape (n_layers,), float64
    size : int
        That of `cut`.
    diffusion : Diffusion or None
        Of the distinct rows; None where distances are those of the rows.
    """

    spanning: ReachabilityTree
    leaves: LeafTree
    cut: Cut
    sizes: IntArray
    persistences: FloatArray
    size: int
    diffusion: Diffusion | None

    def layer(self, size: int) -> Cut:
        """Return the leaves at a minimum cluster size."""
        return self.leaves.cut(self.leaves.leaves(size), size)


def density_clusters(rows: Array, options: DensityOptions) -> DensityResult:
    """Find clusters of high density.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Finite numbers.
    options : DensityOptions
        What to look for.

    Returns
    -------
    DensityResult

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.density.solver import DensityOptions, density_clusters
    >>> rows = np.append(np.arange(20.0), 100 + np.arange(20.0))[:, None]
    >>> np.bincount(density_clusters(rows, DensityOptions()).cut.labels)
    array([20, 20])
    """
    _, squares = relative_rows(rows, rows.mean(axis=0, dtype=np.float64), options.n_threads)
    check_vanishing(squares, rows.dtype, [rows])
    equal = equal_rows(rows)
    points = rows if len(equal.first) == len(rows) else np.ascontiguousarray(rows[equal.first])
    may_be_auto = options.space == "auto" and options.min_cluster_size == "persistent"
    may_diffuse = (options.space == "diffused" or may_be_auto) and len(points) >= _LEAST_ROWS
    least = GRAPH_NEIGHBORS if may_diffuse else 1
    found = near_rows(
        points, _n_neighbors(points, options, least), method=options.search, seed=options.seed,
        n_threads=options.n_threads,
    )  # fmt: skip
    if not may_diffuse or may_be_auto:
        result = _clusters(points, equal, found, options, None)
        if not may_diffuse or np.mean(result.cut.labels >= 0) >= _LEAST_COVERAGE:
            return result
    diffusion = diffuse(found)
    spread = diffusion.rows[equal.places]
    equal = equal_rows(spread)  # distinct rows may have the same coordinates
    points = np.ascontiguousarray(spread[equal.first])
    found = near_rows(
        points, _n_neighbors(points, options, 1), method=options.search, seed=options.seed,
        n_threads=options.n_threads, tree_columns=points.shape[1],
    )  # fmt: skip
    return _clusters(points, equal, found, options, diffusion)


def _n_neighbors(points: Array, options: DensityOptions, least: int) -> int:
    return min(max(options.n_neighbors, options.min_samples, least), len(points) - 1)


def _clusters(
    points: Array, equal: EqualRows, found: Neighbors, options: DensityOptions, diffusion: Diffusion | None
) -> DensityResult:
    spanning = reachability_tree(points, equal, found, options.min_samples, n_threads=options.n_threads)
    return clusters_of_tree(spanning, options, diffusion)


def clusters_of_tree(
    spanning: ReachabilityTree, options: DensityOptions, diffusion: Diffusion | None
) -> DensityResult:
    """Return the clusters of a spanning tree: all that follows it takes O(n log n) time."""
    tree = merge_tree(spanning.firsts, spanning.seconds, spanning.heights)
    leaves = LeafTree(tree, options.min_samples)
    if options.min_cluster_size == "persistent":
        sizes, persistences = leaves.layers()
        size = int(sizes[np.argmax(persistences)]) if len(sizes) else max(2, options.min_samples)
        cut = leaves.cut(leaves.leaves(size), size)
    else:
        size = int(options.min_cluster_size)
        condensed = tree.condensed(size)
        chosen = condensed.excess_of_mass() if options.selection == "eom" else condensed.leaves()
        sizes, persistences = np.zeros(0, dtype=np.int32), np.zeros(0)
        cut = leaves.cut(chosen, size)
    return DensityResult(spanning, leaves, cut, sizes, persistences, size, diffusion)


def attach(
    rows: Array, equal: EqualRows, core_distances: FloatArray, queries: Array, options: DensityOptions
) -> tuple[IntArray, FloatArray]:
    """Return where other rows join the tree of the rows of a fit.

    Parameters
    ----------
    rows : ndarray of shape (m, d)
        The distinct rows of the fit.
    equal : EqualRows
        How often each occurs.
    core_distances : ndarray of shape (m,), float64
        Theirs.
    queries : ndarray of shape (q, d), of the same dtype
        Other rows. Their core distances are those to the `min_samples`-th nearest row of the fit.
    options : DensityOptions
        Those of the fit.

    Returns
    -------
    ids : ndarray of shape (q,), int32
        The row j of the fit for which max(d(x, j), core distance of x, core distance of j) is least, of equal ones the
        first.
    heights : ndarray of shape (q,), float64
        These.
    """
    m, q = len(rows), len(queries)
    ids, heights = np.empty(q, dtype=np.int32), np.empty(q)
    waiting, k = np.arange(q), min(max(options.n_neighbors, options.min_samples), m)
    while len(waiting):
        near, squares = nearest_neighbors(
            rows, k, queries=queries[waiting], method=options.search, random_state=options.seed,
            n_threads=options.n_threads,
        )  # fmt: skip
        own = np.sqrt(core_squares(near, squares, equal.counts, 0, options.min_samples).astype(np.float64))
        distances = np.sqrt(squares.astype(np.float64))
        reached = np.maximum(np.maximum(distances, own[:, None]), core_distances[near])
        heights[waiting] = reached.min(axis=1)
        is_best = reached == heights[waiting, None]
        ids[waiting] = np.where(is_best, near, m).min(axis=1)
        # Rows beyond the list are as far as its last row at least.
        waiting = waiting[heights[waiting] >= distances[:, -1]] if k < m else waiting[:0]
        k = min(4 * k, m)
    return ids, heights


def memberships_of(
    leaves: LeafTree, cut: Cut, anchors: IntArray, joins: FloatArray, n_top: int
) -> tuple[IntArray, FloatArray]:
    """Return the clusters in which some rows have the largest memberships.

    A row joins cluster c at the height h_c of the tree, and c ends at e_c: the weight of c is exp(-h_c / e_c), that of
    noise exp(-1). A row of a cluster has h_c < e_c for it, and h_c >= e_c for all others, so that the largest weight is
    that of its label.

    Parameters
    ----------
    leaves : LeafTree
        All leaves.
    cut : Cut
        At least one cluster.
    anchors, joins : ndarray of shape (m,)
        Where rows join, as in `Cut`.
    n_top : int
        How many clusters for each row.

    Returns
    -------
    clusters : ndarray of shape (m, min(n_top, n_clusters)), int32
        Of the largest memberships, descending.
    memberships : ndarray of shape (m, min(n_top, n_clusters) + 1), float64
        Theirs, and last that of noise; rows sum to 1.
    """
    m, n = len(anchors), len(cut.ends)
    n_top = min(n_top, n)
    order, between = leaves.cluster_order(cut.nodes)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    noise = np.exp(-1.0)
    clusters, weights = np.empty((m, n_top), dtype=np.int32), np.full((m, n_top + 1), noise)
    by_anchor = np.argsort(anchors, kind="stable")
    firsts = np.searchsorted(anchors[by_anchor], np.arange(n + 1))
    for anchor in np.flatnonzero(np.diff(firsts)):
        at = place[anchor]
        heights = np.zeros(n)
        heights[order[at + 1 :]] = np.maximum.accumulate(between[at:])
        heights[order[:at]] = np.maximum.accumulate(between[:at][::-1])[::-1]
        some = by_anchor[firsts[anchor] : firsts[anchor + 1]]
        for part in np.array_split(some, -(-len(some) * n // _MOST_HEIGHTS)):
            ratios = np.maximum(joins[part, None], heights) / cut.ends
            # Rounding must make no ties with noise.
            own = np.where(ratios < 1, np.maximum(np.exp(-ratios), noise * (1 + 1e-12)), 0)
            found = np.where(ratios < 1, own, np.minimum(np.exp(-ratios), noise * (1 - 1e-12)))
            top = np.argsort(-found, axis=1, kind="stable")[:, :n_top]
            clusters[part], weights[part, :-1] = top, np.take_along_axis(found, top, axis=1)
    return clusters, weights / weights.sum(axis=1, keepdims=True)
