"""Arrow and Feather files: .arrow, .feather."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
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
from coterie.rows.memory import release_map
from coterie.rows.remote import RemoteFile
from coterie.rows.source import RowSource

__all__ = ["ARROW"]

# Of an id, beside which a vector is long.
_TEXT_BITS = 8 * 64


class ArrowFileSource(RowSource):
    """Rows of a Feather or Arrow file (of either Arrow IPC format), read batch by batch.

    A file here is read from a memory map; of one elsewhere only the buffers of the columns wanted are fetched.
    """

    is_parsed = True

    def __init__(self, path: Path | RemoteFile, columns: Columns | None, exclude: Columns | None) -> None:
        self._path = path
        with self._opened() as (file, _):
            # Only a file, not a stream, begins with this word.
            self._is_stream = bytes(file.read(6)) != b"ARROW1"
            if self._is_stream and isinstance(path, RemoteFile):
                raise ValueError(
                    "it is an Arrow stream, which can only be read as a whole. Copy the file to this machine first, or "
                    "write it by pyarrow.ipc.new_file."
                )
            schema = self._reader(file, None).schema
            check_unique(schema.names)
            self._columns = ArrowColumns(
                schema,
                columns,
                exclude,
                lambda positions: first_batch(self._batches(file, 0, positions)),
                path,
            )
            # One column is enough to count rows, and only its buffers are decompressed.
            smallest = min(range(len(schema)), key=lambda i: _size(schema.types[i]))
            counts = [batch.num_rows for batch in self._batches(file, 0, [smallest])]
        carried = self._columns.carried
        super().__init__(
            (sum(counts), self._columns.chosen.n_columns),
            self._columns.dtype,
            column_names=self._columns.chosen.column_names,
            is_table=True,
            description="arrow" if path.suffix.lower() == ".arrow" else "feather",
            carried=Carried([schema.names[i] for i in carried], self._carried_batches) if carried else None,
            chosen=self._columns.chosen.names,
        )
        self._starts = np.concatenate([[0], np.cumsum(counts)])

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, mmap.mmap | None]]:
        """Open the file: what pyarrow reads, and where it is mapped into memory the pages behind it."""
        import pyarrow

        if isinstance(self._path, RemoteFile):
            with self._path.opened() as remote:
                yield remote, None
            return
        with open(self._path, "rb") as file:
            pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        # The pages are unmapped when no batch uses them any more.
        yield pyarrow.BufferReader(pyarrow.py_buffer(pages)), pages

    def _reader(self, file: Any, fields: list[int] | None) -> Any:
        from pyarrow import ipc

        file.seek(0)
        opened = ipc.open_stream if self._is_stream else ipc.open_file
        return opened(file, options=ipc.IpcReadOptions(included_fields=fields or []))

    def _batches(self, file: Any, first: int, positions: list[int]) -> Iterator[Any]:
        """Read these columns of all batches from the `first` on."""
        fields = sorted(positions)  # which is the order in which the reader gives them
        order = [fields.index(position) for position in positions]
        reader = self._reader(file, fields)
        if self._is_stream:
            batches = (batch for number, batch in enumerate(reader) if number >= first)
        else:
            batches = (reader.get_batch(i) for i in range(first, reader.num_record_batches))
        for batch in batches:
            batch.validate()  # pyarrow believes the number of rows, and would read behind the end of a buffer
            yield batch.select(order)

    def _carried_batches(self, positions: list[int]) -> Iterator[Any]:
        carried = self._columns.carried
        with reading(self._path), self._opened() as (file, pages):
            for batch in self._batches(file, 0, [carried[i] for i in positions]):
                yield batch
                if pages is not None:
                    release_map(pages)

    def unit_starts(self) -> IndexArray:
        return self._starts[:-1]

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        with reading(self._path), self._opened() as (file, pages):
            batches = self._batches(file, first, self._columns.positions)
            for batch in cut_batches(batches, start - int(self._starts[first]), stop - start, rows):
                yield self._columns.block(batch, self.dtype, start)
                start += batch.num_rows
                if pages is not None:
                    release_map(pages)


def _size(kind: Any) -> float:
    """Return the bits of a value; where they differ, those of a short text, or infinitely many for a list."""
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
