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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array
from coterie.limits.files import DamagedFileError
from coterie.limits.memory import available_memory
from coterie.rows.checks import check_shape, compute_dtype, reading
from coterie.rows.source import DenseRows, MetadataColumns, Rows, SparseRows

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

    def table(self) -> Any:
        """Return all rows as a `pyarrow.Table`; nothing can be added after it. None if there are no columns."""
        import pyarrow

        if self._writer is not None and self._file is not None:
            self._writer.close()
            self._file.flush()
            pages = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
            return pyarrow.ipc.open_stream(pyarrow.py_buffer(pages)).read_all()
        return None if self._schema is None else pyarrow.Table.from_batches(self._held, self._schema)


def _cast(batch: Any, schema: Any) -> Any:
    import pyarrow

    table = pyarrow.Table.from_batches([batch]).cast(schema).combine_chunks()
    return pyarrow.RecordBatch.from_arrays([column.chunk(0) for column in table.columns], schema=schema)


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


def land_matrices(parts: Sequence[Matrix], description: str) -> Rows:
    """Read arrays or sparse matrices of equal columns, one after the other."""
    first = parts[0]
    for part in parts:
        with reading(part.name):
            if not isinstance(part, Matrix):
                raise ValueError("it is a table, and the first file is not.")
            check_shape(part.shape)
            compute_dtype(part.dtype)
            if part.shape[1] != first.shape[1] or part.column_names != first.column_names:
                raise ValueError(f"its columns are not those of {first.name}.")
            if part.is_sparse != first.is_sparse:
                raise ValueError(f"shards must be all dense or all sparse, and {first.name} is the other.")
    dtype = np.result_type(*(compute_dtype(part.dtype) for part in parts))
    n_rows = None if first.is_open else sum(part.shape[0] for part in parts)
    files, start = [], 0
    rows: Rows
    if len(parts) == 1 and first.array is not None:
        files.append((0, first.name))
        rows = DenseRows(first.array, description)
    else:
        held: list[Any] = []
        landing = LandingArray(first.shape[1], dtype, n_rows)
        for part in parts:
            files.append((start, part.name))
            with reading(part.name):
                for piece in part.pieces:
                    piece = piece if sp.issparse(piece) else np.asarray(piece)
                    if piece.ndim != 2 or piece.shape[1] != first.shape[1]:
                        raise ValueError(
                            f"it has pieces of shape {piece.shape} instead of {first.shape[1]} columns."
                        )
                    compute_dtype(piece.dtype)
                    start += piece.shape[0]
                    (held.append if first.is_sparse else landing.add)(piece)
                if not part.is_open and start - files[-1][0] != part.shape[0]:
                    raise DamagedFileError(
                        f"the file is damaged: it declares {part.shape[0]} rows, and {start - files[-1][0]} are there"
                    )
        if first.is_sparse:
            whole = held[0] if len(held) == 1 else sp.vstack(held, format="csr", dtype=dtype)
            rows = SparseRows(whole, description)
        else:
            rows = DenseRows(landing.array(), description)
    rows.files = tuple(files) if first.name else ()
    rows.column_names, rows.is_table = first.column_names, first.is_table
    if first.metadata is not None and len(parts) == 1:
        rows.metadata_columns = rows.all_columns = MetadataColumns(first.metadata)
    return rows
