"""NumPy arrays: .npy, which are mapped."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from coterie.limits.files import DamagedFileError, read_array_header
from coterie.rows.checks import check_shape, compute_dtype
from coterie.rows.formats.format import Format
from coterie.rows.formats.tabular import slices
from coterie.rows.landing import Matrix
from coterie.rows.source import RESIDENT_BYTES

_STRUCTURED = (
    "it is a structured array, X must hold numbers in two dimensions. Save "
    "numpy.lib.recfunctions.structured_to_unstructured(X), or a table of its fields."
)


def _read(path: Path) -> Matrix:
    """Return the array: read if it is small, so that the file may change, else mapped."""
    with open(path, "rb") as file:
        shape, _, stored = read_array_header(file)
        check_numbers(shape, stored)
        n_bytes = math.prod(shape) * stored.itemsize
        if file.tell() + n_bytes > path.stat().st_size:
            raise DamagedFileError(f"the file is truncated: its array needs {n_bytes} bytes.")
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.nbytes <= RESIDENT_BYTES:
        array = np.array(array, order="K", subok=False)
    return Matrix(shape, stored, slices(array), "npy", array=array)


def check_numbers(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> None:
    """Raise a ValueError unless an array is one of numbers with two dimensions."""
    if dtype.names is not None:
        raise ValueError(_STRUCTURED)
    compute_dtype(dtype)
    check_shape(shape)


NPY = Format("npy", (".npy",), _read)
