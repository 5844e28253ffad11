"""NumPy and SciPy archives: .npz."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.limits.files import DamagedFileError, check_archive, check_members, read_array_header
from coterie.limits.memory import check_allocation
from coterie.rows.checks import check_shape
from coterie.rows.formats.format import Format, Matrix
from coterie.rows.formats.npy import read_header
from coterie.rows.formats.tabular import choose_array

_SPARSE_NPZ = {"format", "shape", "data"}
_PIECE_BYTES = 2**24


def _read(path: Path, key: str | None) -> Matrix:
    """Read the array `key` of a .npz file, else its only two-dimensional array, else X, or that of `save_npz`."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        check_members(archive)
        if key is None and members.keys() >= _SPARSE_NPZ:
            check_archive(archive, path)
            matrix = sp.load_npz(path)
            return Matrix(matrix.shape, matrix.dtype, [matrix], "npz, sparse", is_sparse=True)
        shapes = {}
        for name, info in members.items():
            with archive.open(info) as stream:
                shape, _, dtype = read_array_header(stream)
            shapes[name] = shape if dtype.kind in "fiubc" else ()
        member = members[choose_array(shapes, key, path)]
        with archive.open(member) as stream:
            shape, is_fortran, stored = read_header(stream)
            there = member.file_size - stream.tell()
    n_bytes = math.prod(check_shape(shape)) * stored.itemsize
    if n_bytes > there:
        raise DamagedFileError(
            f"the file is truncated: its array needs {n_bytes} bytes, and {there} are there."
        )
    return Matrix(shape, stored, _pieces(path, member.filename, is_fortran), "npz")


def _pieces(path: Path, member: str, is_fortran: bool) -> Iterator[Any]:
    with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
        (n_rows, n_columns), _, stored = read_header(stream)
        row_bytes = n_columns * stored.itemsize
        size = max(1, _PIECE_BYTES // row_bytes)
        if is_fortran:  # no row is complete before the last column
            size = n_rows
            way = "write it row by row, by numpy.savez(FILE, X=numpy.ascontiguousarray(X))"
            check_allocation(
                2.0 * n_rows * row_bytes, f"columns of {path}, which lie one after the other,", way
            )
        for low in range(0, n_rows, size):
            n_bytes = min(size, n_rows - low) * row_bytes
            piece = stream.read(n_bytes)
            if len(piece) != n_bytes:
                raise DamagedFileError(f"the file is truncated: {n_bytes - len(piece)} bytes are missing.")
            yield np.frombuffer(piece, stored).reshape(-1, n_columns, order="F" if is_fortran else "C")


NPZ = Format("npz", (".npz",), _read, ("key",))
