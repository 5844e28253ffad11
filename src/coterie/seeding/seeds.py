"""Random rows as initial centers, and functions shared by all seedings."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.blocks.dataset import ChunkRows
from coterie.blocks.kernel_rows import dense
from coterie.fitting.checks import check_positive_integer, random_stream, warn
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.passes import MeasuredRows, measure_rows
from coterie.rows import as_rows

__all__ = [
    "Seeds",
    "draw_together",
    "random_rows",
    "rows_to_seed",
    "seed_at_random",
    "take_rows",
    "warn_of_time_limit",
]

Seeds = tuple[Array, IndexArray]


def rows_to_seed(
    X: Any, n_clusters: int, sample_weight: npt.ArrayLike | None, n_threads: int | None
) -> ChunkRows:
    """Return the rows of a seeding, checked and measured."""
    rows = as_rows(X)
    if n_clusters > rows.shape[0]:
        raise ValueError(f"n_samples={rows.shape[0]} should be >= n_clusters={n_clusters}.")
    data = measure_rows(rows, sample_weight, n_clusters=n_clusters, n_threads=n_threads)
    return data.in_this_process()


def take_rows(data: ChunkRows | MeasuredRows, indices: IndexArray) -> Array:
    """Return rows of the data in any order as a dense array of shape (len(indices), d)."""
    order = np.argsort(indices, kind="stable")
    rows = np.empty((len(indices), data.n_columns), dtype=data.dtype)
    rows[order] = dense(data.rows.take(indices[order]))
    return rows


def draw_together(masses: FloatArray, n_draws: int, random: np.random.RandomState) -> IndexArray:
    """Draw distinct rows with probability proportional to their masses; after those of positive mass, any others."""
    n_with_mass = int(np.count_nonzero(masses))
    n_by_mass = min(n_draws, n_with_mass)
    rows = np.empty(0, dtype=np.intp)
    if n_by_mass > 0:
        rows = random.choice(len(masses), n_by_mass, replace=False, p=masses / masses.sum())
    if n_by_mass < n_draws:
        others = np.setdiff1d(np.arange(len(masses)), rows)
        rows = np.concatenate([rows, random.choice(others, n_draws - n_by_mass, replace=False)])
    return rows


def warn_of_time_limit(n_careful: int, n_clusters: int) -> None:
    """Warn that the time limit required a faster seeding."""
    how = "without trials of several rows for each"
    if n_careful < n_clusters:
        how = f"{n_clusters - n_careful} of them at once, by their distances to the first {n_careful} at most"
    warn(
        f"max_time is short: the {n_clusters} initial centers were chosen by a faster seeding than asked for, {how}. "
        "Give more time, or an init that takes less, such as 'random'.",
        ConvergenceWarning,
    )


def random_rows(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: npt.ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_threads: int | None = None,
) -> Seeds:
    """Choose distinct rows at random, with probability proportional to their weights.

    Parameters
    ----------
    X : array-like, sparse matrix or Rows of shape (n, d)
        The data.
    n_clusters : int
        Number of rows to choose, at most n.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights; a row of weight 0 is not chosen.
    random_state : int, RandomState or None
        Source of randomness.
    n_threads : int, optional
        Ignored.

    Returns
    -------
    centers : ndarray of shape (n_clusters, d), float32 or float64
        The chosen rows.
    indices : ndarray of shape (n_clusters,)
        Their row numbers.

    Raises
    ------
    ValueError
        If fewer than `n_clusters` rows have a positive weight.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.seeding import random_rows
    >>> centers, indices = random_rows(np.eye(5), 2, random_state=0)
    >>> centers.shape
    (2, 5)
    """
    n_clusters = check_positive_integer("n_clusters", n_clusters)
    data = rows_to_seed(X, n_clusters, sample_weight, n_threads)
    return seed_at_random(data, n_clusters, random_stream(random_state))


def seed_at_random(
    data: ChunkRows, n_clusters: int, random: np.random.RandomState, deadline: Deadline = UNLIMITED
) -> Seeds:
    """See `random_rows`; fast enough to ignore the deadline."""
    probabilities = None
    if data.weights is not None:
        weights = data.weights.astype(np.float64)
        if np.count_nonzero(weights) < n_clusters:
            raise ValueError(f"Fewer than n_clusters={n_clusters} rows have a positive weight.")
        probabilities = weights / weights.sum()
    indices = random.choice(data.n_rows, size=n_clusters, replace=False, p=probabilities)
    return take_rows(data, indices), indices
