"""`as_rows`: equal rows from all kinds of data, and clear errors for others."""

from types import SimpleNamespace

import h5py
import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse as sp
import zarr
from dask import array as dask

from coterie.rows import as_rows
from tests.support.bits import same_bits


@pytest.fixture
def X():
    return np.round(np.random.default_rng(0).normal(size=(23, 4)), 3)


class OnlyArray:
    """An object with `__array__` and nothing else."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


CONVERSIONS = {
    "list": lambda X: X.tolist(),
    "list of arrays": list,
    "objects": lambda X: X.astype(object),
    "text objects": lambda X: X.astype(str).astype(object),
    "__array__": OnlyArray,
    "masked, none": np.ma.masked_array,
}


@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
def test_array_likes(X, convert):
    source = as_rows(convert(X))
    assert source.dtype == np.float64
    assert not source.is_sparse
    assert not source.is_table
    np.testing.assert_array_equal(source.read(), X)
    np.testing.assert_array_equal(np.concatenate([b for _, b in source.blocks(5)]), X)
    np.testing.assert_array_equal(source.take([2, 22]), X[[2, 22]])


@pytest.mark.parametrize("chunks", [(23, 4), (5, 4), (5, 3), (1, 1), ((7, 0, 1, 15), (2, 2))])
@pytest.mark.parametrize("rows_per_block", [1, 4, 5, 6, 100])
def test_dask_arrays(X, chunks, rows_per_block):
    source = as_rows(dask.from_array(X.astype(np.float32), chunks=chunks))
    assert source.dtype == np.float32
    assert source.description == "Dask array"
    blocks = [block for _, block in source.blocks(rows_per_block)]
    assert all(len(block) == rows_per_block for block in blocks[:-1])
    np.testing.assert_array_equal(np.concatenate(blocks), X.astype(np.float32))
    np.testing.assert_array_equal(source.take([0, 8, 8, 22]), X[[0, 8, 8, 22]].astype(np.float32))


def test_each_dask_chunk_is_computed_once(X):
    computed = []

    def note(block, block_info=None):
        if block_info:
            computed.append(block_info[0]["chunk-location"])
        return block

    noted = dask.from_array(X, chunks=(4, 4)).map_blocks(note, dtype=X.dtype, meta=np.empty((0, 0)))
    list(as_rows(noted).blocks(3))
    assert sorted(computed) == [(i, 0) for i in range(6)]


def test_dask_arrays_of_unknown_shape(X):
    lazy = dask.from_array(X, chunks=5)
    with pytest.raises(ValueError, match=r"call X\.compute_chunk_sizes"):
        as_rows(lazy[lazy[:, 0] > 0])
    with pytest.raises(ValueError, match="Reshape your data"):
        as_rows(lazy[:, 0])
    with pytest.raises(TypeError, match="Dask arrays of sparse chunks"):
        as_rows(lazy.map_blocks(sp.csr_matrix, meta=sp.csr_matrix((0, 0))))


def test_open_datasets(X, tmp_path):
    stored = zarr.create_array(tmp_path / "x.zarr", shape=X.shape, chunks=(4, 2), dtype="f8")
    stored[:] = X
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for store, words in ((file.create_dataset("x", data=X), "HDF5 dataset"), (stored, "Zarr array")):
            source = as_rows(store)
            assert source.description == words
            np.testing.assert_array_equal(np.concatenate([b for _, b in source.blocks(5)]), X)


SHAPE = "Expected 2D array, got {} array instead"
BAD = {
    "1-D": (np.ones(3), SHAPE.format("1D") + ".*\n?Reshape your data"),
    "column of pandas": (pandas.Series([1.0, 2]), SHAPE.format("1D")),
    "column of Polars": (polars.Series([1.0, 2]), SHAPE.format("1D")),
    "nothing": ([], SHAPE.format("1D")),
    "scalar": (np.float64(3), SHAPE.format("scalar")),
    "None": (None, SHAPE.format("scalar")),
    "generator": ((row for row in [[1.0]]), SHAPE.format("scalar")),
    "3-D": (np.ones((2, 2, 2)), "Found array with dim 3, while dim <= 2 is required"),
    "ragged": ([[1, 2], [3]], "one has 1 numbers. First bad row: 1"),
    "no rows": (
        np.empty((0, 3)),
        r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is",
    ),
    "no columns": (
        np.empty((12, 0)),
        r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required\.",
    ),
    "complex": (np.ones((2, 2)) * 1j, "Complex data not supported"),
    "complex column": (pandas.DataFrame({"a": [1j, 2j]}), "Complex data not supported"),
    "text": (np.array([["a", "b"]]), "not compatible with arrays of bytes/strings"),
    "object text": (np.array([["a", 1]], dtype=object), "could not convert string to float"),
    "datetime": (np.zeros((2, 2), "M8[s]"), "must hold numbers, got dtype datetime64"),
    "masked": (np.ma.masked_equal(np.eye(2), 0), "contains masked values"),
}
BAD_TYPES = {
    "dict in it": (np.array([[{"foo": "bar"}, 1.0]], dtype=object), "argument must be .* string.* number"),
    "np.matrix": (np.asmatrix(np.ones((2, 2))), "np.matrix is not supported"),
    "path": ("file.npy", r"as_rows takes data, not a path: use coterie.open_rows\('file.npy'\)"),
}


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("case", [*BAD, *BAD_TYPES])
def test_bad_input(case):
    bad, message = (BAD | BAD_TYPES)[case]
    with pytest.raises(ValueError if case in BAD else TypeError, match=message):
        as_rows(bad)


def test_none_is_nan():
    with pytest.raises(ValueError, match=r"Input X contains NaN\. First bad row: 1\."):
        as_rows([[1.0, 2.0], [None, 1.0]]).read()


def test_input_is_not_changed(X):
    X.flags.writeable = False
    X_list = X.tolist()
    objects = X.astype(object)
    for data in (X, X_list, objects):
        as_rows(data).with_dtype(np.float32).read()
    assert X_list == X.tolist()
    assert objects.dtype == object


def test_columns_of_vectors():
    """Vectors in columns of their own, and lists of them, in each library."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    vectors, cells = list(X), np.empty(40, dtype=object)
    cells[:] = vectors
    for column in (
        vectors, tuple(vectors), cells, X.tolist(), pandas.Series(vectors), pandas.DataFrame({"e": vectors})["e"],
        polars.Series(vectors), pyarrow.array(vectors), pyarrow.chunked_array([pyarrow.array(vectors)]),
    ):  # fmt: skip
        same_bits(as_rows(column).read(), X)


def test_anndata():
    obs = pandas.DataFrame({"kind": ["a", "b", "a", "b"]}, index=list("wxyz"))
    for X in (np.eye(4, 3), sp.csr_array(np.eye(4, 3))):
        adata = SimpleNamespace(X=X, obs=obs, var_names=["g0", "g1", "g2"], obsm={})
        rows = as_rows(adata)
        same_bits(sp.csr_array(rows.read()).toarray(), np.eye(4, 3))
        assert rows.column_names == ["g0", "g1", "g2"]
        assert rows.metadata_columns["kind"].to_pylist() == ["a", "b", "a", "b"]
    adata.isbacked, adata.filename = True, "cells.h5ad"
    with pytest.raises(TypeError, match=r"pass coterie\.open_rows\('cells\.h5ad'\)"):
        as_rows(adata)
