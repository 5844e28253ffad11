"""Arrays in .npy format, alone in a file or somewhere in it, read through a memory map."""

from __future__ import annotations

import math
from pathlib import Path
from typing import IO, Any

import numpy as np

from coterie.arrays import Array
from coterie.rows.checks import check_shape, reading
from coterie.rows.memory import DenseSource

__all__ = ["MappedSource", "read_header"]


_STRUCTURED = (
    "it is a structured array, X must hold numbers in two dimensions. Save "
    "numpy.lib.recfunctions.structured_to_unstructured(X), or a table of its fields."
)


class MappedSource(DenseSource):
    """Rows of an array in .npy format somewhere in a file, mapped anew for each pass.

    Parameters
    ----------
    path : Path
        The file.
    offset, size : int
        Where the array's header begins, and the bytes from there that belong to the array.
    description : str
        The file's format.
    """

    def __init__(self, path: Path, offset: int, size: int, description: str) -> None:
        with open(path, "rb") as file:
            file.seek(offset)
            shape, fortran, dtype = read_header(file)
            begin = file.tell()
        if dtype.names is not None:
            raise ValueError(_STRUCTURED)
        n_bytes = math.prod(check_shape(shape)) * dtype.itemsize
        if begin + n_bytes > offset + size or offset + size > path.stat().st_size:
            raise ValueError(f"the file is truncated: its array needs {n_bytes} bytes.")
        self._mapping = {"dtype": dtype, "offset": begin, "shape": shape, "order": "F" if fortran else "C"}
        self._path = path
        super().__init__(shape, dtype, description=description)

    def open_array(self) -> Array:
        with reading(self._path):
            return np.memmap(self._path, mode="r", **self._mapping)  # type: ignore[call-overload]


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an array in .npy format: its shape, whether it is in Fortran order, its dtype."""
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(file)
    if version not in readers:  # version 3 is for the field names of structured arrays only
        raise ValueError(_STRUCTURED)
    return readers[version](file)
