"""Checks of parameters and weights that every fit makes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight

from coterie.arrays import Array
from coterie.fitting.randomness import random_stream
from coterie.fitting.threads import effective_n_threads
from coterie.rows import RowSource

__all__ = [
    "check_iteration_parameters",
    "check_option",
    "check_positive_integer",
    "check_sample_weight",
    "check_seed_and_threads",
]

# Of anything: arrays and files count with 64 bits.
_TOO_MANY = 1 << 63


def check_sample_weight(sample_weight: npt.ArrayLike | None, rows: RowSource) -> Array | None:
    """Return the weights as an array of shape (n,) in the rows' dtype; None stays None (all 1).

    Raises a ValueError if they are negative, not finite, all 0 or not one per row.
    """
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, rows, dtype=rows.dtype, ensure_non_negative=True)
    if not np.any(weights > 0):
        raise ValueError("sample_weight must not be 0 everywhere.")
    return weights


def check_positive_integer(name: str, value: Any) -> None:
    """Raise a ValueError that names the parameter if its value is not a positive integer."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not -math.inf < value < math.inf or value != int(value) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}.")
    if value >= _TOO_MANY:
        raise ValueError(f"{name} must be less than 2**63, got {value:.4g}.")


def check_iteration_parameters(estimator: Any) -> None:
    """Raise a ValueError if `max_iter`, `tol` or `max_time` of the estimator makes no sense."""
    # As attributes: `get_params` asks Python for a signature, which takes longer than a small fit's iteration.
    check_positive_integer("max_iter", estimator.max_iter)
    tol, max_time = estimator.tol, estimator.max_time
    if not tol >= 0:
        raise ValueError(f"tol must not be negative, got {tol!r}.")
    if max_time is not None and not max_time > 0:
        raise ValueError(f"max_time must be None or a positive number of seconds, got {max_time!r}.")
    callback = estimator.callback
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be None or callable, got {type(callback).__name__}.")


def check_seed_and_threads(estimator: BaseEstimator) -> None:
    """Raise a ValueError if `random_state` or `n_threads` of an estimator that has them makes no sense."""
    parameters = estimator.get_params(deep=False)
    random_stream(parameters.get("random_state"))
    effective_n_threads(parameters.get("n_threads"))


def check_option(name: str, value: Any, allowed: Sequence[str]) -> None:
    """Raise a ValueError that lists what is allowed."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}.")
