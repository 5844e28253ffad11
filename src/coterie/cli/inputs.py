"""Input files of commands: prepared rows, graphs and known classes."""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from coterie.arrays import IntArray
from coterie.cli.errors import about, check_exists
from coterie.cli.output import recorded_warnings
from coterie.limits.files import check_regular_file
from coterie.names import known_classes
from coterie.rows import Rows, open_rows, prepare_rows
from coterie.rows.files import table_names
from coterie.rows.remote import kept_copies, without_secrets
from coterie.rows.roles import id_among
from coterie_command import cleaned_up
from coterie_command.app import did_you_mean
from coterie_command.options import STANDARD_INPUT, Columns, UsageError, column_names
from coterie_command.progress import Progress

DASH = "-"

# First bytes of formats that can be read from the standard input; all else is read as CSV, or as JSON lines after "{".
_BEGINNINGS = {
    b"PAR1": ".parquet", b"ARROW1": ".feather", b"\x93NUMPY": ".npy", b"\x89HDF": ".h5", b"PK\x03\x04": ".npz",
    b"\x1f\x8b": ".csv.gz", b"\x28\xb5\x2f\xfd": ".csv.zst", b"{": ".jsonl",
}  # fmt: skip


@dataclass(frozen=True)
class Opened:
    """The rows of a file to cluster: the columns of its table that results keep (None for an array), a sentence that
    names the columns that are used, and warnings."""

    rows: Rows
    table: Any
    used: str | None = None
    warnings: list[str] = field(default_factory=list)


@contextmanager
def local_file(file: str, screen: Progress) -> Iterator[tuple[str, str]]:
    """Give the path of a file to read, and its name in messages. Standard input and remote files are copied to
    temporary files, which are removed in the end.
    """
    if file != DASH:
        check_exists(file)
        is_address = "://" in file
        screen.begin(f"reading {file.partition('?')[0].rpartition('/')[2] if is_address else file}")
        with kept_copies():
            yield file, file
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(f"Nothing is piped into the standard input ({DASH}).")
    screen.begin(f"reading {STANDARD_INPUT}")
    folder = tempfile.TemporaryDirectory(prefix="coterie-input-")
    with cleaned_up(folder.cleanup), folder:
        copy = Path(folder.name, "input")
        with open(copy, "wb") as target:
            while piece := sys.stdin.buffer.read(1 << 22):
                target.write(piece)
        path = copy.with_name(f"standard-input{_ending_of(copy)}")
        copy.rename(path)
        yield str(path), STANDARD_INPUT


def _ending_of(path: Path) -> str:
    """Return the ending of the format of a file, by its first bytes."""
    with open(path, "rb") as file:
        begin = file.read(8)
    if not begin:
        raise ValueError(f"The standard input ({DASH}) is empty.")
    ending = next((ending for sign, ending in _BEGINNINGS.items() if begin.startswith(sign)), ".csv")
    if ending == ".npz" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            ending = ".xlsx" if "xl/workbook.xml" in archive.namelist() else ending
    return ending


def open_input(
    path: str,
    name: str,
    options: Columns,
    *,
    labels: str | None = None,
    columns_out: str = "none",
) -> Opened:
    """Open the rows of a file and prepare them, without the columns of known `labels` and ids. `columns_out` are the
    columns that the results keep.
    """
    if path.endswith(".coterie"):
        raise ValueError(
            f"{name} is a model, not a file of rows: coterie predict {name} ROWS labels rows by it."
        )
    reading = options.reading
    chosen = column_names(options.columns, "--columns")
    exclude = column_names(options.exclude, "--exclude") or []
    categories: Any = column_names(options.categories, "--categories")
    categories = "auto" if categories == ["auto"] else categories
    with recorded_warnings() as recorded, about(name):
        names = table_names(path, **reading)
        label_column = [labels] if labels is not None and labels in (names or []) else []
        if names is not None:
            wanted = {"columns": chosen, "exclude": exclude, "id": [options.id], "categories": categories}
            for option, words in wanted.items():
                _check_names(name, f"--{option}", words, names)
        left_out = [*exclude, *([] if options.id is None else [options.id]), *label_column] or None
        rows = prepare_rows(
            path, columns=chosen, exclude=left_out, categories=categories, missing=options.missing,
            scale=options.scale, keep_columns=columns_out == "all", **reading,
        )  # fmt: skip
        table, roles = kept_columns(rows, columns_out, options.id), rows.roles
    if roles is not None and roles.scales is not None and options.scale == "none":
        largest, smallest = roles.scales
        recorded.append(
            f"The columns {largest!r} and {smallest!r} differ in scale by more than 100: --scale standard gives all "
            "columns the same weight."
        )
    return Opened(rows, table, None if roles is None else str(roles), recorded)


