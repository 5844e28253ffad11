"""Sums of floats that are exact, so that they do not depend on the order in which parts are added.

Each part is rounded once to multiples of a step, which is far below the last digit of what comes out; numbers of such
multiples are added without rounding, as integers are. So chunks may be summed by any number of workers, in any order,
and again after one has died: the bits are the same (Demmel and Nguyen, Parallel reproducible summation, 2015).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from coterie.arrays import FloatArray, IndexArray
from coterie.cached import cached_property

# Digits of a float64, and how many of the lower numbers' digits are kept free for carries: 2 ** 22 parts at most.
_DIGITS, _CARRIES = 52, 22


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps, powers of 2, to whose multiples parts are rounded: a coarse one, and a fine one for what is left."""

    coarse: float
    fine: float

    @classmethod
    def below(cls, largest: float) -> Steps:
        """Return steps for sums whose parts and totals are at most `largest`; the fine one is 2 ** 80 times less."""
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
    """The sum of any number of arrays of one shape, added to `base`."""

    def __init__(self, shape: tuple[int, ...], steps: Steps, base: FloatArray | None = None) -> None:
        self.shape, self.steps, self._base = shape, steps, base

    @cached_property
    def high(self) -> FloatArray:
        """Multiples of the coarse step; an empty sum is pickled without them."""
        return np.zeros(self.shape)

    @cached_property
    def low(self) -> FloatArray:
        """Multiples of the fine step."""
        return np.zeros(self.shape)

    @property
    def resolution(self) -> float:
        """Differences of less than this may be lost."""
        return self.steps.fine

    def emptied(self) -> ExactSum:
        """Return an empty sum of the same kind."""
        return ExactSum(self.shape, self.steps)

    def add(self, part: FloatArray, rows: IndexArray | slice = slice(None), /) -> None:
        """Add a part to some rows of the sum, each at most once."""
        high, low = self.steps.split(part)
        self.high[rows] += high
        self.low[rows] += low

    @contextmanager
    def part(self) -> Iterator[FloatArray]:
        """Return zeros to which the rows of a chunk are added; rows of the sum that stay 0 cost nothing."""
        part = np.zeros(self.shape)
        yield part
        rows = np.flatnonzero(part.any(axis=1) if part.ndim > 1 else part)
        self.add(part[rows], rows) if len(rows) < len(part) else self.add(part)

    def clear(self, rows: IndexArray | slice = slice(None), /) -> None:
        """Set some rows of the sum to 0."""
        self.high[rows] = 0
        self.low[rows] = 0
        if self._base is not None:
            self._base[rows] = 0

    def merge(self, other: ExactSum) -> None:
        """Add another sum of the same steps."""
        self.high += other.high
        self.low += other.low

    def total(self) -> FloatArray:
        """Return the sum, rounded once."""
        carry = np.rint(self.low / self.steps.coarse) * self.steps.coarse
        self.high += carry
        self.low -= carry
        total = self.high + self.low
        return total if self._base is None else self._base + total
