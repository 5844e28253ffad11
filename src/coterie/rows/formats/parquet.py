"""Parquet files: .parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coterie.arrays import IndexArray
from coterie.rows.checks import reading
from coterie.rows.formats.format import Format
from coterie.rows.formats.tabular import cut_batches, select_columns
from coterie.rows.source import RowSource
from coterie.rows.tables import arrow_block, check_arrow_schema

__all__ = ["PARQUET"]

_BUFFER_BYTES = 64 * 2**20


class ParquetSource(RowSource):
    """Rows of a Parquet file, read row group by row group."""

    def __init__(self, path: Path, columns: Sequence[str | int] | None) -> None:
        from pyarrow import parquet

        with parquet.ParquetFile(path) as file:
            self._metadata = file.metadata
            self._names, schema = select_columns(file.schema_arrow, columns)
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
        from pyarrow import parquet

        first = np.searchsorted(self._starts, start, side="right") - 1
        last = np.searchsorted(self._starts, stop)
        # Column chunks are read through small buffers, since a row group may be as large as the file.
        buffer_size = max(2**14, min(2**20, _BUFFER_BYTES // self.shape[1]))
        with (
            reading(self._path),
            parquet.ParquetFile(self._path, metadata=self._metadata, buffer_size=buffer_size) as file,
        ):
            batches = file.iter_batches(rows, row_groups=range(first, last), columns=self._names)
            skipped = start - int(self._starts[first])
            for batch in cut_batches(batches, skipped, stop - start, rows):
                yield arrow_block(batch.select(self._names), self.dtype)


PARQUET = Format(
    "parquet", (".parquet",), ParquetSource, ("columns",), library="pyarrow.parquet", install="coterie[io]"
)
