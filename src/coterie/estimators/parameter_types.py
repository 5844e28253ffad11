"""Whether the parameters of an estimator are of the types that its `__init__` is annotated with."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

__all__ = ["problem_of_types"]


# No parameter means anything beyond it, and Python's own numbers have no end.
_MOST = 1 << 63


def _is_number(value: Any) -> bool:
    if isinstance(value, int) and abs(value) >= _MOST:
        return False
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


# By the words of annotations; others, such as Any, say nothing.
_TYPES: dict[str, Callable[[Any], bool]] = {
    "None": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool | np.bool_),
    "str": lambda value: isinstance(value, str),
    # As the checks of counts have it, 3.0 is 3.
    "int": lambda value: _is_number(value) and math.isfinite(value) and value == int(value),
    "float": _is_number,
    "np.random.RandomState": lambda value: isinstance(value, np.random.RandomState),
}


def problem_of_types(estimator: Any) -> str | None:
    """Return which parameter is of a wrong type, or None.

    Parameters
    ----------
    estimator : estimator
        Parameters whose annotations say more than a few words of types are not looked at, nor those that have their
        default value.

    Examples
    --------
    >>> from coterie import KMeans
    >>> from coterie.estimators.parameter_types import problem_of_types
    >>> problem_of_types(KMeans("many"))
    "n_clusters must be int, got 'many'"
    """
    for name, parameter in inspect.signature(type(estimator)).parameters.items():
        words = str(parameter.annotation).split(" | ")
        value = getattr(estimator, name, None)
        if value is parameter.default or not set(words) <= _TYPES.keys():
            continue
        if not any(_TYPES[word](value) for word in words):
            return f"{name} must be {parameter.annotation}, got {_short(value)}"
    return None


def _short(value: Any) -> str:
    """Return a value in a few words."""
    if isinstance(value, int) and abs(value) >= _MOST:
        return "a far too large number"
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else f"a {type(value).__name__}"
