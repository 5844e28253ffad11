"""Files of arrays and of sparse rows: which array is read, what is no array of numbers, damage."""

import zipfile

import h5py
import numpy as np
import pytest
import zarr

from coterie.rows import open_rows
from tests.rows.formats import numbers


@pytest.mark.filterwarnings("ignore:Stored array in format 3.0")
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(5), "Expected 2D array, got 1D array instead"),
        (np.ones((2, 2, 2)), "Found array with dim 3"),
        (np.empty((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\)"),
        (np.empty((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\)"),
        (np.ones((2, 2)) * 1j, "Complex data not supported"),
        (np.array([["a"]]), "must hold numbers, got dtype <U1"),
        (np.array([[None]]), "Python objects"),
        (np.zeros((2, 2), [("a", "f8"), ("列", "f8")]), "must hold numbers"),
    ],
)
def test_arrays_that_do_not_fit(X, message, tmp_path):
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(ValueError, match=rf"Cannot read .*x\.npy: .*{message}"):
        open_rows(tmp_path / "x.npy")


def test_choice_among_arrays(tmp_path):
    a, b = numbers(4), numbers(6)
    arrays = {"a": a, "X": b, "names": np.array(["x"]), "flat": a[0]}
    np.savez(tmp_path / "x.npz", **arrays)
    np.savez_compressed(tmp_path / "y.npz", **arrays)
    group = zarr.open_group(tmp_path / "x.zarr", mode="w")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for name, array in {"group/a": a, "X": b, "flat": a[0]}.items():
            file[name] = array
            group.create_array(name, data=array)
    for name, key in (("x.npz", "a"), ("y.npz", "a"), ("x.h5", "group/a"), ("x.zarr", "group/a")):
        path = tmp_path / name
        np.testing.assert_array_equal(open_rows(path).read(), b)
        np.testing.assert_array_equal(open_rows(f"{path}::{key}").read(), a)
        np.testing.assert_array_equal(open_rows(f"{tmp_path}/{name[0]}*{path.suffix}::{key}").read(), a)
        with pytest.raises(ValueError, match=r"has no array 'b': choose one by .*::name of "):
            open_rows(f"{path}::b")
        with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
            open_rows(f"{path}::flat")
    for arrays, message in (
        ({"a": a, "b": b}, r"several arrays .* choose one by .*x\.npz::name of 'a', 'b'"),
        ({"a": a[0]}, r"no array with two dimensions: .* 'a'"),
    ):
        np.savez(tmp_path / "x.npz", **arrays)
        with pytest.raises(ValueError, match=message):
            open_rows(tmp_path / "x.npz")


def test_damage_behind_the_directory_of_a_zip_file_is_found(tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, numbers(500))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"Cannot read .*x\.npz"):
        open_rows(path).read()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("note.txt", "no array")
    with pytest.raises(ValueError, match=r"Cannot read .*x\.npz"):
        open_rows(path)


@pytest.mark.parametrize("content", ["1 1:0.5 7", "1 1:0.5 2:", "1 2:1 1:2\n", "one two\n", "1 -1:3\n"])
def test_damaged_svm_files(content, tmp_path):
    (tmp_path / "1.svm").write_text(content)
    with pytest.raises(ValueError, match=r"Cannot read .*1\.svm: "):
        open_rows(tmp_path)


def test_columns_of_svm_files(tmp_path):
    (tmp_path / "1.svm").write_text("1 1:0.5 2:3 # note\n0\n")
    X = np.array([[0.5, 3], [0, 0]])
    np.testing.assert_array_equal(open_rows(tmp_path / "1.svm").read().toarray(), X)
    (tmp_path / "1.svm").write_text("-1 0:1 2:4\n")  # indices count from 0
    np.testing.assert_array_equal(open_rows(tmp_path).read().toarray(), [[1, 0, 4]])
    (tmp_path / "2.svm").write_text("-1 1:1\n")
    with pytest.raises(ValueError, match="which lack the number of columns"):
        open_rows(tmp_path)
