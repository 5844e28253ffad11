"""Columns of a table: the choice of the clustered ones, and their positions in a block."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias

import numpy as np

from coterie.arrays import Array, IndexArray
from coterie.limits.files import shortened
from coterie.rows.checks import MOST_OF_A_NAME, BadRowError, NotNumbersError

# Names of ids, whatever their values.
_ID_NAME = re.compile(r"(?i:(^|[_\-. ])(id|ids|uuid|guid)$)|[a-z0-9](Id|ID)$")


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


# Opens a table without a column to cluster, for its metadata columns. It has one column that is never read.
NO_COLUMNS: Columns = _NoColumns()


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its name (or None), its type in words, and the kind of its cells."""

    name: str | None
    type: str
    kind: Literal["number", "vector", "other"]


def choose_columns(
    table: Sequence[Column],
    columns: Columns | None,
    exclude: Columns | None,
    *,
    unasked: Collection[int] = (),
    path: object = None,
) -> list[int]:
    """Return the positions of the columns that are clustered, in their order.

    By default a table with one column of vectors is clustered by that column, with a warning if it has numbers as well;
    a table without vectors by all columns but `unasked`, which must be numbers. `path` is for the command in an error.
    """
    if columns is NO_COLUMNS:
        return []
    names = [column.name for column in table]
    excluded = set() if exclude is None else set(column_positions(names, exclude))
    if columns is not None:
        if not isinstance(columns, int) and not len(columns):
            raise ValueError(f"columns must be a list of names or positions, got {columns!r}.")
        chosen = [i for i in column_positions(names, columns) if i not in excluded]
        _check_numbers(table, chosen)
    else:
        candidates = [i for i in range(len(table)) if i not in excluded and i not in unasked]
        chosen = _usual_columns(table, candidates, path)
    if not chosen:
        raise ValueError("exclude leaves no column of numbers.")
    return chosen


def column_positions(names: Sequence[str | None], wanted: Columns) -> list[int]:
    """Return the positions of the chosen columns, each once, in the given order.

    A column is a name; a position from 0; a range, by names with both ends (``"e0:e255"``) or by positions without the
    end (``"2:258"``, ``"2:"``); or a pattern of names (``"e*"``). Columns without a name have None.
    """
    chosen: dict[int, None] = {}
    for column in [wanted] if isinstance(wanted, (str, int)) else wanted:
        found, is_single = _matches(names, column)
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


def _check_numbers(table: Sequence[Column], chosen: Iterable[int], hint: str = "") -> None:
    others = [i for i in chosen if table[i].kind == "other"]
    if others:
        raise NotNumbersError(
            f"X has columns that are not numbers: {listed_columns(table, others)}. Leave them out, encode their values "
            f"by prepare_rows(X, categories='auto') (--categories auto), or choose others{hint}."
        )


def _usual_columns(table: Sequence[Column], candidates: list[int], path: object) -> list[int]:
    vectors = [i for i in candidates if table[i].kind == "vector"]
    numbers = [i for i in candidates if table[i].kind == "number"]
    if not vectors:
        others = [i for i in candidates if table[i].kind == "other"]
        _check_numbers(
            table, candidates, f": {_choice_hint('exclude', table, others, path)}" if numbers else ""
        )
        return candidates
    if len(vectors) > 1:
        raise ValueError(
            f"X has several columns of vectors: {listed_columns(table, vectors)}. "
            f"Say which to cluster: {_choice_hint('columns', table, vectors[:1], path)}."
        )
    numbers = [i for i in numbers if not has_id_name(table[i].name or "")]
    if numbers:
        vector = table[vectors[0]].name
        warnings.warn(
            f"Clustered by the vectors of {vector!r} alone, without the numbers of "
            f"{listed_columns(table, numbers)}. Name the columns to cluster to confirm or change this: "
            f"columns={[vector]!r} (--columns).",
            stacklevel=2,
        )
    return vectors


def listed_columns(table: Sequence[Column], positions: Sequence[int]) -> str:
    """Return names (or positions) and types of columns, the first few of many."""
    names = [str(i) if table[i].name is None else table[i].name for i in positions[:_SHOWN]]
    shown = [
        f"{shortened(repr(name), MOST_OF_A_NAME)} ({table[i].type})" for name, i in zip(names, positions)
    ]
    if len(positions) > _SHOWN:
        shown.append(f"and {len(positions) - _SHOWN} more")
    return ", ".join(shown)


def _choice_hint(option: str, table: Sequence[Column], positions: Sequence[int], path: object) -> str:
    """Return the Python code or command that takes or leaves out columns."""
    names = [table[i].name for i in positions]
    called = [
        name if name is not None and names.count(name) == 1 and len(repr(name)) <= MOST_OF_A_NAME else i
        for i, name in zip(positions, names)
    ]
    shown = f"{option}={called!r}"
    if path is None:
        return f"coterie.as_rows(X, {shown})"
    words = ",".join(
        column_word(i, None if isinstance(name, int) else name) for i, name in zip(positions, called)
    )
    return f"{shown} (--{option} {shlex.quote(words)})"


def has_id_name(name: str) -> bool:
    """Return whether a column is called like an id: "id", "customer_id", "customerId", "uuid"."""
    return bool(_ID_NAME.search(name))


def column_word(position: int, name: str | None) -> str:
    """Return the word for a column on the command line: its position, if its name would be read as something else."""
    is_plain = (
        name and "," not in name and name == name.strip() and not name.isdecimal() and name.isprintable()
    )
    return name if name and is_plain else str(position)
