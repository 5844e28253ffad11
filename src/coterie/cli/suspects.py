"""Columns of a table that should perhaps not be clustered: ids, and those whose scale drowns the others."""

from __future__ import annotations

import shlex

import numpy as np

from coterie.arrays import FloatArray
from coterie.rows import RowSource
from coterie.rows.profile import looks_like_ids

__all__ = ["column_warnings", "drowning_column"]

# Rows at the beginning of a table that are looked at: enough to see what a column is, nothing beside the fit.
_SEEN_ROWS = 1 << 16
_FEWEST_ROWS = 20

# A column that has most of the variance is named only if its spread is so many times that of the median column. Of the
# variance of Fisher's irises 69% is in the length of the petals, with 2.4 times the spread; nothing is wrong with that.
_WIDE = 4.0


def column_warnings(rows: RowSource) -> list[str]:
    """Name columns that look like ids, and one that carries more than half of all variance.

    Parameters
    ----------
    rows : RowSource
        As they will be clustered; they are looked at as they were before they were scaled and encoded. Only tables of
        numbers are looked at, by their first rows.

    Returns
    -------
    list of str
        A sentence or two for each.
    """
    is_scaled = any(step[0] == "scale" for step in rows.preparation)
    rows = _as_read(rows)
    has_vectors = rows.chosen is not None and len(rows.chosen) < rows.shape[1]
    if (
        not rows.is_table
        or rows.is_sparse
        or has_vectors
        or rows.chosen == []
        or rows.shape[1] < 2
        or rows.shape[0] < _FEWEST_ROWS
    ):
        return []
    _, block = next(rows.blocks(min(_SEEN_ROWS, rows.shape[0])))
    ids = [i for i in range(rows.shape[1]) if looks_like_ids(block[:, i])]
    if len(ids) == rows.shape[1]:
        return []
    told = [
        f"The column {_name(rows, i)!r} looks like an id or a row number: whole numbers, all different. It is "
        f"clustered like the others; {_way_out(rows, i)}, --id does so and keeps it in the results."
        for i in ids
    ]
    if is_scaled:
        return told
    others = [i for i in range(rows.shape[1]) if i not in ids]
    spread = block[:, others].std(axis=0, dtype=np.float64)
    widest = drowning_column(spread)
    if widest is None:
        return told
    share = spread[widest] ** 2 / (spread @ spread)
    return [
        *told,
        f"The column {_name(rows, others[widest])!r} carries {share:.0%} of all variance, more than all others "
        f"together; {_way_out(rows, others[widest])}; --scale standard gives all columns the same weight.",
    ]


def _as_read(rows: RowSource) -> RowSource:
    """Return rows as they were before they were scaled, encoded or normalized."""
    while rows.preparation and rows.preparation[-1][0] not in ("columns", "impute"):
        rows = rows.source  # type: ignore[attr-defined]
    return rows


def drowning_column(spread: FloatArray) -> int | None:
    """Return the column that has most of the variance because it is measured on another scale, None if none has."""
    widest = int(spread.argmax())
    others = np.delete(spread, widest)
    others = others[others > 0]
    if not len(others) or 2 * spread[widest] ** 2 <= spread @ spread:
        return None
    return widest if spread[widest] >= _WIDE * np.median(others) else None


def _name(rows: RowSource, position: int) -> str | int:
    return position if rows.column_names is None else rows.column_names[position]


def _way_out(rows: RowSource, position: int) -> str:
    return f"--exclude {shlex.quote(str(_name(rows, position)))} leaves it out"
