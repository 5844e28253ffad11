"""What a fit must know of its rows as a whole before it begins: a point amid them, and how far they are from it.

The rows may be at hand or on other machines: whoever has them answers the questions of `MeasuringPasses`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.blocks.kernel_rows import dense

__all__ = [
    "Measures", "MeasuringPasses", "Squares", "digits_lost", "measures", "robust_shift", "sample_positions",
    "typical_square",
]  # fmt: skip

# Rows that tell for all.
_SAMPLE = 1024


@dataclass(frozen=True, slots=True)
class Squares:
    """What is asked of the squared distances of all rows to a point, in float64.

    Attributes
    ----------
    total, weighted : float
        Their sum, and their sum by the weights of the rows.
    largest : float
        The largest.
    some : ndarray
        Those of `coterie.blocks.measures.sample_positions`.
    """

    total: float
    weighted: float
    largest: float
    some: Array


class MeasuringPasses(Protocol):
    """Rows that are yet to be measured."""

    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]

    def take(self, positions: IndexArray) -> Any:
        """Return rows of ascending numbers."""

    def mean_row(self) -> FloatArray:
        """Return the mean of the rows."""

    def squares_to(self, point: FloatArray) -> Squares:
        """Measure all rows from a point, which becomes their shift."""

    def check_vanishing(self, largest: float) -> None:
        """Raise a ValueError if rows differ although the largest square has no digits."""

    def mean_below(self, largest: float) -> float:
        """Return the mean of the squares that are at most so large."""


@dataclass(frozen=True, slots=True)
class Measures:
    """See `coterie.blocks.dataset.Dataset`."""

    shift: FloatArray
    total_square: float
    mean_variance: float
    has_far_rows: bool


def measures(rows: MeasuringPasses, *, is_sparse: bool) -> Measures:
    """Measure rows: two passes, and a third in rare cases.

    Parameters
    ----------
    rows : MeasuringPasses
        The rows, here or elsewhere.
    is_sparse : bool
        Whether they are sparse: then the shift is 0.
    """

    def take_some(places: IndexArray) -> Any:
        return rows.take(sample_positions(rows.n_rows)[places])

    shift = mean = np.zeros(rows.n_columns) if is_sparse else rows.mean_row()
    squares = rows.squares_to(shift)
    middle = None if is_sparse else robust_shift(take_some, mean, squares.some, rows.dtype)
    if middle is not None:
        shift = middle
        squares = rows.squares_to(shift)
    rows.check_vanishing(squares.largest)
    largest = digits_lost(np.float64) * typical_square(squares.some)
    if 0 < largest < squares.largest:
        return Measures(shift, squares.weighted, rows.mean_below(largest) / rows.n_columns, True)
    if is_sparse:
        mean = rows.mean_row()
    mean_square = float(np.sum((mean - shift) ** 2))
    variance = (squares.total / rows.n_rows - mean_square) / rows.n_columns
    return Measures(shift, squares.weighted, variance, False)


def digits_lost(dtype: npt.DTypeLike) -> float:
    """Return the ratio of squared distances at which the smaller one has lost three of four digits to rounding."""
    return float(np.finfo(dtype).eps) ** -0.75


def sample_positions(n_rows: int) -> IndexArray:
    """Return the numbers of a thousand or two rows, evenly spaced: they depend on n alone."""
    return np.arange(0, n_rows, max(1, n_rows // _SAMPLE))


def typical_square(squares: Array) -> float:
    """Return the lower median of the squares above 0 of about a thousand rows; 0 where there are none."""
    positive = np.sort(squares[sample_positions(len(squares))])
    positive = positive[positive > 0]
    return float(positive[(len(positive) - 1) // 2]) if len(positive) else 0.0


def robust_shift(
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
    numbers = sample_positions(len(squares))
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
