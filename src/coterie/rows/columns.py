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


# Opens a table without a column to cluster, for its metadata columns. It has one column that is never read.
NO_COLUMNS: Columns = _NoColumns()


def column_positions(names: Sequence[str | None], wanted: Columns) -> list[int]:
    """Return the positions of the chosen columns, each once, in the given order. A column is a name, a position, a
    range (``"e0:e255"`` with both ends, ``"2:258"`` without the end) or a pattern of names (``"e*"``).
    """
    places: dict[str | None, list[int]] = {}
    for i, name in enumerate(names):
        places.setdefault(name, []).append(i)

    def position(name: str) -> int:
        if len(places[name]) > 1:
            raise ValueError(
                f"{len(places[name])} columns are named {name!r}. Rename them, or choose columns by position."
            )
        return places[name][0]

    def matches(column: Any) -> Sequence[int]:
        if not isinstance(column, str) or (column.isdecimal() and places.keys() == {None}):
            return [int(column)] if 0 <= int(column) < len(names) else []
        if column in places:
            return [position(column)]
        first, colon, last = column.partition(":")
        if not colon:
            return [i for i, name in enumerate(names) if name is not None and fnmatchcase(name, column)]
        if all(end == "" or end.isdecimal() for end in (first, last)):
            return range(len(names))[int(first or 0) : int(last) if last else None]
        if not all(end == "" or end in places for end in (first, last)):
            return []
        return range(position(first) if first else 0, position(last) + 1 if last else len(names))

    chosen: dict[int, None] = {}
    for column in [wanted] if isinstance(wanted, (str, int)) else wanted:
        found = matches(column)
        if not found:
            known = [name for name in names if name is not None]
            shown = ", ".join(map(repr, known[:12])) or f"0 to {len(names) - 1}, without names"
            raise ValueError(f"no column {column!r}. Its columns are {shown}{', ...' * (len(known) > 12)}.")
        if (not isinstance(column, str) or column in places) and found[0] in chosen:
            raise ValueError(f"the column {column!r} is named twice.")
        chosen.update(dict.fromkeys(found))
    return list(chosen)


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
