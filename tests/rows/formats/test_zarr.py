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


def test_chunks_are_read_once(tmp_path):
    write_zarr(tmp_path / "x.zarr", numbers(100, np.float32), chunks=(9, 5))
    source = open_rows(tmp_path / "x.zarr").source
    source._starts = np.arange(0, 100, 9)  # as for chunks of many columns
    pieces = list(source.pieces(0, 100, 20))
    assert [len(piece) for piece in pieces] == [18] * 5 + [10]
    assert [len(piece) for piece in source.pieces(5, 100, 4)] == [4, *[9] * 10, 1]
