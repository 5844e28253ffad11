"""Columns of a table: the choice of the clustered ones, and their positions in a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

import numpy as np

from coterie.arrays import Array, IndexArray
from coterie.limits.files import shortened
from coterie.rows.checks import MOST_OF_A_NAME, BadRowError


@dataclass(frozen=True, slots=True)
class ChosenColumns:
    """The columns of a table that are clustered: their names, and the length of their vectors (None for numbers)."""

    names: Sequence[str]
    widths: Sequence[int | None]

    @property
    def n_columns(self) -> int:
        """Columns of a block; 1, which is never read, if none was chosen."""
        return sum(1 if width is None else width for width in self.widths) or 1

    @property
    def column_names(self) -> list[str]:
        """Names of a block's columns; the third number of vectors ``v`` is ``v[2]``."""
        names: list[str] = []
        for name, width in zip(self.names, self.widths):
            names += [name] if width is None else [f"{name}[{i}]" for i in range(width)]
        return names

    def block(self, n_rows: int, dtype: np.dtype[Any], values: Callable[[int, int | None], Array]) -> Array:
        """Join the columns to a block of `dtype`; a single column of vectors is not copied.

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


def first_width(length: int | None, name: str) -> int:
    """Return the length of the first vector, None without vectors; all others must have the same."""
    if not length:
        found = "is missing" if length is None else "has no numbers"
        raise BadRowError.of(f"The vectors of {name!r} must have the same length, but one {found}.", 0, None)
    return length


def vector_length_error(
    name: str, width: int, length: int | None, position: int, rows: int | IndexArray
) -> BadRowError:
    """Return the error for a vector of another length than the first (None for a missing vector).

    `position` is its place in the block, `rows` the number of the block's first row, or of each row.
    """
    row = rows + position if isinstance(rows, int) else int(rows[position])
    found = "is missing" if length is None else f"has {length} numbers"
    problem = f"The vectors of {name!r} must have the same length, {width} as in row 0, but one {found}."
    return BadRowError.of(problem, row, None)


Columns: TypeAlias = Sequence[str | int] | str | int
"""Some columns of a table: names, positions, ranges (``"e0:e255"``, ``"2:258"``) and patterns (``"e*"``)."""

_SHOWN = 8


class _NoColumns(tuple[str, ...]):
    """The deliberate choice of no column; an empty list is an error."""


# All columns, which must be numbers.
ALL_COLUMNS: Columns = ("0:",)

# Opens a table without a column to cluster, for its metadata columns. It has one column that is never read.
NO_COLUMNS: Columns = _NoColumns()


def column_positions(names: Sequence[str | None], wanted: Columns) -> list[int]:
    """Return the positions of the chosen columns, each once, in the given order.

    A column is a name; a position from 0; a range, by names with both ends (``"e0:e255"``) or by positions without the
    end (``"2:258"``, ``"2:"``); or a pattern of names (``"e*"``). Columns without a name have None.
    """
    chosen: dict[int, None] = {}
    wanted = [wanted] if isinstance(wanted, (str, int)) else wanted
    once: dict[str | None, int] = {}
    if len(wanted) > _SHOWN:  # of many names each is looked up at once
        once = {name: i for i, name in enumerate(names)}
        for name in {name for i, name in enumerate(names) if once[name] != i}:
            del once[name]
    for column in wanted:
        is_text = isinstance(column, str)
        found, is_single = ([once[column]], True) if is_text and column in once else _matches(names, column)
        if is_single and found[0] in chosen:
            raise ValueError(f"the column {column!r} is named twice.")
        chosen.update(dict.fromkeys(found))
    return list(chosen)


def _matches(names: Sequence[str | None], column: Any) -> tuple[Sequence[int], bool]:
    """Return the columns that one word selects, and whether it can select only one."""
    if not isinstance(column, str):
        if 0 <= column < len(names):
            return [int(column)], True
    elif column in names:
        return [_position(names, column)], True
    elif ":" in column:
        found: Sequence[int] = _range(names, *column.split(":", 1))
        if found:
            return found, False
    else:
        found = [i for i, name in enumerate(names) if name is not None and fnmatchcase(name, column)]
        if found:
            return found, False
    known = [name for name in names if name is not None]
    shown = ", ".join(map(repr, known[:12])) or f"0 to {len(names) - 1}, without names"
    raise ValueError(f"no column {column!r}. Its columns are {shown}{', ...' * (len(known) > 12)}.")


def _range(names: Sequence[str | None], first: str, last: str) -> range:
    if all(end == "" or end.isdecimal() for end in (first, last)):
        return range(len(names))[int(first or 0) : int(last) if last else None]
    if not all(end == "" or end in names for end in (first, last)):
        return range(0)
    return range(_position(names, first) if first else 0, _position(names, last) + 1 if last else len(names))


def _position(names: Sequence[str | None], name: str) -> int:
    if (n_columns := names.count(name)) > 1:
        raise ValueError(
            f"{n_columns} columns are named {name!r}. Rename them, or choose columns by position."
        )
    return names.index(name)


def listed_columns(names: Sequence[str], types: Sequence[Any], positions: Sequence[int]) -> str:
    """Return names and Arrow types of columns, the first few of many."""
    shown = [f"{shortened(repr(names[i]), MOST_OF_A_NAME)} ({types[i]})" for i in positions[:_SHOWN]]
    if len(positions) > _SHOWN:
        shown.append(f"and {len(positions) - _SHOWN} more")
    return ", ".join(shown)


def column_word(position: int, name: str | None) -> str:
    """Return the word for a column on the command line: its position, if its name would be read as something else."""
    is_plain = (
        name and "," not in name and name == name.strip() and not name.isdecimal() and name.isprintable()
    )
    return name if name and is_plain else str(position)
