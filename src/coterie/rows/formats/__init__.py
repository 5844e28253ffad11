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
    """A file format with ``read(path, **options)``, which gets None for options not given and returns a `Table`, a
    `Matrix` or an iterable as in `register_format`. With `is_compressed` endings of `COMPRESSIONS` may follow its own.
    """

    read: Callable[..., Any]
    options: tuple[str, ...] = ()
    is_folder: bool = False
    is_compressed: bool = False


_text = Format(read_text, ("header", "sep", "skip_lines", "missing_words"), is_compressed=True)
_json = Format(read_json_lines, is_compressed=True)
_arrow, _hdf5, _svm = Format(read_arrow), Format(read_hdf5, ("key",)), Format(read_svmlight)

# Error messages list extensions in this order.
_by_extension = {
    ".npy": Format(read_npy), ".npz": Format(read_npz, ("key",)), ".csv": _text, ".tsv": _text, ".txt": _text,
    ".jsonl": _json, ".ndjson": _json, ".parquet": Format(read_parquet), ".feather": _arrow, ".arrow": _arrow,
    ".xlsx": Format(read_excel, ("key",)), ".zarr": Format(read_zarr, ("key",), is_folder=True), ".h5": _hdf5,
    ".hdf5": _hdf5, ".h5ad": _hdf5, ".svm": _svm, ".libsvm": _svm,
}  # fmt: skip


def register_format(extension: str, read: Callable[[Path], Iterable[Any]]) -> None:
    """Register a file format for `open_rows`, the command line and all other functions that open files.

    Parameters
    ----------
    extension : str
        The extension of its files in lower case, such as ``".toy"``; those of files may be in any case.
    read : callable
        ``read(path)`` returns the rows of a local file in their order, as an iterable of `pyarrow.RecordBatch` of equal
        columns, of arrays of shape (n, d), or of SciPy sparse matrices. Its errors become a ValueError that names the
        file.

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
    _by_extension[extension] = Format(read)


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
