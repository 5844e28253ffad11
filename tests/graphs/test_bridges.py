"""Bridges between the components of a graph."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.graphs import knn_graph
from coterie.graphs.bridges import bridge_components
from coterie.graphs.matrices import connected_components
from tests.graphs.examples import METHOD, check_stored, few_values, some_rows
from tests.reference import graphs as oracle


@pytest.mark.parametrize("sparse", [False, True])
@settings(max_examples=12)
@given(seed=st.integers(0, 1000), make=st.sampled_from([some_rows, few_values]))
def test_bridges_are_those_of_the_oracle(sparse, seed, make):
    X = make(40, 2, seed)
    graph = knn_graph(X, 1, weights="distance", **METHOD)
    labels = connected_components(graph)
    expected = oracle.bridges(X, labels)
    rows = sp.csr_array(X) if sparse else X
    bridged = bridge_components(graph, rows, lambda squares: 100 + squares, 1)
    check_stored(bridged)
    assert not connected_components(bridged).any()
    assert bridged.nnz == graph.nnz + 2 * len(expected)
    np.testing.assert_array_equal(bridged.toarray(), bridged.toarray().T)
    added = np.argwhere(np.triu(bridged.toarray()) >= 100)
    lengths = [np.sum((X[i] - X[j]) ** 2) for i, j in expected]
    np.testing.assert_allclose(sorted(bridged[i, j] - 100 for i, j in added), sorted(lengths), atol=1e-9)
    if not sparse:
        assert sorted(map(tuple, added.tolist())) == sorted(expected)


def test_bridges_have_the_requested_weights():
    X = np.array([[0.0, 0], [0, 1], [9, 0], [9, 1]])
    graph = knn_graph(X, 1, **METHOD)
    whole = bridge_components(graph, X, np.sqrt, 1)
    assert whole[0, 2] == 9
    assert bridge_components(graph, X, np.zeros_like, 1)[0, 2] > 0
    assert bridge_components(whole, X, np.sqrt, 1) is whole
