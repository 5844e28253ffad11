"""Checks of parameters and weights that every fit makes, its random numbers, and its warnings."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
import sklearn
from numpy.random.bit_generator import ISeedSequence
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from coterie.arrays import Array
from coterie.rows import Rows

# Of anything: arrays and files count with 64 bits.
_TOO_MANY = 1 << 63

# Pipelines, searches, callbacks and workers stand between a user and a fit, as do our own functions.
_BETWEEN = tuple(
    f"{Path(file).parent}{os.sep}" for file in (Path(__file__).parent, sklearn.__file__, joblib.__file__)
)


TOO_LARGE = (
    "rows, or their weights, are too large for float64: sums of their squares overflow. Scale them, such as by "
    "prepare_rows(X, scale='standard')."
)


def check_sum_of_squares(total: float) -> None:
    """Raise a ValueError if the sum of (weighted) squared distances of the rows is not finite."""
    if not math.isfinite(total):
        raise ValueError(f"Not a finite sum of squared distances: {TOO_LARGE}")


def check_sample_weight(sample_weight: npt.ArrayLike | None, rows: Rows) -> Array | None:
    """Return the weights as an array of shape (n,) in the rows' dtype, or None. Negative, non-finite, missing or only
    zero weights are a ValueError, and so is a sum that overflows.
    """
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, rows, dtype=rows.dtype, ensure_non_negative=True)
    if not np.any(weights > 0):
        raise ValueError("sample_weight must not be 0 everywhere.")
    if not math.isfinite(weights.sum(dtype=np.float64)):
        raise ValueError("The sum of sample_weight overflows: divide the weights by a large number.")
    return weights


def check_positive_integer(name: str, value: Any) -> int:
    """Return a value as an int; raise a ValueError that names the parameter if it is no positive integer."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not -math.inf < value < math.inf or value != int(value) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}.")
    if value >= _TOO_MANY:
        raise ValueError(f"{name} must be less than 2**63, got {value:.4g}.")
    return int(value)


def check_option(name: str, value: Any, allowed: Sequence[str]) -> None:
    """Raise a ValueError that lists the allowed values."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}.")


class _NoEntropy(ISeedSequence):
    """Seed sequence of a generator that is seeded afterward; NumPy reads a list ten times as fast as an array."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        return [1] * n_words


def random_stream(random_state: int | np.random.RandomState | None) -> np.random.RandomState:
    """Return the stream of `random_state`, as `sklearn.utils.check_random_state` does. NumPy would first gather entropy
    of the system for a number, which takes a tenth of a small fit.
    """
    if not isinstance(random_state, Integral):
        return check_random_state(random_state)
    stream = np.random.RandomState(np.random.MT19937(_NoEntropy()))
    stream.seed(random_state)
    return stream


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called coterie, itself or by way of scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_BETWEEN):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
