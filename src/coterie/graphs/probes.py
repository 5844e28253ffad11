"""Probes: some of the rows, whose true neighbors are known, so that a search can be planned and judged by them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, IntArray
from coterie.graphs.exact import lowest_scores, without_self

__all__ = ["N_PROBES", "Probes", "draw_probes"]

# Half of them tell a recall of 0.99 to within 0.2%, for lists of ten.
N_PROBES = 384

# Equal distances differ by so much where they are summed otherwise.
_TIE = 1e-6


@dataclass(frozen=True)
class Probes:
    """Some of the rows that ask, and the points that are in truth nearest to them.

    Attributes
    ----------
    rows : ndarray of shape (p,)
        Which of the rows that ask.
    own : ndarray of shape (p,), int32
        Which point each of them is, -1 for none.
    vectors : ndarray of shape (p, d)
        These rows.
    ids : ndarray of shape (p, n_neighbors), int32
        Their nearest points by products, themselves not counted.
    furthest : ndarray of shape (p,)
        Squared distance to the last of them.
    """

    rows: IndexArray
    own: IntArray
    vectors: Array
    ids: IntArray
    furthest: FloatArray

    def halves(self) -> tuple[Probes, Probes]:
        """Return two lots: what was planned by some rows is judged too well by them."""
        return self._some(slice(0, None, 2)), self._some(slice(1, None, 2))

    def _some(self, part: slice) -> Probes:
        return Probes(
            self.rows[part], self.own[part], self.vectors[part], self.ids[part], self.furthest[part]
        )

    def recall(self, points: Array, found: IntArray) -> float:
        """Return the share of the nearest points that were found; those as far as the last of them are as good.

        Parameters
        ----------
        points : ndarray of shape (n, d)
            All points.
        found : ndarray of shape (p, m), int32
            What was found for each probe, itself or not; -1 for nothing.
        """
        return float(self._recalls(points, found)[-1])

    def enough(self, points: Array, found: IntArray, recall: float) -> int | None:
        """Return how many of the first that were found hold such a share of the nearest points; None if all do not.

        Parameters
        ----------
        points : ndarray of shape (n, d)
            All points.
        found : ndarray of shape (p, m), int32
            As in `recall`.
        recall : float
            The share that is wanted.
        """
        recalls = self._recalls(points, found)
        return int(np.argmax(recalls >= recall)) + 1 if recalls[-1] >= recall else None

    def _recalls(self, points: Array, found: IntArray) -> FloatArray:
        """Return the share of the nearest points among the first of those found, the first two, ..."""
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
        The rows that ask and those among which neighbors are looked for, relative to the mean.
    offsets : ndarray of shape (n,)
        Squared lengths of the points.
    n_neighbors : int
        How many are looked for.
    seed : int
        Of the draw.
    are_points : bool
        Whether the rows that ask are the points.
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
