"""Equality to the bit."""

from collections.abc import Collection
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import recfunctions


def same_bits(left: Any, right: Any, name: str = "") -> None:
    """Fail unless two things are equal to the bit: arrays, sparse matrices, numbers, and sequences of these.

    Arrays must have one type of numbers; NaN equals NaN, and 0 is not -0.
    """
    if sp.issparse(left):
        assert left.shape == right.shape, name
        for part in ("data", "indices", "indptr"):
            same_bits(getattr(left, part), getattr(right, part), f"{name}.{part}")
    elif isinstance(left, (list, tuple)):
        for number, (one, other) in enumerate(zip(left, right, strict=True)):
            same_bits(one, other, f"{name}[{number}]")
    elif isinstance(left, (np.ndarray, np.generic, float)):
        left, right = np.asarray(left), np.asarray(right)
        assert left.dtype == right.dtype, name
        np.testing.assert_array_equal(left, right, err_msg=name)
        assert left.dtype.hasobject or left.tobytes() == right.tobytes(), f"{name}: zeros differ in sign"
    else:
        assert left == right, name


def _fitted_attributes(model: Any) -> dict[str, Any]:
    """Return what a fit has found, without the time that it took."""
    found = {
        name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("_")
    }
    if "history_" in found:
        found["history_"] = recfunctions.drop_fields(np.asarray(found["history_"]), ["seconds", "algorithm"])
    for name in ("outlier_scores_", "cluster_scales_"):
        if hasattr(model, name):
            found[name] = getattr(model, name)
    return found


def same_fits(left: Any, right: Any, *, but: Collection[str] = ()) -> None:
    """Fail unless two fitted models are equal to the bit in every public attribute, `but` some."""
    one, other = _fitted_attributes(left), _fitted_attributes(right)
    assert one.keys() - set(but) == other.keys() - set(but)
    assert one
    for name in one.keys() - set(but):
        same_bits(one[name], other[name], name)
