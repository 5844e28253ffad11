"""What `coterie info` says of a table: its columns, and the command that would cluster it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from coterie.arrays import FloatArray
from coterie.rows.columns import column_word
from coterie.rows.roles import DISTINCT_LIMIT, ColumnProfile, shares_of_variance

__all__ = ["table_facts", "table_lines"]

# Columns of a wide table that are shown one by one.
_SHOWN = 20
_NAME_WIDTH = 28
_RANGE_WIDTH = 14

# A column that has most of the variance is named only if its spread is so many times that of the median column. Of the
# variance of Fisher's irises 69% is in the length of the petals, with 2.4 times the spread; nothing is wrong with that.
_WIDE = 4.0

# What is clustered as it stands.
_CLUSTERED = ("number", "vector")


def drowning_column(spread: FloatArray) -> int | None:
    """Return the column that has most of the variance because it is measured on another scale, None if none has."""
    widest = int(spread.argmax())
    others = np.delete(spread, widest)
    others = others[others > 0]
    if not len(others) or 2 * spread[widest] ** 2 <= spread @ spread:
        return None
    return widest if spread[widest] >= _WIDE * np.median(others) else None


def table_facts(file: str, n_rows: int, columns: Sequence[ColumnProfile]) -> dict[str, Any]:
    """Return what is known of each column of a table, and the command that would cluster it, None where none would."""
    described = [
        {**asdict(column), "share_of_variance": share}
        for column, share in zip(columns, shares_of_variance(columns))
    ]
    return {"table": described, "command": _command(file, n_rows, columns)}


def table_lines(facts: dict[str, Any]) -> list[str]:
    """Return a line for each column, of a wide table for the first, a summary of the others, and the command."""
    columns = facts["table"]
    cells = [["column", "type", "looks like", "missing", "distinct", "range", "variance"]]
    cells += [_cells(column) for column in columns[:_SHOWN]]
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip() for row in cells]
    left = columns[_SHOWN:]
    if left:
        lines += ["", f"and {len(left):,} more columns: {_counted_looks(left)}", *_exceptions(left)]
    remarks = [f"  {_short(column['name'])}: {column['remark']}" for column in columns if column["remark"]]
    if remarks:
        lines += ["", "worth a look", *remarks[:_SHOWN]]
    if "problem" in facts:
        lines += ["", "cannot be clustered as it is", f"  {facts['problem']}"]
    command = facts["command"]
    return [
        *lines,
        "",
        *(["this would cluster it", f"  {command}"] if command else ["nothing here can be clustered"]),
    ]


def _cells(column: dict[str, Any]) -> list[str]:
    share = column["share_of_variance"]
    has_range = column["lowest"] is not None and column["looks_like"] != "constant"
    looks = column["looks_like"]
    counted = "" if looks in ("vector", "nested") else f"> {DISTINCT_LIMIT:,}"
    return [
        _short(column["name"]),
        _short(column["type"]),
        f"vector of {column['width']}" if looks == "vector" and column["width"] else looks,
        f"{column['missing']:,}" if column["missing"] else "",
        counted if column["distinct"] is None else f"{column['distinct']:,}",
        f"{_end(column['lowest'])} to {_end(column['highest'])}" if has_range else _end(column["lowest"]),
        "" if share is None else f"{share:.1%}",
    ]


def _short(text: str, width: int = _NAME_WIDTH) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _end(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else _short(str(value), _RANGE_WIDTH)


def _counted_looks(columns: Sequence[dict[str, Any]]) -> str:
    looks = Counter(column["looks_like"] for column in columns)
    return ", ".join(f"{count:,} {look}" for look, count in looks.most_common())


def _exceptions(columns: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line for those of many columns that are no numbers, and one for those with missing values."""
    kinds: dict[str, Callable[[dict[str, Any]], bool]] = {
        "no numbers": lambda column: column["looks_like"] not in _CLUSTERED,
        "with missing values": lambda column: column["missing"] > 0,
    }
    lines = []
    for title, is_one in kinds.items():
        names = [_short(column["name"]) for column in columns if is_one(column)]
        if names:
            more = f" and {len(names) - 12:,} more" if len(names) > 12 else ""
            lines.append(f"  {title}: {', '.join(names[:12])}{more}")
    return lines


def _command(file: str, n_rows: int, columns: Sequence[ColumnProfile]) -> str | None:
    """Return the command that would cluster a table; None where it has neither numbers, vectors nor categories.

    The rules for the roles of columns leave most columns out, so that no option has to.
    """
    names = [column.name for column in columns]
    words = [column_word(i, name if names.count(name) == 1 else None) for i, name in enumerate(names)]
    found: dict[str, list[int]] = {"vector": [], "number": [], "category": []}
    for i, column in enumerate(columns):
        if column.looks_like in found and not column.remark:
            found[column.looks_like].append(i)
    vectors, numbers, categories = found.values()
    if not vectors and not numbers and not categories:
        return None
    if len(vectors) > 1:
        return _line(file, n_rows, ["--columns", words[vectors[0]]])
    refused = [
        words[i]
        for i, column in enumerate(columns)
        if column.remark and (column.looks_like == "vector" or not vectors)
    ]
    options = ["--exclude", ",".join(refused)] if refused else []
    if not vectors:
        options += ["--categories", "auto"] if categories else []
        options += ["--missing", "median"] if any(columns[i].missing for i in numbers) else []
        spread = np.sqrt([columns[i].variance or 0.0 for i in numbers])
        is_uneven = len(numbers) > 1 and (bool(categories) or drowning_column(spread) is not None)
        options += ["--scale", "standard"] if is_uneven else []
    return _line(file, n_rows, options)


def _line(file: str, n_rows: int, options: Sequence[str]) -> str:
    return shlex.join(["coterie", "fit", file, *options, "-k", str(min(10, n_rows))])
