import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_wine, make_blobs

from tests.density.examples import rows, tree_of
from tests.reference import density as reference


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


def test_an_approximate_tree_spans_all_rows_and_is_not_exact():
    X = make_blobs(3000, 8, centers=6, random_state=0)[0]
    tree, exact = tree_of(X, 5, 15, method="approximate"), tree_of(X, 5, 15)
    assert not tree.is_exact
    assert len(tree.heights) == len(X) - 1
    assert exact.heights.sum() <= tree.heights.sum() * (1 + 1e-12) <= 1.05 * exact.heights.sum()
