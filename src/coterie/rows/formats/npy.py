"""NumPy arrays: .npy, which are mapped."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from coterie.arrays import Array
from coterie.limits.files import DamagedFileError, read_array_header
from coterie.rows.checks import check_shape, compute_dtype
from coterie.rows.formats.format import Format
from coterie.rows.source import RESIDENT_BYTES

_STRUCTURED = (
    "it is a structured array, X must hold numbers in two dimensions. Save "
    "numpy.lib.recfunctions.structured_to_unstructured(X), or a table of its fields."
)


def _read(path: Path) -> Array:
    """Return the array: read if it is small, else mapped."""
    with open(path, "rb") as file:
        shape, is_fortran, stored = read_header(file)
        begin = file.tell()
        compute_dtype(stored)
        n_bytes = math.prod(check_shape(shape)) * stored.itemsize
        if begin + n_bytes > file.seek(0, os.SEEK_END):
            raise DamagedFileError(f"the file is truncated: its array needs {n_bytes} bytes.")
        order: Literal["F", "C"] = "F" if is_fortran else "C"
        if n_bytes > RESIDENT_BYTES:
            return np.memmap(path, dtype=stored, mode="r", offset=begin, shape=shape, order=order)
        file.seek(begin)
        array = np.empty(shape, dtype=stored, order=order)
        if file.readinto(memoryview(array.reshape(-1, order="A").view(np.uint8))) < n_bytes:  # type: ignore[arg-type]
            raise DamagedFileError("the file was cut short while it was read.")
        return array


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an array of numbers in .npy format: its shape, whether it is in Fortran order, its dtype."""
    shape, fortran, dtype = read_array_header(file)
    if dtype.names is not None:
        raise ValueError(_STRUCTURED)
    return shape, fortran, dtype


NPY = Format("npy", (".npy",), _read)
