"""Clusters of a data set: the tree, the layers, and the rows or diffused rows that they are found in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy.special import digamma

from coterie.arrays import Array, FloatArray, IntArray
from coterie.blocks.dataset import check_vanishing
from coterie.density.diffusion import GRAPH_NEIGHBORS, Diffusion, diffuse
from coterie.density.hierarchy import Cut, LeafTree, Split, merge_tree
from coterie.density.repeated_values import fill_values, filled_rows, spread_rows
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
    min_cluster_size: Literal["auto"] | int = "auto"
    selection: Literal["eom", "leaf"] = "eom"
    n_neighbors: int = 15
    space: Literal["auto", "rows", "diffused"] = "auto"
    search: Literal["auto", "exact", "approximate"] = "auto"
    seed: int = 0
    n_threads: int = 1


@dataclass(frozen=True, slots=True)
class DensityResult:
    """Clusters of rows, the trees that they are cut from, and the layers."""

    spanning: ReachabilityTree  # of mutual reachability
    leaves: LeafTree  # its leaves at all minimum cluster sizes
    cut: Cut
    sizes: IntArray  # (n_layers,), int32: the minimum cluster sizes of the layers, ascending
    persistences: FloatArray  # (n_layers,), float64
    size: int  # that of `cut`
    split: Split  # what separates clusters with min_cluster_size="auto"
    diffusion: Diffusion | None = None  # of the distinct rows; None where distances are those of the rows
    moved: Array | None = None  # (n, d): the rows that distances are of, where columns have repeated values
    fills: dict[int, float] = field(default_factory=dict)  # by column, the value that is replaced

    def layer(self, size: int) -> Cut:
        """Return the leaves at a minimum cluster size."""
        return self.leaves.cut(self.leaves.leaves(size), size)


def density_clusters(rows: Array, options: DensityOptions) -> DensityResult:
    """Find clusters of high density; equal rows are in one cluster."""
    _, squares = relative_rows(rows, rows.mean(axis=0, dtype=np.float64), options.n_threads)
    check_vanishing(squares, rows.dtype, [rows])
    is_auto = options.min_cluster_size == "auto"
    equal, points, found = _graph(rows, options)
    same, moved, fills = None, None, {}
    if is_auto:
        cores = core_squares(
            found.ids, found.square_distances, equal.counts, equal.counts, options.min_samples
        )
        scale = max(float(np.sqrt(np.median(cores[equal.places]))), float(np.finfo(rows.dtype).tiny))
        fills = fill_values(rows, scale, 2 * options.min_samples)
        full = rows
        if fills:
            full = moved = filled_rows(points, rows, fills, options.search, options.seed, options.n_threads)
        spread = spread_rows(full, equal, scale, 2 * options.min_samples)
        moved = moved if spread is None else spread
    if moved is not None:
        same = equal.first[equal.places]
        equal, points, found = _graph(moved, options)
    may_be_auto = options.space == "auto" and is_auto
    may_diffuse = (options.space == "diffused" or may_be_auto) and len(points) >= _LEAST_ROWS
    dimension = intrinsic_dimension(found, points.shape[1]) if is_auto else 1.0
    result = None
    if not may_diffuse or may_be_auto:
        spanning = reachability_tree(points, equal, found, options.min_samples, n_threads=options.n_threads)
        result = clusters_of_tree(spanning, options, Split(dimension, max(1, 1.7 / dimension)), same)
        result = replace(result, moved=moved, fills=fills)
        if not may_diffuse or np.mean(result.cut.labels >= 0) >= _LEAST_COVERAGE:
            return result
    diffusion = diffuse(found)
    # Distinct rows may have the same coordinates.
    equal, points, found = _graph(
        diffusion.rows[equal.places], options, tree_columns=diffusion.coordinates.shape[1]
    )
    # Coordinates of one cluster of few dimensions are uneven.
    own = intrinsic_dimension(found, points.shape[1]) if is_auto else 1.0
    spanning = reachability_tree(points, equal, found, options.min_samples, n_threads=options.n_threads)
    diffused = clusters_of_tree(spanning, options, Split(own, 0.5 + 3 / dimension), same)
    diffused = replace(diffused, diffusion=diffusion, moved=moved, fills=fills)
    return diffused if result is None or len(diffused.cut.ends) else result


def _graph(rows: Array, options: DensityOptions, **more: int) -> tuple[EqualRows, Array, Neighbors]:
    """Return which rows are equal, the distinct rows and their neighbors."""
    equal = equal_rows(rows)
    points = rows if len(equal.first) == len(rows) else np.ascontiguousarray(rows[equal.first])
    needs_graph = options.min_cluster_size == "auto" or options.space == "diffused"
    k = max(options.n_neighbors, options.min_samples, GRAPH_NEIGHBORS if needs_graph else 1)
    found = near_rows(
        points, min(k, len(points) - 1), method=options.search, seed=options.seed,
        n_threads=options.n_threads, **more,
    )  # fmt: skip
    return equal, points, found


def intrinsic_dimension(found: Neighbors, most: int) -> float:
    """Return the dimension by the growth of neighbor distances: r_15 / r_5 is (15 / 5)^(1 / dimension) on average."""
    k = min(GRAPH_NEIGHBORS, found.ids.shape[1])
    if k < 2:
        return 1.0
    near, far = (found.square_distances[:, at - 1].astype(np.float64) for at in (-(-k // 3), k))
    growth = np.mean(np.log(far / near)) / 2
    expected = digamma(k) - digamma(-(-k // 3))
    return float(expected / growth) if growth * most > expected else float(most)


def clusters_of_tree(
    spanning: ReachabilityTree, options: DensityOptions, split: Split, same: IntArray | None
) -> DensityResult:
    """Return the clusters of a spanning tree, in O(n log n) time; with `same` rows have the labels of these rows."""
    tree = merge_tree(spanning.firsts, spanning.seconds, spanning.heights)
    leaves = LeafTree(tree, options.min_samples, same)
    sizes, persistences = np.zeros(0, dtype=np.int32), np.zeros(0)
    if options.min_cluster_size == "auto":
        size = 2 * options.min_samples
        sizes, persistences = leaves.layers()
        chosen = tree.separated(spanning.core_distances, split, size).excess_of_mass()
    else:
        size = int(options.min_cluster_size)
        condensed = tree.condensed(size)
        chosen = condensed.excess_of_mass() if options.selection == "eom" else condensed.leaves()
    return DensityResult(spanning, leaves, leaves.cut(chosen, size), sizes, persistences, size, split)


def attach(
    rows: Array, equal: EqualRows, core_distances: FloatArray, queries: Array, options: DensityOptions
) -> tuple[IntArray, FloatArray]:
    """Return the row j of least height max(d(x, j), core distances of x and j) for each other row x, and the height."""
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
    """Return the `n_top` clusters of largest membership, descending, and these memberships with noise last. A row that
    joins c at height h_c weighs exp(-h_c / e_c), e_c the end of c, noise exp(-1); only its own cluster has h_c < e_c.
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
