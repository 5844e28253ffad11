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
from coterie.rows.source import DenseRows, Rows, SparseRows, joined_batches

# Less than this stays in memory in any case: to ask for the free memory takes longer.
_SMALL_BYTES = 64 * 2**20

# Share of the free memory that is taken.
_SHARE = 0.25

# Bytes of a disk that are left free.
_LEFT_BYTES = 2**30

# Bytes that are converted at a time.
_PIECE_BYTES = 2**24

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
    """An array that grows by blocks of rows, of `n_rows` rows if that is known. A single block stays as it is."""

    def __init__(self, n_columns: int, dtype: np.dtype[Any], n_rows: int | None = None) -> None:
        self.n_rows, self._declared = 0, n_rows or 0
        self._most, self._row_bytes = float(_SMALL_BYTES), n_columns * dtype.itemsize
        self._array: Array = np.empty((0, n_columns), dtype=dtype)
        self._only: Array | None = None
        self._file: IO[bytes] | None = None

    def add(self, block: Array) -> None:
        """Add rows, which are converted to the type."""
        start, self.n_rows = self.n_rows, self.n_rows + len(block)
        if start == 0 and compute_dtype(block.dtype) == self._array.dtype:
            self._only = block
            return
        if self._only is not None:
            only, self._only = self._only, None
            self._put(only, 0)
        self._put(block, start)

    def _put(self, block: Array, start: int) -> None:
        stop = start + len(block)
        if start == 0 and self._fits(self._declared):
            self._array = np.empty((self._declared, self._array.shape[1]), dtype=self._array.dtype)
        if self._file is None and not self._fits(stop):
            self._file = tempfile.TemporaryFile(dir=spool_folder())  # noqa: SIM115
            held, self._array = self._array[:start], self._array[:0].copy()
            held.tofile(self._file)
        with np.errstate(all="ignore"):  # too large numbers become infinite, which is found later
            if self._file is not None:
                _check_space(len(block) * self._row_bytes, self._file.tell())
                for part in np.array_split(block, 1 + block.nbytes // _PIECE_BYTES):
                    np.require(part, self._array.dtype, "C").tofile(self._file)
                return
            if stop > len(self._array):  # which seldom moves it
                size = max(stop, len(self._array) * 9 // 8)
                self._array.resize((size, self._array.shape[1]), refcheck=False)
            self._array[start:stop] = block

    def array(self) -> Array:
        """Return all rows; nothing can be added after it."""
        if self._only is not None:
            return self._only
        shape = (self.n_rows, self._array.shape[1])
        if self._file is not None:
            return np.memmap(self._file, dtype=self._array.dtype, mode="r", shape=shape)
        if len(self._array) > self.n_rows:
            self._array.resize(shape, refcheck=False)
        return self._array

    def _fits(self, n_rows: int) -> bool:
        n_bytes = n_rows * self._row_bytes
        if n_bytes > self._most == _SMALL_BYTES:
            self._most = max(self._most, _SHARE * available_memory())
        return n_bytes <= self._most


class LandingMetadata:
    """Metadata columns that grow by record batches of pyarrow."""

    def __init__(self) -> None:
        self._mapped: list[Any] = []
        self._held: list[Any] = []
        self._n_bytes = 0

    def add(self, batch: Any) -> None:
        """Add the next rows; a column that they lack is missing, and types that can hold both kinds are found."""
        self._held.append(batch.replace_schema_metadata(None))
        self._n_bytes += batch.nbytes
        if self._n_bytes > _METADATA_BYTES:
            self._mapped.append(_mapped(joined_batches(self._held)))
            self._held, self._n_bytes = [], 0

    def table(self) -> Any:
        """Return all rows as a `pyarrow.Table`."""
        return joined_batches([*self._mapped, *self._held])


def _mapped(table: Any) -> Any:
    """Return a table that is mapped from a temporary file."""
    import pyarrow
    from pyarrow import ipc

    _check_space(table.nbytes, 0)
    with tempfile.TemporaryFile(dir=spool_folder()) as file:
        with ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
        file.flush()
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return ipc.open_stream(pyarrow.py_buffer(pages)).read_all()


@dataclass
class Matrix:
    """A dense or sparse matrix in a file, maybe of more rows than `shape` says: consecutive rows in pieces of any
    size, a single one if it is mapped. `column_names` and `metadata` (`pyarrow.Table`) are those of AnnData.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    pieces: Iterable[Any]
    description: str
    is_sparse: bool = False
    is_table: bool = False
    column_names: list[str] | None = None
    metadata: Any = None
    name: str = ""


def land_matrices(parts: Sequence[Matrix], description: str) -> Rows:
    """Read arrays or sparse matrices of equal columns, one after the other."""
    first = parts[0]
    for part in parts:
        with reading(part.name):
            check_shape(part.shape)
            compute_dtype(part.dtype)
            if (part.shape[1], part.column_names) != (first.shape[1], first.column_names):
                raise ValueError(f"its columns are not those of {first.name}.")
            if part.is_sparse != first.is_sparse:
                raise ValueError(f"shards must be all dense or all sparse, and {first.name} is the other.")
    dtype = np.result_type(*(compute_dtype(part.dtype) for part in parts))
    landing, held = LandingArray(first.shape[1], dtype, sum(part.shape[0] for part in parts)), []
    files, start = [], 0
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
                if not first.is_sparse:
                    landing.add(piece)
                elif piece.shape[0]:
                    held.append(SparseRows(piece, description))
    rows: Rows
    if first.is_sparse and len(held) == 1:
        rows = held[0]
    elif first.is_sparse:
        rows = SparseRows(sp.vstack([one.in_place() for one in held], format="csr"), description)
    else:
        rows = DenseRows(landing.array(), description)
    rows.files = tuple(files) if first.name else ()
    rows.column_names, rows.is_table = first.column_names, first.is_table
    if first.metadata is not None and len(parts) == 1:
        rows.metadata_columns = rows.all_columns = first.metadata
    return rows
