"""Graphs from outside: brought into one form, or what is wrong with them."""

import numpy as np
import pytest
import scipy.sparse as sp

from coterie.graphs.checks import check_graph
from tests.graphs.examples import check_stored, random_graph


def test_check_graph_brings_graphs_into_one_form():
    W = random_graph(12, 0.4, 0)
    for kind in (sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_array, np.asarray):
        graph = check_graph(kind(W), 12, symmetric=True)
        check_stored(graph)
        np.testing.assert_array_equal(graph.toarray(), W)
    assert check_graph(sp.csr_array(W.astype(np.float32))).dtype == np.float32
    assert check_graph(W.astype(bool)).dtype == np.float64
    long = sp.csr_array(W)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    check_stored(check_graph(long))


def test_check_graph_sums_duplicates_without_changing_the_input():
    given = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), np.array([0, 3, 3])), shape=(2, 2))
    before = given.data.copy(), given.indices.copy()
    found = check_graph(given)
    check_stored(found)
    np.testing.assert_array_equal(found.toarray(), [[2, 5], [0, 0]])
    np.testing.assert_array_equal(given.data, before[0])
    np.testing.assert_array_equal(given.indices, before[1])


def damaged(**arrays):
    graph = sp.csr_array(np.eye(3))
    for name, array in arrays.items():
        setattr(graph, name, np.asarray(array))
    return graph


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.zeros((2, 3)), "square"),
        (np.zeros((2, 2)), "2 vertices, but there are 3 rows"),
        (damaged(indices=[0, 1, 7]), "names vertex 7"),
        (damaged(indices=[0, -1, 2]), "names vertex -1"),
        (damaged(indptr=[0, 2, 1, 3]), "indptr"),
        (damaged(indptr=[0, 1, 2, 9]), "behind the last entry"),
        (np.diag([1.0, np.nan, 1.0]), "NaN or an infinite weight. First bad row: 1"),
        (np.diag([1.0, 1.0, np.inf]), "NaN or an infinite weight. First bad row: 2"),
        (np.diag([1.0, -1.0, 1.0]), "negative weight. First bad row: 1"),
        (np.triu(np.ones((3, 3))), "must be symmetric"),
        (np.eye(3) * 1j, "numbers"),
        ("graph", "two-dimensional array of numbers"),
        (np.zeros(3), "two-dimensional"),
    ],
)
def test_bad_graphs(graph, message):
    with pytest.raises((ValueError, TypeError), match=message):
        check_graph(graph, 3, symmetric=True)
