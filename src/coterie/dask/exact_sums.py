"""Sums of floats that are exact, so that they do not depend on the order in which parts are added.

Each part is rounded once to multiples of a step, which is far below the last digit of what comes out; numbers of such
multiples are added without rounding, as integers are. So chunks may be summed by any number of workers, in any order,
and again after one has died: the bits are the same (Demmel and Nguyen, Parallel reproducible summation, 2015).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from coterie.arrays import FloatArray, IndexArray

__all__ = ["ExactSum", "Steps", "exact"]

# Digits of a float64, and how many of the lower numbers' digits are kept free for carries: 2 ** 22 parts at most.
_DIGITS, _CARRIES = 52, 22


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps to whose multiples parts are rounded: a coarse one, and a fine one for what is left.

    Attributes
    ----------
    coarse, fine : float
        Powers of 2.
    """

    coarse: float
    fine: float

    @classmethod
    def below(cls, largest: float) -> Steps:
        """Return steps for sums whose parts and totals are at most so large: the fine one is 2 ** 80 times smaller."""
        if not 0 <= largest < 2.0**900:
            raise ValueError(
                "X is too large for float64: sums of its rows overflow. Divide X by a large number."
            )
        exponent = max(int(np.frexp(largest)[1]) + 2 - _DIGITS, -900)
        return cls(2.0**exponent, 2.0 ** (exponent - 1 + _CARRIES - _DIGITS))

    def split(self, part: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return multiples of both steps whose sum is the part, but for half a fine step."""
        # A number that is added and taken away again leaves multiples of its own last digit.
        high = part + 1.5 * 2.0**_DIGITS * self.coarse
        high -= 1.5 * 2.0**_DIGITS * self.coarse
        low = part - high
        low += 1.5 * 2.0**_DIGITS * self.fine
        low -= 1.5 * 2.0**_DIGITS * self.fine
        return high, low


class ExactSum:
    """The sum of any number of arrays of one shape.

    Parameters
    ----------
    shape : tuple of int
        Of the arrays.
    steps : Steps
        As large as the sums may get.
    """

    def __init__(self, shape: tuple[int, ...], steps: Steps) -> None:
        self.steps = steps
        self.high = np.zeros(shape)
        self.low = np.zeros(shape)

    @property
    def nbytes(self) -> int:
        """What travels of it."""
        return self.high.nbytes + self.low.nbytes

    def add(self, part: FloatArray, rows: IndexArray | slice = slice(None)) -> None:
        """Add a part; `rows` says which rows of the sum it belongs to, each at most once."""
        high, low = self.steps.split(part)
        self.high[rows] += high
        self.low[rows] += low

    def take_in(self, other: ExactSum) -> None:
        """Add what another sum of the same steps holds."""
        self.high += other.high
        self.low += other.low

    def total(self) -> FloatArray:
        """Return the sum, rounded once."""
        carried = np.rint(self.low / self.steps.coarse) * self.steps.coarse
        self.high += carried
        self.low -= carried
        return self.high + self.low


def exact(shape: tuple[int, ...], steps: Steps) -> Callable[[], ExactSum]:
    """Return what makes empty sums of a shape, here and on workers."""
    return partial(ExactSum, shape, steps)
