"""HDF5 files (.h5, .hdf5) and AnnData files (.h5ad)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import IndexArray, IntArray
from coterie.limits.files import DamagedFileError
from coterie.rows.checks import FileError, reading
from coterie.rows.formats.format import Format
from coterie.rows.formats.tabular import NOTHING_WRITTEN, choose_array, listed
from coterie.rows.memory import SlicedSource, SparseSource, sliced
from coterie.rows.source import MetadataColumns, RowSource

# Values of a unit in which sparse rows are read by number.
_UNIT_VALUES = 1 << 16


def _open(path: Path, key: str | None) -> SlicedSource:
    """Open the dataset `key` of an HDF5 file, else its only two-dimensional dataset of numbers."""
    import h5py

    with h5py.File(path, "r") as file:
        found: dict[str, tuple[int, ...]] = {}

        def note(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset):
                found[name] = item.shape if item.dtype.kind in "fiubc" else ()

        file.visititems(note)
        return _dense(file, path, choose_array(found, key.strip("/") if key else None, path), "h5")


def _dense(file: Any, path: Path, name: str, description: str) -> SlicedSource:
    dataset = file[name]
    if not dataset.id.get_storage_size() and not dataset.is_virtual and not dataset.external:
        raise ValueError(NOTHING_WRITTEN.format(name))
    return sliced(dataset, partial(_opened, path, name), description)


@contextmanager
def _opened(path: Path, name: str) -> Iterator[Any]:
    import h5py

    with reading(path), h5py.File(path, "r") as file:
        yield file[name]


# --- AnnData ---------------------------------------------------------------------------------------------------------


def _open_anndata(path: Path, key: str | None) -> RowSource:
    """Open the matrix `key` of an AnnData file, such as "layers/counts" or "obsm/X_pca"; by default X."""
    import h5py

    with h5py.File(path, "r") as file:
        name = (key or "X").strip("/")
        matrix = file.get(name)
        is_dense = isinstance(matrix, h5py.Dataset)
        if matrix is None or not (is_dense or "data" in matrix):
            known = [f"{group}/{one}" for group in ("layers", "obsm") for one in file.get(group, ())]
            raise FileError(f"{path} has no matrix {name!r}. It has {listed(['X'] * ('X' in file) + known)}.")
        rows = _dense(file, path, name, "h5ad") if is_dense else _sparse(matrix, path, name)
        rows.is_table = True
        obs = file.get("obs")
        if hasattr(obs, "attrs") and _index_of(obs) in obs:
            index, order = _index_of(obs), map(str, obs.attrs.get("column-order", ()))
            columns = [one for one in order if one in obs and _cells(obs, one, 1) is not None]
            # pandas' name of an index without a name.
            shown = "__index_level_0__" if index == "_index" else index
            rows.metadata_columns = MetadataColumns(
                [shown, *columns], partial(_obs_batches, path, [index, *columns])
            )
        names = (
            _cells(file["var"], _index_of(file["var"]))
            if "var" in file and not name.startswith("obsm")
            else None
        )
        if names is not None and len(names) == rows.shape[1]:
            rows.column_names = [str(one) for one in names]
        return rows


def _sparse(group: Any, path: Path, name: str) -> RowSource:
    """Return sparse rows: of a CSR matrix from the file, of a CSC matrix converted in memory."""
    kind = group.attrs.get("encoding-type", group.attrs.get("h5sparse_format", ""))
    shape = tuple(int(size) for size in group.attrs.get("shape", group.attrs.get("h5sparse_shape", ())))
    if str(kind).startswith("csc"):
        matrix = sp.csc_array((group["data"][:], group["indices"][:], group["indptr"][:]), shape=shape)
        return SparseSource(matrix, "h5ad, sparse")
    if not str(kind).startswith("csr"):
        raise ValueError(f"{name} is neither an array nor a sparse matrix.")
    return CompressedRows(path, name, shape, group["data"].dtype, group["indptr"][:])


class CompressedRows(RowSource):
    """Rows of a CSR matrix in a group of an HDF5 file, with only the row pointers in memory."""

    is_parsed = True

    def __init__(self, path: Path, name: str, shape: tuple[int, ...], dtype: Any, indptr: IndexArray) -> None:
        super().__init__(shape, dtype, is_sparse=True, description="h5ad, sparse")
        if len(indptr) != self.shape[0] + 1 or indptr[0] != 0 or np.any(np.diff(indptr) < 0):
            raise DamagedFileError("the file is damaged: indptr must begin with 0 and never decrease")
        self._path = path
        self._name = name
        self._indptr = indptr

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        with _opened(self._path, self._name) as group:
            for low in range(start, stop, rows):
                high = min(low + rows, stop)
                first, last = int(self._indptr[low]), int(self._indptr[high])
                data, indices = group["data"][first:last], group["indices"][first:last]
                if len(data) != last - first or len(indices) != last - first:
                    raise DamagedFileError("the file is damaged: indptr points behind the last value")
                arrays = (data, indices, self._indptr[low : high + 1] - first)
                # `SparseSource` checks and sorts them.
                matrix = SparseSource(sp.csr_array(arrays, shape=(high - low, self.shape[1])))
                yield from matrix.with_dtype(self.dtype).pieces(0, high - low, high - low)

    def unit_starts(self) -> IndexArray:
        return np.arange(
            0, self.shape[0], max(1, int(_UNIT_VALUES * self.shape[0] / max(1, self._indptr[-1])))
        )

    def row_bytes(self) -> float:
        return 4 + int(self._indptr[-1]) / self.shape[0] * (4 + self.dtype.itemsize)


def _index_of(frame: Any) -> str:
    return str(frame.attrs.get("_index", "_index"))


def _cells(frame: Any, name: str, most: int | None = None) -> Any:
    """Return the values of a column of a data frame in a file; None where its encoding is not known."""
    import h5py

    column, part = frame[name], slice(0, most)
    if isinstance(column, h5py.Dataset):
        if column.ndim != 1 or column.dtype.names is not None:
            return None
        return column.asstr()[part] if column.dtype.kind == "O" else column[part]
    if "categories" in column and "codes" in column:
        names, codes = column["categories"], column["codes"][part]
        values = np.asarray(names.asstr()[:] if names.dtype.kind == "O" else names[:], dtype=object)
        return np.array([*values, None], dtype=object)[codes]  # -1 is a missing value
    if "values" in column and "mask" in column:
        values = _cells(column, "values", most)
        return None if values is None else np.where(column["mask"][part], None, values.astype(object))
    return None


def _obs_batches(path: Path, names: list[str], positions: list[int]) -> Iterator[Any]:
    """Read columns of `obs`, the index first, as metadata columns."""
    import pyarrow

    with _opened(path, "obs") as obs:
        arrays = [pyarrow.array(_cells(obs, names[i]), from_pandas=True) for i in positions]
    yield from pyarrow.table(arrays, [names[i] for i in positions]).to_batches()


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


HDF5 = Format("hdf5", (".h5", ".hdf5"), _open, ("key",), library="h5py", install="coterie[io]")
H5AD = Format("h5ad", (".h5ad",), _open_anndata, ("key",), library="h5py", install="coterie[io]")
