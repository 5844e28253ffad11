"""How alike clusterings of half the rows are on the rows that they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special
from sklearn.metrics import adjusted_rand_score

from coterie.arrays import Array, IndexArray, IntArray

__all__ = ["LEAST_ARI", "MOST_ARI", "Interval", "half_pairs", "interval_of", "pair_agreement"]

# The least and the most that the adjusted Rand index can be.
LEAST_ARI, MOST_ARI = -0.5, 1.0

# How sure intervals are.
_CONFIDENCE = 0.9


class Interval(NamedTuple):
    """A mean, and what it lies between with a confidence of 90% (Student's t); of one value only, that."""

    mean: float
    low: float
    high: float


def interval_of(values: Array | list[float], lowest: float = -np.inf, highest: float = np.inf) -> Interval:
    """Return the mean of values and its interval, which ends at the lowest and the highest possible value.

    Examples
    --------
    >>> from coterie.choices.stability import interval_of
    >>> [round(number, 2) for number in interval_of([1.0, 2.0, 3.0])]
    [2.0, 0.31, 3.69]
    """
    numbers = np.asarray(values, dtype=np.float64)
    mean = float(numbers.mean())
    if len(numbers) < 2:
        return Interval(mean, mean, mean)
    quantile = float(special.stdtrit(len(numbers) - 1, (1 + _CONFIDENCE) / 2))
    reach = quantile * float(numbers.std(ddof=1)) / len(numbers) ** 0.5
    return Interval(mean, max(mean - reach, lowest), min(mean + reach, highest))


def half_pairs(
    n_rows: int, n_pairs: int, random: np.random.RandomState
) -> list[tuple[IndexArray, IndexArray]]:
    """Draw pairs of halves of so many rows, each without replacement and each for itself, in ascending order."""
    size = (n_rows + 1) // 2
    return [
        (np.sort(random.permutation(n_rows)[:size]), np.sort(random.permutation(n_rows)[:size]))
        for _ in range(n_pairs)
    ]


def pair_agreement(pair: tuple[IndexArray, IndexArray], label: Callable[[IndexArray], IntArray]) -> float:
    """Return the adjusted Rand index of two clusterings on the rows that both know.

    Parameters
    ----------
    pair : pair of ndarray
        The rows of each, ascending.
    label : callable
        ``label(rows)`` clusters these rows and gives their labels.
    """
    shared, first, second = np.intersect1d(*pair, assume_unique=True, return_indices=True)
    if not len(shared):
        return 1.0
    return float(adjusted_rand_score(label(pair[0])[first], label(pair[1])[second]))
