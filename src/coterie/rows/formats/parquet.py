"""Parquet files: .parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coterie.limits.files import DamagedFileError
from coterie.rows.formats.format import Format
from coterie.rows.formats.tabular import check_unique
from coterie.rows.tables import Table

# Columns of large files are read through small buffers, since a row group may be as large as the file.
_BUFFER_BYTES = 64 * 2**20
_SMALLEST, _LARGEST = 2**14, 2**20

# Numbers of a batch.
_BATCH_NUMBERS = 2**22
_MOST_ROWS = 2**16

# Assumed length of lists of any length.
_LIST_LENGTH = 1024


def _read(path: Path) -> Table:
    from pyarrow import parquet

    n_bytes = path.stat().st_size  # of the largest row group, at most

    def opened(n_columns: int = 1) -> Any:
        # Complete chunks where they are small: a buffer grows to any size that a damaged page declares.
        buffer_size = max(_SMALLEST, min(_LARGEST, _BUFFER_BYTES // max(1, n_columns)))
        buffer_size = 0 if n_bytes <= _BUFFER_BYTES else buffer_size
        # Checksums of pages cost little compared with decoding, and nothing if a file has none. What is read ahead is
        # held until the end.
        return parquet.ParquetFile(
            path, buffer_size=buffer_size, page_checksum_verification=True, pre_buffer=False
        )

    def batches(_: Any) -> Iterator[Any]:
        width = sum(_width(kind) for kind in file_schema.types)
        size = max(1, min(_MOST_ROWS, _BATCH_NUMBERS // max(1, width)))
        with opened(len(names)) as file:
            yield from file.iter_batches(size)

    with opened() as file:
        metadata, file_schema = file.metadata, file.schema_arrow
    names = file_schema.names
    check_unique(names)
    counts = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    if min(counts, default=0) < 0 or sum(counts) != metadata.num_rows:
        raise DamagedFileError(
            f"the file is damaged: it declares {metadata.num_rows} rows, but its row groups have {sum(counts)}"
        )
    n_bytes = min(
        n_bytes,
        max((metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)), default=0),
    )
    return Table(file_schema, batches, "parquet", metadata.num_rows)


def _width(kind: Any) -> int:
    from pyarrow import types

    return getattr(kind, "list_size", _LIST_LENGTH if types.is_nested(kind) else 1)


PARQUET = Format("parquet", (".parquet",), _read, library="pyarrow.parquet", install="coterie[io]")
