"""`Format`: the declaration of a file format, and what readers of files return."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np

from coterie.rows.checks import FileError
from coterie.rows.source import MetadataColumns

COMPRESSIONS = (".gz", ".zst", ".bz2", ".xz", ".zip")
"""What the names of compressed files end in."""

# Options of `open_rows` about a file; the key is the part after `::`.
OPTIONS = ("key", "header", "sep", "skip_lines", "n_columns")

# Rows at the beginning of a table that decide the roles of its columns, and the most cells.
_SEEN_ROWS, _SEEN_CELLS = 1 << 16, 1 << 24


def plain_suffix(name: str) -> str:
    """Return the extension of a file in lower case, without that of its compression: .csv of ``x.CSV.gz``."""
    suffix = PurePath(name).suffix.lower()
    return PurePath(PurePath(name).stem).suffix.lower() if suffix in COMPRESSIONS else suffix


@dataclass
class Table:
    """A table in a file, as its reader returns it.

    ``batches(features, others)`` yields record batches of pyarrow with the columns of these positions, in this order,
    of all rows. It may be called more than once, and be abandoned. `n_rows` is None if it is not known before; without
    `is_named` the names are positions. A text file has a separator `sep`, and its cells are text but for those of the
    columns whose `types` are known. Columns of `index` are clustered only by name; the last reading `is_last`.
    """

    schema: Any
    batches: Callable[[Sequence[int], Sequence[int]], Iterable[Any]]
    description: str
    n_rows: int | None = None
    is_named: bool = True
    sep: str | None = None
    types: dict[int, Any] = field(default_factory=dict)
    index: frozenset[int] = frozenset()
    is_last: bool = False

    def first_rows(self, positions: Sequence[int]) -> tuple[Any, bool]:
        """Return the first rows of columns as a `pyarrow.Table`, and whether these are all rows."""
        import pyarrow

        most = max(1000, min(_SEEN_ROWS, _SEEN_CELLS // max(1, len(positions))))
        held, n_rows = [], 0
        for batch in self.batches((), positions):
            held.append(batch.slice(0, most - n_rows))
            n_rows += batch.num_rows
            if n_rows > most:
                break
        fields = [self.schema.field(i) for i in positions]
        names, kinds = [one.name for one in fields], [one.type for one in fields]
        if not held:
            return pyarrow.table([pyarrow.array([], kind) for kind in kinds], names=names), True
        arrays = zip(*(batch.columns for batch in held))
        return pyarrow.table(
            [pyarrow.chunked_array(chunks) for chunks in arrays], names=names
        ), n_rows <= most


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
    have one of `COMPRESSIONS` behind their extension if `compressed`.
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
