"""Slow, plain versions of neighbor graphs and of what is done with them, in float64: the oracle."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from tests.reference.k_means import square_distances

Array = npt.NDArray[np.float64]


def nearest_neighbors(X, n_neighbors, queries=None) -> tuple[npt.NDArray[np.intp], Array]:
    """By squared distance, then number; a row is not its own neighbor."""
    squares = square_distances(X if queries is None else queries, X)
    if queries is None:
        np.fill_diagonal(squares, np.inf)
    ids = np.argsort(squares, axis=1, kind="stable")[:, :n_neighbors]
    return ids, np.take_along_axis(squares, ids, axis=1)


def scores(row, points) -> Array:
    """Return |y|^2 - 2 x.y of each point y."""
    points, row = np.asarray(points, dtype=np.float64), np.asarray(row, dtype=np.float64)
    return (points**2).sum(axis=1) - 2 * points @ row


def visited_cells(rows, centers, border, tolerance=1e-4):
    """The cell of each row, and the cells whose border with it is nearer; apart, those that rounding decides."""
    squares = square_distances(rows, centers)
    gaps = np.sqrt(square_distances(centers, centers))
    own = squares.argmin(axis=1)
    cells = []
    for row, a in zip(squares, own):
        distances = {c: (row[c] - row[a]) / (2 * gaps[a, c]) for c in range(len(centers)) if c != a}
        unsure = {c for c, distance in distances.items() if abs(distance - border) < tolerance}
        cells.append(({c for c in distances if distances[c] < border} - unsure, unsure))
    return own, cells


def nearest_of(row, points, candidates, own, n_neighbors) -> tuple[list[int], list[float]]:
    """The nearest of some points, -1 for none, by squared distance, then number; `own` is not looked for."""
    squares = square_distances(np.atleast_2d(row), points)[0]
    found = sorted((squares[c], c) for c in candidates if c >= 0 and c != own)[:n_neighbors]
    return [int(c) for _, c in found], [float(square) for square, _ in found]


def knn_graph(X, n_neighbors, weight=lambda square: 1.0, symmetrize="max") -> Array:
    """The weights as a full matrix; NaN where there is no edge."""
    ids, squares = nearest_neighbors(X, n_neighbors)
    directed = np.full((len(ids), len(ids)), np.nan)
    for i, row in enumerate(ids):
        for j, square in zip(row, squares[i]):
            directed[i, j] = weight(square)
    if symmetrize == "none":
        return directed
    both = np.stack([directed, directed.T])
    some = ~np.isnan(both).all(axis=0)
    out = np.full(directed.shape, np.nan)
    filled = np.nan_to_num(both[:, some], nan=0.0)
    out[some] = filled.max(axis=0) if symmetrize == "max" else filled.mean(axis=0)
    return out


def bridges(X, labels) -> list[tuple[int, int]]:
    """Kruskal's tree of components: all pairs of rows by distance, then numbers, taken if they connect something."""
    squares = square_distances(X, X)
    labels = np.array(labels)
    chosen = []
    for _, i, j in sorted((squares[i, j], i, j) for i, j in itertools.combinations(range(len(X)), 2)):
        if labels[i] != labels[j]:
            labels[labels == labels[j]] = labels[i]
            chosen.append((i, j))
    return chosen


def shares_of_neighbors(graph):
    """Of each pair of vertices, the neighbors of both as a part of those of either (Jaccard's index)."""
    shares = np.zeros(graph.shape)
    neighbors = [set(np.flatnonzero(row)) for row in graph]
    for one, of_one in enumerate(neighbors):
        for other, of_other in enumerate(neighbors):
            if of_one | of_other:
                shares[one, other] = len(of_one & of_other) / len(of_one | of_other)
    return shares
