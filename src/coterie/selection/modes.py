"""Modes of the density of points, and their prominence.

A mode is a point that is denser than its neighbors. Its prominence is the difference of its log density and that of the
highest saddle on a path in the neighbor graph to a denser mode (Chazal et al. 2013).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from coterie.arrays import FloatArray, IndexArray, IntArray
from coterie.graphs import nearest_neighbors

# Quantile of the squared distances below which they count as equal: repeated rows would have infinite density.
_EQUAL_ROWS = 0.02

# Smallest cluster of a mode, in multiples of the number of neighbors: smaller ones are dense by chance.
_LEAST_SIZE = 1.5

# The dimension is taken from the quarter of the points where it is lowest, averaged over neighbors.
_THIN_PARTS = 0.75

# Bisection for a box with the same local dimension; from four dimensions on boxes behave alike.
_BISECTIONS = 6
_THINNEST = 1e-4
_MANY_DIMENSIONS = 4

# Prominence of a mode without a path to a denser one.
_APART = np.inf


@dataclass(frozen=True)
class Modes:
    """The modes of the density of points.

    `prominences` descend; infinite are those of the densest mode and of modes without a path to a denser one. `ranks`
    are those of the points by density, the densest first, and `parents` their densest neighbors, a point itself if none
    is denser. `falls` has for each mode but the first its prominence and the mode that it merges into, -1 for none.
    `dimension` is the local dimension, by the distances to neighbors, where it is lowest.
    """

    prominences: FloatArray
    ranks: IndexArray
    parents: IndexArray
    falls: dict[int, tuple[float, int]]
    dimension: float

    @property
    def second(self) -> float:
        """The prominence of the second mode; 0 if there is one only."""
        return float(self.prominences[1]) if len(self.prominences) > 1 else 0.0

    def count(self, threshold: float) -> int:
        """Return the number of modes more prominent than a threshold, at least 1."""
        return max(1, int(np.sum(self.prominences > threshold)))

    def labels(self, threshold: float) -> IntArray:
        """Return the cluster of each point: modes more prominent than a threshold, numbered from 0."""
        tops = self.parents.copy()
        for point in np.argsort(self.ranks):
            tops[point] = tops[tops[point]]
        for mode in sorted(self.falls, key=lambda mode: self.ranks[mode]):
            prominence, into = self.falls[mode]
            if prominence <= threshold and into >= 0:
                tops[tops == mode] = tops[into]
        return np.unique(tops, return_inverse=True)[1].astype(np.int32)


def find_modes(points: FloatArray, n_threads: int, n_neighbors: int) -> Modes:
    """Find the modes of the density of points and their prominence.

    Modes of fewer than 1.5 times as many points as neighbors do not count.

    Notes
    -----
    The logarithm of the density is that of the mean squared distance to the neighbors (the distance to a measure),
    times the dimension estimated from these distances (Levina and Bickel 2004): its noise is about
    ``sqrt(1 / n_neighbors)`` in any dimension.

    References
    ----------
    Chazal, Guibas, Oudot and Skraba, Persistence-based clustering in Riemannian manifolds, J. ACM 60, 2013. Biau et
    al., A weighted k-nearest neighbor density estimate for geometric inference, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.selection.modes import find_modes
    >>> line = np.concatenate([np.linspace(0, 1, 50) ** 2, 5 - np.linspace(0, 1, 50) ** 2])[:, None]
    >>> find_modes(line, 1, 6).count(1.0)
    2
    """
    n = len(points)
    n_neighbors = min(n_neighbors, n - 1)
    ids, squares = nearest_neighbors(points, n_neighbors, method="exact", n_threads=n_threads)
    density, dimension = _log_density(ids, squares)
    order = np.argsort(-density, kind="stable")
    ranks = np.empty(n, dtype=np.int64)
    ranks[order] = np.arange(n)
    least = _LEAST_SIZE * n_neighbors
    starts = np.arange(0, n * n_neighbors + 1, n_neighbors)
    directed = sp.csr_array((np.ones(ids.size, dtype=np.int8), ids.ravel(), starts), shape=(n, n))
    falls, parents = _merged((directed + directed.T).tocsr(), density, order, ranks, least)
    prominences = np.sort([prominence for prominence, _ in falls.values()])[::-1]
    return Modes(prominences, ranks, parents, falls, dimension)


def local_sides(
    dimension: float, n_points: int, n_neighbors: int, random: np.random.RandomState, n_threads: int
) -> FloatArray:
    """Return the sides of a box whose uniform points have a given local dimension, such as a band between 1 and 2.

    The fewer dimensions, the rougher is the estimated density: fewer paths lead around an empty place.
    """
    whole = max(1, int(dimension))
    sides = np.ones(whole)
    if dimension <= 1 or dimension >= _MANY_DIMENSIONS:
        return sides
    drawn = random.uniform(0, 1, (n_points, whole + 1))
    low, high = np.log(_THINNEST), 0.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        scaled = drawn * np.append(sides, np.exp(middle))
        _, found = _log_density(*nearest_neighbors(scaled, n_neighbors, method="exact", n_threads=n_threads))
        low, high = (low, middle) if found > dimension else (middle, high)
    return np.append(sides, np.exp((low + high) / 2))


def _log_density(ids: IntArray, squares: FloatArray) -> tuple[FloatArray, float]:
    """Return the log density of each point up to a constant, and the local dimension where it is lowest."""
    positive = squares[squares > 0]
    least = np.quantile(positive, _EQUAL_ROWS) * 1e-2 if len(positive) else 1.0
    squares = np.maximum(squares, least)
    ratios = np.log(squares[:, -1:] / squares[:, :-1]).mean(axis=1) / 2
    thin = np.quantile((ratios + ratios[ids].sum(axis=1)) / (1 + ids.shape[1]), _THIN_PARTS)
    dimension = 1 / max(float(ratios.mean()), 1e-3)
    return -dimension / 2 * np.log(squares.mean(axis=1)), 1 / max(float(thin), 1e-3)


def _merged(
    graph: sp.csr_array, density: FloatArray, order: IndexArray, ranks: IndexArray, least: float
) -> tuple[dict[int, tuple[float, int]], IndexArray]:
    """Add points in order of density with a union-find; where one joins clusters, the lower modes end.

    Modes of fewer than `least` points have no prominence. Returns `falls` and `parents` of `Modes`.
    """
    tops, parents = list(range(len(order))), np.arange(len(order))
    sizes = np.ones(len(order), dtype=np.int64)
    falls: dict[int, tuple[float, int]] = {}

    def top_of(point: int) -> int:
        while tops[point] != point:
            tops[point] = tops[tops[point]]
            point = tops[point]
        return point

    for point in order.tolist():
        neighbors = graph.indices[graph.indptr[point] : graph.indptr[point + 1]]
        denser = neighbors[ranks[neighbors] < ranks[point]]
        if not len(denser):
            continue
        parents[point] = denser[ranks[denser].argmin()]
        joined = sorted({top_of(neighbor) for neighbor in denser.tolist()}, key=ranks.__getitem__)
        for mode in joined[1:]:
            falls[mode] = (float(density[mode] - density[point]) if sizes[mode] >= least else 0.0, joined[0])
            tops[mode] = joined[0]
        sizes[joined[0]] = 1 + sizes[joined].sum()
        tops[point] = joined[0]
    for mode in (point for point, top in enumerate(tops) if point == top):
        falls[mode] = (_APART if sizes[mode] >= least or mode == order[0] else 0.0, -1)
    return falls, parents