def kept_columns(rows: Rows, columns_out: str, id: str | None) -> Any:
    """Return the columns of the table of rows that results keep, as a `pyarrow.Table`; None for an array."""
    table, names = rows.all_columns, [] if rows.all_columns is None else rows.all_columns.column_names
    first = id_among(names, id)
    kept = set(names if columns_out == "all" else [first] if columns_out == "id" else [])
    return table and table.select([i for i, name in enumerate(names) if name in kept])


def _check_names(file: str, option: str, words: Any, names: Sequence[str]) -> None:
    """Raise an error for a name that no column has, with the one that may be meant."""
    for word in words if isinstance(words, list) else []:
        if isinstance(word, str) and word not in names and not set(word) & set(":*?[") and word != "auto":
            meant = did_you_mean(word, names)
            shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
            raise UsageError(
                f"{option}: {file} has no column {word!r}.{meant or f' Its columns are {shown}.'}"
            )


def input_facts(file: str, rows: Rows) -> dict[str, Any]:
    """Return facts about a file of rows, for summaries."""
    return {
        "file": without_secrets(file),
        "rows": rows.shape[0] if rows.kept is None else len(rows.kept),
        "dropped": 0 if rows.kept is None else int((~rows.kept).sum()),
        "columns": rows.shape[1],
        "dtype": rows.dtype.name,
        "sparse": rows.is_sparse,
        "source": rows.description,
    }


# --- graphs and classes ----------------------------------------------------------------------------------------------


def read_graph(file: str, n_rows: int) -> Any:
    """Read the matrix of a graph of the rows, which its method checks."""
    check_exists(file)
    with about(file):
        graph = open_rows(file).read()
    if graph.shape != (n_rows, n_rows):
        raise ValueError(
            f"{file} must have a row and a column for each of the {n_rows} rows, got shape {graph.shape}."
        )
    return graph


def read_classes(known: str, opened: Opened, option: str) -> Any:
    """Return classes of any names of the rows: a column of the table, a .npy file, or a text with a line for each."""
    rows, columns = opened.rows, opened.rows.metadata_columns
    if columns is not None and known in columns.column_names:
        classes = np.array(columns.column(known).to_pylist(), dtype=object)
    elif not os.path.exists(known):
        meant = "" if columns is None else did_you_mean(known, columns.column_names)
        raise UsageError(
            f"{option} must be a column of the table that is not clustered, or a file, got {known!r}.{meant}"
        )
    else:
        check_regular_file(known)
        classes = load_array(known) if known.endswith(".npy") else np.array(lines_of(known), dtype=object)
    if rows.kept is not None and np.shape(classes) == rows.kept.shape:
        classes = classes[rows.kept]
    if np.shape(classes) != (rows.shape[0],):
        raise ValueError(
            f"{known} must have {rows.shape[0]} classes, one for each row, got shape {np.shape(classes)}."
        )
    return classes


def read_known_labels(known: str, opened: Opened, n_clusters: int) -> tuple[IntArray, list[str]]:
    """Read the classes of some rows as numbers, -1 if not known, and the names of classes. Whole numbers below
    `n_clusters` stay as they are; other classes are numbered in their order.
    """
    numbers, names = known_classes(read_classes(known, opened, "--labels"))
    if len(names) > n_clusters:
        raise ValueError(f"{known} has {len(names)} classes, more than the {n_clusters} clusters of -k.")
    if not names:
        raise ValueError(f"{known} has no class of any row.")
    if numbers.min() >= 0:
        raise ValueError(
            f"{known} has a class for every row, so there is nothing to find. coterie compare --labels and coterie "
            "report --known measure how well clusters agree with classes."
        )
    values = [int(float(name)) if name.removesuffix(".0").isdecimal() else -1 for name in names]
    if all(0 <= value < n_clusters for value in values):
        numbers, names = np.append(values, -1)[numbers], []
    return numbers.astype(np.int32), names


def lines_of(file: str) -> list[str]:
    """Return the lines of a text."""
    try:
        return Path(file).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not text in UTF-8.") from error


def load_array(file: str) -> Any:
    """Return the array of any shape in a .npy file."""
    check_exists(file)
    check_regular_file(file)
    try:
        array = np.load(file, allow_pickle=False)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{file} is not an array of numbers, or it is damaged.") from error
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{file} is an archive of several arrays: save one alone, with numpy.save.")
    return array
