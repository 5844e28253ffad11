"""An index finds what one call finds, in any batches, with any threads, and after it was stored."""

import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from coterie.graphs import NeighborIndex, approximate, nearest_neighbors
from tests.graphs.examples import DTYPES, METHOD, ROWS, clusters, few_values, shapes, some_rows
from tests.reference import graphs as oracle
from tests.support.bits import same_bits

KINDS = [np.asarray, sp.csr_array]


def in_batches(index, queries, size, **options):
    found = [index.query(queries[i : i + size], **options) for i in range(0, queries.shape[0], size)]
    return [np.concatenate(arrays) for arrays in zip(*found)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15)
@given(
    n=st.sampled_from([1, 5, 60, 300]),
    d=st.sampled_from([1, 3, 16, 33]),
    size=st.sampled_from([1, 2, 3, 20]),
    seed=st.integers(0, 99),
)
def test_an_exact_index_finds_the_nearest_rows_in_any_batches(dtype, kind, n, d, size, seed):
    rows = few_values if seed % 2 else some_rows
    X, queries = rows(n, d, seed, dtype), rows(41, d, seed + 1, dtype)
    m = min(n, 4)
    index = NeighborIndex(kind(X), m, n_threads=1)
    found = index.query(kind(queries), n_threads=2)
    same_bits(found, nearest_neighbors(kind(X), m, queries=kind(queries), **METHOD))
    same_bits(in_batches(index, kind(queries), size), list(found))
    assert (index.method, index.recall, found.method, found.recall) == ("exact", 1.0, "exact", 1.0)
    if rows is few_values:
        expected, squares = oracle.nearest_neighbors(X, m, queries)
        np.testing.assert_array_equal(found.ids, expected)
        np.testing.assert_array_equal(found.square_distances, squares)


@pytest.mark.parametrize(("metric", "dtype"), [("euclidean", np.float32), ("cosine", np.float64)])
@pytest.mark.parametrize("kind", ["a plane", "no direction", "far rows", "many ties"])
def test_an_approximate_index_finds_the_same_in_any_batches(kind, metric, dtype):
    X = shapes(kind, 1500).astype(dtype)
    queries = X[-301:] if kind == "many ties" else X[-301:] + dtype(0.01)
    index = NeighborIndex(
        X[:-100], 8, method="approximate", metric=metric, recall=0.9, random_state=0, n_threads=2
    )
    found = index.query(queries)
    for size in (1, 30, 150):
        same_bits(in_batches(index, queries, size, n_threads=1), list(found))
    shuffled = np.random.default_rng(0).permutation(len(queries))
    same_bits([array[np.argsort(shuffled)] for array in index.query(queries[shuffled])], list(found))
    same_bits(list(index.query(queries, 3)), [np.ascontiguousarray(array[:, :3]) for array in found])
    assert (found.method, found.recall) == (index.method, index.recall)
    if kind in ("a plane", "far rows"):
        assert index.method == "approximate"


@pytest.mark.parametrize("kind", ["a plane", "no direction", "noisy groups", "far rows", "many ties"])
@pytest.mark.parametrize(("n_neighbors", "aim"), [(1, 0.95), (8, 0.5)])
def test_index_reaches_and_reports_its_recall(kind, n_neighbors, aim):
    X = shapes(kind, 4500)
    X, queries = X[:4000], X[4000:]
    index = NeighborIndex(X, n_neighbors, method="approximate", recall=aim, random_state=3)
    found = index.query(queries)
    _, true = nearest_neighbors(X, n_neighbors, queries=queries, **METHOD)
    reached = np.mean(found.square_distances <= true[:, -1:] * (1 + 1e-5))
    assert reached > aim - 0.05
    assert abs(found.recall - reached) < 0.12
    own = np.sum((queries[:, None].astype(np.float64) - X[found.ids]) ** 2, axis=2)
    np.testing.assert_allclose(found.square_distances, own, rtol=1e-4)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_one_call_is_an_index_that_is_planned_by_its_queries(metric):
    X, queries = clusters(2500, 0), clusters(400, 1)
    options = dict(metric=metric, method="approximate", random_state=5)
    found = NeighborIndex(X, 6, queries=queries, **options).query(queries)
    again = nearest_neighbors(X, 6, queries=queries, **options)
    same_bits(found, again)
    assert found.recall == again.recall


