"""Neighbors from other libraries."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from coterie.graphs import given_neighbors, graph_of_neighbors, knn_graph, nearest_neighbors
from tests.graphs.examples import check_stored, some_rows
from tests.support.bits import same_bits


@pytest.mark.parametrize("with_self", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_neighbors_from_other_libraries(with_self, dtype):
    rows = some_rows(80, 3, 1)
    search = NearestNeighbors(n_neighbors=7).fit(rows)
    distances, ids = search.kneighbors(rows) if with_self else search.kneighbors()
    found = given_neighbors(ids[:, ::-1].astype(dtype), distances[:, ::-1])
    expected = nearest_neighbors(rows, 7 - with_self)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_allclose(found.square_distances, expected.square_distances, rtol=1e-12)
    assert found.ids.dtype == np.int32
    assert found.method == "given"
    same_bits(given_neighbors(found.ids, found.square_distances, squared=True), found)
    graph = graph_of_neighbors(*found)
    check_stored(graph)
    assert (graph != knn_graph(rows, 7 - with_self)).nnz == 0


@pytest.mark.parametrize("none", [np.array(-1, dtype=np.int64), np.array(-1).astype(np.uint32)])
def test_short_lists_have_fewer_edges(none):
    ids = np.array([[1, 2], [2, none], [none, none]], dtype=none.dtype)
    distances = np.array([[3.0, 1.0], [2.0, np.inf], [np.nan, -1.0]])
    found = given_neighbors(ids, distances)
    np.testing.assert_array_equal(found.ids, [[2, 1], [2, -1], [-1, -1]])
    np.testing.assert_array_equal(found.square_distances, [[1, 9], [4, np.inf], [np.inf, np.inf]])
    directed = graph_of_neighbors(*found, weights="distance", symmetrize="none")
    check_stored(directed)
    np.testing.assert_array_equal(directed.toarray(), [[0, 3, 1], [0, 0, 2], [0, 0, 0]])
    gaussian = graph_of_neighbors(*found, weights="gaussian", symmetrize="none")
    np.testing.assert_allclose(gaussian[0, 1], np.exp(-0.5 * 9 / (14 / 3)))
    assert graph_of_neighbors(*given_neighbors([[0], [1]], [[0], [0]])).nnz == 0


@pytest.mark.parametrize(
    ("ids", "distances", "error", "message"),
    [
        ([[0], [1]], [[0, 1], [1, 0]], ValueError, r"one shape \(n, m\), got \(2, 1\) and \(2, 2\)"),
        ([0, 1], [0, 1], ValueError, "one shape"),
        ([[1.0], [0.0]], [[1], [1]], TypeError, "ids must be integers, got float64"),
        ([[1], [0]], [["a"], ["b"]], TypeError, "distances must be numbers"),
        ([[1], [2]], [[1], [1]], ValueError, "not -1, or 0 to 1. First bad row: 1"),
        ([[1], [-2]], [[1], [1]], ValueError, "First bad row: 1"),
        ([[1], [0]], [[1], [-1]], ValueError, "NaN or a negative number. First bad row: 1"),
        ([[1], [0]], [[np.nan], [1]], ValueError, "NaN or a negative number. First bad row: 0"),
        ([[1], [0]], [[np.inf], [1]], ValueError, "infinite"),
        ([[1], [0]], [[1e300], [1]], ValueError, "infinite number, or its square is. First bad row: 0"),
        ([[1, 1], [0, 1]], [[1, 1], [1, 0]], ValueError, "names a row twice in the list. First bad row: 0"),
        ([[1, 0], [0, 0]], [[1, 0], [1, 1]], ValueError, "names a row twice in the list. First bad row: 1"),
    ],
)
def test_invalid_neighbors(ids, distances, error, message):
    with pytest.raises(error, match=message):
        given_neighbors(ids, distances)
