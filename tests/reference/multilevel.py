"""Slow, plain versions of the objectives of partitions, of moves of nodes and of merges: the oracle."""

from __future__ import annotations

import numpy as np


def objective(kind: str, W, labels, resolution=1.0) -> float:
    """Of a partition of a graph with the dense adjacency W, whose diagonal is the weight inside of a node."""
    volume = W.sum()
    names = np.unique(labels)
    e = np.array([W[np.ix_(labels == r, labels == r)].sum() for r in names]) / volume
    p = np.array([W[labels == r].sum() for r in names]) / volume
    if kind == "modularity":
        return float(np.sum(e - resolution * p**2))
    e, p = e[p > 0], p[p > 0]
    if kind == "normalized_association":
        return float(np.sum(e / p))
    between, chance = 1 - e.sum(), 1 - np.sum(p**2)
    parts = [(share, square) for share, square in zip(e, p**2) if share > 0]
    if between > 1e-12 and chance > 1e-12:
        parts.append((between, chance))
    return float(sum(share * np.log(share / expected) for share, expected in parts))


def refined(kind: str, W, labels, resolution=1.0, may_empty=False):
    """Move nodes in their order to the adjacent cluster of the highest objective, until none moves."""
    labels = labels.copy()
    waits, of_all = np.ones(len(W), dtype=bool), True
    while True:
        n_moves = 0
        for i in range(len(W)):
            if not waits[i]:
                continue
            waits[i] = False
            if np.sum(labels == labels[i]) == 1 and not may_empty:
                continue
            others = np.flatnonzero((W[i] > 0) & (np.arange(len(W)) != i))
            now = objective(kind, W, labels, resolution)
            rises = {}
            for r in np.unique(labels[others]):
                moved = labels.copy()
                moved[i] = r
                rises[r] = objective(kind, W, moved, resolution) - now
            best = max(rises, key=rises.get, default=None)
            if best is not None and rises[best] > 1e-10:
                labels[i] = best
                waits[others] = True
                n_moves += 1
        if n_moves == 0 and of_all:
            return labels
        of_all = n_moves == 0
        if of_all:
            waits[:] = True


def merged(kind: str, W, n_clusters, resolution=1.0):
    """Merge nodes, always two adjacent clusters, else the two of least volume, until so many clusters are left.

    The pair with the best rise as computed last is computed anew, and merged unless another one is better then.
    """
    labels = np.arange(len(W))

    def rise(a, b):
        return objective(kind, W, np.where(labels == b, a, labels), resolution) - objective(
            kind, W, labels, resolution
        )

    def are_adjacent(a, b):
        return bool(np.any(W[np.ix_(labels == a, labels == b)] > 0))

    rises = {(a, b): rise(a, b) for a in labels for b in labels if a < b and are_adjacent(a, b)}
    while len(np.unique(labels)) > n_clusters:
        if rises:
            best = max(rises, key=lambda pair: (rises[pair], -pair[0], -pair[1]))
            rises[best] = rise(*best)
            if best != max(rises, key=lambda pair: (rises[pair], -pair[0], -pair[1])):
                continue
            a, b = best
        else:
            names = np.unique(labels)
            volumes = [W[labels == r].sum() for r in names]
            a, b = np.sort(names[np.argsort(volumes, kind="stable")[:2]])
        labels[labels == b] = a
        rises = {pair: value for pair, value in rises.items() if not {a, b} & set(pair)}
        for c in np.unique(labels):
            if c != a and are_adjacent(a, c):
                rises[min(a, c), max(a, c)] = rise(min(a, c), max(a, c))
    return np.unique(labels, return_inverse=True)[1]
