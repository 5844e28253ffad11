"""Neighbors that others have found, and rows that are added later."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from coterie.graphs import extend_neighbors, given_neighbors, graph_of_neighbors, knn_graph, nearest_neighbors
from coterie.graphs.checks import check_graph
from tests.graphs.examples import DTYPES, METHOD, check_stored, few_values, some_rows
from tests.support.bits import same_bits


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@settings(max_examples=15)
@given(
    n=st.sampled_from([2, 5, 40, 90]),
    q=st.sampled_from([1, 2, 30]),
    m=st.sampled_from([1, 4, 50]),
    ties=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_added_rows_give_the_same_neighbors(dtype, metric, n, q, m, ties, seed):
    rows = (few_values if ties else some_rows)(n + q, 3, seed, dtype)
    m = min(m, n - 1)
    found = extend_neighbors(
        rows[:n], nearest_neighbors(rows[:n], m, metric=metric, **METHOD), rows[n:], metric=metric, **METHOD
    )
    expected = nearest_neighbors(rows, m, metric=metric, **METHOD)
    same_bits(found, expected)
    assert (found.method, found.recall) == ("exact", 1.0)


def test_rows_can_be_added_repeatedly():
    rows = some_rows(60, 4, 0)
    known = nearest_neighbors(rows[:30], 5)
    for first, last in ((30, 31), (31, 50), (50, 60)):
        known = extend_neighbors(rows[:first], known, rows[first:last], n_threads=1)
    same_bits(known, nearest_neighbors(rows, 5))
    distances, ids = NearestNeighbors(n_neighbors=6).fit(rows[:50]).kneighbors()
    mixed = extend_neighbors(rows[:50], given_neighbors(ids, distances), rows[50:])
    np.testing.assert_array_equal(mixed.ids[:, :5], known.ids)
    assert mixed.method == "mixed"
    assert np.isnan(mixed.recall)
    # Lists that were short are filled where there are rows enough.
    few = given_neighbors([[1, -1], [0, -1]], [[1.0, 0.0], [1.0, 0.0]])
    extended = extend_neighbors([[0.0], [1.0]], few, [[5.0]])
    np.testing.assert_array_equal(extended.ids, [[1, 2], [0, 2], [1, 0]])


def test_neighbors_are_added_approximately():
    rows = some_rows(3000, 6, 0, np.float32)
    options = dict(method="approximate", random_state=0)
    known = nearest_neighbors(rows[:2500], 8, **options)
    found = [extend_neighbors(rows[:2500], known, rows[2500:], n_threads=n, **options) for n in (1, 2)]
    same_bits(*found)
    true, _ = nearest_neighbors(rows, 8, **METHOD)
    assert np.mean([np.isin(a, b).mean() for a, b in zip(found[0].ids, true)]) > 0.97
    assert found[0].method == "approximate"
    assert 0.95 < found[0].recall <= 1


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
    own = graph_of_neighbors(*found, include_self=True)
    np.testing.assert_array_equal(own.diagonal(), 1)
    check_graph(own, 3, symmetric=True)
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


def test_neighbors_of_other_rows_are_refused():
    rows = some_rows(9, 2, 0)
    known = nearest_neighbors(rows[:5], 2)
    with pytest.raises(ValueError, match="a row for each of the 6 rows of X"):
        extend_neighbors(rows[:6], known, rows[6:])
    with pytest.raises(ValueError, match=r"not -1, or 0 to 4\. First bad row: 0"):
        extend_neighbors(rows[:5], (known.ids + 9, known.square_distances), rows[6:])
    with pytest.raises(ValueError, match="features"):
        extend_neighbors(rows[:5], known, rows[6:, :1])
    for wrong in (rows[6:], [known.ids]):
        with pytest.raises(TypeError, match=r"neighbors must be a pair of arrays.*before the new rows"):
            extend_neighbors(rows[:5], wrong, rows[6:])
