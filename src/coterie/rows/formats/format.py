"""`Format`: the declaration of a file format, and what readers of files return."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from coterie.rows.checks import FileError
from coterie.rows.source import MetadataColumns

COMPRESSIONS = (".gz", ".zst")
"""What the names of compressed files end in."""

# Options of `open_rows` about a file; the key is the part after `::`.
OPTIONS = ("key", "header", "sep", "decimal", "n_columns")


def plain_suffix(name: str) -> str:
    """Return the extension of a file in lower case, without that of its compression: .csv of ``x.CSV.gz``."""
    suffix = PurePath(name).suffix.lower()
    return PurePath(PurePath(name).stem).suffix.lower() if suffix in COMPRESSIONS else suffix


@dataclass
class Table:
    """A table in a file, as its reader returns it.

    ``batches(features, others)`` yields record batches of pyarrow with the columns of these positions, in this order,
    of all rows; text formats parse those of `features` as float64. It may be called more than once, and be abandoned.
    `n_rows` is None if it is not known before; without `is_named` the names are positions.
    """

    schema: Any
    batches: Callable[[Sequence[int], Sequence[int]], Iterable[Any]]
    description: str
    n_rows: int | None = None
    is_named: bool = True


@dataclass
class Matrix:
    """An array or a sparse matrix in a file, as its reader returns it: consecutive rows in pieces of any size.

    If it `is_open`, the number of rows is that of the first piece, and others may follow.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    pieces: Iterable[Any]
    description: str
    is_sparse: bool = False
    is_table: bool = False
    column_names: list[str] | None = None
    metadata_columns: MetadataColumns | None = None
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: its extensions and its reader.

    ``read(path, **options)`` gets each of `options`, None for those that were not given. It returns a `Table`, a
    `Matrix`, a NumPy array, or an iterable of batches as in `register_format`. `library` is the
    module that it needs, `install` what to install for it. A folder may be one file if `is_folder`; files may end in
    .gz or .zst behind their extension if `compressed`.
    """

    name: str
    extensions: tuple[str, ...]
    read: Callable[..., Any]
    options: tuple[str, ...] = ()
    library: str | None = None
    install: str | None = None
    is_folder: bool = False
    compressed: bool = False

    def check(self, given: Mapping[str, Any], path: str) -> None:
        """Raise an error for options that the format does not have, or if its library is missing."""
        for name in OPTIONS:
            if given.get(name) is not None and name not in self.options:
                raise FileError(f"{f'::{given[name]}' if name == 'key' else name} has no meaning for {path}.")
        if self.library is None:
            return
        top = self.library.partition(".")[0]
        try:
            importlib.import_module(top)
            importlib.import_module(self.library)
        except ImportError as error:
            raise ImportError(
                f"Reading {plain_suffix(path)} files needs {top}: pip install '{self.install or top}'"
            ) from error
