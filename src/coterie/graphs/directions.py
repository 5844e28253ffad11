"""Few directions in which rows differ most, where these suffice to tell near rows from far ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sklearn.utils.extmath import randomized_svd

from coterie.arrays import Array
from coterie.fitting.threads import single_threaded_blas
from coterie.graphs.exact import lowest_scores
from coterie.graphs.probes import Probes

__all__ = ["WIDTHS", "few_directions", "in_directions", "principal_directions"]

# How many directions are tried, and rows that they are learnt from. With more than half of the columns there is
# nothing to win.
WIDTHS = (32, 48, 64, 96, 128, 192, 256)
_SAMPLE = 4096

_ROWS_PER_TASK = 4096


def few_directions(
    points: Array, offsets: Array, probes: Probes, n_candidates: int, recall: float, seed: int, n_threads: int
) -> tuple[Array, Array] | None:
    """Return principal directions in which the nearest points are among the candidates of a row, and points in them.

    The squared distance |x - y|^2 = |x|^2 + |y|^2 - 2 x.y is taken with the whole lengths and the product in these
    directions alone, which leaves out products of what is left of the rows: as often positive as negative. Whether
    that tells near from far depends on the data, above all on how far apart neighbours are, which no share of
    variance tells: so it is tried on the probes.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Relative to the mean.
    offsets : ndarray of shape (n,)
        Squared lengths of the points.
    probes : Probes
        Rows whose neighbours are known.
    n_candidates : int
        How many points are measured in all columns in the end, at most n.
    recall : float
        The share of true neighbours that must be among the candidates.
    seed : int
        Of the rows that directions are learnt from.
    n_threads : int
        Threads.

    Returns
    -------
    directions : ndarray of shape (d, m)
    near : ndarray of shape (n, m)
        None instead of both where no `m` up to half of the columns suffices.
    """
    widths = [width for width in WIDTHS if width <= points.shape[1] // 2]
    if not widths or not offsets.any():
        return None
    directions = principal_directions(points, widths[-1], seed)
    near = np.empty((len(points), 0), dtype=points.dtype)
    for width in widths:
        more = in_directions(points, directions[:, near.shape[1] : width], n_threads)
        near = np.hstack([near, more])
        asked = in_directions(probes.vectors, directions[:, :width], n_threads)
        found, _ = lowest_scores(asked, near, offsets, n_candidates, n_threads)
        if probes.recall(points, found) >= recall:
            return directions[:, :width], near
    return None


def in_directions(rows: Array, directions: Array, n_threads: int) -> Array:
    """Return the products of rows and directions; each thread has its own rows, so that they change no bit."""
    found = np.empty((len(rows), directions.shape[1]), dtype=rows.dtype)

    def multiply(first: int) -> None:
        np.matmul(rows[first : first + _ROWS_PER_TASK], directions, out=found[first : first + _ROWS_PER_TASK])

    with single_threaded_blas(), ThreadPoolExecutor(n_threads) as pool:
        for _ in pool.map(multiply, range(0, len(rows), _ROWS_PER_TASK)):
            pass
    return found


def principal_directions(points: Array, n_directions: int, seed: int) -> Array:
    """Return the directions in which points, relative to their mean, differ most, as a sample of them tells."""
    random = np.random.RandomState(seed)
    sample = points[np.sort(random.choice(len(points), min(_SAMPLE, len(points)), replace=False))]
    largest = np.abs(sample).max(initial=0)
    if not largest:
        return np.eye(points.shape[1], n_directions, dtype=points.dtype)
    with single_threaded_blas():
        found = randomized_svd(sample / largest, n_directions, n_iter=2, random_state=seed)[2]
    return np.ascontiguousarray(found.T.astype(points.dtype, copy=False))
