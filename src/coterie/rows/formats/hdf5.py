"""HDF5 files (.h5, .hdf5), Zarr arrays and groups (.zarr), and AnnData in either (.h5ad, .zarr)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.rows.checks import FileError
from coterie.rows.formats.arrays import choose_array, slices
from coterie.rows.landing import Matrix


def read_hdf5(path: Path, key: str | None) -> Matrix:
    """Return an array or a sparse matrix of an HDF5 file, which is open until it has been read."""
    import h5py

    return _matrix(h5py.File(path, "r"), path, key)


def read_zarr(path: Path, key: str | None) -> Matrix:
    """Return a single array of Zarr, or one in a group."""
    import zarr

    found: Any = zarr.open(str(path), mode="r")
    if isinstance(found, zarr.Array):
        if key:
            raise FileError(f"{path} is a single array: drop ::{key}.")
        return _array(found, path.name, "zarr")
    return _matrix(found, path, key)


def _matrix(root: Any, path: Path, key: str | None) -> Matrix:
    """Return the matrix `key`, else X of AnnData, the only one of two dimensions, or X."""
    is_anndata = ("X" in root and "obs" in root) or root.attrs.get("encoding-type") == "anndata"
    kind = path.suffix.lower()[1:].replace("hdf5", "h5")
    name = choose_array(_shapes(root), key.strip("/") if key else "X" if is_anndata else None, path)
    found = root[name]
    matrix = _array(found, name, kind) if _is_array(found) else _sparse(found, kind)
    if is_anndata:
        matrix.is_table = True
        matrix.metadata = _metadata(root["obs"]) if hasattr(root.get("obs"), "attrs") else None
        names = (
            None
            if name.startswith("obsm") or "var" not in root
            else _cells(root["var"], _index_of(root["var"]))
        )
        if names is not None and len(names) == matrix.shape[1]:
            matrix.column_names = [str(one) for one in names]
    return matrix


def _is_array(item: Any) -> bool:
    return hasattr(item, "shape") and hasattr(item, "dtype")


def _shapes(group: Any, before: str = "") -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays and sparse matrices in a group and those in it, () if they are not of numbers."""
    found = {}
    for name in sorted(group):
        item = group[name]
        if _is_array(item):
            found[before + name] = tuple(item.shape) if getattr(item.dtype, "kind", "") in "fiubc" else ()
        elif str(item.attrs.get("encoding-type", "")) in ("csr_matrix", "csc_matrix"):
            found[before + name] = tuple(map(int, item.attrs.get("shape", ())))
        else:
            found.update(_shapes(item, f"{before}{name}/"))
    return found


def _array(found: Any, name: str, description: str) -> Matrix:
    """Return an array with numbers: libraries return the fill value for chunks that are missing, all or some."""
    if hasattr(found, "nchunks_initialized"):
        is_empty = found.nchunks_initialized == 0
    else:
        is_empty = not (found.id.get_storage_size() or found.is_virtual or found.external)
    if is_empty:
        raise ValueError(
            f"the array {name!r} has rows, but its numbers are missing: they were never written, or its chunks were "
            "not copied. Write or copy it again."
        )
    return Matrix(found.shape, found.dtype, slices(found), description)


def _sparse(group: Any, description: str) -> Matrix:
    """Return a sparse matrix, which is read at once."""
    make = getattr(sp, str(group.attrs["encoding-type"]).replace("matrix", "array"))
    shape = tuple(map(int, group.attrs["shape"]))

    def pieces() -> Iterator[Any]:
        yield make(tuple(group[part][:] for part in ("data", "indices", "indptr")), shape=shape)

    return Matrix(shape, group["data"].dtype, pieces(), f"{description}, sparse", is_sparse=True)


# --- data frames of AnnData ------------------------------------------------------------------------------------------


def _index_of(frame: Any) -> str:
    return str(frame.attrs.get("_index", "_index"))


def _cells(frame: Any, name: str) -> Any:
    """Return the values of a column of a data frame in a file; None where its encoding is not known."""
    column = frame.get(name)
    if column is None:
        return None
    if _is_array(column):
        if column.ndim != 1 or getattr(column.dtype, "names", None) is not None:
            return None
        return column.asstr()[:] if hasattr(column, "asstr") and column.dtype.kind == "O" else column[:]
    if "categories" in column and "codes" in column:
        values = np.asarray(_cells(column, "categories"), dtype=object)
        return np.array([*values, None], dtype=object)[column["codes"][:]]  # -1 is a missing value
    if "values" in column and "mask" in column:
        values = _cells(column, "values")
        return None if values is None else np.where(column["mask"][:], None, values.astype(object))
    return None


def _metadata(obs: Any) -> Any:
    """Return the index and the columns of `obs` as an Arrow table, as far as their encoding is known."""
    import pyarrow

    index = _index_of(obs)
    cells = {one: _cells(obs, one) for one in [index, *map(str, obs.attrs.get("column-order", ()))]}
    # pandas' name of an index without a name.
    arrays = {
        "__index_level_0__" if one == index == "_index" else one: pyarrow.array(found, from_pandas=True)
        for one, found in cells.items()
        if found is not None
    }
    return pyarrow.table(arrays) if cells[index] is not None else None
