"""Tables of .parquet, .feather, .arrow and .xlsx files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coterie.rows.checks import FileError
from coterie.rows.formats.arrays import listed
from coterie.rows.frames import table_of_pandas
from coterie.rows.tables import Table

# Columns of large row groups are read through buffers of this size in all, since a group may be as large as the file.
_BUFFER_BYTES, _SMALLEST = 2**26, 2**14

# Numbers and rows of a batch.
_BATCH_NUMBERS = 2**22
_MOST_ROWS = 2**16

# Assumed length of lists of any length.
_LIST_LENGTH = 1024


def read_parquet(path: Path) -> Table:
    """Return the table of a Parquet file."""
    from pyarrow import parquet, types

    # Checksums of pages cost little compared with decoding. What is read ahead would be held until the end.
    options = {"page_checksum_verification": True, "pre_buffer": False}
    with parquet.ParquetFile(path, **options) as file:
        metadata, schema = file.metadata, file.schema_arrow
    groups = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
    # Complete chunks where they are small: a buffer grows to any size that a damaged page declares.
    is_small = min(path.stat().st_size, max(groups, default=0)) <= _BUFFER_BYTES
    buffer_size = 0 if is_small else max(_SMALLEST, _BUFFER_BYTES // max(1, len(schema)))
    width = sum(
        getattr(kind, "list_size", _LIST_LENGTH if types.is_nested(kind) else 1) for kind in schema.types
    )

    def batches() -> Iterator[Any]:
        with parquet.ParquetFile(path, buffer_size=buffer_size, **options) as file:
            yield from file.iter_batches(max(1, min(_MOST_ROWS, _BATCH_NUMBERS // max(1, width))))

    return Table(schema, batches(), "parquet", metadata.num_rows)


def read_arrow(path: Path) -> Table:
    """Return the table of an Arrow IPC file, not memory-mapped: a mapped file that is cut short kills the process."""
    import pyarrow
    from pyarrow import ipc

    file = pyarrow.OSFile(str(path))
    if file.read(6) == b"ARROW1":  # files begin with this word, streams do not
        found = ipc.open_file(file)
        batches = map(found.get_batch, range(found.num_record_batches))
    else:
        file.seek(0)
        batches = found = ipc.open_stream(file)

    def validated() -> Iterator[Any]:
        for batch in batches:
            # pyarrow trusts the number of rows and offsets of texts, and could read beyond the end of a buffer.
            batch.validate(full=True)
            yield batch

    return Table(found.schema, validated(), path.suffix.lower()[1:])


def read_excel(path: Path, key: str | None) -> Table:
    """Return the table of a sheet of a workbook, by default the first."""
    import pandas

    with pandas.ExcelFile(path, engine="openpyxl") as book:
        if key is not None and key not in book.sheet_names:
            raise FileError(f"{path} has no sheet {key!r}. It has {listed(book.sheet_names)}.")
        frame = book.parse(0 if key is None else key)
    return table_of_pandas(frame, "xlsx")
