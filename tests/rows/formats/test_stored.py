"""Files of several arrays: which one is read."""

import h5py
import numpy as np
import pytest
import zarr

from coterie.rows import open_rows
from tests.rows.formats import numbers


def test_choice_among_arrays(tmp_path):
    a, b = numbers(4), numbers(6)
    arrays = {"a": a, "X": b, "names": np.array(["x"]), "flat": a[0]}
    np.savez(tmp_path / "x.npz", **arrays)
    np.savez_compressed(tmp_path / "y.npz", **arrays)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["group/a"], file["X"], file["flat"] = a, b, a[0]
    group = zarr.open_group(tmp_path / "x.zarr", mode="w")
    for name in ("group/a", "X", "flat"):
        group.create_array(name, data={"group/a": a, "X": b, "flat": a[0]}[name])
    for name, key in (("x.npz", "a"), ("y.npz", "a"), ("x.h5", "group/a"), ("x.zarr", "group/a")):
        path = tmp_path / name
        np.testing.assert_array_equal(open_rows(path).read(), b)
        np.testing.assert_array_equal(open_rows(f"{path}::{key}").read(), a)
        np.testing.assert_array_equal(open_rows(f"{tmp_path}/{name[0]}*{path.suffix}::{key}").read(), a)
        with pytest.raises(ValueError, match=r"has no array 'b'\. It has "):
            open_rows(f"{path}::b")
        with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
            open_rows(f"{path}::flat")
    np.savez(tmp_path / "x.npz", a=a, b=b)
    with pytest.raises(ValueError, match=r"several arrays .* choose one by .*x\.npz::name of 'a', 'b'"):
        open_rows(tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", a=a[0])
    with pytest.raises(ValueError, match=r"no array of numbers with two dimensions\. It has 'a'"):
        open_rows(tmp_path / "x.npz")
