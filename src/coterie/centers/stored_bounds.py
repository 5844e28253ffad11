"""Lower bounds in 16 bits: what `cpp/include/coterie/machine/stored_bounds.hpp` reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from coterie.arrays import Array

__all__ = ["StoredBounds"]

# Octaves of the bounds that can be stored, and how many of them are above a typical distance: outliers may be so much
# farther away; with 26 below, nothing is lost that a float32 could tell.
_OCTAVES, _OCTAVES_ABOVE = 32, 6


@dataclass(frozen=True)
class StoredBounds:
    """Five bits of the exponent and eleven of the fraction, rounded down: monotonous, and never more than the bound.

    Parameters
    ----------
    bias : int
        What the bits of the least number begin with that can be stored.
    dtype_of_values : dtype
        Of the bounds.
    """

    bias: int
    dtype_of_values: np.dtype

    dtype: ClassVar[np.dtype] = np.dtype(np.uint16)
    none: ClassVar[int] = 0  # no bound
    endless: ClassVar[int] = 65535  # the greatest one

    @classmethod
    def around(cls, distance: float, dtype: np.dtype) -> StoredBounds:
        """Return what suits rows that are typically so far from all others."""
        bits, dropped = _bits_of(dtype)
        tiny, largest = np.finfo(dtype).tiny, np.finfo(dtype).max
        least = np.clip(distance * 2.0 ** (_OCTAVES_ABOVE - _OCTAVES), tiny, largest * 2.0**-_OCTAVES)
        return cls(int(np.array([least], dtype=dtype).view(bits)[0] >> dropped), dtype)

    def store(self, bounds: Array) -> Array:
        """Return the bounds as they are stored; what is below the least is no bound."""
        bits, dropped = _bits_of(self.dtype_of_values)
        values = np.ascontiguousarray(np.maximum(bounds, 0), dtype=self.dtype_of_values)
        return np.clip((values.view(bits) >> dropped) - self.bias, self.none, self.endless).astype(self.dtype)

    def values(self, stored: Array) -> Array:
        """Return what is known of the bounds that are stored: no more than they were; minus infinity for none."""
        bits, dropped = _bits_of(self.dtype_of_values)
        values = ((stored.astype(bits) + self.bias) << dropped).view(self.dtype_of_values)
        return np.where(stored == self.none, -np.inf, values).astype(self.dtype_of_values, copy=False)


def _bits_of(dtype: np.dtype) -> tuple[np.dtype, int]:
    """Return the integers that have as many bits as numbers of a type, and how many of these are dropped."""
    return (np.dtype(np.int32), 12) if dtype.itemsize == 4 else (np.dtype(np.int64), 41)
