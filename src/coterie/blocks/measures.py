"""What a fit must know of its rows as a whole before it begins: a point amid them, and how far they are from it.

The rows may be at hand or on other machines: whoever has them answers the questions of `MeasuringPasses`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.blocks.middle import digits_lost, middle_of_most, some_numbers, typical_square

__all__ = ["Measures", "MeasuringPasses", "Squares", "measures"]


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
        Those of `coterie.blocks.middle.some_numbers`.
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
        return rows.take(some_numbers(rows.n_rows)[places])

    shift = mean = np.zeros(rows.n_columns) if is_sparse else rows.mean_row()
    squares = rows.squares_to(shift)
    middle = None if is_sparse else middle_of_most(take_some, mean, squares.some, rows.dtype)
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
