"""`coterie info`: what is in a file of rows or a saved model, what a run has found; what is installed."""

from __future__ import annotations

import os
import platform
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from coterie import _kernels
from coterie.cli.errors import about, check_exists
from coterie.cli.fit import n_clusters_of, settings_of
from coterie.cli.inputs import input_facts, open_input
from coterie.cli.output import plain, table_lines, tell
from coterie.cli.runs import SUMMARY, read_summary
from coterie.estimators import persistence
from coterie.figures import counted, short
from coterie.fitting.threads import effective_n_threads
from coterie.methods import load
from coterie.rows.columns import column_word
from coterie.rows.files import profile_table
from coterie.rows.roles import ColumnProfile, shares_of_variance, unlike_scales
from coterie_command.options import Columns, InfoOptions, Reading, UsageError

LIBRARIES = (
    "numpy", "scipy", "scikit-learn", "threadpoolctl", "cyclopts", "rich", "matplotlib", "Jinja2", "jinja2", "openTSNE",
    "pyarrow", "pandas", "h5py", "zarr", "dask", "distributed", "fsspec", "s3fs", "aiohttp",
)  # fmt: skip


def run_info(file: str, options: InfoOptions) -> int:
    """Print the facts, and return the exit code."""
    check_exists(file)
    tell(describe(file, options), fact_lines, options)
    return 0


def describe(file: str, options: InfoOptions) -> dict[str, Any]:
    """Return facts about a file of rows, of a table column by column, or a saved model; the summary of a run."""
    if os.path.isdir(file) and os.path.lexists(Path(file, SUMMARY)):
        return {"kind": "run", **read_summary(Path(file))}
    return _model_facts(file) if file.endswith(".coterie") else _row_facts(file, options)


def _row_facts(file: str, options: InfoOptions) -> dict[str, Any]:
    facts: dict[str, Any] = {"kind": "rows"}
    problem: Exception | None = None
    reading = Columns(**{known.name: getattr(options, known.name) for known in fields(Reading)})
    try:
        opened = open_input(file, file, reading)
        facts.update(input_facts(file, opened.rows))
        if opened.rows.column_names is not None:
            facts["column_names"] = list(opened.rows.column_names)
    except (ValueError, UsageError) as error:
        problem = error
    with about(file):
        profile = profile_table(file, facts.get("rows"), **options.reading)
    if problem is not None:
        if profile is None:
            raise problem
        facts.update({"file": file, "rows": profile[0], "problem": " ".join(str(problem).split())})
    if os.path.isfile(file):
        facts["bytes"] = os.path.getsize(file)
    if profile is None:
        return facts
    n_rows, n_profiled, columns = profile
    shares = zip(columns, shares_of_variance(columns))
    table = [{**asdict(column), "share_of_variance": share} for column, share in shares]
    return {**facts, "table": table, "profiled_rows": n_profiled, "command": _command(file, n_rows, columns)}


def _model_facts(file: str) -> dict[str, Any]:
    header, model = persistence.read_header(file), load(file)
    return {
        "file": file,
        "kind": "model",
        "estimator": header["estimator"],
        "coterie": header["coterie"],
        "bytes": os.path.getsize(file),
        **header["metadata"],
        **({"clusters": n_clusters_of(model)} if hasattr(model, "labels_") else {}),
        "columns": getattr(model, "n_features_in_", None),
        "parameters": settings_of(model),
    }


