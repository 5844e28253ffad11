"""`as_rows`: data in memory of any library as a `Rows`."""

from __future__ import annotations

import copy
import operator
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from coterie.arrays import Array
from coterie.rows.checks import NotATableError, check_shape
from coterie.rows.columns import Columns
from coterie.rows.formats.arrays import slices
from coterie.rows.frames import is_a, table_of_frame, table_of_pandas
from coterie.rows.landing import Matrix, land_matrices
from coterie.rows.source import DenseRows, Rows, SparseRows, joined_batches
from coterie.rows.tables import TABLE_OPTIONS, land_tables, vector_length_error

# Device type of main memory in DLPack.
_DLPACK_CPU = 1


def as_rows(
    X: Any,
    *,
    columns: Columns | None = None,
    exclude: Columns | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    missing_words: Sequence[str] | None = None,
) -> Rows:
    """Return data in memory as a `Rows`; numeric data are neither copied nor converted.

    Parameters
    ----------
    X : array-like, sparse matrix, table, Dask array or Rows, of shape (n_rows, n_columns)
        NumPy arrays and memory maps of any real type; tensors in main memory; lists and other array-likes, which are
        converted; SciPy sparse matrices (converted to CSR); Dask arrays, HDF5 datasets, Zarr arrays; AnnData (its `X`);
        tables of pandas, polars, pyarrow and Dask, or by Arrow's C interface, of numbers or of vectors of one length;
        lists and columns of vectors. A stream is read once, by this call. A `Rows` is returned unchanged.
    columns, exclude : list of str or int, optional
        Columns of a table to cluster, in this order, and columns to leave out, see `open_rows`. By default the
        features.
    decimal, thousands, missing_words
        How texts of a table are read as numbers, see `open_rows`.

    Returns
    -------
    Rows
        The rows, converted block by block as they are read: to float32 from float32, float16 and integers of up to 16
        bits (a table: if all its columns have these types), to float64 otherwise.

    Raises
    ------
    ValueError
        Where `X` does not have two dimensions, has no rows or no columns, is complex, has columns that are not
        numbers or several columns of vectors, or is not a table although columns were chosen. NaN, infinities and
        vectors of other lengths are found when their block is read.
    TypeError
        If `X` is a path (see `open_rows`), or its objects do not convert to numbers.

    Examples
    --------
    >>> from coterie.rows import as_rows
    >>> as_rows([[1, 2], [3, 4]]).read()
    array([[1., 2.],
           [3., 4.]])
    """
    text = {"decimal": decimal, "thousands": thousands, "missing_words": missing_words}
    return adapted(X, {"columns": columns, "exclude": exclude, **text})


def adapted(X: Any, options: Mapping[str, Any]) -> Rows:
    """Return data in memory with the options of `as_rows`; "categories" are not clustered as numbers."""
    if is_a(X, "pandas", "DataFrame") and X.shape[1]:
        sparse = sys.modules["pandas"].SparseDtype
        X = X.sparse.to_coo() if all(isinstance(kind, sparse) for kind in X.dtypes) else X
    is_array = isinstance(X, (Rows, np.ndarray)) or sp.issparse(X) or hasattr(X, "obsm")
    table = None if is_array else table_of_frame(X)
    if table is None:
        given = next((name for name in TABLE_OPTIONS if options.get(name) is not None), None)
        if given is not None:
            raise NotATableError(
                f"{given} has no meaning for X ({type(X).__name__}): it is for dense tables."
            )
        return _source_of(X)
    if table.n_rows is not None:
        check_shape((table.n_rows, len(table.schema)))
    return land_tables([table], options, table.description)


