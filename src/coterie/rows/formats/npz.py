"""NumPy and SciPy archives: .npz."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from coterie.limits.files import DamagedFileError, check_archive, check_members, read_array_header
from coterie.limits.memory import Need, check_memory
from coterie.rows.checks import check_shape, reading
from coterie.rows.formats.format import Format
from coterie.rows.formats.npy import read_header
from coterie.rows.formats.tabular import choose_array
from coterie.rows.memory import SparseSource
from coterie.rows.source import RowSource

_SPARSE_NPZ = {"format", "shape", "data"}
_IN_ROWS = "write it row by row, by numpy.savez(FILE, X=numpy.ascontiguousarray(X))"


def _open(path: Path, key: str | None) -> RowSource:
    """Open the array `key` of a .npz file, else its only two-dimensional array, else the one called X.

    A file written by `scipy.sparse.save_npz` is read into memory.
    """
    with zipfile.ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        check_members(archive)
        if key is None and members.keys() >= _SPARSE_NPZ:
            check_archive(archive, path)
            return SparseSource(sp.load_npz(path), "npz, sparse")
        shapes = {}
        for name, info in members.items():
            with archive.open(info) as stream:
                shape, _, dtype = read_array_header(stream)
            shapes[name] = shape if dtype.kind in "fiubc" else ()
        return ArchivedSource(path, members[choose_array(shapes, key, path)].filename)


class ArchivedSource(RowSource):
    """Rows of an array in a .npz file, read from its beginning in each pass, with the checksum of the archive."""

    is_parsed = True

    def __init__(self, path: Path, member: str) -> None:
        with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
            shape, self._fortran, self._stored_dtype = read_header(stream)
            there = archive.getinfo(member).file_size - stream.tell()
        n_bytes = math.prod(check_shape(shape)) * self._stored_dtype.itemsize
        if n_bytes > there:
            raise DamagedFileError(
                f"the file is truncated: its array needs {n_bytes} bytes, and {there} are there."
            )
        super().__init__(shape, self._stored_dtype, description="npz")
        self._path = path
        self._member = member

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        n_columns = self.shape[1]
        row_bytes = n_columns * self._stored_dtype.itemsize
        with (
            reading(self._path),
            zipfile.ZipFile(self._path) as archive,
            archive.open(self._member) as stream,
        ):
            read_header(stream)
            if self._fortran:  # no row is complete before the last column
                # During decompression its bytes are in memory twice.
                need = Need(
                    2 * self.shape[0] * row_bytes, "its columns, which lie one after the other", _IN_ROWS
                )
                check_memory([need], str(self._path))
                numbers = np.frombuffer(_read_exactly(stream, self.shape[0] * row_bytes), self._stored_dtype)
                yield numbers.reshape(self.shape, order="F")[start:stop]
                return
            stream.seek(start * row_bytes, os.SEEK_CUR)
            for low in range(start, stop, rows):
                piece = _read_exactly(stream, min(rows, stop - low) * row_bytes)
                yield np.frombuffer(piece, self._stored_dtype).reshape(-1, n_columns)


def _read_exactly(stream: IO[bytes], n_bytes: int) -> bytes:
    piece = stream.read(n_bytes)
    if len(piece) != n_bytes:
        raise DamagedFileError(f"the file is truncated: {n_bytes - len(piece)} bytes are missing.")
    return piece


NPZ = Format("npz", (".npz",), _open, ("key",))
