"""Parquet files: .parquet."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from coterie.limits.files import DamagedFileError
from coterie.rows.arrow import ArrowColumns, first_batch
from coterie.rows.columns import Columns
from coterie.rows.formats.format import Format
from coterie.rows.formats.tabular import BatchSource, check_unique
from coterie.rows.remote import RemoteFile

_BUFFER_BYTES = 64 * 2**20

# Rows of a batch of metadata columns.
_BATCH_ROWS = 2**16

# Smallest and largest buffer of a column of a local and of a remote file, where each refill is a request.
_LOCAL, _REMOTE = (2**14, 2**20), (2**18, 2**23)

# Remote columns of at most this number of bytes in each row group are fetched together, a row group at a time.
_GROUP_BYTES = 16 * 2**20


class ParquetSource(BatchSource):
    """Rows of a Parquet file, read row group by row group."""

    def __init__(self, path: Path | RemoteFile, columns: Columns | None, exclude: Columns | None) -> None:
        with _opened(path) as file:
            self._metadata = file.metadata
            self._names = file.schema_arrow.names
            check_unique(self._names)

            def first_row(positions: list[int]) -> Any:
                return first_batch(file.iter_batches(1, columns=[self._names[i] for i in positions]))

            chosen = ArrowColumns(file.schema_arrow, columns, exclude, first_row, path)
        counts = [self._metadata.row_group(i).num_rows for i in range(self._metadata.num_row_groups)]
        if min(counts, default=0) < 0 or sum(counts) != self._metadata.num_rows:
            raise DamagedFileError(
                f"the file is damaged: it declares {self._metadata.num_rows} rows, but its row groups have "
                f"{sum(counts)}"
            )
        super().__init__(path, chosen, self._names, counts, "parquet")

    def batches(self, units: range, positions: list[int], rows: int | None) -> Iterator[Any]:
        names = [self._names[i] for i in positions]
        most_bytes = self._most_bytes(units, set(names))
        is_fetched = isinstance(self._path, RemoteFile) and most_bytes <= _GROUP_BYTES
        with _opened(self._path, names, most_bytes, pre_buffer=is_fetched, metadata=self._metadata) as file:
            for groups in [[unit] for unit in units] if is_fetched else [list(units)]:
                for batch in file.iter_batches(rows or _BATCH_ROWS, row_groups=groups, columns=names):
                    yield batch.select(names)

    def _most_bytes(self, units: range, names: Collection[str]) -> float:
        """Return the compressed size of the chosen columns in the largest row group; infinity for a small local file.

        pyarrow ends the process if statistics of a column are damaged, so that it is asked only if that changes how the
        file is read.
        """
        if not isinstance(self._path, RemoteFile) and self._path.stat().st_size <= _BUFFER_BYTES:
            return math.inf
        return max((sum(_column_bytes(self._metadata.row_group(unit), names)) for unit in units), default=0)


@contextmanager
def _opened(
    path: Path | RemoteFile, names: Sequence[str] = (), most_bytes: float = math.inf, **options: Any
) -> Iterator[Any]:
    """Open a file to read columns, of at most `most_bytes` in a row group; without names to read its first row."""
    from pyarrow import parquet

    smallest, largest = _REMOTE if isinstance(path, RemoteFile) and names else _LOCAL
    # Column chunks are read through small buffers and not in advance, since a row group may be as large as the file.
    buffer_size = max(smallest, min(largest, _BUFFER_BYTES // max(1, len(names))))
    if not isinstance(path, RemoteFile):
        most_bytes = min(most_bytes, path.stat().st_size)
    if most_bytes <= _BUFFER_BYTES:
        # Complete chunks: a buffer grows to any size that a damaged page declares.
        buffer_size = 0
    with (
        path.opened() if isinstance(path, RemoteFile) else nullcontext(path) as source,
        # Checksums of pages cost little compared with decoding, and nothing if a file has none.
        parquet.ParquetFile(
            source, buffer_size=buffer_size, page_checksum_verification=True, **options
        ) as file,
    ):
        yield file


def _column_bytes(group: Any, names: Collection[str]) -> Iterator[int]:
    """Yield the compressed sizes of columns in a row group; the path of a list begins with its name and a point."""
    for column in map(group.column, range(group.num_columns)):
        if column.path_in_schema in names or column.path_in_schema.partition(".")[0] in names:
            yield column.total_compressed_size


PARQUET = Format(
    "parquet",
    (".parquet",),
    ParquetSource,
    ("columns", "exclude"),
    library="pyarrow.parquet",
    install="coterie[io]",
    elsewhere=True,
)
