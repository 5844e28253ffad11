"""A point amid the rows of a fit, and the scale of their squared distances to it, from a sample of the rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.blocks.kernel_rows import dense

# Rows of the sample.
_SAMPLE = 1024


def digits_lost(dtype: npt.DTypeLike) -> float:
    """Return the ratio of squared distances at which the smaller one has lost three of four digits to rounding."""
    return float(np.finfo(dtype).eps) ** -0.75


def sample_positions(n_rows: int) -> IndexArray:
    """Return the numbers of one to two thousand evenly spaced rows, which depend only on n."""
    return np.arange(0, n_rows, _step(n_rows))


def _step(n_rows: int) -> int:
    return max(1, n_rows // _SAMPLE)


def typical_square(squares: Array) -> float:
    """Return the lower median of the squares above 0 of about a thousand rows; 0 where there are none."""
    some = squares[:: _step(len(squares))]
    positive = np.sort(some[some > 0])
    return float(positive[(len(positive) - 1) // 2]) if len(positive) else 0.0


def robust_shift(
    take: Callable[[IndexArray], Any], mean: FloatArray, squares: Array, dtype: npt.DTypeLike
) -> FloatArray | None:
    """Return the median of each column if a few far rows (1e12) take the mean so far from the others that rounding
    blurs their distances, else None. `squares` are the squared distances to the mean, `dtype` is that of the rows, and
    `take` returns rows of ascending numbers.
    """
    ratio = digits_lost(dtype)
    if not _are_alike(squares[:: _step(len(squares))], 5 / math.sqrt(ratio)):
        return None
    rows = dense(take(sample_positions(len(squares)))).astype(np.float64)
    middle = np.median(rows, axis=0)
    typical = typical_square(np.einsum("ij,ij->i", rows - middle, rows - middle))
    from_mean = float(np.sum((mean - middle) ** 2))
    return middle if typical > 0 and from_mean > ratio * typical else None


def _are_alike(squares: Array, width: float) -> bool:
    """Return whether half of the squares are nearly equal, as those of rows around a distant point are."""
    ascending = np.sort(squares)
    n_half = (len(ascending) + 1) // 2
    upper = ascending[n_half - 1 :]
    return bool((upper - ascending[: len(upper)] <= width * upper).any())
