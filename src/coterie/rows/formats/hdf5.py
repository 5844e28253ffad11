"""HDF5 files (.h5, .hdf5) and AnnData files (.h5ad)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import IntArray
from coterie.limits.files import DamagedFileError
from coterie.rows.checks import FileError
from coterie.rows.formats.format import Format, Matrix
from coterie.rows.formats.tabular import NOTHING_WRITTEN, choose_array, listed, slices
from coterie.rows.landing import metadata_of_table
from coterie.rows.source import MetadataColumns, SparseRows

# Values of sparse rows that are read at a time.
_VALUES = 1 << 22


def _read(path: Path, key: str | None) -> Matrix:
    """Open the dataset `key` of an HDF5 file, else its only two-dimensional dataset of numbers."""
    import h5py

    with h5py.File(path, "r") as file:
        found: dict[str, tuple[int, ...]] = {}

        def note(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset):
                found[name] = item.shape if item.dtype.kind in "fiubc" else ()

        file.visititems(note)
        return _dense(file, path, choose_array(found, key.strip("/") if key else None, path), "h5")


def _dense(file: Any, path: Path, name: str, description: str) -> Matrix:
    dataset = file[name]
    if not dataset.id.get_storage_size() and not dataset.is_virtual and not dataset.external:
        raise ValueError(NOTHING_WRITTEN.format(name))
    return Matrix(dataset.shape, dataset.dtype, _pieces(path, name), description)


def _pieces(path: Path, name: str) -> Iterator[Any]:
    import h5py

    with h5py.File(path, "r") as file:
        yield from slices(file[name])


# --- AnnData ---------------------------------------------------------------------------------------------------------


def _read_anndata(path: Path, key: str | None) -> Matrix:
    """Open the matrix `key` of an AnnData file, such as "layers/counts" or "obsm/X_pca"; by default X."""
    import h5py

    with h5py.File(path, "r") as file:
        name = (key or "X").strip("/")
        matrix = file.get(name)
        is_dense = isinstance(matrix, h5py.Dataset)
        if matrix is None or not (is_dense or "data" in matrix):
            known = [f"{group}/{one}" for group in ("layers", "obsm") for one in file.get(group, ())]
            raise FileError(f"{path} has no matrix {name!r}. It has {listed(['X'] * ('X' in file) + known)}.")
        found = _dense(file, path, name, "h5ad") if is_dense else _sparse(matrix, path, name)
        found.is_table = True
        obs = file.get("obs")
        if hasattr(obs, "attrs") and _index_of(obs) in obs:
            found.metadata_columns = _metadata(obs)
        names = (
            _cells(file["var"], _index_of(file["var"]))
            if "var" in file and not name.startswith("obsm")
            else None
        )
        if names is not None and len(names) == found.shape[1]:
            found.column_names = [str(one) for one in names]
        return found


def _sparse(group: Any, path: Path, name: str) -> Matrix:
    """Return sparse rows, which are read in pieces, or columns, which are read at once."""
    kind = str(group.attrs.get("encoding-type", group.attrs.get("h5sparse_format", "")))
    shape = tuple(int(size) for size in group.attrs.get("shape", group.attrs.get("h5sparse_shape", ())))
    if kind[:3] not in ("csr", "csc"):
        raise ValueError(f"{name} is neither an array nor a sparse matrix.")
    indptr = group["indptr"][:]
    if len(indptr) != shape[kind.startswith("csc")] + 1 or indptr[0] != 0 or np.any(np.diff(indptr) < 0):
        raise DamagedFileError("the file is damaged: indptr must begin with 0 and never decrease")
    if int(indptr[-1]) > min(group["data"].shape[0], group["indices"].shape[0]):
        raise DamagedFileError("the file is damaged: indptr points behind the last value")
    pieces: Any = _sparse_pieces(path, name, shape, indptr)
    if kind.startswith("csc"):
        pieces = [sp.csc_array((group["data"][:], group["indices"][:], indptr), shape=shape)]
    return Matrix(shape, group["data"].dtype, pieces, "h5ad, sparse", is_sparse=True)


def _sparse_pieces(path: Path, name: str, shape: tuple[int, ...], indptr: Any) -> Iterator[Any]:
    import h5py

    with h5py.File(path, "r") as file:
        group = file[name]
        cuts = np.searchsorted(indptr, np.arange(_VALUES, int(indptr[-1]), _VALUES)).tolist()
        for low, high in zip([0, *cuts], [*cuts, shape[0]]):
            if low < high:
                part = slice(int(indptr[low]), int(indptr[high]))
                arrays = (group["data"][part], group["indices"][part], indptr[low : high + 1] - part.start)
                # Wrong indices are found before SciPy uses them.
                yield SparseRows(sp.csr_array(arrays, shape=(high - low, shape[1]))).in_place()


def _index_of(frame: Any) -> str:
    return str(frame.attrs.get("_index", "_index"))


def _cells(frame: Any, name: str) -> Any:
    """Return the values of a column of a data frame in a file; None where its encoding is not known."""
    import h5py

    column = frame[name]
    if isinstance(column, h5py.Dataset):
        if column.ndim != 1 or column.dtype.names is not None:
            return None
        return column.asstr()[:] if column.dtype.kind == "O" else column[:]
    if "categories" in column and "codes" in column:
        names, codes = column["categories"], column["codes"][:]
        values = np.asarray(names.asstr()[:] if names.dtype.kind == "O" else names[:], dtype=object)
        return np.array([*values, None], dtype=object)[codes]  # -1 is a missing value
    if "values" in column and "mask" in column:
        values = _cells(column, "values")
        return None if values is None else np.where(column["mask"][:], None, values.astype(object))
    return None


def _metadata(obs: Any) -> MetadataColumns | None:
    """Return the index and the columns of `obs`, as far as their encoding is known."""
    import pyarrow

    index, order = _index_of(obs), map(str, obs.attrs.get("column-order", ()))
    cells = {one: _cells(obs, one) for one in [index, *(one for one in order if one in obs)]}
    # pandas' name of an index without a name.
    shown = {one: "__index_level_0__" if one == index == "_index" else one for one in cells}
    arrays = {
        shown[one]: pyarrow.array(found, from_pandas=True)
        for one, found in cells.items()
        if found is not None
    }
    return metadata_of_table(pyarrow.table(arrays))


def write_labels_to_obs(source: Path, target: Path, labels: IntArray) -> None:
    """Copy an AnnData file, with the labels as the categorical column `cluster` of `obs`; -1 becomes a missing value.

    The copy, and a column of that name, are replaced. A ValueError is raised if the file has other observations.
    """
    import h5py

    shutil.copyfile(source, target)
    with h5py.File(target, "r+") as file:
        obs = file["obs"]
        n_rows = len(_cells(obs, _index_of(obs)))
        if n_rows != len(labels):
            raise ValueError(f"{source} has {n_rows} observations, and there are {len(labels)} labels.")
        order: Sequence[str] = [str(name) for name in obs.attrs.get("column-order", ())]
        if "cluster" in obs:
            del obs["cluster"]
        known = np.unique(labels[labels >= 0])
        group = obs.create_group("cluster")
        group.attrs.update({"encoding-type": "categorical", "encoding-version": "0.2.0", "ordered": False})
        codes = np.where(labels >= 0, np.searchsorted(known, labels), -1)
        for name, values, kind in (
            ("codes", codes.astype(np.min_scalar_type(-max(1, len(known)))), "array"),
            ("categories", [str(label) for label in known], "string-array"),
        ):
            group.create_dataset(name, data=values).attrs.update(
                {"encoding-type": kind, "encoding-version": "0.2.0"}
            )
        obs.attrs["column-order"] = np.array(
            [*(name for name in order if name != "cluster"), "cluster"], dtype=h5py.string_dtype()
        )


HDF5 = Format("hdf5", (".h5", ".hdf5"), _read, ("key",), library="h5py", install="coterie[io]")
H5AD = Format("h5ad", (".h5ad",), _read_anndata, ("key",), library="h5py", install="coterie[io]")
