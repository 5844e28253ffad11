"""Arrays in .npy format, in local or remote .npy files and within other files."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from coterie.arrays import Array
from coterie.limits.files import DamagedFileError, read_array_header
from coterie.rows.checks import check_shape, reading
from coterie.rows.flat import FlatSource
from coterie.rows.formats.format import Format
from coterie.rows.memory import SlicedSource
from coterie.rows.remote import RangedFile, RemoteFile
from coterie.rows.source import RowSource

__all__ = ["NPY", "RawSource", "open_remote_array", "read_header"]

_STRUCTURED = (
    "it is a structured array, X must hold numbers in two dimensions. Save "
    "numpy.lib.recfunctions.structured_to_unstructured(X), or a table of its fields."
)


class RawSource(FlatSource):
    """Rows of an array in .npy format within a file, read in each pass.

    Parameters
    ----------
    path : Path
        The file.
    offset, size : int
        Offset of the array's header, and the bytes of the array from there.
    description : str
        The file's format.
    """

    def __init__(self, path: Path, offset: int, size: int, description: str) -> None:
        with open(path, "rb") as file:
            file.seek(offset)
            shape, is_fortran, stored = read_header(file)
            begin = file.tell()
        n_bytes = math.prod(check_shape(shape)) * stored.itemsize
        if begin + n_bytes > offset + size or offset + size > path.stat().st_size:
            raise DamagedFileError(f"the file is truncated: its array needs {n_bytes} bytes.")
        self._path = path
        super().__init__(shape, stored, begin=begin, is_fortran=is_fortran, description=description)

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        with reading(self._path), open(self._path, "rb", buffering=0) as file:
            yield file


def open_remote_array(path: RemoteFile, description: str) -> SlicedSource:
    """Open an array in a remote file; its rows are fetched slice by slice."""
    with path.opened() as file:
        shape, fortran, dtype = read_header(file)
        begin = file.tell()
        n_bytes = math.prod(check_shape(shape)) * dtype.itemsize
        if begin + n_bytes > file.size():
            raise DamagedFileError(f"the file is truncated: its array needs {n_bytes} bytes.")
    if fortran:
        raise ValueError(
            "its numbers are column after column (Fortran order), so that no row lies in one piece. Copy the file to "
            "this machine first, or write it by numpy.ascontiguousarray."
        )
    store = partial(_remote_rows, path, begin, shape[1], dtype)
    return SlicedSource(shape, dtype, store, 1, description=description)


@contextmanager
def _remote_rows(path: RemoteFile, begin: int, n_columns: int, dtype: np.dtype[Any]) -> Iterator[_RemoteRows]:
    with reading(path), path.opened() as file:
        yield _RemoteRows(file, begin, n_columns, dtype)


class _RemoteRows:
    """Rows of an array in C order, after the first `begin` bytes of a file."""

    def __init__(self, file: RangedFile, begin: int, n_columns: int, dtype: np.dtype[Any]) -> None:
        self._file = file
        self._begin = begin
        self._n_columns = n_columns
        self._dtype = dtype

    def __getitem__(self, rows: slice) -> Array:
        row_bytes = self._n_columns * self._dtype.itemsize
        self._file.seek(self._begin + rows.start * row_bytes)
        found = self._file.read((rows.stop - rows.start) * row_bytes)
        return np.frombuffer(found, self._dtype).reshape(-1, self._n_columns)


def read_header(file: IO[bytes] | RangedFile) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an array of numbers in .npy format: its shape, whether it is in Fortran order, its dtype."""
    shape, fortran, dtype = read_array_header(file)
    if dtype.names is not None:
        raise ValueError(_STRUCTURED)
    return shape, fortran, dtype


def _open(path: Path | RemoteFile) -> RowSource:
    """Open a local or remote .npy file."""
    if isinstance(path, RemoteFile):
        return open_remote_array(path, "npy")
    return RawSource(path, 0, path.stat().st_size, "npy")


NPY = Format("npy", (".npy",), _open, elsewhere=True)
