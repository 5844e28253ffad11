"""What a command leaves behind: files that are complete or absent, and its report."""

from __future__ import annotations

import json
import math
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from coterie.cli import UsageError
from coterie.limits.files import writing
from coterie.persistence import replacing

__all__ = [
    "check_label_file",
    "check_writable",
    "pyarrow_parquet",
    "recorded_warnings",
    "staged_files",
    "table_library",
    "table_writer",
    "to_json",
    "write_labels",
]

_LABEL_ENDINGS = (".npy", ".parquet", ".csv")


def check_writable(folder: Path) -> None:
    """Fail now if nothing could be written to this folder later; it is not made yet.

    Raises
    ------
    OSError
        If the folder, or the nearest one above that exists, is no folder or takes no files.
    """
    existing = folder.absolute()
    while not os.path.lexists(existing):
        existing = existing.parent
    if not existing.is_dir():
        raise NotADirectoryError(20, "Not a folder, so nothing can be written there", str(existing))
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise OSError(error.errno, f"Cannot write to this folder ({error.strerror})", str(existing)) from None


def check_label_file(path: Path) -> None:
    """Fail now if labels could not be written to this file later."""
    if path.suffix not in _LABEL_ENDINGS:
        raise UsageError(f"--out must end in .npy, .parquet or .csv, got {str(path)!r}.")
    if path.suffix != ".npy":
        table_library(path)
    if path.is_dir():
        raise IsADirectoryError(21, "Is a folder, not a file to write", str(path))
    check_writable(path.parent)


@contextmanager
def table_writer(path: Path, schema: Any) -> Iterator[Any]:
    """Give what writes batches of a table to a .parquet or .csv file.

    Raises
    ------
    ValueError
        If the table has a column that CSV cannot hold.
    """
    library = table_library(path)
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


def table_library(path: Path) -> Any:
    """Import what writes tables to a .parquet or .csv file, or say which extra brings it."""
    if path.suffix == ".parquet":
        return pyarrow_parquet()
    try:
        import pyarrow.csv
    except ImportError as error:
        raise ImportError("Writing .csv files needs pyarrow: pip install 'coterie[io]'") from error
    return pyarrow.csv


def write_labels(path: Path, labels: np.ndarray) -> None:
    """Labels as a `.npy` file."""
    with open(path, "wb") as file:
        np.save(file, labels, allow_pickle=False)


@contextmanager
def staged_files(folder: Path, names: list[str]) -> Iterator[dict[str, Path]]:
    """Temporary paths for several files; all of them get their names at the end, or all are deleted."""
    made = _make_folder(folder)
    try:
        with writing(folder), ExitStack() as stack:
            yield {name: stack.enter_context(replacing(folder / name)) for name in names}
    except BaseException:
        for new in made:
            if not any(new.iterdir()):
                new.rmdir()
        raise


@contextmanager
def recorded_warnings() -> Iterator[list[str]]:
    """Warnings of the libraries as lines of text, each once."""
    lines: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield lines
        finally:
            told = (" ".join(str(warning.message).split()) for warning in caught)
            lines.extend(dict.fromkeys(told))


def to_json(report: Mapping[str, Any]) -> str:
    """A report as JSON text; NumPy's numbers and arrays are written as plain ones, NaN and infinities as words."""
    return json.dumps(_plain(report), indent=2, allow_nan=False)


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


def _make_folder(folder: Path) -> list[Path]:
    """Make a folder and those above it; gives the new ones, innermost first."""
    missing = []
    for candidate in (folder, *folder.parents):
        if candidate.exists():
            break
        missing.append(candidate)
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def pyarrow_parquet() -> Any:
    """Import `pyarrow.parquet`, or say which extra brings it."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Writing .parquet files needs pyarrow: pip install 'coterie[io]'") from error
    return pyarrow.parquet
