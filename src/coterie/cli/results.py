"""The files of results: labels beside the columns of the input, and a table of the clusters."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from coterie.arrays import BoolArray, IntArray
from coterie.cli.inputs import Opened
from coterie.results import Outliers, Placement, outlier_share, result_batches, result_columns
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
        sep, decimal = self.opened.rows.dialect or (",", ".")
        if path.suffix == ".csv" and decimal == ",":
            added = {name: _with_commas(column) for name, column in added.items()}
        batches = result_batches(table, added)
        first = next(batches)
        with table_writer(path, first.schema, sep) as write:
            write(self._escaped(first, path))
            for batch in batches:
                write(self._escaped(batch, path))

    def _escaped(self, batch: Any, path: Path) -> Any:
        """Return a batch in whose text no cell of a CSV file begins a formula."""
        if not self.csv_escape or path.suffix not in (".csv", ".tsv"):
            return batch
        import pyarrow

        for i, field in enumerate(batch.schema):
            if pyarrow.types.is_string(field.type) or pyarrow.types.is_large_string(field.type):
                cells = [escaped(cell) for cell in batch.column(i).to_pylist()]
                batch = batch.set_column(i, field, pyarrow.array(cells, field.type))
        return batch


def _with_commas(column: Any) -> Any:
    """Return numbers as texts with the decimal sign ","; other columns as they are."""
    import pyarrow
    from pyarrow import compute

    if not pyarrow.types.is_floating(column.type):
        return column
    return compute.replace_substring(column.cast(pyarrow.string()), ".", ",")


def escaped(cell: Any) -> Any:
    """Return a cell with ' before what a spreadsheet would run as a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULAS) else cell


@contextmanager
def table_writer(path: Path, schema: Any, sep: str) -> Iterator[Callable[[Any], None]]:
    """Give a function that writes batches to a table, by the ending of its name; `sep` separates fields of .csv."""
    import pyarrow

    if path.suffix == ".parquet":
        from pyarrow import parquet

        with parquet.ParquetWriter(path, schema) as writer:
            yield writer.write_batch
    elif path.suffix in (".feather", ".arrow"):
        with pyarrow.ipc.new_file(str(path), schema) as writer:
            yield writer.write_batch
    elif path.suffix in (".csv", ".tsv"):
        from pyarrow import csv as arrow_csv

        nested = [field.name for field in schema if field.type.num_fields]
        if nested:
            raise ValueError(
                f"A {path.suffix} file cannot hold the column {nested[0]!r} ({schema.field(nested[0]).type}): leave it "
                "out by --columns-out id, or write .parquet."
            )
        sep = "\t" if path.suffix == ".tsv" else "," if sep.isspace() else sep
        options = arrow_csv.WriteOptions(delimiter=sep, quoting_style="needed")
        with arrow_csv.CSVWriter(str(path), schema, write_options=options) as writer:
            yield writer.write_batch
    elif path.suffix in (".jsonl", ".ndjson"):
        with open(path, "w", encoding="utf-8") as file:
            yield lambda batch: file.writelines(
                json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in batch.to_pylist()
            )
    else:
        held: list[Any] = []
        yield held.append
        pyarrow.Table.from_batches(held).to_pandas().to_excel(path, index=False)


def write_clusters(path: Path, columns: Mapping[str, list[Any]], *, csv_escape: bool) -> None:
    """Write the table of clusters as CSV."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for line in zip(*columns.values()):
            cells = [f"{cell:.6g}" if isinstance(cell, float) else cell for cell in line]
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
