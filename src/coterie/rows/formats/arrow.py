"""Arrow and Feather files: .arrow, .feather."""

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

__all__ = ["ARROW"]


class ArrowFileSource(RowSource):
    """Rows of a Feather or Arrow file (of either Arrow IPC format), read batch by batch from a memory map."""

    def __init__(self, path: Path, columns: Sequence[str | int] | None) -> None:
        self._path = path
        # Only a file, not a stream, begins with this word.
        with open(path, "rb") as file:
            self._is_stream = file.read(6) != b"ARROW1"
        with self._mapped() as file:
            whole = self._reader(file, None).schema
            self._names, schema = select_columns(whole, columns)
            self._fields = sorted(whole.get_field_index(name) for name in self._names)
            # One column is enough to count rows, and only its buffers are decompressed.
            counts = [batch.num_rows for batch in self._batches(file, 0, self._fields[:1])]
        super().__init__(
            (sum(counts), len(self._names)),
            check_arrow_schema(schema),
            column_names=self._names,
            is_table=True,
            description="arrow" if path.suffix.lower() == ".arrow" else "feather",
        )
        self._starts = np.concatenate([[0], np.cumsum(counts)])

    def _mapped(self) -> Any:
        import pyarrow

        return pyarrow.memory_map(str(self._path))

    def _reader(self, file: Any, fields: list[int] | None) -> Any:
        from pyarrow import ipc

        file.seek(0)
        opened = ipc.open_stream if self._is_stream else ipc.open_file
        return opened(file, options=ipc.IpcReadOptions(included_fields=fields or []))

    def _batches(self, file: Any, first: int, fields: list[int]) -> Iterator[Any]:
        reader = self._reader(file, fields)
        if not self._is_stream:
            yield from (reader.get_batch(i) for i in range(first, reader.num_record_batches))
            return
        for number, batch in enumerate(reader):
            if number >= first:
                yield batch

    def unit_starts(self) -> IndexArray:
        return self._starts[:-1]

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        with reading(self._path), self._mapped() as file:
            batches = self._batches(file, first, self._fields)
            for batch in cut_batches(batches, start - int(self._starts[first]), stop - start, rows):
                yield arrow_block(batch.select(self._names), self.dtype)


ARROW = Format(
    "arrow",
    (".feather", ".arrow"),
    ArrowFileSource,
    ("columns",),
    library="pyarrow.ipc",
    install="coterie[io]",
)
