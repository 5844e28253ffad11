"""Files that hold arrays: .npy, .npz, HDF5, Zarr and svmlight."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array
from coterie.rows.checks import check_shape, compute_dtype, need, reading
from coterie.rows.memory import DenseSource, SlicedSource, SparseSource, chunk_rows
from coterie.rows.source import RowSource

__all__ = [
    "CompressedSource",
    "MappedSource",
    "open_h5",
    "open_npy",
    "open_npz",
    "open_svmlight",
    "open_zarr",
]

_SPARSE_NPZ = {"format", "shape", "data"}
_ZIP_LOCAL_HEADER = 30


def open_npy(path: Path) -> RowSource:
    """Open a .npy file through a memory map."""
    with reading(path):
        return MappedSource(path, 0, path.stat().st_size, "npy")


def open_npz(path: Path, key: str | None) -> RowSource:
    """Open the array `key` of a .npz file, else its only two-dimensional array, else the one called X.

    A file written by `scipy.sparse.save_npz` is read into memory. A dense array is read through a memory map
    where the file is not compressed, else it is decompressed block by block in each pass.
    """
    with reading(path), zipfile.ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if key is None and members.keys() >= _SPARSE_NPZ:
            return SparseSource(sp.load_npz(path), "npz, sparse")
        member = members[_choose(_shapes(archive, members), key, path)]
        if member.compress_type == zipfile.ZIP_STORED:
            return MappedSource(path, _member_offset(path, member), member.file_size, "npz")
        return CompressedSource(path, member.filename)


def open_h5(path: Path, key: str | None) -> RowSource:
    """Open the dataset `key` of an HDF5 file, else its only two-dimensional dataset of numbers."""
    h5py = need("h5py", path.suffix, "io")
    with reading(path), h5py.File(path, "r") as file:
        found: dict[str, tuple[int, ...]] = {}

        def note(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset):
                found[name] = item.shape if item.dtype.kind in "fiubc" else ()

        file.visititems(note)
        name = _choose(found, key.strip("/") if key else None, path)
        return _stored(file[name], partial(_h5_dataset, path, name), "h5")


def open_zarr(path: Path, key: str | None) -> RowSource:
    """Open a Zarr array, or the array `key` of a Zarr group, else its only two-dimensional array."""
    zarr = need("zarr", ".zarr", "io")
    with reading(path):
        root = zarr.open(str(path), mode="r")
        if isinstance(root, zarr.Array):
            if key:
                raise ValueError(f"{path} is a single array: drop ::{key}.")
        elif key is None:
            key = _choose({name: array.shape for name, array in root.arrays()}, None, path)
        elif key not in root or not isinstance(root[key], zarr.Array):
            raise ValueError(f"{path} has no array {key!r}. It has {_listed(dict(root.arrays()))}.")
        return _stored(root[key] if key else root, partial(_zarr_array, path, key), "zarr")


@contextmanager
def _h5_dataset(path: Path, name: str) -> Iterator[Any]:
    h5py = need("h5py", path.suffix, "io")
    with reading(path), h5py.File(path, "r") as file:
        yield file[name]


@contextmanager
def _zarr_array(path: Path, name: str | None) -> Iterator[Any]:
    zarr = need("zarr", ".zarr", "io")
    with reading(path):
        root = zarr.open(str(path), mode="r")
        yield root[name] if name else root


def _stored(array: Any, open_store: Callable[[], AbstractContextManager[Any]], kind: str) -> RowSource:
    return SlicedSource(array.shape, array.dtype, open_store, chunk_rows(array), description=kind)


def open_svmlight(paths: Sequence[Path], n_columns: int | None) -> list[RowSource]:
    """Read svmlight files into memory as sparse rows of equally many columns; their labels are dropped.

    The format states neither its number of columns, which is `n_columns` or the largest index of all files,
    nor whether indices count from 0 or 1: they count from 1 unless one of the files has a 0.
    """
    from sklearn.datasets import load_svmlight_file

    matrices = []
    for path in paths:
        with reading(path):
            matrices.append(load_svmlight_file(str(path), zero_based=True)[0])
    base = 0 if any(np.any(matrix.indices == 0) for matrix in matrices) else 1
    found = max(int(matrix.indices.max(initial=-1)) for matrix in matrices) + 1 - base
    if n_columns is None:
        n_columns = max(found, 0)
    elif n_columns < found:
        raise ValueError(f"{paths[0]} has {found} columns, more than the {n_columns} asked for.")
    sources: list[RowSource] = []
    for path, matrix in zip(paths, matrices):
        with reading(path):
            arrays = (matrix.data, matrix.indices - base, matrix.indptr)
            shape = (matrix.shape[0], n_columns)
            check_shape(shape)
            sources.append(SparseSource(sp.csr_array(arrays, shape=shape), "svm"))
    return sources


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
            shape, fortran, dtype = _read_header(file)
            begin = file.tell()
        n_bytes = math.prod(check_shape(shape)) * dtype.itemsize
        if begin + n_bytes > offset + size or offset + size > path.stat().st_size:
            raise ValueError(f"the file is truncated: its array needs {n_bytes} bytes.")
        self._mapping = {"dtype": dtype, "offset": begin, "shape": shape, "order": "F" if fortran else "C"}
        self._path = path
        super().__init__(shape, compute_dtype(dtype), description=description)

    def _open(self) -> Array:
        with reading(self._path):
            return np.memmap(self._path, mode="r", **self._mapping)  # type: ignore[call-overload]


class CompressedSource(RowSource):
    """Rows of an array in a compressed .npz file, decompressed from its beginning in each pass."""

    def __init__(self, path: Path, member: str) -> None:
        with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
            shape, self._fortran, self._stored_dtype = _read_header(stream)
        super().__init__(check_shape(shape), compute_dtype(self._stored_dtype), description="npz")
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
            _read_header(stream)
            if self._fortran:  # no row is complete before the last column
                numbers = np.frombuffer(_read_exactly(stream, self.shape[0] * row_bytes), self._stored_dtype)
                yield numbers.reshape(self.shape, order="F")[start:stop]
                return
            for low in range(0, start, rows):
                _read_exactly(stream, min(rows, start - low) * row_bytes)
            for low in range(start, stop, rows):
                piece = _read_exactly(stream, min(rows, stop - low) * row_bytes)
                yield np.frombuffer(piece, self._stored_dtype).reshape(-1, n_columns)


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an array in .npy format: its shape, whether it is in Fortran order, its dtype."""
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(file)
    if version not in readers:  # version 3 is for the field names of structured arrays only
        raise ValueError("it is a structured array, X must hold numbers in two dimensions.")
    return readers[version](file)


