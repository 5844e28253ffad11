"""File formats: what reads the files of each ending."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coterie.rows.formats.arrays import read_npy, read_npz, read_svmlight
from coterie.rows.formats.arrow import read_arrow, read_excel, read_parquet
from coterie.rows.formats.hdf5 import read_hdf5, read_zarr
from coterie.rows.formats.jsonl import read_json_lines
from coterie.rows.formats.text import COMPRESSIONS, plain_suffix, read_text


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: its endings, and what ``read(path, **options)`` gets: None for options that were not given.

    It returns a `Table`, a `Matrix`, or an iterable as in `register_format`. A folder may be one file if `is_folder`;
    the endings may be followed by one of `COMPRESSIONS` if `is_compressed`.
    """

    extensions: tuple[str, ...]
    read: Callable[..., Any]
    options: tuple[str, ...] = ()
    is_folder: bool = False
    is_compressed: bool = False


# Error messages list extensions in this order.
_KNOWN = (
    Format((".npy",), read_npy),
    Format((".npz",), read_npz, ("key",)),
    Format(
        (".csv", ".tsv", ".txt"),
        read_text,
        ("header", "sep", "skip_lines", "missing_words"),
        is_compressed=True,
    ),
    Format((".jsonl", ".ndjson"), read_json_lines, is_compressed=True),
    Format((".parquet",), read_parquet),
    Format((".feather", ".arrow"), read_arrow),
    Format((".xlsx",), read_excel, ("key",)),
    Format((".zarr",), read_zarr, ("key",), is_folder=True),
    Format((".h5", ".hdf5", ".h5ad"), read_hdf5, ("key",)),
    Format((".svm", ".libsvm"), read_svmlight, ("n_columns",)),
)
_by_extension = {extension: format for format in _KNOWN for extension in format.extensions}


def register_format(extension: str, read: Callable[[Path], Iterable[Any]]) -> None:
    """Register a file format for `open_rows`, the command line and all other functions that open files.

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
    if extension in _by_extension and _by_extension[extension].read is not read:
        raise ValueError(f"The extension {extension} belongs to another format.")
    _by_extension[extension] = Format((extension,), read)


def format_of(path: str | Path) -> Format | None:
    """Return the format of the extension of a path, None if it is unknown."""
    found = _by_extension.get(plain_suffix(str(path)))
    is_compressed = Path(path).suffix.lower() in COMPRESSIONS
    return None if found is not None and is_compressed and not found.is_compressed else found


def known_extensions() -> str:
    """Describe the known extensions."""
    compressed = [extension for extension, format in _by_extension.items() if format.is_compressed]
    return (
        f"Known extensions are {', '.join(_by_extension)}; {', '.join(compressed)} may be followed by "
        f"{' or '.join(COMPRESSIONS)}."
    )
