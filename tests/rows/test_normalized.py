"""Rows of length 1: right, the same bits for every storage and cut, and refused where they are not finite."""

import numpy as np
import pytest
import scipy.sparse as sp

from coterie.rows import as_rows
from coterie.rows.derived import NormalizedRows, rows_of_zeros


@pytest.fixture
def X():
    X = np.random.default_rng(0).normal(size=(1000, 7)) * np.logspace(-3, 3, 1000)[:, None]
    X[::3, ::2] = 0
    X[5] = 0
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int16])
@pytest.mark.parametrize("sparse", [False, True])
def test_unit_rows(X, dtype, sparse):
    X = X.astype(dtype)
    rows = NormalizedRows(as_rows(sp.csr_array(X.astype(np.float32)) if sparse else X))
    result = rows.read()
    result = result.toarray() if sparse else result
    wide = X.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    assert np.allclose(result, wide / np.where(lengths == 0, 1, lengths), atol=1e-6)
    assert result.dtype == rows.dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.asfortranarray, np.ascontiguousarray, sp.csr_array, sp.csc_matrix])
def test_same_bits_however_cut(X, dtype, kind):
    rows = NormalizedRows(as_rows(kind(X.astype(dtype))))
    as_dense = (lambda block: block.toarray()) if rows.is_sparse else np.asarray
    whole = as_dense(rows.read())
    for size in (1, 3, 256, 999):
        assert np.array_equal(np.concatenate([as_dense(block) for _, block in rows.blocks(size)]), whole)
    some = np.array([0, 5, 5, 17, 999])
    assert np.array_equal(as_dense(rows.take(some)), whole[some])
    if not rows.is_sparse:
        plain = NormalizedRows(as_rows(X.astype(dtype))).read()
        assert np.array_equal(whole, plain)


def test_wide_rows_are_the_same_bits_alone_and_together():
    X = np.random.default_rng(1).normal(size=(40, 20_001)).astype(np.float32)
    rows = NormalizedRows(as_rows(X))
    assert np.array_equal(np.concatenate([block for _, block in rows.blocks(1)]), rows.read())


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_numbers_near_the_ends_of_the_range(kind):
    X = np.array([[3e200, 4e200], [3e-200, 4e-200]])
    result = NormalizedRows(as_rows(kind(X))).read()
    result = result.toarray() if sp.issparse(result) else result
    assert np.allclose(result, [[0.6, 0.8]] * 2)


def test_data_are_not_changed(X):
    before = X.copy()
    sparse = sp.csr_array(X)
    for data in (X, sparse):
        list(NormalizedRows(as_rows(data)).blocks())
    assert np.array_equal(X, before)
    assert np.array_equal(sparse.toarray(), before)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_rows_of_zeros_are_found(X, kind):
    X[[3, 17]] = 0
    X[5] = np.arange(7)
    np.testing.assert_array_equal(rows_of_zeros(as_rows(kind(X))), [3, 17])
    NormalizedRows(as_rows(kind(X))).read()
    rows = NormalizedRows(as_rows(kind(X)), refuse_zeros=True)
    for size in (1, 4, 10, 1000):
        with pytest.raises(ValueError, match=r"no direction. First bad row: 3\."):
            list(rows.blocks(size))
    with pytest.raises(ValueError, match=r"no direction. First bad row: 17\."):
        rows.take([4, 17])
    rows.take([0, 4, 5])


def test_explicit_zeros_of_a_sparse_row_are_zeros():
    X = sp.csr_array((np.array([0.0, 0, 5]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 3))
    np.testing.assert_array_equal(rows_of_zeros(as_rows(X)), [0])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_not_finite(X, value, kind):
    X[17, 2] = value
    message = "NaN" if np.isnan(value) else "infinity"
    with pytest.raises(ValueError, match=rf"{message}(.|\n)*First bad row: 17"):
        list(NormalizedRows(as_rows(kind(X))).blocks(10))


def test_other_dtype(X):
    rows = NormalizedRows(as_rows(X)).with_dtype(np.float32)
    assert rows.read().dtype == np.float32
    assert np.array_equal(rows.read(), NormalizedRows(as_rows(X.astype(np.float32))).read())
