"""Arrays of NumPy (.npy, which are mapped, and .npz) and sparse rows (.npz of SciPy, .svm, .libsvm)."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.limits.files import check_archive, read_array_header
from coterie.limits.memory import check_allocation
from coterie.rows.checks import FileError, check_shape, compute_dtype
from coterie.rows.landing import Matrix
from coterie.rows.source import RESIDENT_BYTES

# Bytes that are read at a time.
_PIECE_BYTES = 2**24


def read_npy(path: Path) -> Matrix:
    """Return the array: read if it is small, so that the file may change, else mapped."""
    with open(path, "rb") as file:
        shape, dtype = read_array_header(file)
        _check_numbers(shape, dtype)
        n_bytes = math.prod(shape) * dtype.itemsize
        if file.tell() + n_bytes > path.stat().st_size:
            raise ValueError(f"the file is truncated: its array needs {n_bytes} bytes.")
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.nbytes <= RESIDENT_BYTES:
        array = np.array(array, order="K", subok=False)
    return Matrix(shape, dtype, slices(array), "npy", array=array)


def read_npz(path: Path, key: str | None) -> Matrix:
    """Read the array `key` of a .npz file, else its only two-dimensional array, else X, or that of `save_npz`."""
    with zipfile.ZipFile(path) as archive:
        check_archive(archive, path)
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        headers = {}
        for name, info in members.items():
            with archive.open(info) as file:
                headers[name] = read_array_header(file)
    if key is None and members.keys() >= {"format", "shape", "data"}:
        matrix = sp.load_npz(path)
        return Matrix(matrix.shape, matrix.dtype, [matrix], "npz, sparse", is_sparse=True)
    shapes = {name: shape if dtype.kind in "fiubc" else () for name, (shape, dtype) in headers.items()}
    name = choose_array(shapes, key, path)
    _check_numbers(*headers[name])
    with np.load(path, allow_pickle=False) as arrays:
        array = arrays[name]
    return Matrix(array.shape, array.dtype, [array], "npz", array=array)


def read_svmlight(path: Path, n_columns: int | None) -> Matrix:
    """Read sparse rows; labels are ignored. Indices count from 1 unless there is a 0."""
    from sklearn.datasets import load_svmlight_file

    matrix = load_svmlight_file(str(path), zero_based=True)[0]
    base = 0 if np.any(matrix.indices == 0) else 1
    found = max(int(matrix.indices.max(initial=-1)) + 1 - base, 0)
    if n_columns is not None and n_columns < found:
        raise ValueError(f"it has {found} columns, more than n_columns={n_columns}.")
    arrays = (matrix.data, matrix.indices - base, matrix.indptr)
    shape = (matrix.shape[0], found if n_columns is None else n_columns)
    return Matrix(shape, matrix.dtype, [sp.csr_array(arrays, shape=shape)], "svm", is_sparse=True)


def _check_numbers(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> None:
    if dtype.names is not None:
        raise ValueError(
            "it is a structured array, X must hold numbers in two dimensions. Save "
            "numpy.lib.recfunctions.structured_to_unstructured(X), or a table of its fields."
        )
    compute_dtype(dtype)
    check_shape(shape)


def choose_array(shapes: dict[str, tuple[int, ...]], key: str | None, path: object) -> str:
    """Return the array to read: the chosen one, the only one with rows and columns, or X."""
    names = [name for name, shape in shapes.items() if len(shape) == 2]
    if key in shapes if key is not None else len(names) == 1 or "X" in names:
        return key or (names[0] if len(names) == 1 else "X")
    if key is not None:
        raise FileError(f"{path} has no array {key!r}. It has {listed(shapes)}.")
    if not names:
        raise FileError(f"{path} has no array of numbers with two dimensions. It has {listed(shapes)}.")
    raise FileError(
        f"{path} has several arrays with two dimensions: choose one by {path}::name of {listed(names)}."
    )


def listed(names: Any) -> str:
    """Return the first names as text."""
    names = list(names)
    return ", ".join(map(repr, names[:12])) + ", ..." * (len(names) > 12) or "none"


def slices(array: Any) -> Iterator[Any]:
    """Yield the rows of an HDF5 dataset, Zarr or Dask array in slices that end where its chunks (or shards) do."""
    chunks = getattr(array, "shards", None) or getattr(array, "chunks", None)
    unit = int(chunks[0]) if chunks else 1
    n_rows, row_bytes = array.shape[0], array.dtype.itemsize * int(np.prod(array.shape[1:]))
    way = "write the file in smaller chunks"
    check_allocation(
        float(min(unit, n_rows)) * row_bytes, "rows of a single chunk, which are read together,", way
    )
    size = max(1, _PIECE_BYTES // max(1, unit * row_bytes)) * unit
    for low in range(0, n_rows, size):
        yield np.asarray(array[low : low + size])