def test_index_is_planned_by_given_queries():
    """Rows in groups, asked about by rows between them: theirs lie in more cells."""
    random = np.random.default_rng(0)
    X = (6 * random.normal(size=(40, 24)))[random.integers(40, size=6000)] + random.normal(size=(6000, 24))
    queries = 3 * random.normal(size=(1200, 24))
    _, true = nearest_neighbors(X, 5, queries=queries[600:], **METHOD)

    def reached(sample):
        index = NeighborIndex(X, 5, queries=sample, method="approximate", random_state=0)
        found = index.query(queries[600:])
        return np.mean(found.square_distances <= true[:, -1:] * (1 + 1e-9)), index.recall

    by_own, _ = reached(None)
    by_theirs, told = reached(queries[:600])
    assert by_own < 0.98 < by_theirs
    assert abs(by_theirs - told) < 0.02


def test_few_candidates_are_no_reason_to_compare_with_all(monkeypatch):
    """A low aim is met by fewer candidates than neighbors that are asked for."""
    compared, compare = [], approximate.neighbors_by_differences
    monkeypatch.setattr(
        approximate, "neighbors_by_differences", lambda *args: compared.append(len(args[1])) or compare(*args)
    )
    X = shapes("a plane")
    assert nearest_neighbors(X, 10, method="approximate", recall=0.4, random_state=0).recall < 1
    assert NeighborIndex(X, 10, method="approximate", recall=0.4, random_state=0).recall < 1
    assert sum(compared) < len(X) / 20  # rows of small cells


def test_rows_of_an_index_are_their_own_nearest():
    X = clusters(900, 2)
    for method in ("exact", "approximate"):
        found = NeighborIndex(X, 3, method=method, random_state=0).query(X)
        np.testing.assert_array_equal(found.ids[:, 0], np.arange(900))
        assert not found.square_distances[:, 0].any()


@pytest.mark.parametrize("method", ["exact", "approximate"])
@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_index_with_as_many_neighbors_as_rows(method, n):
    X, queries = clusters(n, 0), clusters(7, 1)
    found = NeighborIndex(X, n, method=method, random_state=0).query(queries)
    same_bits(found, nearest_neighbors(X, n, queries=queries, **METHOD))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["exact", "approximate"])
@pytest.mark.parametrize("with_zeros", [False, True])
def test_zero_rows_are_orthogonal_to_all_others(with_zeros, method, kind):
    """Asked about in a batch with others, and where the index holds some or none."""
    if method == "approximate" and kind is sp.csr_array:
        return
    X, queries = some_rows(90, 5, 0), some_rows(20, 5, 1)
    queries[[3, 8]] = 0
    if with_zeros:
        X[[4, 40]] = 0
    index = NeighborIndex(kind(X), 6, metric="cosine", method=method, recall=0.999, random_state=0)
    found = index.query(kind(queries))
    true = nearest_neighbors(kind(X), 6, queries=kind(queries), metric="cosine", **METHOD)
    are_same = np.isclose(found.square_distances, true.square_distances, rtol=1e-7, atol=1e-12)
    assert are_same[[3, 8]].all()
    assert are_same.mean() > 0.98
    if method == "exact":
        same_bits(found, true)
    same_bits(in_batches(index, kind(queries), 1), list(found))
    if with_zeros:
        np.testing.assert_array_equal(found.ids[3, :2], [4, 40])
        assert not found.square_distances[3, :2].any()


