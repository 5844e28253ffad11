"""Lloyd's loop, step by step, against the plain one."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.blocks.dataset import Dataset
from coterie.centers.lloyd import ALGORITHMS, Lloyd, choose_algorithm, local_passes
from coterie.rows import as_rows
from tests.reference import k_means as oracle


def some_data(X, weights=None, *, k=5):
    return Dataset(as_rows(X), weights, n_clusters=k, n_threads=2)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=15, deadline=None)
@given(
    n=st.integers(5, 150), d=st.integers(1, 9), k=st.integers(1, 9), weighted=st.booleans(), sparse=st.booleans(),
    seed=st.integers(0, 999),
)  # fmt: skip
def test_step_by_step(algorithm, n, d, k, weighted, sparse, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * (random.random((n, d)) < 0.5 if sparse else 1)
    # Where all rows are centroids, which of them are the farthest is a matter of rounding.
    k = min(k, max(1, len(np.unique(X, axis=0)) // 2))
    weights = random.integers(1, 4, size=n).astype(float) if weighted else None
    masses = np.ones(n) if weights is None else weights
    data, centers = some_data(sp.csr_array(X) if sparse else X, weights, k=k), random.normal(size=(k, d))
    lloyd = Lloyd(local_passes(data, centers, algorithm), centers)
    for _ in range(100):
        before = lloyd.centers.copy()
        step = lloyd.step()
        squares = oracle.square_distances(X, before)
        np.testing.assert_allclose(step.objective, masses @ squares.min(axis=1), rtol=1e-9, atol=1e-9)
        expected, _, _, _ = oracle.lloyd(X, before, weights=weights, max_iter=1)
        if step.n_changed == 0:
            break
        np.testing.assert_allclose(lloyd.centers, expected, atol=1e-9)
        np.testing.assert_allclose(step.center_shift, np.sum((expected - before) ** 2), atol=1e-8)
    assert step.n_changed == step.center_shift == 0
    squares = oracle.square_distances(X, lloyd.centers)
    np.testing.assert_allclose(
        squares[np.arange(n), lloyd.labels_and_squares()[0]], squares.min(axis=1), atol=1e-9
    )


def test_labels_fit_the_centroids_also_before_the_end():
    X = np.random.default_rng(0).normal(size=(300, 4))
    lloyd = Lloyd(local_passes(some_data(X, k=9), X[:9]), X[:9])
    lloyd.step()
    labels, _ = lloyd.labels_and_squares()
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, oracle.square_distances(X, lloyd.centers).argmin(axis=1))


def test_a_cluster_without_mass_takes_the_farthest_row_that_has_some():
    X = np.array([[0.0], [1], [2], [50], [90]])
    data, centers = some_data(X, np.array([1.0, 1, 1, 1, 0]), k=2), np.array([[1.0], [500]])
    lloyd = Lloyd(local_passes(data, centers), centers)
    lloyd.step()
    np.testing.assert_allclose(lloyd.centers, [[1], [50]])


def test_what_auto_stands_for():
    wide, narrow = np.zeros((300, 256)), np.zeros((300, 255))
    assert choose_algorithm(some_data(narrow), 3) == "lloyd"
    assert choose_algorithm(some_data(sp.csr_array(narrow)), 50) == "lloyd"
    assert choose_algorithm(some_data(narrow), 50) == "yinyang"
    assert choose_algorithm(some_data(wide), 50) == "elkan"
    assert choose_algorithm(some_data(wide), 513) == "yinyang"
