"""Files that hold tables: .csv and .tsv, Parquet, Arrow and Feather, all read with pyarrow."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coterie.arrays import IndexArray
from coterie.rows.checks import check_numeric_columns, need, reading
from coterie.rows.source import RowSource
from coterie.rows.tables import arrow_block, check_arrow_schema

__all__ = ["ArrowFileSource", "CsvSource", "ParquetSource"]

_CSV_BLOCK_BYTES = 8 * 2**20
_PARQUET_BUFFER_BYTES = 64 * 2**20
_MISSING = {"", "#N/A", "N/A", "NA", "NULL", "nan", "NaN", "null", "-nan", "-NaN", "n/a"}


class ParquetSource(RowSource):
    """Rows of a Parquet file, read row group by row group."""

    def __init__(self, path: Path, columns: Sequence[str | int] | None) -> None:
        parquet = need("pyarrow.parquet", path.suffix, "io")
        with reading(path), parquet.ParquetFile(path) as file:
            self._metadata = file.metadata
            self._names, schema = _select(file.schema_arrow, columns)
            super().__init__(
                (file.metadata.num_rows, len(self._names)),
                check_arrow_schema(schema),
                column_names=self._names,
                is_table=True,
                description="parquet",
            )
            groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        self._path = path
        self._starts = np.concatenate([[0], np.cumsum(groups)])

    def unit_starts(self) -> IndexArray:
        return self._starts[:-1]

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        first = np.searchsorted(self._starts, start, side="right") - 1
        last = np.searchsorted(self._starts, stop)
        # Column chunks are read through small buffers, since a row group may be as large as the file.
        buffer_size = max(2**14, min(2**20, _PARQUET_BUFFER_BYTES // self.shape[1]))
        parquet = need("pyarrow.parquet", self._path.suffix, "io")
        with (
            reading(self._path),
            parquet.ParquetFile(self._path, metadata=self._metadata, buffer_size=buffer_size) as file,
        ):
            batches = file.iter_batches(rows, row_groups=range(first, last), columns=self._names)
            skipped = start - int(self._starts[first])
            for batch in _cut(batches, skipped, stop - start, rows):
                yield arrow_block(batch.select(self._names), self.dtype)


class ArrowFileSource(RowSource):
    """Rows of a Feather or Arrow file (of either Arrow IPC format), read batch by batch from a memory map."""

    def __init__(self, path: Path, columns: Sequence[str | int] | None) -> None:
        need("pyarrow.ipc", path.suffix, "io")
        self._path = path
        with reading(path):
            # Only a file, not a stream, begins with this word.
            with open(path, "rb") as file:
                self._is_stream = file.read(6) != b"ARROW1"
            with self._mapped() as file:
                whole = self._reader(file, None).schema
                self._names, schema = _select(whole, columns)
                self._fields = sorted(whole.get_field_index(name) for name in self._names)
                # One column is enough to count rows, and only its buffers are decompressed.
                counts = [batch.num_rows for batch in self._batches(file, 0, self._fields[:1])]
            super().__init__(
                (sum(counts), len(self._names)),
                check_arrow_schema(schema),
                column_names=self._names,
                is_table=True,
                description="arrow" if path.suffix.lower() == ".arrow" else "feather",
            )
        self._starts = np.concatenate([[0], np.cumsum(counts)])

    def _mapped(self) -> Any:
        return need("pyarrow", self._path.suffix, "io").memory_map(str(self._path))

    def _reader(self, file: Any, fields: list[int] | None) -> Any:
        ipc = need("pyarrow.ipc", self._path.suffix, "io")
        file.seek(0)
        opened = ipc.open_stream if self._is_stream else ipc.open_file
        return opened(file, options=ipc.IpcReadOptions(included_fields=fields or []))

    def _batches(self, file: Any, first: int, fields: list[int]) -> Iterator[Any]:
        reader = self._reader(file, fields)
        if not self._is_stream:
            yield from (reader.get_batch(i) for i in range(first, reader.num_record_batches))
            return
        for number, batch in enumerate(reader):
            if number >= first:
                yield batch

    def unit_starts(self) -> IndexArray:
        return self._starts[:-1]

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        with reading(self._path), self._mapped() as file:
            batches = self._batches(file, first, self._fields)
            for batch in _cut(batches, start - int(self._starts[first]), stop - start, rows):
                yield arrow_block(batch.select(self._names), self.dtype)


class CsvSource(RowSource):
    """Rows of a text file of separated numbers, parsed anew in each pass.

    Its rows are counted once, when it is opened. The first line is a header where its fields are text, see
    `_has_header`.
    """

    def __init__(self, path: Path, columns: Sequence[str | int] | None, header: bool | None) -> None:
        need("pyarrow.csv", path.suffix, "io")
        self._path = path
        self._delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
        with reading(path):
            first, second, n_lines = self._first_lines()
            if not first:
                raise ValueError("the file is empty.")
            has_header = _has_header(first, second) if header is None else header
            self._skipped = n_lines if has_header else 0
            # Positions name the columns for pyarrow, since a header may repeat a name.
            self._keys = [str(i) for i in range(len(first))]
            self._block_bytes = max(_CSV_BLOCK_BYTES, 64 * sum(len(field) + 1 for field in first))
            chosen = _positions(first if has_header else None, len(first), columns)
            self._columns = [self._keys[i] for i in chosen]
            n_rows = self._count() if not has_header or second else 0
            self._types = self._column_types(first if has_header else None) if n_rows else {}
            super().__init__(
                (n_rows, len(chosen)),
                np.float64,
                column_names=[first[i] for i in chosen] if has_header else None,
                is_table=True,
                description=path.suffix.lower().removeprefix("."),
            )

    def _first_lines(self) -> tuple[list[str], list[str], int]:
        """Return the fields of the first two lines that have any, and the lines up to the first of them."""
        with open(self._path, encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, delimiter=self._delimiter)
            first = next(filter(None, lines), [])
            n_lines = lines.line_num
            return first, next(filter(None, lines), []), n_lines

    def _open(self, columns: list[str], types: dict[str, Any]) -> Any:
        text = need("pyarrow.csv", self._path.suffix, "io")
        return text.open_csv(
            str(self._path),
            read_options=text.ReadOptions(
                column_names=self._keys, skip_rows=self._skipped, block_size=self._block_bytes
            ),
            parse_options=text.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=text.ConvertOptions(column_types=types, include_columns=columns),
        )

    def _count(self) -> int:
        """Count the rows, which also finds those with too few or too many fields."""
        column = self._columns[:1]
        pyarrow = need("pyarrow", self._path.suffix, "io")
        with self._open(column, {column[0]: pyarrow.string()}) as batches:
            return sum(batch.num_rows for batch in batches)

    def _column_types(self, names: list[str] | None) -> dict[str, Any]:
        """Return the types to parse, having seen by the first block which columns are not numbers."""
        pyarrow = need("pyarrow", self._path.suffix, "io")
        types = pyarrow.types
        with self._open(self._columns, {}) as batches:
            guessed = {field.name: field.type for field in batches.schema}
        numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_null)
        others = [name for name, kind in guessed.items() if not any(is_a(kind) for is_a in numeric)]
        check_numeric_columns({names[int(i)] if names else i: str(guessed[i]) for i in others})
        float64 = pyarrow.float64()
        return {name: kind if types.is_boolean(kind) else float64 for name, kind in guessed.items()}

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        with reading(self._path), self._open(self._columns, self._types) as batches:
            for batch in _cut(batches, start, stop - start, rows):
                yield arrow_block(batch, self.dtype)


def _cut(batches: Iterator[Any], skipped: int, n_rows: int, rows: int) -> Iterator[Any]:
    """Leave out the first `skipped` rows and all behind the next `n_rows`; no batch has more than `rows`."""
    for batch in batches:
        for low in range(min(skipped, batch.num_rows), batch.num_rows, rows):
            piece = batch.slice(low, min(rows, n_rows))
            n_rows -= piece.num_rows
            yield piece
            if n_rows == 0:
                return
        skipped = max(0, skipped - batch.num_rows)


def _select(schema: Any, columns: Sequence[str | int] | None) -> tuple[list[str], Any]:
    """Return the names of the columns to read and their part of the schema.

    Without `columns` these are all but the index that pandas stored beside them.
    """
    names = list(schema.names)
    if len(set(names)) < len(names):
        raise ValueError("its column names are not unique.")
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    if columns is None:
        chosen = [i for i, name in enumerate(names) if name not in index]
    else:
        chosen = _positions(names, len(names), columns)
    fields = [schema.field(i) for i in chosen]
    return [field.name for field in fields], fields


def _positions(names: list[str] | None, n_columns: int, columns: Sequence[str | int] | None) -> list[int]:
    """Return the positions of the columns that were asked for by name or by position."""
    if columns is None:
        return list(range(n_columns))
    known = list(names or [])
    chosen = []
    for column in columns:
        if isinstance(column, str) and column in known:
            chosen.append(known.index(column))
        elif not isinstance(column, str) and 0 <= column < n_columns:
            chosen.append(int(column))
        else:
            shown = ", ".join(repr(name) for name in known[:12]) or f"0 to {n_columns - 1}, without names"
            raise ValueError(f"no column {column!r}. Its columns are {shown}{', ...' * (len(known) > 12)}.")
    if len(set(chosen)) < len(chosen):
        raise ValueError("a column was asked for twice.")
    return chosen


def _has_header(first: list[str], second: list[str]) -> bool:
    """Tell whether the first line names the columns.

    It does where a column begins with text and goes on with a number, where all its fields are text, and
    where it is the header of a pandas frame without names: an empty field, then 0, 1, 2, ...
    """
    texts = [_is_text(field) for field in first]
    if any(text and not _is_text(below) for text, below in zip(texts, second)):
        return True
    if len(first) > 1 and first == ["", *map(str, range(len(first) - 1))]:
        return True
    return bool(texts) and all(texts)


def _is_text(field: str) -> bool:
    if field.strip() in _MISSING:
        return False
    try:
        float(field)
    except ValueError:
        return True
    return False
