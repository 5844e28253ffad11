"""NumPy arrays: .npy, local or remote."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from coterie.limits.files import DamagedFileError, read_array_header
from coterie.rows.checks import check_shape, reading
from coterie.rows.flat import FlatSource
from coterie.rows.formats.format import Format
from coterie.rows.remote import RemoteFile

_STRUCTURED = (
    "it is a structured array, X must hold numbers in two dimensions. Save "
    "numpy.lib.recfunctions.structured_to_unstructured(X), or a table of its fields."
)


class RawSource(FlatSource):
    """Rows of a local or remote .npy file, read in each pass."""

    def __init__(self, path: Path | RemoteFile) -> None:
        self._path = path
        with self.opened() as file:
            shape, is_fortran, stored = read_header(file)
            begin = file.tell()
            there = file.seek(0, os.SEEK_END)
        n_bytes = math.prod(check_shape(shape)) * stored.itemsize
        if begin + n_bytes > there:
            raise DamagedFileError(f"the file is truncated: its array needs {n_bytes} bytes.")
        if is_fortran and isinstance(path, RemoteFile):
            raise ValueError(
                "its numbers are column after column (Fortran order), so that no row lies in one piece. Copy the file "
                "to this machine first, or write it by numpy.ascontiguousarray."
            )
        super().__init__(shape, stored, begin=begin, is_fortran=is_fortran, description="npy")
        self.is_parsed = isinstance(path, RemoteFile)

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        with reading(self._path):
            if isinstance(self._path, RemoteFile):
                with self._path.opened() as remote:
                    yield cast(IO[bytes], remote)
            else:
                with open(self._path, "rb", buffering=0) as file:
                    yield file


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an array of numbers in .npy format: its shape, whether it is in Fortran order, its dtype."""
    shape, fortran, dtype = read_array_header(file)
    if dtype.names is not None:
        raise ValueError(_STRUCTURED)
    return shape, fortran, dtype


NPY = Format("npy", (".npy",), RawSource, elsewhere=True)
