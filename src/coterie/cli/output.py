"""What a command leaves behind: files that are complete or absent, and its report."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from coterie.cli import UsageError
from coterie.persistence import replacing

__all__ = [
    "check_label_file",
    "check_writable",
    "outlier_lines",
    "pyarrow_parquet",
    "recorded_warnings",
    "staged_files",
    "to_json",
    "write_labels",
]

_LABEL_ENDINGS = (".npy", ".parquet")


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
        raise UsageError(f"--out must end in {' or '.join(_LABEL_ENDINGS)}, got {str(path)!r}.")
    if path.suffix == ".parquet":
        pyarrow_parquet()
    if path.is_dir():
        raise IsADirectoryError(21, "Is a folder, not a file to write", str(path))
    check_writable(path.parent)


def write_labels(path: Path, labels: np.ndarray) -> None:
    """Labels as a `.npy` file."""
    with open(path, "wb") as file:
        np.save(file, labels, allow_pickle=False)


@contextmanager
def staged_files(folder: Path, names: list[str]) -> Iterator[dict[str, Path]]:
    """Temporary paths for several files; all of them get their names at the end, or all are deleted."""
    made = _make_folder(folder)
    try:
        with ExitStack() as stack:
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
    """A report as JSON text; NumPy's numbers and arrays are written as plain ones."""

    def plain(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.generic | np.ndarray) else str(value)

    return json.dumps(report, indent=2, default=plain)


def outlier_lines(facts: Mapping[str, Any]) -> list[str]:
    """What a report says of rows that were marked as outliers: a line, or none."""
    found = facts.get("outliers")
    if found is None:
        return []
    marked = f"{found['marked']:,} outlier{'' if found['marked'] == 1 else 's'} labelled -1"
    return [f"{marked}: more than {found['threshold']:.3g} times as far as the median row of their clusters"]


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