def _read_exactly(stream: IO[bytes], n_bytes: int) -> bytes:
    piece = stream.read(n_bytes)
    if len(piece) != n_bytes:
        raise ValueError(f"the file is truncated: {n_bytes - len(piece)} bytes are missing.")
    return piece


def _shapes(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> dict[str, tuple[int, ...]]:
    shapes = {}
    for name, info in members.items():
        with archive.open(info) as stream:
            shape, _, dtype = _read_header(stream)
        shapes[name] = shape if dtype.kind in "fiubc" else ()
    return shapes


def _member_offset(path: Path, member: zipfile.ZipInfo) -> int:
    """Return where the bytes of an uncompressed member begin: behind its header, its name and its extras."""
    with open(path, "rb") as file:
        file.seek(member.header_offset)
        header = file.read(_ZIP_LOCAL_HEADER)
    lengths = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    return member.header_offset + _ZIP_LOCAL_HEADER + lengths


def _choose(shapes: dict[str, tuple[int, ...]], key: str | None, path: Path) -> str:
    """Return the array to read: the one asked for, the only one with rows and columns, or X."""
    if key is not None:
        if key in shapes:
            return key
        raise ValueError(f"{path} has no array {key!r}. It has {_listed(shapes)}.")
    tables = [name for name, shape in shapes.items() if len(shape) == 2]
    if len(tables) == 1:
        return tables[0]
    if "X" in tables:
        return "X"
    if not tables:
        raise ValueError(f"{path} has no array of numbers with two dimensions. It has {_listed(shapes)}.")
    raise ValueError(
        f"{path} has several arrays with two dimensions: choose one by {path}::name of {_listed(tables)}."
    )


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(repr(name) for name in names[:12]) + (", ..." if len(names) > 12 else "") or "none"
