"""What every seeding begins with, and what it returns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.blocks.dataset import Dataset
from coterie.blocks.kernel_rows import dense
from coterie.fitting.checks import check_positive_integer, check_sample_weight
from coterie.fitting.threads import effective_n_threads
from coterie.fitting.warn import warn
from coterie.rows import as_rows

__all__ = ["dataset_of", "drawn_at_once", "take_rows", "warn_of_haste"]

Seeds = tuple[Array, IndexArray]


def dataset_of(
    X: Any, n_clusters: int, sample_weight: npt.ArrayLike | None, n_threads: int | None
) -> Dataset:
    rows = as_rows(X)
    check_positive_integer("n_clusters", n_clusters)
    if n_clusters > rows.shape[0]:
        raise ValueError(f"n_samples={rows.shape[0]} should be >= n_clusters={n_clusters}.")
    weights = check_sample_weight(sample_weight, rows)
    return Dataset(rows, weights, n_clusters=n_clusters, n_threads=effective_n_threads(n_threads))


def take_rows(data: Dataset, indices: IndexArray) -> Array:
    """Return rows of the data in any order as a dense array of shape (len(indices), d)."""
    order = np.argsort(indices, kind="stable")
    rows = np.empty((len(indices), data.n_columns), dtype=data.dtype)
    rows[order] = dense(data.rows.take(indices[order]))
    return rows


def drawn_at_once(masses: FloatArray, n_draws: int, random: np.random.RandomState) -> IndexArray:
    """Draw distinct rows in proportion to their masses; once these are used up, any others.

    Parameters
    ----------
    masses : ndarray of shape (n,), float64
        Not negative.
    n_draws : int
        How many, at most n.
    random : RandomState
        Draws.

    Returns
    -------
    ndarray of shape (n_draws,), intp
    """
    n_with_mass = int(np.count_nonzero(masses))
    n_by_mass = min(n_draws, n_with_mass)
    rows = np.empty(0, dtype=np.intp)
    if n_by_mass > 0:
        rows = random.choice(len(masses), n_by_mass, replace=False, p=masses / masses.sum())
    if n_by_mass < n_draws:
        others = np.setdiff1d(np.arange(len(masses)), rows)
        rows = np.concatenate([rows, random.choice(others, n_draws - n_by_mass, replace=False)])
    return rows


def warn_of_haste(n_careful: int, n_clusters: int) -> None:
    """Say that seeding had to be done faster than it is usually."""
    how = "without trials of several rows for each"
    if n_careful < n_clusters:
        how = f"{n_clusters - n_careful} of them at once, by their distances to the first {n_careful} at most"
    warn(
        f"max_time is short: the {n_clusters} initial centers were chosen by a faster seeding than asked for, {how}. "
        "Give more time, or an init that takes less, such as 'random'.",
        ConvergenceWarning,
    )
