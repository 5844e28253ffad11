"""Where most rows are, in case their mean is somewhere else: a few rows may be so far out that they take it along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.blocks.kernel_rows import dense

__all__ = ["digits_lost", "middle_of_most", "some_numbers", "typical_square"]

# Rows that tell for all.
_SAMPLE = 1024


def digits_lost(dtype: npt.DTypeLike) -> float:
    """Return the ratio of squared distances at which the smaller one has lost three of four digits to rounding."""
    return float(np.finfo(dtype).eps) ** -0.75


def some_numbers(n_rows: int) -> IndexArray:
    """Return the numbers of a thousand or two rows, evenly spaced: they depend on n alone."""
    return np.arange(0, n_rows, max(1, n_rows // _SAMPLE))


def typical_square(squares: Array) -> float:
    """Return the lower median of the squares above 0 of about a thousand rows; 0 where there are none."""
    positive = np.sort(squares[some_numbers(len(squares))])
    positive = positive[positive > 0]
    return float(positive[(len(positive) - 1) // 2]) if len(positive) else 0.0


def middle_of_most(
    take: Callable[[IndexArray], Any], mean: FloatArray, squares: Array, dtype: npt.DTypeLike
) -> FloatArray | None:
    """Return a point amid most of the rows, if seen from their mean rounding would blur the distances between them.

    One row at 1e12 among a thousand takes the mean to 1e9. From there, scores in float64 have an error of 100, whatever
    the distances between the other rows. The median of each column stays where most rows are. Ordinary rows keep the
    mean, and with it every bit of their results.

    Parameters
    ----------
    take : callable
        Returns rows of ascending numbers.
    mean : ndarray of shape (d,), float64
        The mean of the rows.
    squares : ndarray of shape (n,)
        Squared distances of the rows to it.
    dtype : dtype
        Of the rows.

    Returns
    -------
    ndarray of shape (d,), float64, or None
        None where the mean will do.
    """
    ratio = digits_lost(dtype)
    numbers = some_numbers(len(squares))
    if not _are_alike(squares[numbers], 5 / np.sqrt(ratio)):
        return None
    rows = dense(take(numbers)).astype(np.float64)
    middle = np.median(rows, axis=0)
    typical = typical_square(np.einsum("ij,ij->i", rows - middle, rows - middle))
    from_mean = float(np.sum((mean - middle) ** 2))
    return middle if typical > 0 and from_mean > ratio * typical else None


def _are_alike(squares: Array, width: float) -> bool:
    """Tell whether half of some squares differ by a small part only, as those of rows around a far point do."""
    ascending = np.sort(squares)
    n_half = (len(ascending) + 1) // 2
    upper = ascending[n_half - 1 :]
    return bool(np.any(upper - ascending[: len(upper)] <= width * upper))
