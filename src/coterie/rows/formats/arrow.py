"""Arrow and Feather files: .arrow, .feather."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import Any

from coterie.arrays import IndexArray
from coterie.rows.arrow import ArrowColumns, first_batch
from coterie.rows.columns import Columns
from coterie.rows.formats.format import Format
from coterie.rows.formats.tabular import BatchSource, check_unique
from coterie.rows.remote import RemoteFile

# Bits of an id, for comparison with vectors.
_TEXT_BITS = 8 * 64


class ArrowFileSource(BatchSource):
    """Rows of a Feather or Arrow file (of either Arrow IPC format), read batch by batch.

    The file is not memory-mapped: if a mapped file is truncated, the process is killed (SIGBUS). Of the format with
    random access only the columns that are needed are read; a stream is read from its beginning, with all columns.
    """

    def __init__(self, path: Path | RemoteFile, columns: Columns | None, exclude: Columns | None) -> None:
        self._path = path
        with self._opened() as file:
            # Files begin with this word, streams do not.
            self._is_stream = bytes(file.read(6)) != b"ARROW1"
            if self._is_stream and isinstance(path, RemoteFile):
                raise ValueError(
                    "it is an Arrow stream, which can only be read as a whole. Copy the file to this machine first, or "
                    "write it by pyarrow.ipc.new_file."
                )
            schema = self._reader(file, []).schema
            check_unique(schema.names)
            chosen = ArrowColumns(
                schema, columns, exclude, lambda positions: first_batch(self._read(file, 0, positions)), path
            )
            # One column is enough to count rows, and only its buffers are decompressed.
            smallest = min(range(len(schema)), key=lambda i: _size(schema.types[i]))
            counts = [batch.num_rows for batch in self._read(file, 0, [smallest])]
        super().__init__(
            path, chosen, schema.names, counts, "arrow" if path.suffix.lower() == ".arrow" else "feather"
        )

    def _opened(self) -> AbstractContextManager[Any]:
        import pyarrow

        return self._path.opened() if isinstance(self._path, RemoteFile) else pyarrow.OSFile(str(self._path))

    def _reader(self, file: Any, fields: list[int]) -> Any:
        from pyarrow import ipc

        file.seek(0)
        opened = ipc.open_stream if self._is_stream else ipc.open_file
        return opened(file, options=ipc.IpcReadOptions(included_fields=fields))

    def _read(self, file: Any, first: int, positions: list[int]) -> Iterator[Any]:
        """Read these columns of all batches from `first` on."""
        fields = sorted(positions)  # the order of the reader
        order = [fields.index(position) for position in positions]
        reader = self._reader(file, fields)
        batches: Iterator[Any]
        if self._is_stream:
            batches = islice(reader, first, None)
        else:
            batches = (reader.get_batch(i) for i in range(first, reader.num_record_batches))
        for batch in batches:
            batch.validate()  # pyarrow trusts the number of rows, and could read beyond the end of a buffer
            yield batch.select(order)

    def batches(self, units: range, positions: list[int], rows: int | None) -> Iterator[Any]:
        with self._opened() as file:
            for batch in self._read(file, units.start, positions):
                if rows is None:
                    batch.validate(full=True)  # texts have offsets, which may be wrong
                yield batch

    def unit_starts(self) -> IndexArray:
        return self._starts[:1] if self._is_stream else super().unit_starts()


def _size(kind: Any) -> float:
    """Return the bits of a value of a type; those of a short text for texts, infinity for a list."""
    from pyarrow import types

    if types.is_fixed_size_list(kind):
        return kind.list_size * _size(kind.value_type)
    try:
        return kind.bit_width
    except ValueError:
        return float("inf") if types.is_nested(kind) else _TEXT_BITS


ARROW = Format(
    "arrow",
    (".feather", ".arrow"),
    ArrowFileSource,
    ("columns", "exclude"),
    library="pyarrow.ipc",
    install="coterie[io]",
    elsewhere=True,
)
