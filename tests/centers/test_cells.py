"""Cells: centers that are spread over the rows, the same for a seed and any number of threads."""

import numpy as np
import pytest

from coterie.centers.lloyd import cell_centers
from tests.reference import k_means as oracle
from tests.support.bits import same_bits


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cell_centers_depend_on_the_seed(dtype):
    X = np.random.default_rng(0).normal(size=(1000, 5)).astype(dtype)
    one, two, three = (cell_centers(X, 40, seed=3, n_threads=n) for n in (1, 2, 3))
    assert one.shape == (40, 5)
    assert one.dtype == dtype
    same_bits((two, three), (one, one))
    assert np.any(cell_centers(X, 40, seed=4, n_threads=1) != one)


def test_iterations_spread_cell_centers():
    X = np.random.default_rng(0).normal(size=(1000, 5))
    drawn = X[np.random.RandomState(3).choice(1000, 40, replace=False)]
    found = cell_centers(X, 40, seed=3, n_threads=2)
    assert oracle.potential(X, found) < 0.8 * oracle.potential(X, drawn)


def test_equal_rows_share_a_cell_and_others_stay_empty():
    X = np.ones((50, 2))
    found = cell_centers(X, 7, seed=0, n_threads=1)
    same_bits(found, np.ones((7, 2)))


def test_as_many_cells_as_rows():
    X = np.random.default_rng(0).normal(size=(9, 2))
    found = cell_centers(X, 9, seed=0, n_threads=1)
    np.testing.assert_allclose(found[np.lexsort(found.T)], X[np.lexsort(X.T)])
