"""Vectors in cells of a table: what their numbers are called, and where they stand in a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.arrays import Array, IndexArray
from coterie.rows.checks import BadRowError

__all__ = ["ChosenColumns", "dtype_of_names", "first_width", "unlike_vector"]

# Arrow's and polars' names of the types that float32 holds exactly.
_FLOAT32_NAMES = {"float", "halffloat", "int8", "int16", "uint8", "uint16"}
_FLOAT32_NAMES |= {"Float16", "Float32", "Int8", "Int16", "UInt8", "UInt16"}


@dataclass(frozen=True, slots=True)
class ChosenColumns:
    """The columns of a table that are clustered.

    Parameters
    ----------
    names : list of str
        What the table calls them.
    widths : list of int or None
        How many numbers a cell of each has; None for a column of numbers.
    """

    names: Sequence[str]
    widths: Sequence[int | None]

    @property
    def n_columns(self) -> int:
        """Columns of a block; one, which is never read, where none was chosen."""
        return sum(1 if width is None else width for width in self.widths) or 1

    @property
    def column_names(self) -> list[str]:
        """Names of a block's columns; the third number of vectors ``v`` is ``v[2]``."""
        names: list[str] = []
        for name, width in zip(self.names, self.widths):
            names += [name] if width is None else [f"{name}[{i}]" for i in range(width)]
        return names

    @property
    def has_vectors(self) -> bool:
        """Whether any of them holds vectors."""
        return any(width is not None for width in self.widths)

    def block(self, n_rows: int, dtype: np.dtype[Any], values: Callable[[int, int | None], Array]) -> Array:
        """Put the columns side by side; a single column of vectors is returned as it is.

        Parameters
        ----------
        n_rows : int
            Rows of the block.
        dtype : dtype
            Type of the block where it is made here.
        values : callable
            ``values(i, width)`` returns the numbers of column `i`, of shape (n_rows,) or (n_rows, width).
        """
        if len(self.widths) == 1 and self.widths[0] is not None:
            return values(0, self.widths[0])
        block = np.empty((n_rows, self.n_columns), dtype=dtype)
        start = 0
        with np.errstate(all="ignore"):
            for i, width in enumerate(self.widths):
                stop = start + (1 if width is None else width)
                block[:, start:stop] = values(i, width).reshape(n_rows, stop - start)
                start = stop
        return block


def dtype_of_names(names: Iterable[str]) -> np.dtype[Any]:
    """Return the type to compute in, by the names that Arrow or polars have for the types of columns."""
    return np.dtype(np.float32 if set(names) <= _FLOAT32_NAMES else np.float64)


def first_width(length: int | None, name: str) -> int:
    """Return the length of the first vector (None where there is none), which all others must have."""
    if not length:
        found = "is missing" if length is None else "has no numbers"
        raise BadRowError.of(f"The vectors of {name!r} must have the same length, but one {found}.", 0, None)
    return length


def unlike_vector(
    name: str, width: int, length: int | None, position: int, rows: int | IndexArray
) -> BadRowError:
    """Return the error for a vector of another length than the first.

    Parameters
    ----------
    name : str
        The column.
    width, length : int
        The first vector's length, and that of the wrong one; None where it is missing.
    position : int
        Where it is in the block.
    rows : int or ndarray
        Number of the block's first row, or the number of each of its rows.
    """
    row = rows + position if isinstance(rows, int) else int(rows[position])
    found = "is missing" if length is None else f"has {length} numbers"
    problem = f"The vectors of {name!r} must have the same length, {width} as in row 0, but one {found}."
    return BadRowError.of(problem, row, None)
