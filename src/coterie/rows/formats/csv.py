"""Text files of separated numbers: .csv, .tsv."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from coterie.rows.checks import check_numeric_columns, reading
from coterie.rows.formats.format import Format
from coterie.rows.formats.tabular import column_positions, cut_batches
from coterie.rows.source import RowSource
from coterie.rows.tables import arrow_block

__all__ = ["CSV", "TSV"]

_BLOCK_BYTES = 8 * 2**20
_MISSING = {"", "#N/A", "N/A", "NA", "NULL", "nan", "NaN", "null", "-nan", "-NaN", "n/a"}


class CsvSource(RowSource):
    """Rows of a text file of separated numbers, parsed anew in each pass.

    Its rows are counted once, when it is opened. The first line is a header where its fields are text, see
    `_has_header`.
    """

    def __init__(self, path: Path, columns: Sequence[str | int] | None, header: bool | None) -> None:
        self._path = path
        self._delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
        first, second, n_lines = self._first_lines()
        if not first:
            raise ValueError("the file is empty.")
        has_header = _has_header(first, second) if header is None else header
        self._skipped = n_lines if has_header else 0
        # Positions name the columns for pyarrow, since a header may repeat a name.
        self._keys = [str(i) for i in range(len(first))]
        self._block_bytes = max(_BLOCK_BYTES, 64 * sum(len(field) + 1 for field in first))
        chosen = column_positions(first if has_header else None, len(first), columns)
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
        from pyarrow import csv as text

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
        import pyarrow

        column = self._columns[:1]
        with self._open(column, {column[0]: pyarrow.string()}) as batches:
            return sum(batch.num_rows for batch in batches)

    def _column_types(self, names: list[str] | None) -> dict[str, Any]:
        """Return the types to parse, having seen by the first block which columns are not numbers."""
        import pyarrow

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
            for batch in cut_batches(batches, start, stop - start, rows):
                yield arrow_block(batch, self.dtype)


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


_record = partial(
    Format, open=CsvSource, options=("columns", "header"), library="pyarrow.csv", install="coterie[io]"
)
CSV = _record("csv", (".csv",))
TSV = _record("tsv", (".tsv",))