def fact_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return a line and a table about rows, what a run has printed, or names and values about a model."""
    if facts["kind"] == "run":
        from coterie.cli import compare, fit, path

        told = {"compare": compare, "fit": fit, "path": path}[facts["command"]].lines_of_run(facts)
        return [facts["command_line"], *told]
    if facts["kind"] == "model":
        words = ", ".join(f"{name}={plain(value)}" for name, value in facts["parameters"].items())
        return table_lines(
            [[name, str(value)] for name, value in {**facts, "parameters": words}.items()], "<"
        )
    kind = [facts.get("source"), facts.get("dtype"), "sparse" if facts.get("sparse") else None]
    size = [counted(facts["rows"], "row")]
    size += [counted(facts["columns"], "column") + " to cluster"] if "columns" in facts else []
    size += [", ".join(word for word in kind if word)] if any(kind) else []
    size += [f"{facts['bytes']:,} bytes"] if "bytes" in facts else []
    return [f"{facts['file']}: {'; '.join(size)}", *(_table_lines(facts) if "table" in facts else [])]


# Columns of a wide table that are shown one by one.
_SHOWN = 20
_NAME_WIDTH, _RANGE_WIDTH = 28, 14


def _table_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return a line for each column, of a wide table for the first, a summary of the others, and the command."""
    columns, command = facts["table"], facts["command"]
    cells = [["column", "type", "looks like", "missing", "distinct", "range", "variance"]]
    lines = ["", *table_lines([*cells, *map(_cells, columns[:_SHOWN])], "<")]
    if facts["profiled_rows"] < facts["rows"]:
        lines += ["", f"described by the first {facts['profiled_rows']:,} rows"]
    if columns[_SHOWN:]:
        looks = Counter(column["looks_like"] for column in columns[_SHOWN:])
        shown = ", ".join(f"{count:,} {look}" for look, count in looks.most_common())
        lines += ["", f"and {len(columns) - _SHOWN:,} more columns: {shown}"]
    remarks = [
        f"  {short(column['name'], _NAME_WIDTH)}: {column['remark']}"
        for column in columns
        if column["remark"]
    ]
    lines += ["", "worth a look", *remarks[:_SHOWN]] if remarks else []
    if "problem" in facts:
        lines += ["", "cannot be clustered as it is", f"  {facts['problem']}"]
    told = ["this would cluster it (set -k)", f"  {command}"] if command else ["nothing to cluster"]
    return [*lines, "", *told]


def _cells(column: dict[str, Any]) -> list[str]:
    share, looks, low = column["share_of_variance"], column["looks_like"], _end(column["lowest"])
    has_range = column["lowest"] is not None and looks != "constant"
    return [
        short(column["name"], _NAME_WIDTH),
        short(column["type"].removeprefix("large_"), _NAME_WIDTH),
        f"vector of {column['width']}" if looks == "vector" and column["width"] else looks,
        f"{column['missing']:,}" if column["missing"] else "",
        "" if column["distinct"] is None else f"{column['distinct']:,}",
        f"{low} to {_end(column['highest'])}" if has_range else low,
        "" if share is None else f"{share:.1%}",
    ]


def _end(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    return short(str(value), _RANGE_WIDTH)


def _command(file: str, n_rows: int, columns: Sequence[ColumnProfile]) -> str | None:
    """Return the command that would cluster a table; None where it has neither numbers, vectors nor categories."""
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
    refused = [word for word, column in zip(words, columns)
               if column.remark and (column.looks_like == "vector" or not vectors)]  # fmt: skip
    options = ["--exclude", ",".join(refused)] if refused else []
    if not vectors:
        options += ["--categories", "auto"] if categories else []
        options += ["--missing", "median"] if any(columns[i].missing for i in numbers) else []
        is_uneven = bool(categories) or unlike_scales([columns[i] for i in numbers]) is not None
        options += ["--scale", "standard"] if len(numbers) > 1 and is_uneven else []
    return _line(file, n_rows, options)


def _line(file: str, n_rows: int, options: Sequence[str]) -> str:
    return shlex.join(["coterie", "fit", file, *options, "-k", str(min(10, n_rows))])


def installation_lines() -> list[str]:
    """Return lines about this installation, the version first."""
    others = [name for name in _kernels.available_instruction_sets() if name != _kernels.instruction_set()]
    libraries = sorted(f"{one.name} {one.version}" for one in distributions() if one.name in LIBRARIES)
    return [
        f"coterie {_kernels.__version__}, compiled by {getattr(_kernels, '__compiler__', 'an unknown compiler')}",
        f"instruction set {_kernels.instruction_set()} (also here: {', '.join(others) or 'none'}), "
        f"{counted(effective_n_threads(None), 'thread')}",
        f"Python {platform.python_version()}, {platform.platform()}",
        ", ".join(libraries),
    ]
