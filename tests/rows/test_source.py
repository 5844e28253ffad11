"""Contract of every source: exact blocks, rows by number, finite numbers, dtypes."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from coterie.rows import as_rows
from tests.rows.formats import dense


def numbers(n_rows, n_columns, dtype=np.float64):
    return np.random.default_rng(n_rows).normal(size=(n_rows, n_columns)).astype(dtype)


@st.composite
def made(draw):
    """An array and its rows, dense or sparse."""
    X = numbers(draw(st.integers(1, 40)), draw(st.integers(1, 4)))
    X[X < -1] = 0
    return X, as_rows(draw(st.sampled_from([np.asarray, np.asfortranarray, sp.csr_array]))(X))


@given(made(), st.integers(1, 60))
def test_blocks(data, rows_per_block):
    X, source = data
    blocks = list(source.blocks(rows_per_block))
    assert [start for start, _ in blocks] == list(range(0, len(X), rows_per_block))
    assert all(block.shape[0] == rows_per_block for _, block in blocks[:-1])
    np.testing.assert_array_equal(np.concatenate([dense(block) for _, block in blocks]), X)
    np.testing.assert_array_equal(dense(source.read()), X)
    for _, block in blocks:
        assert block.dtype == np.float64
        if source.is_sparse:
            assert isinstance(block, sp.csr_array)
            assert block.indices.dtype == block.indptr.dtype == np.int32
            assert block.has_canonical_format
        else:
            assert block.flags.c_contiguous


@given(made(), st.data())
def test_take_gives_the_rows(data, draw):
    X, source = data
    indices = sorted(draw.draw(st.lists(st.integers(0, len(X) - 1), max_size=20)))
    taken = source.take(indices)
    np.testing.assert_array_equal(dense(taken), X[indices].reshape(-1, X.shape[1]))
    assert taken.dtype == source.dtype


@pytest.mark.parametrize(
    ("indices", "error", "message"),
    [
        ([2, 1], ValueError, "ascending order"),
        (np.array([2, 1], np.uint8), ValueError, "ascending order"),
        ([-1, 0], IndexError, "Row -1 is out of range: there are 3 rows"),
        ([0, 3], IndexError, "Row 3 is out of range: there are 3 rows"),
        ([0.5], ValueError, "list of integers, got float64"),
        ([True, False, True], ValueError, "list of integers, got bool"),
        ([[0, 1]], ValueError, r"list of integers, got int64 of shape \(1, 2\)"),
    ],
)
def test_wrong_row_numbers(indices, error, message):
    with pytest.raises(error, match=message):
        as_rows(np.ones((3, 2))).take(indices)
    with pytest.raises(ValueError, match="rows_per_block must be at least 1"):
        as_rows(np.ones((3, 2))).blocks(0)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, r"^Input X contains NaN\. First bad row: 17\.$"),
        (
            np.inf,
            r"^Input X contains infinity or a value too large for dtype\('float64'\)\. First bad row: 17\.$",
        ),
        (-np.inf, "contains infinity"),
    ],
)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("rows_per_block", [1, 5, 17, 18, 40])
def test_first_bad_row_is_named(value, message, make, rows_per_block):
    X = numbers(40, 3)
    X[17, 1] = value
    X[[18, 30], 0] = -np.inf
    source = as_rows(make(X))
    with pytest.raises(ValueError, match=message):
        list(source.blocks(rows_per_block))
    with pytest.raises(ValueError, match=message):  # and again: the row is still not checked
        list(source.blocks(rows_per_block))
    with pytest.raises(ValueError, match=message):
        source.take([3, 17, 18])
    assert source.take([3, 16, 29]).shape == (3, 3)


def test_large_finite_numbers_are_not_infinity():
    X = np.full((8, 4), 3e38, dtype=np.float32)  # their sum overflows
    X[::2] *= -1
    np.testing.assert_array_equal(as_rows(X).read(), X)
    np.testing.assert_array_equal(as_rows(abs(X)).read(), abs(X))


@pytest.mark.parametrize("dtype", ["f8", "i8", "u8"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_overflow_to_float32_is_found(dtype, make):
    X = np.ones((6, 2), dtype=dtype)
    assert as_rows(make(X)).with_dtype(np.float32).read().dtype == np.float32
    X = make(np.array([[1.0, 2.0], [3.0, 1e39]]))
    with pytest.raises(ValueError, match=r"too large for dtype\('float32'\)\. First bad row: 1"):
        as_rows(X).with_dtype(np.float32).read()
    assert dense(as_rows(X).read())[1, 1] == 1e39


def test_a_source_passes_through():
    source = as_rows(numbers(4, 2))
    assert as_rows(source) is source
    assert source.with_dtype("float32").dtype == np.float32
    assert source.dtype == np.float64