def test_auto_depends_on_the_rows_of_the_index(monkeypatch):
    X = clusters(600, 0)
    assert NeighborIndex(X, 5).method == "exact"
    monkeypatch.setattr("coterie.graphs.neighbors.LEAST_WORK", 600 * 600 * 6 - 1)
    index = NeighborIndex(X, 5, random_state=0)
    assert index.method == "approximate"
    assert index.query(X[:1]).method == "approximate"
    assert NeighborIndex(sp.csr_array(X), 5).method == "exact"


def test_a_recall_that_an_index_does_not_reach_is_warned_of(monkeypatch):
    monkeypatch.setattr("coterie.graphs.approximate.plan_reach", lambda *_: (0.0, 0.0))
    with pytest.warns(ConvergenceWarning, match=r"below the target of 99\.0%"):
        NeighborIndex(shapes("no direction"), 8, method="approximate", random_state=0)


@pytest.mark.parametrize("method", ["exact", "approximate"])
def test_an_index_can_be_stored(method, tmp_path):
    X = shapes("a plane", 1200)
    index = NeighborIndex(X[:1000], 6, method=method, random_state=0)
    joblib.dump(index, tmp_path / "index.joblib")
    for again in (pickle.loads(pickle.dumps(index)), joblib.load(tmp_path / "index.joblib")):
        same_bits(again.query(X[1000:]), index.query(X[1000:]))
        assert repr(again) == repr(index)
        assert again.query(X[:1]).recall == index.recall


def test_an_index_takes_other_types_and_frames():
    pandas = pytest.importorskip("pandas")
    X = clusters(80, 0)
    index = NeighborIndex(pandas.DataFrame(X), 4)
    found = index.query(X[:9].astype(np.float64))
    assert found.square_distances.dtype == np.float32
    same_bits(found, index.query(X[:9].tolist()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(n_neighbors=5), "n_neighbors must not exceed the 4 rows of X, got 5"),
        (dict(n_neighbors=0), "n_neighbors must be a positive integer"),
        (dict(metric="manhattan"), "metric must be one of"),
        (dict(method="fast"), "method must be one of"),
        (dict(recall=1), "recall must be a number above 0 and below 1"),
        (dict(n_threads=0), "n_threads"),
        (dict(X=[[0.0], [np.nan]]), "NaN. First bad row: 1"),
        (dict(X=sp.csr_array(np.eye(3)), method="approximate"), "dense rows only"),
        (dict(queries=[[0.0, 1.0]]), "X has 1 features, but queries has 2"),
        (dict(queries=sp.csr_array([[1.0]])), "both be sparse"),
    ],
)
def test_indices_that_cannot_be(change, message):
    arguments = dict(X=ROWS, n_neighbors=1) | change
    X = arguments.pop("X")
    with pytest.raises((ValueError, TypeError), match=message):
        NeighborIndex(X, **arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(n_neighbors=3), "n_neighbors must not exceed the 2 that the index is made for, got 3"),
        (dict(n_neighbors=0), "n_neighbors must be a positive integer"),
        (dict(n_threads=0), "n_threads"),
        (dict(queries=[[0.0, 1.0]]), "X has 1 features, but queries has 2"),
        (dict(queries=sp.csr_array([[1.0]])), "both be sparse"),
        (dict(queries=[[0.0], [np.inf]]), "infinity.*First bad row: 1"),
        (dict(queries=[[0.0], [1e200]]), "too large for float64"),
        (dict(queries=[[1e200]]), "too large for float64"),
        (dict(queries=[1.0, 2.0]), "Expected 2D array"),
        (dict(queries="rows.npy"), "open_rows"),
    ],
)
@pytest.mark.parametrize("method", ["exact", "approximate"])
def test_bad_queries_of_an_index(method, change, message):
    index = NeighborIndex(ROWS, 2, method=method, random_state=0)
    with pytest.raises((ValueError, TypeError), match=message):
        index.query(**dict(queries=[[0.5]]) | change)


def test_sparse_index_rejects_dense_queries():
    with pytest.raises(TypeError, match="both be sparse"):
        NeighborIndex(sp.csr_array(np.eye(3)), 1).query(np.eye(3))
