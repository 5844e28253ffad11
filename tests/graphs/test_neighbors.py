"""Neighbors as users ask for them: metrics, and what is not taken."""

import numpy as np
import pytest
import scipy.sparse as sp

from coterie.graphs import nearest_neighbors
from tests.graphs.examples import METHOD, ROWS, some_rows


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array])
def test_cosine_is_the_angle(as_given):
    X = some_rows(50, 4, 0)
    X[[7, 9]] = 0
    given = as_given(X * np.arange(1, 51)[:, None])
    unit = X / np.maximum(np.linalg.norm(X, axis=1), 1e-300)[:, None]
    expected = 2 - 2 * unit @ unit.T
    expected[7, 9] = expected[9, 7] = 0
    ids, squares = nearest_neighbors(given, 49, metric="cosine", **METHOD)
    np.testing.assert_allclose(squares, np.take_along_axis(expected, ids, axis=1), atol=1e-12)
    assert ids[7, 0] == 9
    # Queries with rows of zeros, and rows without, find each other too.
    ids, squares = nearest_neighbors(given[10:], 40, queries=given[5:10], metric="cosine", **METHOD)
    np.testing.assert_allclose(squares, np.take_along_axis(expected[5:10, 10:], ids, axis=1), atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(n_neighbors=4), "n_neighbors must be less than the number of rows, got 4 of 4 rows"),
        (dict(n_neighbors=0), "n_neighbors must be a positive integer"),
        (dict(n_neighbors=1.5), "n_neighbors must be a positive integer"),
        (dict(metric="manhattan"), "metric must be one of 'euclidean', 'cosine', got 'manhattan'"),
        (dict(method="fast"), "method must be one of 'auto', 'exact', 'approximate', got 'fast'"),
        (dict(n_threads=0), "n_threads"),
        (dict(X=[[0.0], [np.nan], [1.0]]), "NaN. First bad row: 1"),
        (dict(X=[[0.0], [1e30], [1.0]], dtype=np.float32), "X is too large for float32"),
        (dict(X=sp.csr_array([[0.0], [1e200], [1.0]])), "X is too large for float64"),
        (dict(X=[1.0, 2.0]), "Expected 2D array"),
        (dict(X="rows.npy"), "open_rows"),
        (dict(X=sp.csr_array(np.eye(3)), method="approximate"), "dense rows only"),
        (dict(queries=[[0.0, 1.0]]), "X has 1 features, but queries has 2"),
        (dict(queries=sp.csr_array([[1.0]])), "both be sparse"),
        (dict(queries=[[0.0]], n_neighbors=5), "must not exceed the 4 rows of X, got 5"),
        (dict(queries=[[0.0], [np.inf]]), "infinity.*First bad row: 1"),
    ],
)
def test_bad_arguments_of_neighbors(change, message):
    arguments = dict(X=ROWS, n_neighbors=1) | change
    X = arguments.pop("X")
    X = np.asarray(X, dtype=arguments.pop("dtype")) if "dtype" in arguments else X
    with pytest.raises((ValueError, TypeError), match=message):
        nearest_neighbors(X, arguments.pop("n_neighbors"), **arguments)
