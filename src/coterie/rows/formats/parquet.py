"""Parquet files: .parquet."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from coterie.arrays import IndexArray
from coterie.rows.arrow import ArrowColumns, first_batch
from coterie.rows.carried import Carried
from coterie.rows.checks import reading
from coterie.rows.columns import Columns
from coterie.rows.formats.format import Format
from coterie.rows.formats.tabular import check_unique, cut_batches
from coterie.rows.source import RowSource

__all__ = ["PARQUET"]

_BUFFER_BYTES = 64 * 2**20


class ParquetSource(RowSource):
    """Rows of a Parquet file, read row group by row group."""

    is_parsed = True

    def __init__(self, path: Path, columns: Columns | None, exclude: Columns | None) -> None:
        self._path = path
        with _opened(path, 1) as file:
            self._metadata = file.metadata
            names = file.schema_arrow.names
            check_unique(names)

            def first_row(positions: list[int]) -> Any:
                return first_batch(file.iter_batches(1, columns=[names[i] for i in positions]))

            self._columns = ArrowColumns(file.schema_arrow, columns, exclude, first_row, path)
        groups = [self._metadata.row_group(i).num_rows for i in range(self._metadata.num_row_groups)]
        self._starts = np.concatenate([[0], np.cumsum(groups)])
        carried = [names[i] for i in self._columns.carried]
        super().__init__(
            (self._metadata.num_rows, self._columns.chosen.n_columns),
            self._columns.dtype,
            column_names=self._columns.chosen.column_names,
            is_table=True,
            description="parquet",
            carried=Carried(carried, partial(_batches, path, carried)) if carried else None,
            chosen=self._columns.chosen.names,
        )

    def unit_starts(self) -> IndexArray:
        return self._starts[:-1]

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        first = np.searchsorted(self._starts, start, side="right") - 1
        last = np.searchsorted(self._starts, stop)
        names = list(self._columns.chosen.names)
        with reading(self._path), _opened(self._path, len(names), self._metadata) as file:
            batches = file.iter_batches(rows, row_groups=range(first, last), columns=names)
            skipped = start - int(self._starts[first])
            for batch in cut_batches(batches, skipped, stop - start, rows):
                yield self._columns.block(batch.select(names), self.dtype, start)
                start += batch.num_rows


def _opened(path: Path, n_columns: int, metadata: Any = None) -> Any:
    """Open a file to read some of its columns from beginning to end."""
    from pyarrow import parquet

    # Column chunks are read through small buffers and never ahead, since a row group may be as large as the file.
    buffer_size = max(2**14, min(2**20, _BUFFER_BYTES // n_columns))
    return parquet.ParquetFile(path, metadata=metadata, buffer_size=buffer_size, pre_buffer=False)


def _batches(path: Path, names: list[str], positions: list[int]) -> Iterator[Any]:
    """Read columns that are carried along."""
    chosen = [names[i] for i in positions]
    with reading(path), _opened(path, len(chosen)) as file:
        for batch in file.iter_batches(columns=chosen):
            yield batch.select(chosen)


PARQUET = Format(
    "parquet",
    (".parquet",),
    ParquetSource,
    ("columns", "exclude"),
    library="pyarrow.parquet",
    install="coterie[io]",
)
