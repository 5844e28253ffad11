"""Arrow and Feather files: .arrow, .feather."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np

from coterie.arrays import Array, IndexArray
from coterie.limits.files import DamagedFileError
from coterie.rows.arrow import ArrowColumns, first_batch
from coterie.rows.checks import reading
from coterie.rows.columns import Columns
from coterie.rows.flat import read_numbers
from coterie.rows.formats.format import Format
from coterie.rows.formats.tabular import check_unique, cut_batches
from coterie.rows.memory import release_map
from coterie.rows.remote import RemoteFile
from coterie.rows.source import Carried, RowSource

__all__ = ["ARROW"]

# Bits of an id, for comparison with vectors.
_TEXT_BITS = 8 * 64

# Streams with larger batches remain mapped, since a batch is read as a whole.
_BATCH_BYTES = 128 * 2**20


class ArrowFileSource(RowSource):
    """Rows of a Feather or Arrow file (of either Arrow IPC format), read batch by batch.

    Batches are read one by one, with only the necessary columns, and without a memory map: if a mapped file is
    truncated, the process is killed (SIGBUS). Batches of a stream would be read with all columns, so a stream is mapped
    to locate its batches; streams with large batches remain mapped, but their numbers are read from the file.
    """

    is_parsed = True

    def __init__(self, path: Path | RemoteFile, columns: Columns | None, exclude: Columns | None) -> None:
        self._path = path
        self._is_mapped = False
        with self._opened() as (file, _):
            # Files begin with this word, streams do not.
            self._is_stream = bytes(file.read(6)) != b"ARROW1"
            if not self._is_stream:
                counts = self._look(file, None, columns, exclude)
        if self._is_stream:
            if isinstance(path, RemoteFile):
                raise ValueError(
                    "it is an Arrow stream, which can only be read as a whole. Copy the file to this machine first, or "
                    "write it by pyarrow.ipc.new_file."
                )
            self._is_mapped = True
            with self._opened() as (file, pages):
                counts = self._look(file, pages, columns, exclude)
        carried = self._columns.carried
        super().__init__(
            (sum(counts), self._columns.chosen.n_columns),
            self._columns.dtype,
            column_names=self._columns.chosen.column_names,
            is_table=True,
            description="arrow" if path.suffix.lower() == ".arrow" else "feather",
            carried=Carried([self._names[i] for i in carried], self._carried_batches) if carried else None,
            chosen=self._columns.chosen.names,
        )
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        if isinstance(path, Path) and self._is_mapped:
            self._is_mapped = path.stat().st_size * max(counts) / sum(counts) > _BATCH_BYTES

    def _look(
        self, file: Any, pages: _Pages | None, columns: Columns | None, exclude: Columns | None
    ) -> list[int]:
        """Inspect the columns of an open file, and return the number of rows of each batch."""
        schema = self._reader(file, None).schema
        check_unique(schema.names)
        self._names = schema.names
        self._columns = ArrowColumns(
            schema,
            columns,
            exclude,
            lambda positions: first_batch(self._batches(file, 0, positions)),
            self._path,
        )
        # One column is enough to count rows, and only its buffers are decompressed.
        smallest = min(range(len(schema)), key=lambda i: _size(schema.types[i]))
        counts = []
        for batch in self._batches(file, 0, [smallest]):
            counts.append(batch.num_rows)
            if pages is not None and not pages.hold(batch.column(0)):
                self._is_mapped = False  # from now on: compressed batches are read as a whole
        return counts

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, _Pages | None]]:
        """Open the file; return the reader of pyarrow, and the pages if it is mapped."""
        import pyarrow

        if isinstance(self._path, RemoteFile):
            with self._path.opened() as remote:
                yield remote, None
        elif not self._is_mapped:
            with pyarrow.OSFile(str(self._path)) as file:
                yield file, None
        else:
            with _Pages(self._path) as pages:
                # They are unmapped after the last batch that uses them.
                yield pyarrow.BufferReader(pyarrow.py_buffer(pages.map)), pages

    def _reader(self, file: Any, fields: list[int] | None) -> Any:
        from pyarrow import ipc

        file.seek(0)
        opened = ipc.open_stream if self._is_stream else ipc.open_file
        return opened(file, options=ipc.IpcReadOptions(included_fields=fields or []))

    def _batches(self, file: Any, first: int, positions: list[int]) -> Iterator[Any]:
        """Read these columns of all batches from `first` on."""
        fields = sorted(positions)  # the order of the reader
        order = [fields.index(position) for position in positions]
        reader = self._reader(file, fields)
        if self._is_stream:
            batches = (batch for number, batch in enumerate(reader) if number >= first)
        else:
            batches = (reader.get_batch(i) for i in range(first, reader.num_record_batches))
        for batch in batches:
            batch.validate()  # pyarrow trusts the number of rows, and could read beyond the end of a buffer
            yield batch.select(order)

    def _carried_batches(self, positions: list[int]) -> Iterator[Any]:
        carried = self._columns.carried
        with reading(self._path), self._opened() as (file, pages):
            for batch in self._batches(file, 0, [carried[i] for i in positions]):
                if pages is not None:
                    pages.check()
                batch.validate(full=True)  # texts have offsets, which may be wrong
                yield batch
                if pages is not None:
                    release_map(pages.map)

    def unit_starts(self) -> IndexArray:
        return self._starts[:-1]

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        with reading(self._path), self._opened() as (file, pages):
            batches = self._batches(file, first, self._columns.positions)
            for batch in cut_batches(batches, start - int(self._starts[first]), stop - start, rows):
                if pages is None:
                    yield self._columns.block(batch, self.dtype, start)
                else:
                    pages.check()
                    yield self._columns.block(batch, self.dtype, start, pages.read)
                    release_map(pages.map)
                start += batch.num_rows


class _Pages:
    """A memory-mapped file."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115
        try:
            self.map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:  # the file is empty
            self._file.close()
            raise
        self._address = np.frombuffer(self.map, dtype=np.uint8).ctypes.data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def check(self) -> None:
        """Raise a ValueError if the file was truncated: access to pages beyond its end kills the process."""
        missing = len(self.map) - os.fstat(self._file.fileno()).st_size
        if missing > 0:
            raise DamagedFileError(f"the file is truncated: {missing} bytes are missing.")

    def read(self, numbers: Array) -> Array:
        """Return numbers read from the file instead of the map; others unchanged."""
        begin = numbers.ctypes.data - self._address
        if not 0 <= begin < len(self.map):
            return numbers
        found = np.empty(numbers.shape, dtype=numbers.dtype)
        read_numbers(self._file, begin, found)
        return found

    def hold(self, column: Any) -> bool:
        """Return whether a `pyarrow.Array` is entirely in the map; compressed ones are not."""
        found = [buffer.address - self._address for buffer in column.buffers() if buffer and buffer.size]
        return all(0 <= begin < len(self.map) for begin in found)


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
