"""Streams of random numbers: scikit-learn's, from the same seeds."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from sklearn.utils import check_random_state

__all__ = ["random_stream"]


class _NoEntropy(ISeedSequence):
    """What a generator begins with that is seeded at once."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        return np.ones(n_words, dtype=dtype)


def random_stream(random_state: int | np.random.RandomState | None) -> np.random.RandomState:
    """Return the stream that `random_state` stands for, as `sklearn.utils.check_random_state` does.

    For a number NumPy would first gather entropy of the system and throw it away, which takes fifty times as long as
    the seeding itself, and a tenth of a small fit.

    Parameters
    ----------
    random_state : int, RandomState or None
        Seed; a stream is returned as it is, None stands for NumPy's own.

    Raises
    ------
    ValueError
        If it is nothing of these.

    Examples
    --------
    >>> from coterie.fitting.randomness import random_stream
    >>> random_stream(0).randint(100, size=3)
    array([44, 47, 64])
    """
    if not isinstance(random_state, Integral):
        return check_random_state(random_state)
    stream = np.random.RandomState(np.random.MT19937(_NoEntropy()))
    stream.seed(random_state)
    return stream
