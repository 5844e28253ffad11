"""The files of results: labels beside the columns of the input, and a table of the clusters."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from coterie.arrays import IntArray
from coterie.cli.inputs import Opened
from coterie.results import Placement, outlier_share, result_columns, result_table
from coterie_command.options import UsageError

_ENDINGS = {".csv": ".csv", ".tsv": ".tsv", ".parquet": ".parquet", ".feather": ".feather", ".arrow": ".feather",
            ".jsonl": ".jsonl", ".ndjson": ".jsonl", ".xlsx": ".xlsx"}  # fmt: skip

# Signs with which a spreadsheet begins a formula.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?\d[\d.,' ]*(?:[eE][+-]?\d+)?")

# Lines of CSV that are made at once.
_LINES = 65_536


def labels_name(file: str, opened: Opened) -> str:
    """Return the name of the file of labels: with the ending of the table, or labels.npy for an array."""
    if opened.table is None:
        return "labels.npy"
    path = Path(urlsplit(file).path if "://" in file else file.partition("::")[0])
    names = sorted(os.listdir(path)) if path.is_dir() else [path.name]
    endings = [_ENDINGS[suffix.lower()] for name in names for suffix in Path(name).suffixes
               if suffix.lower() in _ENDINGS]  # fmt: skip
    return f"labels{endings[0] if endings else '.csv'}"


def check_labels_file(path: Path) -> None:
    """Fail now if labels cannot be written to a file of this name."""
    endings = (*dict.fromkeys(_ENDINGS), ".npy")
    if path.suffix not in endings:
        raise UsageError(f"--out must end in {', '.join(endings)}, or be -, got {str(path)!r}.")


def write_labels(
    path: Path,
    opened: Opened,
    placement: Placement,
    clusters: IntArray,
    names: Mapping[int, str] | None,
    csv_escape: bool,
) -> None:
    """Write the labels of all rows, with the columns of a table where the ending is that of one. `clusters` are the
    labels with -1 for outliers and after merges.
    """
    kept = opened.rows.kept
    if path.suffix == ".npy":
        if kept is not None:
            clusters, own = np.full(len(kept), -1, dtype=clusters.dtype), clusters
            clusters[kept] = own
        np.save(path, clusters)
        return
    taken = [] if opened.table is None else opened.table.column_names
    table = result_table(opened.table, result_columns(placement, clusters, names, kept, taken))
    write_table(path, table, opened.rows.dialect, as_given=set(taken), csv_escape=csv_escape)


def write_table(
    path: Path,
    table: Any,
    dialect: tuple[str, str] | None = None,
    *,
    as_given: Collection[str] = (),
    csv_escape: bool = False,
) -> None:
    """Write an Arrow table by the ending of its name; numbers of the columns `as_given` keep all digits in CSV."""
    if path.suffix == ".parquet":
        from pyarrow import parquet

        parquet.write_table(table, path)
    elif path.suffix in (".feather", ".arrow"):
        from pyarrow import feather

        feather.write_feather(table, path, compression="uncompressed")
    elif path.suffix in (".jsonl", ".ndjson"):
        with open(path, "w", encoding="utf-8") as file:
            for batch in table.to_batches():
                file.writelines(
                    json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in batch.to_pylist()
                )
    elif path.suffix == ".xlsx":
        table.to_pandas().to_excel(path, index=False)
    else:
        sep, decimal = ("\t", ".") if path.suffix == ".tsv" else dialect or (",", ".")
        blocks = (
            [
                _cells(column, field, decimal, field.name in as_given)
                for column, field in zip(batch, table.schema)
            ]
            for batch in table.to_batches(_LINES)
        )
        names = table.column_names
        if "index" not in names:  # that of pandas or AnnData, which has no name
            names = ["index" if name == "__index_level_0__" else name for name in names]
        write_csv(path, names, blocks, (sep, decimal), csv_escape=csv_escape)


def _cells(column: Any, field: Any, decimal: str, is_given: bool) -> list[Any]:
    """Return the cells of an Arrow column for `write_csv`."""
    from pyarrow import string, types

    if field.type.num_fields:
        raise ValueError(
            f"A .csv file cannot hold the column {field.name!r} ({field.type}): leave it out by --columns-out id, or "
            "write .parquet."
        )
    if not types.is_floating(field.type):
        return column.cast(string()).to_pylist()
    if not is_given:
        return column.to_pylist()
    return [text and text.replace(".", decimal) for text in column.cast(string()).to_pylist()]


def write_csv(
    path: Path,
    names: Iterable[str],
    blocks: Iterable[Iterable[Iterable[Any]]],
    dialect: tuple[str, str] | None,
    *,
    csv_escape: bool,
) -> None:
    """Write blocks of columns as CSV with the separator and decimal sign of a dialect; floats have six digits."""
    sep, decimal = dialect or (",", ".")

    def cell(value: Any) -> Any:
        if isinstance(value, float):
            return f"{value:.6g}".replace(".", decimal)
        return escaped(value) if csv_escape else value

    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="," if sep == " " else sep, lineterminator="\n")
        writer.writerow(names)
        for columns in blocks:
            writer.writerows(zip(*(map(cell, column) for column in columns)))


def escaped(cell: Any) -> Any:
    """Return a cell with ' before what a spreadsheet would run as a formula; a number is none."""
    is_formula = isinstance(cell, str) and cell.startswith(_FORMULAS) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def asked_share(outliers: str | None) -> float | None:
    """Return the share of --outliers."""
    try:
        return None if outliers is None else outlier_share(outliers)
    except ValueError as error:
        raise UsageError(f"--{error}") from error


def outlier_facts(scores: Any, threshold: float | None, share: float | None) -> dict[str, Any] | None:
    """Return the facts about outliers; without a share the threshold is that of the fit."""
    if threshold is None:
        return None
    return {"share": share, "threshold": threshold, "marked": int(np.count_nonzero(scores > threshold))}


def outlier_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return the line about outliers, if there are any."""
    found = facts.get("outliers")
    if found is None:
        return []
    return [
        f"outliers: {found['marked']:,}, cluster -1: outlier score above {found['threshold']:.3g}, times the median "
        "of their cluster"
    ]
