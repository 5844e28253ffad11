"""The words by which columns of a table are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from coterie.limits.files import shortened
from coterie.rows.checks import MOST_OF_A_NAME

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
