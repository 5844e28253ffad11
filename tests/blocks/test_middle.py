"""The middle of most rows: the mean, unless a few rows take it so far away that rounding would decide."""

import numpy as np
import pytest

from coterie.blocks.measures import robust_shift, sample_positions, typical_square
from coterie.passes import measure_rows
from coterie.rows import as_rows


def rows_with(far, dtype=np.float64, n=3000):
    X = np.random.default_rng(0).normal(size=(n, 3))
    X[5] = far
    return X.astype(dtype)


def middle(X):
    mean = X.mean(axis=0, dtype=np.float64)
    return robust_shift(X.__getitem__, mean, np.sum((X - mean) ** 2, axis=1), X.dtype)


@pytest.mark.parametrize(("far", "dtype"), [(1e12, np.float64), (1e150, np.float64), (1e8, np.float32)])
def test_shift_ignores_an_outlier(far, dtype):
    X = rows_with(far, dtype)
    assert np.all(np.abs(middle(X)) < 1)
    data = measure_rows(as_rows(X), n_clusters=3, n_threads=1)
    assert np.all(np.abs(data.shift) < 1)
    assert data.has_far_rows
    np.testing.assert_allclose(data.mean_variance, 1, rtol=0.1)


def test_ordinary_rows_keep_their_mean():
    random = np.random.default_rng(0)
    for X in (
        rows_with(1e4), rows_with(1e8), rows_with(1e3, np.float32), random.normal(size=(500, 2000)),
        np.repeat([[0.0], [1]], [800, 200], axis=0), np.ones((1, 3)), np.array([[1.0], [2]]), np.zeros((50, 2)),
        random.lognormal(sigma=3, size=(4000, 2)), 1e8 + random.normal(size=(500, 3)),
    ):  # fmt: skip
        assert middle(X) is None
        data = measure_rows(as_rows(X), n_clusters=1, n_threads=1)
        np.testing.assert_allclose(data.shift, X.mean(axis=0, dtype=np.float64), rtol=1e-12, atol=1e-12)
        assert not data.has_far_rows


def test_sample_positions_and_typical_square():
    np.testing.assert_array_equal(sample_positions(3), [0, 1, 2])
    assert len(sample_positions(10**6)) < 2048
    assert typical_square(np.array([0.0, 0, 3, 1, 7, 9])) == 3
    assert typical_square(np.zeros(4)) == 0
