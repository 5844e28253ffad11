"""Probes: a sample of the queries with known neighbors, to plan a search and to measure its recall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, IntArray
from coterie.graphs.exact import lowest_scores, without_self

__all__ = ["N_PROBES", "Probes", "draw_probes"]

# Half of them estimate a recall of 0.99 within 0.2%, for lists of ten.
N_PROBES = 384

# Relative difference of equal distances in different orders of summation.
_TIE = 1e-6


@dataclass(frozen=True)
class Probes:
    """A sample of the queries and their true nearest points.

    Attributes
    ----------
    rows : ndarray of shape (p,)
        Numbers of these queries.
    own : ndarray of shape (p,), int32
        The point that each of them is, -1 for none.
    vectors : ndarray of shape (p, d)
        These rows.
    ids : ndarray of shape (p, n_neighbors), int32
        Their nearest points by products, without themselves.
    furthest : ndarray of shape (p,)
        Squared distance to the last of them.
    """

    rows: IndexArray
    own: IntArray
    vectors: Array
    ids: IntArray
    furthest: FloatArray

    def halves(self) -> tuple[Probes, Probes]:
        """Return two halves, as the recall on the rows of a plan would be too optimistic."""
        return self._some(slice(0, None, 2)), self._some(slice(1, None, 2))

    def _some(self, part: slice) -> Probes:
        return Probes(
            self.rows[part], self.own[part], self.vectors[part], self.ids[part], self.furthest[part]
        )

    def recall(self, points: Array, found: IntArray) -> float:
        """Return the share of the nearest points that were found; ties with the last one count.

        Parameters
        ----------
        points : ndarray of shape (n, d)
            All points.
        found : ndarray of shape (p, m), int32
            Points found for each probe, with or without itself; -1 for none.
        """
        return float(self._recalls(points, found)[-1])

    def enough(self, points: Array, found: IntArray, recall: float) -> int | None:
        """Return how many of the first found points reach a share of the nearest points; None if all are too few.

        Parameters
        ----------
        points : ndarray of shape (n, d)
            All points.
        found : ndarray of shape (p, m), int32
            As in `recall`.
        recall : float
            Target share.
        """
        recalls = self._recalls(points, found)
        return int(np.argmax(recalls >= recall)) + 1 if recalls[-1] >= recall else None

    def _recalls(self, points: Array, found: IntArray) -> FloatArray:
        """Return the share of the nearest points among the first found point, the first two, ..."""
        good = [_are_near(*probe, points) for probe in zip(self.vectors, found, self.own, self.furthest)]
        n_neighbors = self.ids.shape[1]
        return np.minimum(np.cumsum(good, axis=1), n_neighbors).mean(axis=0) / n_neighbors


def _are_near(vector: Array, found: IntArray, own: int, furthest: float, points: Array) -> BoolArray:
    others = (found >= 0) & (found != own)
    return others & (_square_distances(vector, points[found]) <= furthest * (1 + _TIE))


def _square_distances(vector: Array, points: Array) -> FloatArray:
    return np.square(points.astype(np.float64) - vector).sum(axis=1)


def draw_probes(
    asked: Array,
    points: Array,
    offsets: Array,
    n_neighbors: int,
    seed: int,
    *,
    are_points: bool,
    n_threads: int,
) -> Probes:
    """Draw probes, and compare them with all points.

    Parameters
    ----------
    asked, points : ndarray of shape (q, d) and (n, d)
        The queries and the points to search, relative to the mean.
    offsets : ndarray of shape (n,)
        Squared lengths of the points.
    n_neighbors : int
        Number of neighbors.
    seed : int
        Of the draw.
    are_points : bool
        Whether the queries are the points.
    n_threads : int
        Threads of the kernels.
    """
    rows = np.sort(np.random.RandomState(seed).choice(len(asked), min(N_PROBES, len(asked)), replace=False))
    vectors = asked[rows]
    own = rows.astype(np.int32) if are_points else np.full(len(rows), -1, dtype=np.int32)
    ids, scores = lowest_scores(vectors, points, offsets, n_neighbors + are_points, n_threads)
    if are_points:
        ids, _ = without_self(ids, scores, own)
    furthest = [_square_distances(vector, points[near]).max() for vector, near in zip(vectors, ids)]
    return Probes(rows, own, vectors, ids, np.array(furthest))
