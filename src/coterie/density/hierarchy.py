"""The tree of merges, its leaves over all minimum cluster sizes, and the clusters that are cut from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import BoolArray, FloatArray, IndexArray, IntArray

# Layers whose clusters are more alike than this (Jaccard similarity) are one.
_MOST_ALIKE = 0.2

# Density of a merge at height 0; more would overflow where rows are counted.
_LEAST_HEIGHT = 1e-290


@dataclass(frozen=True, slots=True)
class MergeTree:
    """The single-linkage tree: rows, then merges by ascending height; equal merges that touch are one node."""

    n_rows: int  # rows are nodes 0 to n_rows - 1; merges follow by ascending height, the root is last
    parents: IntArray  # (n_nodes,), int32: the merge that each node is a side of; the root is its own
    sizes: IntArray  # (n_nodes,), int32: rows below
    second_largest: IntArray  # (n_nodes,), int32: rows of the second largest side; 0 for rows
    heights: FloatArray  # (n_nodes,), float64: 0 for rows

    def largest_below(self, values: IntArray) -> IntArray:
        """Return the largest value of each node and all nodes below it."""
        largest = values.tolist()
        for node, parent in enumerate(self.parents.tolist()):  # sides have lower numbers than merges
            if largest[node] > largest[parent]:
                largest[parent] = largest[node]
        return np.array(largest, dtype=np.int32)

    def nearest_marked(self, is_marked: BoolArray) -> IntArray:
        """Return the nearest marked node of each node and those above it; -1 where there is none."""
        found = np.where(is_marked, np.arange(len(self.parents)), self.parents)
        while not np.array_equal(found, above := found[found]):  # twice as many steps each time
            found = above
        return np.where(is_marked[found], found, -1).astype(np.int32)

    def ends(self) -> FloatArray:
        """Return the height of the merge that each node is a side of."""
        return self.heights[self.parents]

    def condensed(self, least: int) -> CondensedTree:
        """Return the clusters of a minimum size."""
        is_large = self.sizes >= least
        n_large = np.bincount(self.parents[:-1], is_large[:-1], len(self.parents))
        is_top = is_large & (n_large[self.parents] >= 2)
        is_top[-1] = True
        return CondensedTree(self, is_large, is_top, self.nearest_marked(is_top))

    def separated(self, core_distances: FloatArray, split: Split, least: int) -> CondensedTree:
        """Return the clusters that are denser than where they merge: both sides of each split have the contrast, the
        mean of log(density of a row / density at its end). Log densities are -dimension log(core distance) or
        log(height); rows of core distance 0 are as dense as their lowest merge with others.
        """
        tiny = np.finfo(np.float64).tiny
        above_0 = self.nearest_marked(self.heights > 0)[: self.n_rows]
        cores = np.where(core_distances > 0, core_distances, self.heights[above_0])
        totals = [*np.log(np.maximum(cores, tiny)).tolist(), *[0.0] * (len(self.parents) - self.n_rows)]
        for node, parent in enumerate(self.parents[:-1].tolist()):
            totals[parent] += totals[node]
        ends = np.log(np.maximum(self.ends(), tiny))
        contrasts = split.dimension * (ends - np.array(totals) / self.sizes)
        is_large = self.sizes >= least
        is_dense = is_large & (contrasts >= split.least_contrast + 1 / np.sqrt(self.sizes))
        n_dense = np.bincount(self.parents[:-1], is_dense[:-1], len(self.parents))
        is_top = is_dense & (n_dense[self.parents] >= 2)
        is_top[-1] = True
        return CondensedTree(self, is_large, is_top, self.nearest_marked(is_top))


@dataclass(frozen=True, slots=True)
class Split:
    """What makes a merge of two sides the split of a cluster: the contrast of their densities to that of the merge."""

    dimension: float
    least_contrast: float


def merge_tree(firsts: IntArray, seconds: IntArray, heights: FloatArray) -> MergeTree:
    """Return the tree of the merges along the edges of a spanning tree, ascending by height."""
    n, linkage = len(heights) + 1, np.empty((len(heights), 4))
    _kernels.linkage_of_edges(firsts, seconds, heights, linkage)
    numbers, levels = np.arange(2 * n - 1, dtype=np.int32), np.append(np.zeros(n), heights)
    above, sizes = numbers.copy(), np.append(np.ones(n), linkage[:, 3]).astype(np.int32)
    above[linkage[:, :2].astype(np.int64).T] = numbers[n:]
    # Merges of the height of the next one are parts of it.
    is_node = (numbers < n) | (levels < levels[above]) | (above == numbers)
    tops = MergeTree(n, above, sizes, sizes, levels).nearest_marked(is_node)
    parents = (np.cumsum(is_node, dtype=np.int32) - 1)[tops[above[is_node]]]
    sizes, heights = sizes[is_node], levels[is_node]
    by_size = np.lexsort((sizes[:-1], parents[:-1]))
    second_largest = np.zeros_like(sizes)
    lasts = np.searchsorted(parents[by_size], np.arange(n, len(sizes)), side="right") - 1
    second_largest[n:] = sizes[by_size[lasts - 1]]
    return MergeTree(n, parents, sizes, second_largest, heights)


@dataclass(frozen=True, slots=True)
class CondensedTree:
    """Clusters of a least size; a node is the top of one if its merge joins two or more (Campello 2015)."""

    tree: MergeTree
    is_large: BoolArray  # (n_nodes,): nodes of at least the minimum size
    is_top: BoolArray  # (n_nodes,): tops of clusters, including the root
    clusters: IntArray  # (n_nodes,), int32: the top of the cluster that each node is in

    def records(self) -> Any:
        """Return the tree as a record array: parent, child, lambda_val, child_size, as `hdbscan` has it."""
        tree, n = self.tree, self.tree.n_rows
        tops = np.flatnonzero(self.is_top)[::-1]
        numbers = np.arange(len(tree.parents))
        numbers[tops] = n + np.arange(len(tops))
        inner = tops[1:]
        # A row leaves its cluster at its lowest large merge, a cluster at the merge that joins it with others.
        at = np.concatenate([tree.nearest_marked(self.is_large)[:n], tree.parents[inner]])
        children = numbers[np.concatenate([np.arange(n), inner])]
        parents = numbers[self.clusters[at]]
        sizes = tree.sizes[np.concatenate([np.arange(n), inner])].astype(np.int64)
        with np.errstate(divide="ignore"):
            densities = 1 / tree.heights[at]
        order = np.lexsort((children, densities, parents))
        fields = [
            ("parent", np.int64),
            ("child", np.int64),
            ("lambda_val", np.float64),
            ("child_size", np.int64),
        ]
        return np.rec.fromarrays(
            [part[order] for part in (parents, children, densities, sizes)], dtype=fields
        )

    def leaves(self) -> BoolArray:
        """Return which nodes are tops of clusters without clusters below; never the root."""
        has_clusters = np.zeros(len(self.is_top), dtype=bool)
        has_clusters[self.clusters[self.tree.parents[:-1]][self.is_top[:-1]]] = True
        is_leaf = self.is_top & ~has_clusters
        is_leaf[-1] = False
        return is_leaf

    def excess_of_mass(self) -> BoolArray:
        """Return which tops make the partition of the largest stability (Campello et al. 2015); never the root."""
        tree = self.tree
        density = 1 / np.maximum(tree.heights, _LEAST_HEIGHT)
        # What leaves a cluster at each merge: small sides, and all clusters that it splits into.
        leaves = ~self.is_large | self.is_top
        leaves[-1] = False
        nodes = np.flatnonzero(leaves & (self.is_large[tree.parents]))
        gone = tree.parents[nodes]
        stability = np.zeros(len(leaves))
        np.add.at(stability, self.clusters[gone], tree.sizes[nodes] * density[gone])
        tops = np.flatnonzero(self.is_top[:-1])
        stability[tops] -= tree.sizes[tops] * density[tree.parents[tops]]
        of_parts = np.zeros(len(leaves))
        is_chosen = np.zeros(len(leaves), dtype=bool)
        for top in tops:  # those below come first
            is_chosen[top] = stability[top] >= of_parts[top]
            of_parts[self.clusters[tree.parents[top]]] += max(stability[top], of_parts[top])
        is_below = tree.nearest_marked(is_chosen)[tree.parents] >= 0
        return is_chosen & ~is_below


@dataclass(frozen=True, slots=True)
class Cut:
    """Clusters that are cut from a tree, and where rows join them."""

    anchors: IntArray  # (n_rows,): cluster, of noise the one it joins at the least height; -1 without
    joins: FloatArray  # (n_rows,): height at which the row joins its anchor
    ends: FloatArray  # (n_clusters,): rows that join at less than this height are in the cluster
    begins: FloatArray  # (n_clusters,), float64: the least height at which a row joins it
    nodes: IndexArray  # (n_clusters,), int64: the clusters in the tree

    @property
    def labels(self) -> IntArray:
        return self.labels_of(self.anchors, self.joins)

    def labels_of(self, anchors: IntArray, joins: FloatArray) -> IntArray:
        """Return the clusters of rows that join anchors at given heights; -1 for noise."""
        if not len(self.ends):
            return np.full(len(anchors), -1, dtype=np.int32)
        return np.where(joins < self.ends[anchors], anchors, np.int32(-1)).astype(np.int32)

    def probabilities_of(self, anchors: IntArray, joins: FloatArray) -> FloatArray:
        """Return how deep in their clusters rows are: 1 where these are densest, 0 for noise."""
        labels = self.labels_of(anchors, joins)
        if not len(self.ends):
            return np.zeros(len(labels))
        ends, begins = self.ends[anchors], self.begins[anchors]
        shares = (ends - joins) / np.where(ends > begins, ends - begins, 1)
        return np.where(labels < 0, 0.0, np.where(ends > begins, np.clip(shares, 0, 1), 1.0))


class LeafTree:
    """The leaves of a tree at every minimum cluster size s (Bot et al. 2025): nodes with `births < s <= deaths`;
    `same` (n,) gives each row the place of another one. The persistence at s is the sum of |C| log(death / birth)
    (1 - least height / end) over the leaves C at s.
    """

    def __init__(self, tree: MergeTree, min_samples: int, same: IntArray | None = None) -> None:
        self.tree = tree
        self.same = np.arange(tree.n_rows, dtype=np.int32) if same is None else same
        least = min(max(1, min_samples - 1), tree.n_rows)
        births = tree.largest_below(np.maximum(tree.second_largest, least))
        # A side is a leaf until the second largest side of its merge is no cluster.
        deaths = np.minimum(tree.sizes, tree.second_largest[tree.parents])
        deaths[-1] = 0
        self.births, self.deaths = births, deaths
        self.least_sizes, self.persistences = self._persistences()

    def _persistences(self) -> tuple[IntArray, FloatArray]:
        # Merges have ascending numbers: the lowest one below a node has the least height.
        tree, n_nodes, numbers = self.tree, len(self.births), np.arange(len(self.births))
        lowest = n_nodes - tree.largest_below(np.where(numbers >= tree.n_rows, n_nodes - numbers, 0))
        nodes = np.flatnonzero(self.deaths > self.births)
        births, deaths = self.births[nodes].astype(np.int64), self.deaths[nodes].astype(np.int64)
        lengths = 1 - tree.heights[lowest[nodes]] / tree.ends()[nodes]
        weights = tree.sizes[nodes] * np.log(self.deaths[nodes] / self.births[nodes]) * lengths
        at, changes = np.concatenate([births, deaths]), np.concatenate([weights, -weights])
        order = np.lexsort((changes, at))  # sums that no order of rows changes
        sizes, places = np.unique(at[order], return_inverse=True)
        sums: Any = np.cumsum(np.bincount(places, changes[order], len(sizes)))
        kept = np.cumsum(np.bincount(places, np.repeat([1, -1], len(births))[order], len(sizes))) > 0
        return np.asarray(sizes[kept] + 1, dtype=np.int32), sums[kept]

    def leaves(self, size: int) -> BoolArray:
        """Return which nodes are leaves at a minimum cluster size."""
        return (self.births < size) & (size <= self.deaths)

    def n_leaves(self) -> IndexArray:
        """Return how many leaves there are at each of the least sizes."""
        is_leaf = self.deaths > self.births
        births, deaths = np.sort(self.births[is_leaf]), np.sort(self.deaths[is_leaf])
        sizes = self.least_sizes
        return np.searchsorted(births, sizes, side="left") - np.searchsorted(deaths, sizes, side="left")

    def layers(self) -> tuple[IntArray, FloatArray]:
        """Return the minimum cluster sizes of the layers, ascending, and their persistences. Layers are maxima, the
        most persistent first, each kept if unlike all that are kept, and the finest.
        """
        values = self.persistences
        padded = np.concatenate([[-np.inf], values, [-np.inf]])
        maxima = np.flatnonzero((values >= padded[:-2]) & (values >= padded[2:]))
        kept: list[int] = []
        for one in maxima[np.argsort(-values[maxima], kind="stable")]:
            if all(self._similarity(int(one), other) <= _MOST_ALIKE for other in kept):
                kept.append(int(one))
        chosen = sorted({*kept, *maxima[:1].tolist()})
        return self.least_sizes[chosen], values[chosen]

    def _similarity(self, one: int, other: int) -> float:
        """Return the mean of the best Jaccard similarities of the clusters of two layers, of both directions."""
        fine, coarse = (np.flatnonzero(self.leaves(self.least_sizes[size])) for size in sorted((one, other)))
        sizes = self.tree.sizes
        # Leaves are in one leaf of a larger minimum size, or in none.
        mark = np.zeros(len(sizes), dtype=bool)
        mark[coarse] = True
        above = self.tree.nearest_marked(mark)[fine]
        shares = np.where(above >= 0, sizes[fine] / sizes[above], 0)
        best = np.zeros(len(sizes))
        np.maximum.at(best, above[above >= 0], shares[above >= 0])
        return float((shares.mean() + best[coarse].mean()) / 2)

    def cut(self, is_cluster: BoolArray, size: int) -> Cut:
        """Return the clusters of separate nodes; rows join at the lowest merge of at least `size` rows."""
        tree, n = self.tree, self.tree.n_rows
        own = tree.nearest_marked(is_cluster)[self.same]
        found, first = np.unique(own[own >= 0], return_index=True)
        nodes = found.astype(np.intp)[np.argsort(np.flatnonzero(own >= 0)[first])]
        numbers = np.full(len(tree.parents), -1, dtype=np.int32)
        numbers[nodes] = np.arange(len(nodes), dtype=np.int32)
        inside = np.where(own >= 0, numbers[own], np.int32(-1))
        # The cluster of the lowest number below each node, and the lowest node with any.
        below = tree.largest_below(np.where(numbers >= 0, len(nodes) - numbers, 0))
        nearest = tree.nearest_marked(below > 0)[self.same]
        lowest = tree.nearest_marked(tree.sizes >= size)[self.same]
        if not len(nodes):
            return Cut(inside, np.zeros(n), np.zeros(0), np.zeros(0), nodes)
        anchors = np.where(inside >= 0, inside, len(nodes) - below[nearest]).astype(np.int32)
        joins = tree.heights[np.where(inside >= 0, lowest, nearest)]
        begins = np.full(len(nodes), np.inf)
        np.minimum.at(begins, inside[inside >= 0], joins[inside >= 0])
        return Cut(anchors, joins, tree.ends()[nodes], begins, nodes)

    def cluster_order(self, nodes: IndexArray) -> tuple[IndexArray, FloatArray]:
        """Return an order of clusters and the heights between them: two join at the greatest height between them."""
        tree, n = self.tree, len(nodes)
        numbers = np.zeros(len(tree.parents), dtype=np.int32)
        numbers[nodes] = n - np.arange(n)
        first = n - tree.largest_below(numbers)  # the first cluster below each node; n without any
        has = np.flatnonzero(first[:-1] < n)
        sides = has[
            first[has] != first[tree.parents[has]]
        ]  # all sides of a merge but that of the first cluster
        sides = sides[np.argsort(tree.parents[sides], kind="stable")]
        following, last = np.full(n, -1), np.arange(n)
        gaps = np.zeros(n)
        for side in sides:
            one, other = int(first[tree.parents[side]]), int(first[side])
            following[last[one]], gaps[last[one]] = other, tree.heights[tree.parents[side]]
            last[one] = last[other]
        order = np.zeros(n, dtype=np.int64)
        for place in range(1, n):
            order[place] = following[order[place - 1]]
        return order, gaps[order[:-1]]
