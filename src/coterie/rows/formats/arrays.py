"""Arrays of NumPy (.npy, which are mapped, and .npz) and sparse rows (.npz of SciPy, .svm, .libsvm)."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.limits.files import check_archive, read_array_header
from coterie.limits.memory import check_allocation
from coterie.rows.checks import FileError
from coterie.rows.landing import Matrix
from coterie.rows.source import RESIDENT_BYTES

# Bytes that are read at a time.
_PIECE_BYTES = 2**24


def read_npy(path: Path) -> Matrix:
    """Return the array: read if it is small, so that the file may change, else mapped."""
    array: Any = np.lib.format.open_memmap(path, mode="r")
    if array.nbytes <= RESIDENT_BYTES:
        array = np.array(array, order="K", subok=False)
    return _whole(array, "npy")


def read_npz(path: Path, key: str | None) -> Matrix:
    """Read the array `key` of a .npz file, else its only two-dimensional array, else X, or that of `save_npz`."""
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        check_archive(archive, path)
        for name in archive.namelist():
            with archive.open(name) as file:
                shape, dtype = read_array_header(file)
            shapes[name.removesuffix(".npy")] = shape if dtype.kind in "fiubc" else ()
    if key is None and shapes.keys() >= {"format", "shape", "data"}:
        return _whole(sp.load_npz(path), "npz, sparse")
    with np.load(path, allow_pickle=False) as arrays:
        return _whole(arrays[choose_array(shapes, key, path)], "npz")


def read_svmlight(path: Path) -> Matrix:
    """Read sparse rows; labels are ignored. Indices count from 1 unless there is a 0."""
    from sklearn.datasets import load_svmlight_file

    return _whole(load_svmlight_file(str(path))[0], "svm")


def _whole(array: Any, description: str) -> Matrix:
    return Matrix(array.shape, array.dtype, [array], description, sp.issparse(array))


def choose_array(shapes: dict[str, tuple[int, ...]], key: str | None, path: object) -> str:
    """Return the array to read: the chosen one, the only one with rows and columns, or X."""
    names = [name for name, shape in shapes.items() if len(shape) == 2]
    name = key or (names[0] if len(names) == 1 else "X")
    if name in (shapes if key else names):
        return name
    problem = (
        f"no array {key!r}" if key else f"{'several arrays' if names else 'no array'} with two dimensions"
    )
    raise FileError(f"{path} has {problem}: choose one by {path}::name of {listed(names or shapes)}.")


def listed(names: Any) -> str:
    """Return the first names as text."""
    names = list(names)
    return ", ".join(map(repr, names[:12])) + ", ..." * (len(names) > 12) or "none"


def slices(array: Any) -> Iterator[Any]:
    """Yield the rows of an array, HDF5 dataset or Zarr array in slices that end where its chunks (or shards) do."""
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
