"""Tables in files: which columns to read, and cutting of what pyarrow reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["column_positions", "cut_batches", "select_columns"]


def cut_batches(batches: Iterator[Any], skipped: int, n_rows: int, rows: int) -> Iterator[Any]:
    """Leave out the first `skipped` rows and all behind the next `n_rows`; no batch has more than `rows`."""
    for batch in batches:
        for low in range(min(skipped, batch.num_rows), batch.num_rows, rows):
            piece = batch.slice(low, min(rows, n_rows))
            n_rows -= piece.num_rows
            yield piece
            if n_rows == 0:
                return
        skipped = max(0, skipped - batch.num_rows)


def select_columns(schema: Any, columns: Sequence[str | int] | None) -> tuple[list[str], Any]:
    """Return the names of the columns to read and their part of the schema.

    Without `columns` these are all but the index that pandas stored beside them.
    """
    names = list(schema.names)
    if len(set(names)) < len(names):
        raise ValueError("its column names are not unique.")
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    if columns is None:
        chosen = [i for i, name in enumerate(names) if name not in index]
    else:
        chosen = column_positions(names, len(names), columns)
    fields = [schema.field(i) for i in chosen]
    return [field.name for field in fields], fields


def column_positions(
    names: list[str] | None, n_columns: int, columns: Sequence[str | int] | None
) -> list[int]:
    """Return the positions of the columns that were asked for by name or by position."""
    if columns is None:
        return list(range(n_columns))
    known = list(names or [])
    chosen = []
    for column in columns:
        if isinstance(column, str) and column in known:
            chosen.append(known.index(column))
        elif not isinstance(column, str) and 0 <= column < n_columns:
            chosen.append(int(column))
        else:
            shown = ", ".join(repr(name) for name in known[:12]) or f"0 to {n_columns - 1}, without names"
            raise ValueError(f"no column {column!r}. Its columns are {shown}{', ...' * (len(known) > 12)}.")
    if len(set(chosen)) < len(chosen):
        raise ValueError("a column was asked for twice.")
    return chosen
