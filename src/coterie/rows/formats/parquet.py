"""Parquet files: .parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from coterie.limits.files import DamagedFileError
from coterie.rows.formats.format import Format, Table
from coterie.rows.formats.tabular import check_unique

# Columns of large files are read through small buffers, since a row group may be as large as the file.
_BUFFER_BYTES = 64 * 2**20
_SMALLEST, _LARGEST = 2**14, 2**20

# Numbers of a batch.
_BATCH_NUMBERS = 2**22
_MOST_ROWS = 2**16


def _read(path: Path) -> Table:
    from pyarrow import parquet

    is_small = path.stat().st_size <= _BUFFER_BYTES

    def opened(n_columns: int = 1) -> Any:
        # Complete chunks of a small file: a buffer grows to any size that a damaged page declares.
        buffer_size = 0 if is_small else max(_SMALLEST, min(_LARGEST, _BUFFER_BYTES // max(1, n_columns)))
        # Checksums of pages cost little compared with decoding, and nothing if a file has none.
        return parquet.ParquetFile(path, buffer_size=buffer_size, page_checksum_verification=True)

    def batches(features: Sequence[int], others: Sequence[int]) -> Iterator[Any]:
        columns = [names[i] for i in (*features, *others)]
        width = sum(getattr(file_schema.field(name).type, "list_size", 1) for name in columns)
        size = max(1, min(_MOST_ROWS, _BATCH_NUMBERS // max(1, width)))
        with opened(len(columns)) as file:
            for batch in file.iter_batches(size, columns=columns):
                yield batch.select(columns)

    with opened() as file:
        metadata, file_schema = file.metadata, file.schema_arrow
    names = file_schema.names
    check_unique(names)
    counts = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    if min(counts, default=0) < 0 or sum(counts) != metadata.num_rows:
        raise DamagedFileError(
            f"the file is damaged: it declares {metadata.num_rows} rows, but its row groups have {sum(counts)}"
        )
    return Table(file_schema, batches, "parquet", metadata.num_rows)


PARQUET = Format("parquet", (".parquet",), _read, library="pyarrow.parquet", install="coterie[io]")
