"""HDF5, Zarr and AnnData in both: chunks, matrices, names, observations."""

import h5py
import numpy as np
import pytest
import zarr

from coterie.rows import open_rows
from tests.rows.formats import assert_same_rows, numbers, write_h5ad, write_zarr

X = numbers(61)


@pytest.fixture
def path(tmp_path):
    write_h5ad(tmp_path / "cells.h5ad", X, "csr")
    return tmp_path / "cells.h5ad"


def copied(source, target):
    """Copy a group of HDF5 to one of Zarr."""
    target.attrs.update({name: np.asarray(value).tolist() for name, value in source.attrs.items()})
    # A list, as the iterator holds a lock of h5py, which the threads of Zarr need when they collect garbage.
    for name, item in list(source.items()):
        if isinstance(item, h5py.Group):
            copied(item, target.create_group(name))
        else:
            is_text = item.dtype.kind == "O"
            target.create_array(name, data=item.asstr()[:].astype(str) if is_text else item[:])


@pytest.mark.parametrize("sparse", [None, "csr"])
def test_anndata_in_both(tmp_path, sparse):
    write_h5ad(tmp_path / "x.h5ad", X, sparse)
    with h5py.File(tmp_path / "x.h5ad") as file:
        copied(file, zarr.open_group(tmp_path / "x.zarr", mode="w"))
    for path in (tmp_path / "x.h5ad", tmp_path / "x.zarr"):
        rows = open_rows(path)
        assert_same_rows(rows, X)
        assert rows.column_names == ["g0", "g1", "g2", "g3", "g4"]
        assert rows.metadata_columns.slice(0, 3).to_pydict() == {
            "__index_level_0__": ["c0", "c1", "c2"],
            "kind": ["a", "b", None],
            "size": [0, 0.5, 1],
        }
        assert_same_rows(open_rows(f"{path}::layers/doubled"), 2 * X)
        assert_same_rows(open_rows(f"{path}::obsm/X_pca"), X[:, :2])
        with pytest.raises(
            ValueError, match=r"has no array 'raw': .* of 'X', 'layers/doubled', 'obsm/X_pca'"
        ):
            open_rows(f"{path}::raw")


def test_damaged_row_pointers(path):
    with h5py.File(path, "r+") as file:
        file["X/indptr"][-1] += 5
    with pytest.raises(ValueError, match=r"Cannot read .*cells\.h5ad: "):
        open_rows(path).read()


def test_a_single_zarr_array(tmp_path):
    write_zarr(tmp_path / "x.zarr", X)
    assert_same_rows(open_rows(f"{tmp_path}/x.zarr/"), X)
    with pytest.raises(ValueError, match="is a single array: drop ::a"):
        open_rows(f"{tmp_path}/x.zarr::a")


@pytest.mark.parametrize("chunks", [(9, 5), (9, 2), (200, 5), (1, 1)])
def test_chunks_of_any_shape(tmp_path, monkeypatch, chunks):
    monkeypatch.setattr("coterie.rows.formats.arrays._PIECE_BYTES", 500)
    X = numbers(100, np.float32)
    write_zarr(tmp_path / "x.zarr", X, chunks=chunks)
    assert_same_rows(open_rows(tmp_path / "x.zarr"), X)
