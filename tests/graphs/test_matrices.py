"""Components and Laplacian, against plain ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from coterie.graphs.matrices import connected_components, graph_laplacian
from tests.graphs.examples import random_graph


@given(n=st.integers(1, 20), density=st.sampled_from([0.0, 0.05, 0.1, 0.3]), seed=st.integers(0, 1000))
def test_components_and_laplacians_by_definition(n, density, seed):
    W = random_graph(n, density, seed)
    L = np.diag(W.sum(axis=1)) - W
    np.testing.assert_allclose(graph_laplacian(sp.coo_array(W)).toarray(), L, atol=1e-14)
    labels = connected_components(np.triu(W))
    assert labels.dtype == np.int32
    assert all(labels[i] == labels[j] for i, j in np.argwhere(W))
    names, firsts = np.unique(labels, return_index=True)
    assert names.tolist() == list(range(n - np.linalg.matrix_rank(L)))
    assert np.all(np.diff(firsts) > 0)


def test_loops_are_ignored():
    W = random_graph(8, 0.5, 0)
    with_loops = W + np.diag(np.arange(8.0))
    np.testing.assert_array_equal(graph_laplacian(with_loops).toarray(), graph_laplacian(W).toarray())


def test_directed_graph_is_an_error():
    with pytest.raises(ValueError, match="symmetric"):
        graph_laplacian(np.triu(np.ones((3, 3))))
