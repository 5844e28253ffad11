"""Text files of separated numbers: .csv, .tsv."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from coterie.rows.arrow import ArrowColumns
from coterie.rows.carried import Carried
from coterie.rows.checks import reading
from coterie.rows.columns import Columns
from coterie.rows.formats.dialect import Dialect
from coterie.rows.formats.faults import faults_by_line
from coterie.rows.formats.format import Format, plain_suffix
from coterie.rows.formats.tabular import cut_batches, is_compressed
from coterie.rows.formats.wide import MANY_COLUMNS, are_whole_numbers, rows_of_numbers
from coterie.rows.source import RowSource

__all__ = ["CSV", "TSV"]

_BLOCK_BYTES = 8 * 2**20


class CsvSource(RowSource):
    """Rows of a text file of separated numbers, parsed anew in each pass.

    Its rows are counted once, when it is opened. `Dialect` says what separates fields, and whether the first line is
    a header.
    """

    is_parsed = True

    def __init__(
        self,
        path: Path,
        columns: Columns | None,
        exclude: Columns | None,
        header: bool | None,
        sep: str | None,
        decimal: str | None,
    ) -> None:
        self._path = path
        with faults_by_line(path):
            self._dialect = Dialect.of(path, sep, decimal)
            first, second, n_lines = self._dialect.first_lines(path)
        if not first:
            raise ValueError("the file is empty.")
        has_header = self._dialect.has_header(first, second) if header is None else header
        self._skipped = n_lines if has_header else 0
        # Positions name the columns for pyarrow, since a header may repeat a name.
        self._keys = [str(i) for i in range(len(first))]
        self._block_bytes = max(_BLOCK_BYTES, 64 * sum(len(field) + 1 for field in first))
        self._names = first if has_header else self._keys
        self._is_wide = False
        n_rows = self._count() if not has_header or second else 0
        self._types = self._guessed_types() if n_rows else {}
        names = self._names
        self._columns = ArrowColumns(self._schema(names), columns, exclude, path=path, is_named=has_header)
        positions = self._columns.positions
        is_known_by_name = has_header and len(set(names)) == len(names)
        super().__init__(
            (n_rows, self._columns.chosen.n_columns),
            np.float64,
            column_names=[names[i] for i in positions] if has_header else None,
            is_table=True,
            description=plain_suffix(path.name).removeprefix("."),
            carried=self._carried(names),
            chosen=[names[i] for i in positions] if is_known_by_name else positions,
        )

    def _open(self, positions: Sequence[int], types: dict[str, Any]) -> Any:
        from pyarrow import csv as text

        return text.open_csv(
            str(self._path),
            read_options=text.ReadOptions(
                column_names=self._keys,
                skip_rows=self._skipped,
                block_size=self._block_bytes,
                encoding="utf-16" if self._dialect.encoding == "utf-16" else "utf8",
            ),
            parse_options=text.ParseOptions(delimiter=self._dialect.sep, newlines_in_values=True),
            convert_options=text.ConvertOptions(
                column_types=types,
                include_columns=[self._keys[i] for i in positions],
                decimal_point=self._dialect.decimal,
            ),
        )

    def _faults(self, positions: Sequence[int] = ()) -> AbstractContextManager[None]:
        return faults_by_line(self._path, self._dialect, self._names, positions)

    def _count(self) -> int:
        """Count the rows, which also finds those with too few or too many fields."""
        import pyarrow

        with self._faults(), self._open([0], {self._keys[0]: pyarrow.string()}) as batches:
            return sum(batch.num_rows for batch in batches)

    def _guessed_types(self) -> dict[str, Any]:
        """Return the types of all columns, as the first block has them."""
        is_small = not is_compressed(self._path) and self._path.stat().st_size <= self._block_bytes
        if is_small and len(self._keys) >= MANY_COLUMNS:
            are_whole = are_whole_numbers(self._path, self._dialect, self._skipped)
            if are_whole is not None:
                import pyarrow

                self._is_wide = True
                kinds = (pyarrow.float64(), pyarrow.int64())
                return {key: kinds[int(is_whole)] for key, is_whole in zip(self._keys, are_whole)}
        with self._faults(), self._open(range(len(self._keys)), {}) as batches:
            return {field.name: field.type for field in batches.schema}

    def _schema(self, names: list[str]) -> Any:
        import pyarrow

        return pyarrow.schema(
            [(name, self._types.get(key, pyarrow.null())) for key, name in zip(self._keys, names)]
        )

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        import pyarrow

        positions = self._columns.positions
        if self._is_wide:
            where = (self._path, self._dialect, self._skipped)
            with reading(self._path):
                yield from rows_of_numbers(*where, positions, slice(start, stop), rows)
            return
        # What looked like integers may go on with floats.
        types = {
            key: kind if pyarrow.types.is_boolean(kind) else pyarrow.float64()
            for key, kind in self._types.items()
        }
        with reading(self._path), self._faults(positions), self._open(positions, types) as batches:
            for batch in cut_batches(batches, start, stop - start, rows):
                yield self._columns.block(batch, self.dtype, start)
                start += batch.num_rows

    def _carried(self, names: list[str]) -> Carried | None:
        positions = self._columns.carried
        return Carried([names[i] for i in positions], self._carried_batches) if positions else None

    def _carried_batches(self, chosen: list[int]) -> Iterator[Any]:
        import pyarrow

        # Codes such as 00123 keep their zeros, and what is empty so far may be anything later.
        codes = self._dialect.columns_of_codes(self._path)
        types = {
            key: pyarrow.string()
            if i in codes or pyarrow.types.is_null(self._types[key])
            else self._types[key]
            for i, key in enumerate(self._keys)
        }
        positions = [self._columns.carried[i] for i in chosen]
        with reading(self._path), self._faults(positions), self._open(positions, types) as batches:
            yield from batches


_record = partial(
    Format,
    open=CsvSource,
    options=("columns", "exclude", "header", "sep", "decimal"),
    library="pyarrow.csv",
    install="coterie[io]",
    compressed=True,
)
CSV = _record("csv", (".csv",))
TSV = _record("tsv", (".tsv",))
