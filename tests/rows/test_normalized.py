"""Rows of length 1: right, the same bits for every storage, and refused where they are not finite."""

import numpy as np
import pytest
import scipy.sparse as sp

from coterie.rows import as_rows
from coterie.rows.derived import normalized, rows_of_zeros
from tests.rows.formats import dense


@pytest.fixture
def X():
    X = np.random.default_rng(0).normal(size=(1000, 7)) * np.logspace(-3, 3, 1000)[:, None]
    X[::3, ::2] = 0
    X[5] = 0
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int16])
@pytest.mark.parametrize("kind", [np.asfortranarray, np.asarray, sp.csr_array, sp.csc_matrix])
def test_unit_rows_and_their_bits(X, dtype, kind, monkeypatch):
    if kind in (sp.csr_array, sp.csc_matrix) and dtype == np.float16:
        dtype = np.float32
    given = kind(X.astype(dtype))
    before = given.copy()
    rows = normalized(as_rows(given))
    wide = X.astype(dtype).astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    np.testing.assert_allclose(dense(rows.read()), wide / np.where(lengths == 0, 1, lengths), atol=1e-6)
    assert rows.dtype == as_rows(given).dtype
    assert rows.in_memory
    np.testing.assert_array_equal(dense(given), dense(before))
    monkeypatch.setattr("coterie.rows.derived._BATCH_BYTES", 1)  # row by row
    np.testing.assert_array_equal(dense(rows.read()), dense(normalized(as_rows(given)).read()))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_numbers_near_the_ends_of_the_range(kind):
    result = normalized(as_rows(kind(np.array([[3e200, 4e200], [3e-200, 4e-200]])))).read()
    assert np.allclose(dense(result), [[0.6, 0.8]] * 2)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_rows_of_zeros_are_found(X, kind):
    X[[3, 17]] = 0
    X[5] = np.arange(7)
    np.testing.assert_array_equal(rows_of_zeros(as_rows(kind(X))), [3, 17])
    with pytest.raises(ValueError, match=r"no direction. First bad row: 3\."):
        normalized(as_rows(kind(X)), refuse_zeros=True)


def test_explicit_zeros_of_a_sparse_row_are_zeros():
    X = sp.csr_array((np.array([0.0, 0, 5]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 3))
    np.testing.assert_array_equal(rows_of_zeros(as_rows(X)), [0])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_not_finite(X, value, kind):
    X[17, 2] = value
    message = "NaN" if np.isnan(value) else "infinity"
    with pytest.raises(ValueError, match=rf"{message}(.|\n)*First bad row: 17"):
        normalized(as_rows(kind(X))).read()
