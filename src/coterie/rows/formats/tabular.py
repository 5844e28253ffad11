"""What readers of formats share: `BatchSource`, choice of an array, opening of text files."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from coterie.arrays import IndexArray
from coterie.rows.arrow import ArrowColumns
from coterie.rows.checks import FileError, reading
from coterie.rows.formats.format import COMPRESSIONS
from coterie.rows.remote import RemoteFile
from coterie.rows.source import MetadataColumns, RowSource

# Libraries return the fill value for missing chunks. Some chunks may be missing, since zeros need not be written.
NOTHING_WRITTEN = (
    "the array {!r} has rows, but its numbers are missing: they were never written, or its chunks "
    "were not copied. Write or copy it again."
)


def choose_array(shapes: dict[str, tuple[int, ...]], key: str | None, path: object) -> str:
    """Return the array to read: the chosen one, the only one with rows and columns, or X."""
    if key is not None:
        if key in shapes:
            return key
        raise FileError(f"{path} has no array {key!r}. It has {listed(shapes)}.")
    tables = [name for name, shape in shapes.items() if len(shape) == 2]
    if len(tables) == 1:
        return tables[0]
    if "X" in tables:
        return "X"
    if not tables:
        raise FileError(f"{path} has no array of numbers with two dimensions. It has {listed(shapes)}.")
    raise FileError(
        f"{path} has several arrays with two dimensions: choose one by {path}::name of {listed(tables)}."
    )


def listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(repr(name) for name in names[:12]) + (", ..." if len(names) > 12 else "") or "none"


def is_compressed(path: Path) -> bool:
    """Return whether a file is compressed, by its name."""
    return path.suffix.lower() in COMPRESSIONS


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading from its beginning, decompressed if necessary."""
    if not is_compressed(path):
        return open(path, "rb")
    import pyarrow

    return cast(IO[bytes], pyarrow.input_stream(str(path), compression="detect"))


def open_text(path: Path, encoding: str) -> IO[str]:
    """Open a file as text, with its original line ends."""
    return io.TextIOWrapper(open_bytes(path), encoding=encoding, newline="")


class BatchSource(RowSource):
    """Rows of a file of a table that is read in Arrow batches; a subclass implements `batches`.

    `counts` are the numbers of rows of the units of the file, such as row groups.
    """

    is_parsed = True
    _path: Any  # some formats are only read from a local Path

    def __init__(
        self,
        path: Path | RemoteFile,
        columns: ArrowColumns,
        names: Sequence[str],
        counts: Sequence[int],
        description: str,
        **options: Any,
    ) -> None:
        metadata = [names[i] for i in columns.metadata]
        standard = {"column_names": columns.chosen.column_names, "chosen": columns.chosen.names}
        super().__init__(
            (sum(counts), columns.chosen.n_columns),
            columns.dtype,
            is_table=True,
            description=description,
            metadata_columns=MetadataColumns(metadata, self._metadata_batches) if metadata else None,
            **{**standard, **options},
        )
        self._path = path
        self._columns = columns
        self._starts = np.concatenate([[0], np.cumsum(counts)])

    def batches(self, units: range, positions: list[int], rows: int | None) -> Iterator[Any]:
        """Read columns, in this order, of consecutive units in batches.

        `rows` is the number of rows that are needed at a time; None for metadata columns, which keep their types.
        """
        raise NotImplementedError

    def unit_starts(self) -> IndexArray:
        return self._starts[:-1]

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        units = range(first, int(np.searchsorted(self._starts, stop)))
        skipped = start - int(self._starts[first])
        with reading(self._path):
            for whole in self.batches(units, self._columns.positions, rows):
                for low in range(min(skipped, whole.num_rows), whole.num_rows, rows):
                    batch = whole.slice(low, min(rows, stop - start))
                    yield self._columns.block(batch, self.dtype, start)
                    start += batch.num_rows
                    if start == stop:
                        return
                skipped = max(0, skipped - whole.num_rows)

    def _metadata_batches(self, positions: list[int]) -> Iterator[Any]:
        units = range(len(self._starts) - 1)
        with reading(self._path):
            yield from self.batches(units, [self._columns.metadata[i] for i in positions], None)


def check_unique(names: Sequence[str]) -> None:
    """Raise an error if two columns of a file have the same name, as they are read by name."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"its column names are not unique: {twice!r} is there more than once. Rename its columns."
        )
