"""Slow, plain versions of density-based clustering, in float64, by sets of rows: the oracle."""

from __future__ import annotations

from math import log

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform

from tests.reference.k_means import square_distances


def mutual_reachability(X, min_samples):
    """Return the matrix of max(core distances, distance), and the core distances; a row counts itself."""
    distances = np.sqrt(square_distances(np.asarray(X, dtype=np.float64), np.asarray(X, dtype=np.float64)))
    cores = np.sort(distances, axis=1)[:, min(min_samples, len(X)) - 1]
    reach = np.maximum(np.maximum(cores[:, None], cores), distances)
    np.fill_diagonal(reach, 0)
    return reach, cores


def spanning_tree_weights(reach):
    """Return the weights of a minimum spanning tree, ascending: the heights of single linkage."""
    return linkage(squareform(reach, checks=False), "single")[:, 2] if len(reach) > 1 else np.zeros(0)


def parts_below(reach, rows, height):
    """Return the sets of rows that edges lighter than a height connect."""
    rows = np.array(sorted(rows))
    labels = connected_components(reach[np.ix_(rows, rows)] < height)[1]
    return [frozenset(rows[labels == label].tolist()) for label in range(labels.max() + 1)]


def merge_height(reach, rows):
    """Return the least height at which rows are connected."""
    own = reach[np.ix_(sorted(rows), sorted(rows))]
    return spanning_tree_weights(own)[-1] if len(rows) > 1 else 0.0


def clusters_below(reach, rows, size):
    """Return the clusters of at least `size` rows into which a cluster splits at its highest split, and its height."""
    rows = frozenset(rows)
    while len(rows) > 1:
        height = merge_height(reach, rows)
        large = [part for part in parts_below(reach, rows, height) if len(part) >= size]
        if len(large) != 1:
            return large, height
        rows = large[0]
    return [], 0.0


def dense_sides(reach, cores, size, dimension, least_contrast):
    """Return the sides of all merges of at least two sides that are denser than the merge."""
    waiting, found = [frozenset(range(len(reach)))], []
    while waiting:
        rows = waiting.pop()
        if len(rows) == 1:
            continue
        height = merge_height(reach, rows)
        parts = parts_below(reach, rows, height)
        waiting += parts
        dense = []
        for part in parts:
            others = np.ma.masked_less_equal(reach[sorted(part)], 0).min(axis=1).filled(1)
            own = np.where(cores[sorted(part)] > 0, cores[sorted(part)], others)
            contrast = dimension * np.mean(np.log(height / own)) if height > 0 else 0
            if len(part) >= size and contrast >= least_contrast + len(part) ** -0.5:
                dense.append(part)
        found += dense if len(dense) > 1 else []
    return found


def leaves(reach, size):
    """Return the leaves of the tree at a minimum cluster size, each with the height at which it is merged."""
    found, waiting = {}, [(frozenset(range(len(reach))), np.inf)]
    while waiting:
        rows, end = waiting.pop()
        parts, height = clusters_below(reach, rows, size)
        waiting += [(part, height) for part in parts]
        if not parts and np.isfinite(end):
            found[rows] = end
    return found


def persistences(reach, min_samples):
    """Return the persistence of the leaves at each minimum cluster size from `min_samples` (2 at least) to n."""
    sizes = range(max(2, min_samples), len(reach) + 1)
    alive = {size: leaves(reach, size) for size in sizes}
    total = {}
    for size in sizes:
        total[size] = 0.0
        for rows, end in alive[size].items():
            lived = [other for other in sizes if rows in alive[other]]
            least = reach[np.ix_(sorted(rows), sorted(rows))][np.triu_indices(len(rows), 1)].min()
            total[size] += len(rows) * log(max(lived) / (min(lived) - 1)) * (1 - least / end)
    return total


def excess_of_mass(reach, size):
    """Return the clusters of the largest stability, the whole not among them."""

    def best(rows, end):
        stability, inside = 0.0, rows
        parts, height = clusters_below(reach, rows, size)
        while len(inside) > 1 and len(inside) >= size:
            top = merge_height(reach, inside)
            large = [part for part in parts_below(reach, inside, top) if len(part) >= size]
            gone = len(inside) if len(large) != 1 else len(inside) - len(large[0])
            stability += gone * (1 / max(top, 1e-290) - 1 / end)
            if len(large) != 1:
                break
            inside = large[0]
        below = [best(part, height) for part in parts]
        sum_below = sum(value for value, _ in below)
        if stability >= sum_below:
            return stability, [rows]
        return sum_below, [cluster for _, clusters in below for cluster in clusters]

    parts, height = clusters_below(reach, range(len(reach)), size)
    return [cluster for part in parts for cluster in best(part, height)[1]]


def joins(reach, cores, distances, own_cores):
    """Return the row that each other row joins, and the height, by its distances to all rows."""
    heights = np.maximum(np.maximum(distances, own_cores[:, None]), cores)
    return heights.argmin(axis=1), heights.min(axis=1)
