"""Where rows and metadata that were read land: in memory, or above a limit in a temporary file that is mapped.

Temporary files have no name if the system permits it, so that they go with the process in any case.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array
from coterie.limits.memory import available_memory
from coterie.rows.checks import check_shape, compute_dtype, reading
from coterie.rows.source import DenseRows, MetadataColumns, Rows, SparseRows, joined_batches

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


def _check_space(n_bytes: int, n_written: int) -> None:
    if shutil.disk_usage(spool_folder()).free < n_bytes + _LEFT_BYTES:
        told = f"No space for a copy of the rows after {n_written / 1e9:.1f} GB of it; TMPDIR names another folder"
        raise OSError(errno.ENOSPC, told, spool_folder())


class LandingArray:
    """An array that grows by blocks of rows of one type, of `n_rows` rows if that is known."""

    def __init__(self, n_columns: int, dtype: np.dtype[Any], n_rows: int | None = None) -> None:
        self._most = float(_SMALL_BYTES)
        self._row_bytes = n_columns * dtype.itemsize
        self._array = np.empty((n_rows if n_rows and self._fits(n_rows) else 0, n_columns), dtype=dtype)
        self._file: IO[bytes] | None = None
        self.n_rows = 0

    def add(self, block: Array) -> None:
        """Add rows, which are converted to the type."""
        start, self.n_rows = self.n_rows, self.n_rows + len(block)
        if self._file is None and not self._fits(self.n_rows):
            self._file = tempfile.TemporaryFile(dir=spool_folder(), buffering=0)  # noqa: SIM115
            held, self._array = self._array[:start], self._array[:0].copy()
            self._write(held)
        with np.errstate(all="ignore"):  # too large numbers become infinite, which is found later
            if self._file is not None:
                self._write(np.require(block, self._array.dtype, ["C", "A", "E"]))
                return
            if self.n_rows > len(self._array):  # which seldom moves it
                size = max(self.n_rows, len(self._array) * 9 // 8)
                self._array.resize((size, self._array.shape[1]), refcheck=False)
            self._array[start : self.n_rows] = block

    def array(self) -> Array:
        """Return all rows; nothing can be added after it."""
        shape = (self.n_rows, self._array.shape[1])
        if self._file is not None:
            return np.memmap(self._file, dtype=self._array.dtype, mode="r", shape=shape)
        if len(self._array) > self.n_rows:
            self._array.resize(shape, refcheck=False)
        return self._array

    def _write(self, block: Array) -> None:
        assert self._file is not None
        part = memoryview(block.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        _check_space(len(part), self._file.tell())
        while len(part):  # a single call of the system may write less
            part = part[self._file.write(part) :]

    def _fits(self, n_rows: int) -> bool:
        n_bytes = n_rows * self._row_bytes
        if n_bytes > self._most == _SMALL_BYTES:
            self._most = max(self._most, _SHARE * available_memory())
        return n_bytes <= self._most


class LandingMetadata:
    """Metadata columns that grow by record batches of pyarrow."""

    def __init__(self) -> None:
        self._held: list[Any] = []
        self._n_bytes = 0
        self._file: IO[bytes] | None = None
        self._writer: Any = None

    def add(self, batch: Any) -> None:
        """Add the next rows, of columns of the same names; types that can hold both kinds are found."""
        from pyarrow import ipc

        self._held.append(batch.replace_schema_metadata(None))
        self._n_bytes += batch.nbytes
        if self._n_bytes <= _METADATA_BYTES:
            return
        table = joined_batches(self._held)
        if self._writer is None:
            self._file, self._schema = tempfile.TemporaryFile(dir=spool_folder()), table.schema  # noqa: SIM115
            self._writer = ipc.new_stream(self._file, self._schema)
        _check_space(table.nbytes, self._n_bytes)
        self._writer.write_table(table.cast(self._schema))
        self._held.clear()

    def table(self) -> Any:
        """Return all rows as a `pyarrow.Table`; nothing can be added after it. None if there are no columns."""
        import pyarrow

        if self._writer is not None and self._file is not None:
            self._writer.close()
            self._file.flush()
            pages = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
            return pyarrow.ipc.open_stream(pyarrow.py_buffer(pages)).read_all()
        return joined_batches(self._held) if self._held else None


@dataclass
class Matrix:
    """An array or a sparse matrix in a file, as its reader returns it: consecutive rows in pieces of any size.

    A dense `array` that is mapped needs no reading. If it `is_open`, the number of rows is that of the first piece, and
    others may follow. `name` is that of its file; `column_names` and `metadata`, a `pyarrow.Table`, those of AnnData.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    pieces: Iterable[Any]
    description: str
    is_sparse: bool = False
    is_open: bool = False
    array: Array | None = None
    is_table: bool = False
    column_names: list[str] | None = None
    metadata: Any = None
    name: str = ""


def check_declared(n_declared: int | None, n_rows: int) -> None:
    """Raise an error if a file has another number of rows than it declares."""
    if n_declared not in (None, n_rows):
        raise ValueError(f"the file is damaged: it declares {n_declared} rows, and {n_rows} are there")


def land_matrices(parts: Sequence[Matrix], description: str) -> Rows:
    """Read arrays or sparse matrices of equal columns, one after the other."""
    first = parts[0]
    for part in parts:
        with reading(part.name):
            if not isinstance(part, Matrix):
                raise ValueError("it is a table, and the first file is not.")
            check_shape(part.shape)
            compute_dtype(part.dtype)
            if (part.shape[1], part.column_names) != (first.shape[1], first.column_names):
                raise ValueError(f"its columns are not those of {first.name}.")
            if part.is_sparse != first.is_sparse:
                raise ValueError(f"shards must be all dense or all sparse, and {first.name} is the other.")
    dtype = np.result_type(*(compute_dtype(part.dtype) for part in parts))
    n_rows = None if first.is_open else sum(part.shape[0] for part in parts)
    is_read = len(parts) == 1 and first.array is not None
    held: list[Any] = []
    landing = LandingArray(first.shape[1], dtype, 0 if is_read else n_rows)
    files, start = [], 0
    for part in parts:
        files.append((start, part.name))
        with reading(part.name):
            for piece in () if is_read else part.pieces:
                piece = piece if sp.issparse(piece) else np.asarray(piece)
                if piece.ndim != 2 or piece.shape[1] != first.shape[1]:
                    raise ValueError(
                        f"it has pieces of shape {piece.shape} instead of {first.shape[1]} columns."
                    )
                compute_dtype(piece.dtype)
                start += piece.shape[0]
                (held.append if first.is_sparse else landing.add)(piece)
            if not (is_read or part.is_open):
                check_declared(part.shape[0], start - files[-1][0])
    rows: Rows
    if first.is_sparse:
        whole = held[0] if len(held) == 1 else sp.vstack(held, format="csr", dtype=dtype)
        rows = SparseRows(whole, description)
    else:
        rows = DenseRows(first.array if is_read else landing.array(), description)  # type: ignore[arg-type]
    rows.files = tuple(files) if first.name else ()
    rows.column_names, rows.is_table = first.column_names, first.is_table
    if first.metadata is not None and len(parts) == 1:
        rows.metadata_columns = rows.all_columns = MetadataColumns(first.metadata)
    return rows
