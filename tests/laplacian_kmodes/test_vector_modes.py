"""Mean shifts: what they find, and the threads that they take."""

from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp

from coterie.laplacian_kmodes import modes as vector_modes
from coterie.laplacian_kmodes.modes import VectorModes
from tests.reference import laplacian_kmodes as oracle


@pytest.fixture
def problem():
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 7))
    memberships = random.dirichlet(np.full(4, 0.3), size=3000)
    return X, memberships, X[:4].copy()


def shifted(X, memberships, points, n_threads=1):
    search = VectorModes(X, 0.9, mode_update="mean_shift", n_threads=n_threads)
    return search._shifted(points.astype(X.dtype), memberships.astype(X.dtype))


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-6), (np.float32, 2e-2)])
def test_steps_by_the_formula(problem, offset, dtype, tolerance):
    X, memberships, points = problem
    X = (X + offset).astype(dtype)
    points = X[:4]
    with patch.multiple(vector_modes, _MOST_SHIFTS=5, _SMALLEST_SHIFT=0.0):
        found = shifted(X, memberships, points)
        sparse = shifted(sp.csr_array(X), memberships, points)
    for cluster in range(4):
        expected = oracle.mean_shift(X.astype(float), memberships[:, cluster], points[cluster], 0.9, 5)
        np.testing.assert_allclose(found[cluster] - offset, expected - offset, atol=tolerance)
        np.testing.assert_allclose(sparse[cluster] - offset, expected - offset, atol=tolerance)


def test_large_steps_share_their_threads_and_have_the_same_bits(problem):
    alone = shifted(*problem)
    many = patch.object(vector_modes, "ThreadPoolExecutor", wraps=ThreadPoolExecutor)
    with many as made, patch.object(vector_modes, "_SMALL_WORK", 0):
        np.testing.assert_array_equal(shifted(*problem, n_threads=3), alone)
    assert made.call_count == 1
