import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_wine, make_blobs

from coterie.density.equal_rows import equal_rows, find_rows
from coterie.density.spanning_tree import spanning_tree
from tests.density.examples import rows
from tests.reference import density as reference


def tree_of(X, min_samples, n_neighbors, **options):
    return spanning_tree(X, min_samples, n_neighbors, **dict(method="exact", seed=0, n_threads=1) | options)


@given(rows(), st.integers(1, 8), st.integers(1, 12))
def test_weights_against_the_oracle(X, min_samples, n_neighbors):
    tree = tree_of(X, min_samples, n_neighbors)
    reach, cores = reference.mutual_reachability(X, min_samples)
    np.testing.assert_allclose(tree.core_distances, cores, rtol=1e-12)
    np.testing.assert_allclose(tree.heights, reference.spanning_tree_weights(reach), rtol=1e-12)
    np.testing.assert_allclose(tree.heights, reach[tree.firsts, tree.seconds], rtol=1e-12)
    assert tree.is_exact


@pytest.mark.parametrize(
    "X", [load_digits().data, load_wine().data, make_blobs(1500, 8, centers=12, random_state=0)[0]], ids=len
)
@pytest.mark.parametrize("n_neighbors", [1, 15])
def test_searches_find_the_edges_that_the_graph_does_not_certify(X, n_neighbors):
    X = np.ascontiguousarray(X)
    tree = tree_of(X, 5, n_neighbors)
    assert tree.n_searched > 0
    reach, _ = reference.mutual_reachability(X, 5)
    np.testing.assert_allclose(tree.heights, reference.spanning_tree_weights(reach), rtol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bits_do_not_depend_on_threads(dtype):
    X = make_blobs(2000, 7, centers=9, random_state=0)[0].astype(dtype)
    one, three = (tree_of(X, 5, 8, n_threads=n_threads) for n_threads in (1, 3))
    for name in ("firsts", "seconds", "heights", "core_distances"):
        assert getattr(one, name).tobytes() == getattr(three, name).tobytes()


def test_an_approximate_tree_spans_all_rows_and_is_not_exact():
    X = make_blobs(3000, 8, centers=6, random_state=0)[0]
    tree, exact = tree_of(X, 5, 15, method="approximate"), tree_of(X, 5, 15)
    assert not tree.is_exact
    assert len(tree.heights) == len(X) - 1
    assert exact.heights.sum() <= tree.heights.sum() * (1 + 1e-12) <= 1.05 * exact.heights.sum()


@given(rows())
def test_equal_rows_against_comparison(X):
    equal = equal_rows(X)
    assert np.array_equal(X[equal.first][equal.places], X)
    assert len(np.unique(X, axis=0)) == len(equal.first)
    assert np.array_equal(np.sort(equal.first), equal.first)
    assert np.array_equal(equal.counts, np.bincount(equal.places))
    assert np.array_equal(find_rows(X[equal.first], X), equal.places)


def test_equal_rows_of_one_hash_are_compared(monkeypatch):
    monkeypatch.setattr(
        "coterie.density.equal_rows._hashes", lambda rows: np.zeros(len(rows), dtype=np.uint64)
    )
    X = np.array([[1.0, 2], [3, 4], [1, 2], [5, 6], [3, 4]])
    assert equal_rows(X).places.tolist() == [0, 1, 0, 2, 1]
    assert find_rows(X[[0, 1, 3]], np.array([[5.0, 6], [0, 0]])).tolist() == [2, -1]


def test_rows_of_minus_zero_equal_rows_of_zero():
    assert equal_rows(np.array([[0.0, 1], [-0.0, 1]])).places.tolist() == [0, 0]
