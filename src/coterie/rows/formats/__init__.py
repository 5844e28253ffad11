"""File formats: a module for each, and the registry of all.

Each module declares a `Format`. `tabular` has functions that several readers share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from coterie.rows.formats.arrow import ARROW
from coterie.rows.formats.csv import CSV, TSV
from coterie.rows.formats.excel import EXCEL
from coterie.rows.formats.format import COMPRESSIONS, Format, plain_suffix
from coterie.rows.formats.hdf5 import H5AD, HDF5, ZARR
from coterie.rows.formats.jsonl import JSONL
from coterie.rows.formats.npy import NPY
from coterie.rows.formats.npz import NPZ
from coterie.rows.formats.parquet import PARQUET
from coterie.rows.formats.svmlight import SVMLIGHT

__all__ = ["Format", "format_of", "formats", "known_extensions", "register_format"]

_ENTRY_POINTS = "coterie.formats"

# Error messages list extensions in this order.
_KNOWN = (NPY, NPZ, CSV, TSV, JSONL, PARQUET, ARROW, EXCEL, ZARR, HDF5, H5AD, SVMLIGHT)
_by_extension = {extension: format for format in _KNOWN for extension in format.extensions}


def register_format(extension: str, read: Callable[[Path], Iterable[Any]]) -> None:
    """Register a file format for `open_rows`, the command line and all other functions that open files.

    Installed packages need no call: functions of entry points in the group "coterie.formats", such as
    ``toy = "toy_rows:read"`` under ``[project.entry-points."coterie.formats"]`` for .toy, are registered when an
    unknown extension occurs.

    Parameters
    ----------
    extension : str
        The extension of its files in lower case, such as ``".toy"``; those of files may be in any case.
    read : callable
        ``read(path)`` returns the rows of a local file in their order, as an iterable of `pyarrow.RecordBatch` of equal
        columns, of arrays of shape (n, d), or of SciPy sparse matrices. It is called once for each file that is
        opened. Its errors become a ValueError that names the file.

    Raises
    ------
    TypeError
        If `read` is not callable.
    ValueError
        If the extension is not one, or that of another format.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.rows import open_rows, register_format
    >>> def read_words(path):
    ...     for line in path.read_text().splitlines():
    ...         yield np.array([[len(line), line.count(" ")]])
    >>> register_format(".words", read_words)
    """
    if not callable(read):
        raise TypeError(f"read must be a function of a path, got {read!r}.")
    if not extension.startswith(".") or "." in extension[1:] or extension != extension.lower():
        raise ValueError(f"An extension is a dot and lower-case letters, got {extension!r}.")
    other = _by_extension.get(extension)
    if other is not None and other.read is not read:
        raise ValueError(f"The extension {extension} belongs to the format {other.name}.")
    _by_extension[extension] = Format(extension[1:], (extension,), read)


def formats() -> list[Format]:
    """Return all formats, including those of installed packages."""
    _load_entry_points()
    return list(dict.fromkeys(_by_extension.values()))


def format_of(path: str | Path) -> Format | None:
    """Return the format of the extension of a path, None if it is unknown."""
    extension = plain_suffix(str(path))
    if extension and extension not in _by_extension:
        _load_entry_points()
    found = _by_extension.get(extension)
    is_compressed = Path(path).suffix.lower() in COMPRESSIONS
    return None if found is not None and is_compressed and not found.compressed else found


def known_extensions() -> str:
    """Describe the known extensions, and formats of other packages that failed to load."""
    failures = _load_entry_points()
    compressed = [extension for extension, format in _by_extension.items() if format.compressed]
    endings = f"{', '.join(compressed)} may be followed by {' or '.join(COMPRESSIONS)}."
    return " ".join([f"Known extensions are {', '.join(_by_extension)}; {endings}", *failures])


@cache
def _load_entry_points() -> list[str]:
    """Register the formats of installed packages, once; return a sentence for each failure.

    A broken package must not affect other formats, so failures are reported only with an unknown extension.
    """
    failures = []
    for entry in metadata.entry_points(group=_ENTRY_POINTS):
        try:
            register_format(f".{entry.name}", entry.load())
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            package = entry.dist.name if entry.dist else entry.module
            failures.append(f"The format {entry.name} of {package} did not load: {reason}")
    return failures
