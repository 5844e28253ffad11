"""Parquet files: .parquet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from coterie.arrays import IndexArray
from coterie.limits.files import DamagedFileError
from coterie.rows.arrow import ArrowColumns, first_batch
from coterie.rows.checks import reading
from coterie.rows.columns import Columns
from coterie.rows.formats.format import Format
from coterie.rows.formats.tabular import check_unique, cut_batches
from coterie.rows.remote import RemoteFile, Span
from coterie.rows.source import Carried, RowSource

__all__ = ["PARQUET"]

_BUFFER_BYTES = 64 * 2**20

# Smallest and largest buffer of a column of a local and of a remote file, where each refill is a request.
_HERE, _ELSEWHERE = (2**14, 2**20), (2**18, 2**23)

# Remote columns of at most this number of bytes in a row group are fetched together, also those of several row groups,
# up to the second number of bytes at a time and with gaps of at most the third.
_GROUP_BYTES = 16 * 2**20
_SPAN_BYTES = 8 * 2**20
_GAP_BYTES = 2**16


class ParquetSource(RowSource):
    """Rows of a Parquet file, read row group by row group."""

    is_parsed = True

    def __init__(self, path: Path | RemoteFile, columns: Columns | None, exclude: Columns | None) -> None:
        self._path = path
        with _opened(path) as file:
            self._metadata = file.metadata
            names = file.schema_arrow.names
            check_unique(names)

            def first_row(positions: list[int]) -> Any:
                return first_batch(file.iter_batches(1, columns=[names[i] for i in positions]))

            self._columns = ArrowColumns(file.schema_arrow, columns, exclude, first_row, path)
        groups = [self._metadata.row_group(i).num_rows for i in range(self._metadata.num_row_groups)]
        if min(groups, default=0) < 0 or sum(groups) != self._metadata.num_rows:
            raise DamagedFileError(
                f"the file is damaged: it says that it has {self._metadata.num_rows} rows, and its row groups have "
                f"{sum(groups)}"
            )
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
        groups = range(first, last)
        with reading(self._path), _opened(self._path, names, self._metadata, groups) as file:
            batches = file.iter_batches(rows, row_groups=groups, columns=names)
            skipped = start - int(self._starts[first])
            for batch in cut_batches(batches, skipped, stop - start, rows):
                yield self._columns.block(batch.select(names), self.dtype, start)
                start += batch.num_rows


@contextmanager
def _opened(
    path: Path | RemoteFile, names: Sequence[str] = (), metadata: Any = None, groups: Iterable[int] = ()
) -> Iterator[Any]:
    """Open a file to read some columns of some row groups in order; without names only its first row is read."""
    from pyarrow import parquet

    is_elsewhere = isinstance(path, RemoteFile)
    smallest, largest = _ELSEWHERE if is_elsewhere and names else _HERE
    # Column chunks are read through small buffers and not in advance, since a row group may be as large as the file.
    buffer_size = max(smallest, min(largest, _BUFFER_BYTES // max(1, len(names))))
    if not isinstance(path, RemoteFile) and path.stat().st_size <= _BUFFER_BYTES:
        # Complete chunks: a buffer grows to any size that a damaged page declares.
        buffer_size = 0
    # Checksums of pages cost little compared with decoding, and nothing if a file has none.
    options = {
        "metadata": metadata,
        "buffer_size": buffer_size,
        "pre_buffer": False,
        "page_checksum_verification": True,
    }
    spans = _spans(metadata, groups, set(names)) if is_elsewhere else []
    with (
        path.opened(spans) if isinstance(path, RemoteFile) else nullcontext(path) as source,
        parquet.ParquetFile(source, **options) as file,
    ):
        yield file


def _spans(metadata: Any, groups: Iterable[int], names: Collection[str]) -> list[Span]:
    """Return the byte ranges of columns that are fetched together; none for large row groups."""
    spans: list[Span] = []
    for group in groups:
        columns = map(metadata.row_group(group).column, range(metadata.num_columns))
        chunks = sorted(
            (column.dictionary_page_offset or column.data_page_offset, column.total_compressed_size)
            for column in columns
            if column.path_in_schema in names or column.path_in_schema.partition(".")[0] in names
        )
        if sum(size for _, size in chunks) > _GROUP_BYTES:
            continue
        for start, size in chunks:
            low, high = spans[-1] if spans else (0, -_GAP_BYTES)
            if 0 <= start - high <= _GAP_BYTES and start + size - low <= _SPAN_BYTES:
                spans[-1] = (low, start + size)
            else:
                spans.append((start, start + size))
    return spans


def _batches(path: Path | RemoteFile, names: list[str], positions: list[int]) -> Iterator[Any]:
    """Read metadata columns."""
    chosen = [names[i] for i in positions]
    with reading(path), _opened(path, chosen) as file:
        for batch in file.iter_batches(columns=chosen):
            yield batch.select(chosen)


PARQUET = Format(
    "parquet",
    (".parquet",),
    ParquetSource,
    ("columns", "exclude"),
    library="pyarrow.parquet",
    install="coterie[io]",
    elsewhere=True,
)