def _source_of(X: Any) -> Rows:
    if isinstance(X, Rows):
        return X
    if isinstance(X, (str, bytes, os.PathLike)):
        raise TypeError(f"as_rows takes data, not a path: use coterie.open_rows({os.fspath(X)!r}).")
    if sp.issparse(X):
        return SparseRows(X, f"{X.format.upper()} {'array' if isinstance(X, sp.sparray) else 'matrix'}")
    if isinstance(X, np.ndarray):
        return _of_array(X)
    if all(hasattr(X, name) for name in ("X", "obs", "var_names", "obsm")):
        return _of_anndata(X)
    if is_a(X, "dask.array", "Array"):
        return _of_dask(X)
    for module, name, words in (("h5py", "Dataset", "HDF5 dataset"), ("zarr", "Array", "Zarr array")):
        if is_a(X, module, name):
            return land_matrices([Matrix(X.shape, X.dtype, slices(X), words)], words)
    return _of_dlpack(X) if hasattr(X, "__dlpack_device__") else DenseRows(_converted(X))


def _of_array(X: Array) -> Rows:
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError("Input X contains masked values. Fill them or drop their rows.")
    if X.dtype.kind in "fiub" and not isinstance(X, np.matrix):
        return DenseRows(X, "memory map" if isinstance(X, np.memmap) else "array")
    return DenseRows(_converted(X))


def _of_dlpack(X: Any) -> Rows:
    """Return the rows of a tensor, of PyTorch or another library, in its own memory."""
    if int(X.__dlpack_device__()[0]) != _DLPACK_CPU:
        where = getattr(X, "device", "another device")
        raise TypeError(f"X is a tensor on {where}. Pass a copy in main memory, such as X.cpu().")
    X = X.detach() if hasattr(X, "detach") else X
    torch = sys.modules.get("torch")
    if torch is not None and getattr(X, "dtype", None) == torch.bfloat16:  # a type that NumPy lacks
        X = X.float()
    return _of_array(np.from_dlpack(X))


def _of_anndata(X: Any) -> Rows:
    """Return the rows of an AnnData object's matrix; the columns of its `obs` are metadata columns."""
    if getattr(X, "isbacked", False):
        raise TypeError(f"X is an AnnData object on disk: pass coterie.open_rows({str(X.filename)!r}).")
    rows = copy.copy(_source_of(X.X))
    rows.column_names = [str(name) for name in X.var_names]
    rows.description, rows.is_table = f"AnnData, {rows.description}", True
    if X.obs.shape[1] or len(X.obs):
        batches = list(table_of_pandas(X.obs).batches())
        rows.metadata_columns = rows.all_columns = joined_batches(batches)
    return rows


def _converted(X: Any) -> Array:
    """Convert data to a numeric array, with scikit-learn's rules and errors."""
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1 and len(X) and np.ndim(X[0]) == 1:
        _check_lengths(X)
        X = np.stack(list(X))
    try:
        array = check_array(X, ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0)
    except ValueError:
        _check_lengths(X)  # NumPy's error lacks the row
        raise
    # It keeps the object dtype if X itself has no dtype, such as a list.
    return array.astype(np.float64) if array.dtype.kind == "O" else array


def _check_lengths(X: Any) -> None:
    """Raise an error if X is a list of vectors of different lengths."""
    if isinstance(X, (list, tuple, np.ndarray)) and len(X) and hasattr(X[0], "__len__"):
        for row, vector in enumerate(X):
            length = len(vector) if hasattr(vector, "__len__") else None
            if length != len(X[0]):
                raise vector_length_error("X", len(X[0]), length, row)


def _of_dask(X: Any) -> Rows:
    if any(size != size for size in X.shape):
        raise ValueError("X is a Dask array of unknown shape: call X.compute_chunk_sizes() first.")
    if sp.issparse(X._meta):
        raise TypeError("Dask arrays of sparse chunks are not supported: pass dense chunks.")
    if X.dtype.kind == "O":
        X = X.astype(np.float64)
    pieces = map(operator.methodcaller("compute"), X.blocks)
    return land_matrices([Matrix(X.shape, X.dtype, pieces, "Dask array")], "Dask array")
