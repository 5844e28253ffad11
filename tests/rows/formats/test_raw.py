"""Arrays in .npy format that are read piece by piece."""

import tracemalloc

import numpy as np
import pytest

from coterie import open_rows
from coterie.blocks import kernel_rows
from coterie.rows import flat
from tests.rows.formats import assert_same_rows, numbers

N_ROWS = 200


@pytest.fixture
def small_reads(monkeypatch):
    """Rows are read in many portions and runs."""
    monkeypatch.setattr(flat, "_PORTION_BYTES", 300)
    monkeypatch.setattr(flat, "_COLUMNS_BYTES", 700)
    monkeypatch.setattr(flat, "_GAP_BYTES", 100)
    monkeypatch.setattr(flat, "_RUN_BYTES", 500)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", ">f4", "f2", "i8", ">i2", "u1", "?"])
def test_rows_do_not_depend_on_the_way_of_reading(dtype, order, tmp_path, small_reads):
    X = np.asarray(numbers(N_ROWS) * 50, order=order).astype(dtype)
    np.save(tmp_path / "x.npy", X)
    rows = open_rows(tmp_path / "x.npy")
    assert_same_rows(rows, X.astype(rows.dtype))


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_by_number(order, tmp_path, small_reads):
    X = np.asarray(numbers(N_ROWS), order=order)
    np.save(tmp_path / "x.npy", X)
    rows = open_rows(tmp_path / "x.npy")
    for chosen in (
        [7],
        [7, 7, 7],
        [0, 1, 3],
        [0, 0, 2],
        [5, 150],
        range(3, 90),
        range(0, 200, 9),
        range(199, 200),
    ):
        np.testing.assert_array_equal(rows.take(list(chosen)), X[list(chosen)])


def test_small_files_are_kept_and_large_ones_read_anew(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", numbers(N_ROWS))
    rows = open_rows(tmp_path / "x.npy")
    kept = kernel_rows.kept_rows(rows)
    assert kept.in_memory
    with open(tmp_path / "x.npy", "r+b") as file:
        file.write(bytes(2000))
    np.testing.assert_array_equal(kept.read(), numbers(N_ROWS))  # which a map would show
    np.save(tmp_path / "x.npy", numbers(N_ROWS))
    rows = open_rows(tmp_path / "x.npy")
    monkeypatch.setattr(kernel_rows, "KEPT_BYTES", 100)
    assert kernel_rows.kept_rows(rows) is rows


@pytest.mark.parametrize("order", ["C", "F"])
def test_converted_rows_are_held_once(order, tmp_path, monkeypatch):
    monkeypatch.setattr(flat, "_COLUMNS_BYTES", 2**20)
    X = np.arange(2**20).reshape(-1, 8)
    np.save(tmp_path / "x.npy", np.asarray(X, order=order))
    rows = open_rows(tmp_path / "x.npy")
    tracemalloc.start()
    block = rows.read()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(block, X)
    assert peak < block.nbytes + 3 * 2**20
