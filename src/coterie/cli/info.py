"""`coterie info`: what is in a file of rows or in a saved model."""

from __future__ import annotations

import os
import shlex
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from coterie.arrays import FloatArray
from coterie.cli.inputs import input_facts, open_prepared
from coterie.cli.models import n_clusters_of
from coterie.cli.options import File, Json, given
from coterie.cli.output import table_lines, tell
from coterie.cli.runs import MODEL, SUMMARY, Run, find_model, read_run, settings_of
from coterie.estimators import persistence
from coterie.methods import Method, method_of
from coterie.methods import load as load_model
from coterie.rows.columns import column_word
from coterie.rows.roles import DISTINCT_LIMIT, ColumnProfile, profile_table, shares_of_variance


def info(file: File, /, *, json: Json = False) -> None:
    """Describe a file of rows, a saved model, or the folder of a run.

    Parameters
    ----------
    file
        A file that `coterie fit` reads, a model, or the folder that a run wrote.
    """
    tell(describe(file), fact_lines, json)


def describe(file: str) -> dict[str, Any]:
    """Return facts about a file of rows, of a table column by column, a saved model, or the folder of a run."""
    path = file
    if os.path.isdir(file):
        has_summary, has_model = (os.path.lexists(Path(file, name)) for name in (SUMMARY, MODEL))
        try:
            run = _run_facts(read_run(Path(file), Run)) if has_summary else None
        except ValueError:
            if has_model:
                raise
            run = None  # a folder of rows may have a file of this name
        if has_model:
            return {**_model_facts(find_model(file)), **(run or {})}
        if run is not None:
            return {"file": file, "kind": "run", **run}
    return _model_facts(file) if _is_model(path) else _row_facts(path)


def _run_facts(run: Run) -> dict[str, Any]:
    return {
        "command": f"coterie {run.command}",
        "made_from": run.input.file,
        "rows": run.input.rows,
        "seconds": run.seconds,
        "files": sorted(run.files),
    }


def _is_model(file: str) -> bool:
    if file.endswith(".coterie"):
        return True
    if not os.path.isfile(file):
        return False
    try:  # `zipfile.is_zipfile` raises BadZipFile for an archive of several disks
        with zipfile.ZipFile(file) as archive:
            return "coterie.json" in archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError):  # damaged: its reader raises the error
        return False


def _row_facts(file: str) -> dict[str, Any]:
    profile = profile_table(file)
    facts: dict[str, Any] = {"kind": "rows"}
    try:
        rows, *_ = open_prepared(file)
        facts.update(input_facts(file, rows))
        if rows.column_names is not None:
            facts["column_names"] = list(rows.column_names)
    except ValueError as error:
        if profile is None:
            raise
        facts.update({"file": file, "rows": profile[0], "problem": " ".join(str(error).split())})
    if os.path.isfile(file):
        facts["bytes"] = os.path.getsize(file)
    if profile is None:
        return facts
    n_rows, columns = profile
    shares = zip(columns, shares_of_variance(columns))
    table = [{**asdict(column), "share_of_variance": share} for column, share in shares]
    return {**facts, "table": table, "command": _command(file, n_rows, columns)}


def _model_facts(file: str) -> dict[str, Any]:
    header = persistence.read_header(file)
    model = load_model(file)
    method = method_of(model)
    return {
        "file": file,
        "kind": "model",
        "estimator": header.estimator,
        "format_version": header.format_version,
        "coterie": header.coterie_version,
        "bytes": os.path.getsize(file),
        **({"method": method.name} if method else {}),
        **header.metadata,
        "prepared_by": [_step_in_words(*step) for step in getattr(model, "preparation_", ())],
        "parameters": settings_of(model),
        **given(
            {
                "columns_in": getattr(model, "n_features_in_", None),
                "clusters": n_clusters_of(model),
                "iterations": getattr(model, "n_iter_", None),
            }
        ),
        **(_method_facts(model, method) if method else {}),
    }


def _step_in_words(name: str, *values: Any) -> str:
    """Return what was done to the rows of a fit: a word for it, and the first that it holds."""
    if not values:
        return name
    held = " ".join(map(str, values[0])) if isinstance(values[0], list) else " ".join(repr(values[0]).split())
    return f"{name} {held}"


def _method_facts(model: Any, method: Method) -> dict[str, Any]:
    """Return the facts of a fitted estimator, by the record of its method."""
    facts: dict[str, Any] = {}
    left = n_clusters_of(model)
    if method.objective is not None:
        value = getattr(model, method.objective.attribute, None)
        if value is not None and np.ndim(value) == 0:
            facts[method.objective.name.replace(" ", "_")] = value
    if method.clusters is not None and left is not None:
        facts["clusters_dropped"] = getattr(model, method.clusters) - left
    return facts


def fact_lines(facts: dict[str, Any]) -> list[str]:
    """Name and value of each fact, the values aligned; of a table its columns besides."""
    if "table" in facts:
        short = {name: value for name, value in facts.items() if name not in ("table", "command", "problem")}
        return [*fact_lines(short), "", *_table_lines(facts)]
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        flat.update(value if isinstance(value, dict) else {name: value})
    width = max(map(len, flat)) + 2
    return [f"{name.replace('_', ' '):<{width}}{_in_words(value)}" for name, value in flat.items()]


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        shown = ", ".join(map(str, value[:12]))
        return shown if len(value) <= 12 else f"{shown} and {len(value) - 12:,} more"
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value is None else str(value)


# Columns of a wide table that are shown one by one.
_SHOWN = 20
_NAME_WIDTH = 28
_RANGE_WIDTH = 14

# A column that has most of the variance is named only if its spread is at least this multiple of that of the median
# column. In Fisher's irises the length of the petals has 69% of the variance and 2.4 times the spread, which is fine.
_WIDE = 4.0

# Roles of columns that are clustered without encoding.
_CLUSTERED = ("number", "vector")


def dominant_column(spread: FloatArray) -> int | None:
    """Return the column with most of the variance due to its scale, None if there is none."""
    widest = int(spread.argmax())
    others = np.delete(spread, widest)
    others = others[others > 0]
    if not len(others) or 2 * spread[widest] ** 2 <= spread @ spread:
        return None
    return widest if spread[widest] >= _WIDE * np.median(others) else None


def _table_lines(facts: dict[str, Any]) -> list[str]:
    """Return a line for each column, of a wide table for the first, a summary of the others, and the command."""
    columns = facts["table"]
    cells = [["column", "type", "looks like", "missing", "distinct", "range", "variance"]]
    cells += [_cells(column) for column in columns[:_SHOWN]]
    lines = table_lines(cells, "<")
    left = columns[_SHOWN:]
    if left:
        looks = Counter(column["looks_like"] for column in left)
        shown = ", ".join(f"{count:,} {look}" for look, count in looks.most_common())
        lines += ["", f"and {len(left):,} more columns: {shown}", *_exceptions(left)]
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


def _exceptions(columns: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line for columns that are not numbers, and one for columns with missing values."""
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
        is_uneven = len(numbers) > 1 and (bool(categories) or dominant_column(spread) is not None)
        options += ["--scale", "standard"] if is_uneven else []
    return _line(file, n_rows, options)


def _line(file: str, n_rows: int, options: Sequence[str]) -> str:
    return shlex.join(["coterie", "fit", file, *options, "-k", str(min(10, n_rows))])
