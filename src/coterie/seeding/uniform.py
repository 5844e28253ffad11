"""Rows chosen at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coterie.blocks.dataset import Dataset
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.fitting.randomness import random_stream
from coterie.seeding.seeds import Seeds, dataset_of, take_rows

__all__ = ["random_rows", "seed_at_random"]


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
    X : array-like, sparse matrix or RowSource of shape (n, d)
        The data.
    n_clusters : int
        How many rows to choose, at most n.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights; a row of weight 0 is not chosen.
    random_state : int, RandomState or None
        Source of randomness.
    n_threads : int, optional
        Not used: nothing is computed.

    Returns
    -------
    centers : ndarray of shape (n_clusters, d), float32 or float64
        The chosen rows.
    indices : ndarray of shape (n_clusters,)
        Which rows they are.

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
    data = dataset_of(X, n_clusters, sample_weight, n_threads)
    return seed_at_random(data, n_clusters, random_stream(random_state))


def seed_at_random(
    data: Dataset, n_clusters: int, random: np.random.RandomState, deadline: Deadline = UNLIMITED
) -> Seeds:
    """See `random_rows`; this takes no time worth a look at the clock."""
    probabilities = None
    if data.weights is not None:
        weights = data.weights.astype(np.float64)
        if np.count_nonzero(weights) < n_clusters:
            raise ValueError(f"Fewer than n_clusters={n_clusters} rows have a positive weight.")
        probabilities = weights / weights.sum()
    indices = random.choice(data.n_rows, size=n_clusters, replace=False, p=probabilities)
    return take_rows(data, indices), indices
