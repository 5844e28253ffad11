"""What readers of formats share: choice of an array, slices of arrays, opening of text files."""

from __future__ import annotations

import io
import lzma
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from coterie.limits.memory import check_allocation
from coterie.rows.checks import FileError
from coterie.rows.formats.format import COMPRESSIONS

# Bytes that are read at a time.
_PIECE_BYTES = 2**24


def choose_array(shapes: dict[str, tuple[int, ...]], key: str | None, path: object) -> str:
    """Return the array to read: the chosen one, the only one with rows and columns, or X."""
    if key is not None:
        if key in shapes:
            return key
        raise FileError(f"{path} has no array {key!r}. It has {listed(shapes)}.")
    tables = [name for name, shape in shapes.items() if len(shape) == 2]
    if len(tables) == 1:
        return tables[0]
    if "X" in tables:
        return "X"
    if not tables:
        raise FileError(f"{path} has no array of numbers with two dimensions. It has {listed(shapes)}.")
    raise FileError(
        f"{path} has several arrays with two dimensions: choose one by {path}::name of {listed(tables)}."
    )


def listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(repr(name) for name in names[:12]) + (", ..." if len(names) > 12 else "") or "none"


def is_compressed(path: Path) -> bool:
    """Return whether a file is compressed, by its name."""
    return path.suffix.lower() in COMPRESSIONS


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading from its beginning, decompressed if necessary."""
    suffix = path.suffix.lower()
    if suffix == ".xz":
        return cast(IO[bytes], lzma.open(path))
    if suffix == ".zip":
        archive = zipfile.ZipFile(path)
        names = [name for name in archive.namelist() if name[-1] != "/" and not name.startswith("__MACOSX/")]
        if len(names) != 1:
            raise ValueError(f"the archive has {len(names)} files: unpack it, and give the one to read.")
        return archive.open(names[0])
    if not is_compressed(path):
        return open(path, "rb")
    import pyarrow

    return cast(IO[bytes], pyarrow.input_stream(str(path), compression="detect"))


def open_text(path: Path, encoding: str) -> IO[str]:
    """Open a file as text, with its original line ends."""
    return io.TextIOWrapper(open_bytes(path), encoding=encoding, newline="")


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


def check_unique(names: Sequence[str]) -> None:
    """Raise an error if two columns of a file have the same name, as they are read by name."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"its column names are not unique: {twice!r} is there more than once. Rename its columns."
        )
