"""Components and Laplacian, against plain ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from coterie.graphs import connected_components, graph_laplacian
from tests.graphs.examples import random_graph
from tests.reference import graphs as oracle


@given(n=st.integers(1, 20), density=st.sampled_from([0.0, 0.05, 0.1, 0.3]), seed=st.integers(0, 1000))
def test_components_and_matrices_are_those_of_the_oracle(n, density, seed):
    W = random_graph(n, density, seed)
    graph = sp.coo_array(W)
    labels = connected_components(np.triu(W))
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, oracle.connected_components(W > 0))
    for normalized in (False, True):
        np.testing.assert_allclose(
            graph_laplacian(graph, normalized).toarray(), oracle.laplacian(W, normalized), atol=1e-14
        )


def test_loops_are_ignored():
    W = random_graph(8, 0.5, 0)
    with_loops = W + np.diag(np.arange(8.0))
    np.testing.assert_array_equal(graph_laplacian(with_loops).toarray(), graph_laplacian(W).toarray())


def test_directed_graph_is_an_error():
    with pytest.raises(ValueError, match="symmetric"):
        graph_laplacian(np.triu(np.ones((3, 3))))
