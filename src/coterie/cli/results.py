"""The files of results: labels beside the columns of the input, and a table of the clusters."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from coterie.arrays import BoolArray, IntArray
from coterie.cli.inputs import Opened
from coterie.results import Outliers, Placement, outlier_share, result_columns, result_table
from coterie.rows.formats.hdf5 import write_labels_to_obs
from coterie_command.options import UsageError

_ENDINGS = {".csv": ".csv", ".tsv": ".tsv", ".parquet": ".parquet", ".feather": ".feather", ".arrow": ".feather",
            ".jsonl": ".jsonl", ".ndjson": ".jsonl", ".xlsx": ".xlsx"}  # fmt: skip

# Signs with which a spreadsheet begins a formula.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def labels_name(file: str, opened: Opened) -> str:
    """Return the name of the file of labels: with the ending of the table, or labels.npy for an array."""
    if opened.table is None:
        return "labels.npy"
    path = Path(urlsplit(file).path if "://" in file else file.partition("::")[0])
    names = sorted(os.listdir(path)) if path.is_dir() else [path.name]
    endings = [_ENDINGS[suffix.lower()] for name in names for suffix in Path(name).suffixes
               if suffix.lower() in _ENDINGS]  # fmt: skip
    return f"labels{endings[0] if endings else '.csv'}"


def check_labels_file(path: Path, file: str) -> None:
    """Fail now if labels cannot be written to a file of this name."""
    endings = (*dict.fromkeys(_ENDINGS), ".npy", ".h5ad")
    if path.suffix not in endings:
        raise UsageError(f"--out must end in {', '.join(endings)}, or be -, got {str(path)!r}.")
    if path.suffix == ".h5ad" and not file.partition("::")[0].endswith(".h5ad"):
        raise UsageError(f"{path} would be a copy of {file} with labels, which must be an .h5ad file.")


@dataclass(frozen=True)
class Results:
    """The results of rows: their places in their clusters, `clusters` with -1 for outliers and after merges, and names
    of clusters."""

    opened: Opened
    placement: Placement
    clusters: IntArray
    names: Mapping[int, str] | None
    csv_escape: bool

    def write(self, path: Path, file: str) -> None:
        """Write the labels of all rows of the input, with the columns of a table where the ending is that of one."""
        kept: BoolArray | None = self.opened.rows.kept
        if path.suffix in (".npy", ".h5ad"):
            labels = self.clusters
            if kept is not None:
                labels = np.full(len(kept), -1, dtype=self.clusters.dtype)
                labels[kept] = self.clusters
            if path.suffix == ".npy":
                np.save(path, labels)
            else:
                write_labels_to_obs(Path(file.partition("::")[0]), path, labels)
            return
        table = self.opened.table
        taken = [] if table is None else table.names
        added = result_columns(self.placement, self.clusters, self.names, kept, taken)
        write_table(path, result_table(table, added), self.opened.rows.dialect, csv_escape=self.csv_escape)


def write_table(
    path: Path, table: Any, dialect: tuple[str, str] | None = None, *, csv_escape: bool = False
) -> None:
    """Write an Arrow table by the ending of its name; .csv with the separator and decimal sign of a dialect."""
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
        _write_csv(path, table, *(dialect or (",", ".")), csv_escape)


def _write_csv(path: Path, table: Any, sep: str, decimal: str, csv_escape: bool) -> None:
    from pyarrow import array, compute, csv, string, types

    for i, field in enumerate(table.schema):
        column = table.column(i)
        if field.type.num_fields:
            raise ValueError(
                f"A {path.suffix} file cannot hold the column {field.name!r} ({field.type}): leave it out by "
                "--columns-out id, or write .parquet."
            )
        if path.suffix == ".csv" and decimal == "," and types.is_floating(field.type):
            column = compute.replace_substring(column.cast(string()), ".", ",")
        elif csv_escape and (types.is_string(field.type) or types.is_large_string(field.type)):
            column = array([escaped(cell) for cell in column.to_pylist()], field.type)
        table = table.set_column(i, field.name, column)
    sep = "\t" if path.suffix == ".tsv" else "," if sep.isspace() else sep
    csv.write_csv(table, path, csv.WriteOptions(delimiter=sep, quoting_style="needed"))


def escaped(cell: Any) -> Any:
    """Return a cell with ' before what a spreadsheet would run as a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULAS) else cell


def write_clusters(
    path: Path, columns: Mapping[str, list[Any]], dialect: tuple[str, str] | None, *, csv_escape: bool
) -> None:
    """Write the table of clusters as CSV, with the separator and decimal sign of a dialect."""
    sep, decimal = dialect or (",", ".")
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="," if sep.isspace() else sep)
        writer.writerow(columns)
        for line in zip(*columns.values()):
            cells = [f"{c:.6g}".replace(".", decimal) if isinstance(c, float) else c for c in line]
            writer.writerow([escaped(cell) for cell in cells] if csv_escape else cells)


def asked_share(outliers: str | None) -> float | None:
    """Return the share of --outliers."""
    try:
        return None if outliers is None else outlier_share(outliers)
    except ValueError as error:
        raise UsageError(f"--{error}") from error


def outlier_facts(outliers: Outliers | None, share: float | None) -> dict[str, Any] | None:
    """Return the facts about outliers; without a share the threshold is that of the fit."""
    if outliers is None:
        return None
    return {"share": share, "threshold": outliers.threshold, "marked": int(outliers.marks.sum())}


def outlier_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return the line about outliers, if there are any."""
    found = facts.get("outliers")
    if found is None:
        return []
    return [
        f"outliers: {found['marked']:,}, cluster -1: outlier score above {found['threshold']:.3g}, times the median "
        "of their cluster"
    ]
