"""Where rows and metadata that were read land: in memory, or above a limit in a temporary file that is mapped.

Temporary files have no name if the system permits it, so that they go with the process in any case.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import tempfile
from collections import deque
from functools import partial
from typing import IO, Any

import numpy as np

from coterie.arrays import Array
from coterie.limits.memory import available_memory
from coterie.rows.source import MetadataColumns

# Less than this stays in memory in any case: to ask for the free memory takes longer.
_SMALL_BYTES = 64 * 2**20

# Share of the free memory that is taken.
_SHARE = 0.25

# Bytes of a disk that are left free.
_LEFT_BYTES = 2**30

# Metadata in memory.
_METADATA_BYTES = 256 * 2**20


def spool_folder() -> str:
    """Return the folder of large temporary files: TMPDIR if writable, else /var/tmp, as /tmp is often in memory."""
    for folder in (os.environ.get("TMPDIR"), "/var/tmp"):
        if folder and os.access(folder, os.W_OK | os.X_OK):
            return folder
    return tempfile.gettempdir()


def has_space(n_bytes: float) -> bool:
    """Return whether the disk of `spool_folder` has space for this number of bytes, and some more."""
    return shutil.disk_usage(spool_folder()).free >= n_bytes + _LEFT_BYTES


def _check_space(n_bytes: int, n_written: int) -> None:
    if not has_space(n_bytes):
        told = f"No space for a copy of the rows after {n_written / 1e9:.1f} GB of it; TMPDIR names another folder"
        raise OSError(errno.ENOSPC, told, spool_folder())


class LandingArray:
    """An array that grows by blocks of rows of one type, of `n_rows` rows if that is known."""

    def __init__(self, n_columns: int, dtype: np.dtype[Any], n_rows: int | None = None) -> None:
        self._n_columns, self._dtype = n_columns, dtype
        self._held: deque[Array] = deque()
        self._whole: Array | None = None
        self._file: IO[bytes] | None = None
        self._most = float(_SMALL_BYTES)
        self.n_rows = 0
        if n_rows and self._fits(n_rows):
            self._whole = np.empty((n_rows, n_columns), dtype=dtype)

    def add(self, block: Array) -> None:
        """Add rows, which are converted to the type."""
        if not len(block):
            return
        start, self.n_rows = self.n_rows, self.n_rows + len(block)
        if self._whole is not None and self.n_rows <= len(self._whole):
            with np.errstate(all="ignore"):  # too large numbers become infinite, which is found later
                self._whole[start : self.n_rows] = block
            return
        with np.errstate(all="ignore"):
            block = np.require(block, self._dtype, ["C", "A", "E"])
        if self._whole is not None:  # more rows than were declared
            self._held.append(self._whole[:start])
            self._whole = None
        self._held.append(block)
        if self._file is None and not self._fits(self.n_rows):
            self._file = tempfile.TemporaryFile(dir=spool_folder(), buffering=0)  # noqa: SIM115
        while self._file is not None and self._held:
            part = memoryview(self._held.popleft()).cast("B")  # type: ignore[arg-type]
            _check_space(len(part), self._file.tell())
            while len(part):  # a single call of the system may write less
                part = part[self._file.write(part) :]

    def array(self) -> Array:
        """Return all rows; nothing can be added after it."""
        shape = (self.n_rows, self._n_columns)
        if self._file is not None:
            return np.memmap(self._file, dtype=self._dtype, mode="r", shape=shape)
        if self._whole is not None:
            return self._whole[: self.n_rows]
        if len(self._held) == 1:
            return self._held.pop()
        array, start = np.empty(shape, dtype=self._dtype), 0
        while self._held:  # which frees them one by one
            block = self._held.popleft()
            array[start : start + len(block)] = block
            start += len(block)
        return array

    def _fits(self, n_rows: int) -> bool:
        n_bytes = n_rows * self._n_columns * self._dtype.itemsize
        if n_bytes > self._most == _SMALL_BYTES:
            self._most = max(self._most, _SHARE * available_memory())
        return n_bytes <= self._most


class LandingMetadata:
    """Metadata columns that grow by record batches of pyarrow."""

    def __init__(self) -> None:
        self._schema: Any = None
        self._held: list[Any] = []
        self._n_bytes = 0
        self._file: IO[bytes] | None = None
        self._writer: Any = None

    def add(self, batch: Any) -> None:
        """Add the next rows, of columns of the same names; types that can hold both kinds are found."""
        import pyarrow
        from pyarrow import ipc

        schema = batch.schema.remove_metadata()
        if self._schema is None:
            self._schema = schema
        if not schema.equals(self._schema):
            if self._writer is None:
                self._schema = pyarrow.unify_schemas([self._schema, schema], promote_options="permissive")
                self._held = [_cast(held, self._schema) for held in self._held]
            batch = _cast(batch, self._schema)
        self._held.append(batch)
        self._n_bytes += batch.nbytes
        if self._writer is None and self._n_bytes > _METADATA_BYTES:
            self._file = tempfile.TemporaryFile(dir=spool_folder())  # noqa: SIM115
            self._writer = ipc.new_stream(self._file, self._schema)
        while self._writer is not None and self._held:
            _check_space(self._held[0].nbytes, self._n_bytes)
            self._writer.write_batch(self._held.pop(0))

    def columns(self) -> MetadataColumns | None:
        """Return all rows; nothing can be added after it. None if there are no columns."""
        import pyarrow

        if self._schema is None:
            return None
        if self._writer is not None and self._file is not None:
            self._writer.close()
            self._file.flush()
            pages = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
            return metadata_of_table(pyarrow.ipc.open_stream(pyarrow.py_buffer(pages)).read_all())
        return metadata_of_table(pyarrow.Table.from_batches(self._held, self._schema))


def _cast(batch: Any, schema: Any) -> Any:
    import pyarrow

    table = pyarrow.Table.from_batches([batch]).cast(schema).combine_chunks()
    return pyarrow.RecordBatch.from_arrays([column.chunk(0) for column in table.columns], schema=schema)


def metadata_of_table(table: Any) -> MetadataColumns | None:
    """Return the columns of a `pyarrow.Table` as metadata columns, None if there are none."""
    if not table.num_columns:
        return None
    return MetadataColumns(table.schema.names, partial(_batches_of, table))


def _batches_of(table: Any, positions: list[int]) -> Any:
    return table.select(positions).to_batches()
