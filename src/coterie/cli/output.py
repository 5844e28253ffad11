"""Output of a command: label files, warnings and reports."""

from __future__ import annotations

import importlib
import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from coterie.cli.errors import UsageError, warning_of

_LABEL_ENDINGS = (".npy", ".parquet", ".csv", ".h5ad")


def check_label_file(path: Path) -> None:
    """Fail now if labels cannot be written to a file of this name."""
    if path.suffix not in _LABEL_ENDINGS:
        raise UsageError(f"--out must end in .npy, .parquet, .csv or .h5ad, got {str(path)!r}.")
    if path.suffix in (".parquet", ".csv"):
        table_library(path.suffix)


def check_annotated(out: str, file: str) -> None:
    """Fail now if labels are to be written to the observations of a file that has none."""
    if out.endswith(".h5ad") and not file.partition("::")[0].endswith(".h5ad"):
        raise UsageError(f"{out} would be a copy of {file} with labels, which must be an .h5ad file.")


@contextmanager
def table_writer(path: Path, schema: Any) -> Iterator[Any]:
    """Give what writes batches of a table to a .parquet or .csv file."""
    library = table_library(path.suffix)
    if path.suffix == ".parquet":
        with library.ParquetWriter(path, schema) as writer:
            yield writer
        return
    nested = [field.name for field in schema if field.type.num_fields]
    if nested:
        raise ValueError(
            f"A .csv file cannot hold the column {nested[0]!r} ({schema.field(nested[0]).type}). Leave it out by "
            "--keep, or write .parquet."
        )
    with library.CSVWriter(str(path), schema) as writer:
        yield writer


def table_library(ending: str) -> Any:
    """Import what writes tables to .parquet or .csv files, or say which extra brings it."""
    try:
        return importlib.import_module(f"pyarrow{ending}")
    except ImportError as error:
        raise ImportError(f"Writing {ending} files needs pyarrow: pip install 'coterie[io]'") from error


def write_label_text(file: TextIO, labels: np.ndarray) -> None:
    """Write one label a line."""
    for start in range(0, len(labels), 65_536):
        file.write("\n".join(map(str, labels[start : start + 65_536].tolist())) + "\n")


@contextmanager
def recorded_warnings() -> Iterator[list[str]]:
    """Warnings of the libraries as lines of text, each once."""
    lines: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield lines
        finally:
            lines.extend(dict.fromkeys(warning_of(str(warning.message)) for warning in caught))


def tell(
    facts: dict[str, Any],
    lines: Callable[[dict[str, Any]], list[str]],
    json: bool,
    quiet: bool = False,
    *,
    file: TextIO | None = None,
) -> None:
    """Print warnings to standard error and facts to standard output, as text or JSON."""
    if not quiet:
        tell_warnings(facts.get("warnings", []))
    if json:
        print(to_json(facts))
    elif not quiet:
        print("\n".join(lines(facts)), file=file)


def tell_warnings(warned: list[str]) -> None:
    """Write warnings to the standard error stream, a line each."""
    for warning in warned:
        print(f"coterie: warning: {warning}", file=sys.stderr)


def to_json(facts: Mapping[str, Any]) -> str:
    """A report as JSON text; NumPy's numbers and arrays are written as plain ones, NaN and infinities as words."""
    return json.dumps(_plain(facts), indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    """The value as JSON has it, which knows no infinite numbers."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def file_lines(facts: dict[str, Any]) -> list[str]:
    return ["wrote", *(f"  {path}" for path in facts["files"].values())]


def table_lines(rows: Sequence[Sequence[str]], align: str) -> list[str]:
    """Return rows of texts in columns of equal width; `align` has < or > for each column, the last for all others."""
    sides = align.ljust(len(rows[0]), align[-1])
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths)).rstrip()
        for row in rows
    ]
