"""Zarr: single arrays, chunks."""

import numpy as np
import pytest

from coterie.rows import open_rows
from tests.rows.formats import assert_same_rows, numbers, write_zarr


def test_a_single_zarr_array_has_no_key(tmp_path):
    write_zarr(tmp_path / "x.zarr", numbers(4))
    with pytest.raises(ValueError, match="is a single array: drop ::a"):
        open_rows(f"{tmp_path}/x.zarr::a")


def test_the_path_of_a_folder_may_end_in_a_slash(tmp_path):
    X = numbers(40)
    write_zarr(tmp_path / "x.zarr", X)
    assert_same_rows(open_rows(f"{tmp_path}/x.zarr/"), X)


@pytest.mark.parametrize("chunks", [(9, 5), (9, 2), (200, 5), (1, 1)])
def test_chunks_of_any_shape(tmp_path, monkeypatch, chunks):
    monkeypatch.setattr("coterie.rows.formats.tabular._PIECE_BYTES", 500)
    X = numbers(100, np.float32)
    write_zarr(tmp_path / "x.zarr", X, chunks=chunks)
    assert_same_rows(open_rows(tmp_path / "x.zarr"), X)
