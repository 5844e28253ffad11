"""Few principal directions that separate near rows from far ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from sklearn.utils.extmath import randomized_svd

from coterie import _kernels
from coterie.arrays import Array
from coterie.blocks.kernel_rows import kernel_rows
from coterie.fitting.threads import single_threaded_blas
from coterie.graphs.exact import lowest_scores
from coterie.graphs.probes import Probes

__all__ = [
    "WIDTHS",
    "FewDirections",
    "candidates_of",
    "few_directions",
    "in_directions",
    "principal_directions",
    "rows_in_directions",
]

# Numbers of directions that are tried, the last ones only if others are not enough, and rows from which they are
# learned. More than half of the columns would save nothing.
WIDTHS = (32, 48, 64, 96, 128, 192, 256)
_LAST_WIDTHS = 2
_SAMPLE = 2048

# Candidates in addition to the neighbors; in few directions, the maximum number for each neighbor, and a constant
# number.
_SPARE = 2
_IN_DIRECTIONS, _SPARE_IN_DIRECTIONS = 3, 8

# Cost of a row in multiply-adds: for each direction, this number of points per square root of their number, and the
# columns; for each number of a candidate whose distance is computed, the second constant, as it is not in the cache.
_MET_PER_ROOT, _TIMES_MEASURED = 15.0, 9.0

_ROWS_PER_TASK = 4096

# Directions that the kernel of nearest rows processes at a time: the length of its lists.
_DIRECTIONS_PER_CALL = 16


@dataclass(frozen=True)
class FewDirections:
    """Directions that separate near points from far ones.

    Attributes
    ----------
    directions : ndarray of shape (d, m)
        Orthogonal.
    near : ndarray of shape (n, m)
        The points in these directions.
    n_candidates : int
        Number of the nearest points in these directions whose distances are computed in all columns.
    """

    directions: Array
    near: Array
    n_candidates: int


def candidates_of(n_neighbors: int, in_few: bool) -> int:
    """Return the number of candidates in all columns, and the maximum number in few directions."""
    return _IN_DIRECTIONS * n_neighbors + _SPARE_IN_DIRECTIONS if in_few else n_neighbors + _SPARE


def few_directions(
    points: Array, offsets: Array, probes: Probes, recall: float, seed: int, n_threads: int
) -> FewDirections | None:
    """Return the principal directions with the least cost of finding the nearest points.

    The squared distance |x - y|^2 = |x|^2 + |y|^2 - 2 x.y is approximated with exact lengths and the product in these
    directions alone; the omitted products of the remainders have a random sign. Whether this separates near from far
    points depends on the data, mainly on the distances of neighbors, and does not follow from the share of variance: so
    it is tested on the probes. With more directions fewer candidates are needed.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Relative to the mean.
    offsets : ndarray of shape (n,)
        Squared lengths of the points.
    probes : Probes
        Rows whose neighbors are known.
    recall : float
        Required share of true neighbors among the candidates.
    seed : int
        Seed of the sample from which directions are learned.
    n_threads : int
        Threads.

    Returns
    -------
    FewDirections
        None if no number of directions up to half of the columns is enough.
    """
    n, d = points.shape
    if not offsets.any():
        return None
    best, least = None, np.inf
    per_direction, per_candidate = _MET_PER_ROOT * np.sqrt(n) + d, d * _TIMES_MEASURED
    fewest = probes.ids.shape[1] * per_candidate
    most = min(candidates_of(probes.ids.shape[1], True) + 1, n)
    for step in (WIDTHS[:-_LAST_WIDTHS], WIDTHS[-_LAST_WIDTHS:]):
        widths = [width for width in step if width <= d // 2]
        if not widths:
            break
        directions = principal_directions(points, widths[-1], seed)
        near = np.empty((n, 0), dtype=points.dtype)
        for width in widths:
            if width * per_direction + fewest >= least:
                break
            near = np.hstack([near, in_directions(points, directions[:, near.shape[1] : width], n_threads)])
            asked = in_directions(probes.vectors, directions[:, :width], n_threads)
            found, _ = lowest_scores(asked, near, offsets, most, n_threads)
            enough = probes.enough(points, found, recall)
            if enough is None:
                continue
            cost = width * per_direction + enough * per_candidate
            if cost < least:
                best, least = FewDirections(directions[:, :width], near, enough), cost
        if best is not None:
            break
    return best


def in_directions(rows: Array, directions: Array, n_threads: int) -> Array:
    """Return the products of rows and directions, bit-identical for any number of threads."""
    found = np.empty((len(rows), directions.shape[1]), dtype=rows.dtype)

    def multiply(first: int) -> None:
        np.matmul(rows[first : first + _ROWS_PER_TASK], directions, out=found[first : first + _ROWS_PER_TASK])

    with single_threaded_blas(), ThreadPoolExecutor(n_threads) as pool:
        for _ in pool.map(multiply, range(0, len(rows), _ROWS_PER_TASK)):
            pass
    return found


def rows_in_directions(rows: Array, directions: Array, n_threads: int) -> Array:
    """Return the products of rows and directions, bit-identical for any other rows.

    The order of summation of BLAS depends on the number of rows, that of the kernel of nearest points does not. With as
    many neighbors as points, the kernel returns all products.
    """
    found = np.empty((len(rows), directions.shape[1]), dtype=rows.dtype)
    for first in range(0, directions.shape[1], _DIRECTIONS_PER_CALL):
        some = np.ascontiguousarray(directions[:, first : first + _DIRECTIONS_PER_CALL].T)
        ids = np.empty((len(rows), len(some)), dtype=np.int32)
        scores = np.empty(ids.shape, dtype=rows.dtype)
        _kernels.nearest(
            kernel_rows(rows), some, np.zeros(len(some), dtype=rows.dtype), ids, scores, n_threads
        )
        scores *= rows.dtype.type(-0.5)
        np.put_along_axis(found[:, first : first + _DIRECTIONS_PER_CALL], ids, scores, axis=1)
    return found


def principal_directions(points: Array, n_directions: int, seed: int) -> Array:
    """Return the principal directions of points relative to their mean, estimated on a sample."""
    random = np.random.RandomState(seed)
    sample = points[np.sort(random.choice(len(points), min(_SAMPLE, len(points)), replace=False))]
    largest = np.abs(sample).max(initial=0)
    if not largest:
        return np.eye(points.shape[1], n_directions, dtype=points.dtype)
    with single_threaded_blas():
        found = randomized_svd(sample / largest, n_directions, n_iter=2, random_state=seed)[2]
    return np.ascontiguousarray(found.T.astype(points.dtype, copy=False))
