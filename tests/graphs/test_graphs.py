"""Graphs of nearest neighbours: against their oracle, and the laws that they must keep."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import _kernels, open_rows
from coterie.blocks.kernel_rows import kernel_rows
from coterie.graphs import (
    bridge_components,
    check_graph,
    connected_components,
    gaussian_bandwidth,
    graph_laplacian,
    incidence_matrix,
    knn_graph,
    nearest_neighbors,
)
from coterie.graphs.approximate import approximate_neighbors
from coterie.graphs.exact import exact_neighbors, nearest_of_other_groups
from tests.reference import graphs as oracle

DTYPES = [np.float32, np.float64]
METHOD = dict(method="exact")


def some_rows(n_rows, n_columns, seed, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns)).astype(dtype)


def few_values(n_rows, n_columns, seed, dtype=np.float64):
    """Whole numbers from 0 to 2: many equal rows and many equal distances, all of them exact."""
    return np.random.default_rng(seed).integers(3, size=(n_rows, n_columns)).astype(dtype)


shapes = st.tuples(st.sampled_from([2, 3, 5, 17, 40, 101]), st.sampled_from([1, 2, 3, 7, 16, 17, 33, 65]))


# --- neighbours


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [some_rows, few_values])
@settings(max_examples=12, deadline=None)
@given(shape=shapes, seed=st.integers(0, 1000), data=st.data())
def test_neighbors_are_those_of_the_oracle(make, dtype, sparse, shape, seed, data):
    X = make(*shape, seed, dtype)
    m = data.draw(st.integers(1, min(shape[0] - 1, 12)))
    ids, squares = nearest_neighbors(sp.csr_array(X) if sparse else X, m, **METHOD)
    expected, expected_squares = oracle.nearest_neighbors(X, m)
    assert ids.dtype == np.int32
    assert squares.dtype == dtype
    assert ids.shape == squares.shape == (shape[0], m)
    np.testing.assert_allclose(squares, expected_squares, rtol=1e-5 if dtype == np.float32 else 1e-12)
    if make is few_values or dtype == np.float64:
        np.testing.assert_array_equal(ids, expected)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=12, deadline=None)
@given(shape=shapes, n_queries=st.sampled_from([1, 2, 30]), seed=st.integers(0, 1000), data=st.data())
def test_queries(dtype, sparse, shape, n_queries, seed, data):
    X, queries = few_values(*shape, seed, dtype), few_values(n_queries, shape[1], seed + 1, dtype)
    m = data.draw(st.integers(1, min(shape[0], 12)))
    kind = sp.csr_array if sparse else np.asarray
    ids, squares = nearest_neighbors(kind(X), m, queries=kind(queries), **METHOD)
    expected, expected_squares = oracle.nearest_neighbors(X, m, queries)
    np.testing.assert_array_equal(ids, expected)
    np.testing.assert_array_equal(squares, expected_squares)


@settings(max_examples=25, deadline=None)
@given(shape=shapes, seed=st.integers(0, 1000), data=st.data())
def test_a_row_is_never_its_own_neighbor(shape, seed, data):
    X = few_values(*shape, seed, np.float32)
    m = data.draw(st.integers(1, shape[0] - 1))
    ids, squares = nearest_neighbors(X, m, **METHOD)
    assert np.all(ids != np.arange(len(X))[:, None])
    assert all(len(set(row)) == m for row in ids)
    assert np.all(np.diff(squares, axis=1) >= 0)


@pytest.mark.parametrize("sparse", [False, True])
def test_equal_rows_are_neighbors_in_their_order(sparse):
    X = np.ones((60, 3), dtype=np.float32)
    ids, squares = nearest_neighbors(sp.csr_array(X) if sparse else X, 4, **METHOD)
    assert not squares.any()
    for i, row in enumerate(ids):
        assert row.tolist() == [j for j in range(60) if j != i][:4]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("far", [0, 1e2, 1e4])
def test_rounding_of_products_hides_no_neighbor(dtype, far):
    """Tight clusters far from each other and from the origin, where products lose all digits."""
    random = np.random.default_rng(0)
    unit = 1e3 * far * np.finfo(dtype).eps + 1e-3
    centers = far * random.normal(size=(6, 5))
    X = (centers[random.integers(6, size=400)] + unit * random.normal(size=(400, 5)) + far).astype(dtype)
    ids, squares = nearest_neighbors(X, 7, **METHOD)
    expected, expected_squares = oracle.nearest_neighbors(X, 7)
    np.testing.assert_allclose(squares, expected_squares, rtol=1e-5)
    assert np.mean(ids == expected) > 0.999  # all but equal distances may change places in float32


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [some_rows, few_values])
def test_same_bits_for_threads_and_cuts(monkeypatch, tmp_path, make, dtype):
    X = make(1500, 19, 0, dtype)
    np.save(tmp_path / "rows.npy", X)
    expected = nearest_neighbors(X, 6, n_threads=1, **METHOD)
    runs = [(X, 2), (X, 3), (open_rows(tmp_path / "rows.npy"), 2)]
    found = [nearest_neighbors(rows, 6, n_threads=n_threads, **METHOD) for rows, n_threads in runs]
    monkeypatch.setattr("coterie.graphs.exact._POINT_BYTES", 1)
    monkeypatch.setattr("coterie.graphs.exact.CALL_MULTIPLY_ADDS", 1)
    found.append(nearest_neighbors(X, 6, **METHOD))
    for ids, squares in found:
        np.testing.assert_array_equal(ids, expected[0])
        np.testing.assert_array_equal(squares, expected[1])


def test_any_instruction_set_finds_the_same_neighbors():
    X = some_rows(300, 21, 0, np.float32)
    before = _kernels.instruction_set()
    found = []
    for name in _kernels.available_instruction_sets():
        _kernels.use_instruction_set(name)
        found.append(nearest_neighbors(X, 5, **METHOD)[0])
    _kernels.use_instruction_set(before)
    for ids in found[1:]:
        np.testing.assert_array_equal(ids, found[0])


def test_distances_are_the_same_both_ways():
    X = some_rows(200, 37, 0, np.float32)
    ids, squares = nearest_neighbors(X, 199, **METHOD)
    table = np.zeros((200, 200), dtype=np.float32)
    np.put_along_axis(table, ids.astype(np.intp), squares, axis=1)
    np.testing.assert_array_equal(table, table.T)


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array])
def test_cosine_is_the_angle(as_given):
    X = some_rows(50, 4, 0)
    X[[7, 9]] = 0
    given = as_given(X * np.arange(1, 51)[:, None])
    unit = X / np.maximum(np.linalg.norm(X, axis=1), 1e-300)[:, None]
    expected = 2 - 2 * unit @ unit.T
    expected[7, 9] = expected[9, 7] = 0
    ids, squares = nearest_neighbors(given, 49, metric="cosine", **METHOD)
    np.testing.assert_allclose(squares, np.take_along_axis(expected, ids, axis=1), atol=1e-12)
    assert ids[7, 0] == 9
    # Queries with rows of zeros, and rows without, find each other too.
    ids, squares = nearest_neighbors(given[10:], 40, queries=given[5:10], metric="cosine", **METHOD)
    np.testing.assert_allclose(squares, np.take_along_axis(expected[5:10, 10:], ids, axis=1), atol=1e-12)


def test_rows_of_other_groups():
    X = few_values(90, 3, 0)
    groups = np.random.default_rng(0).integers(4, size=90).astype(np.int32)
    table = np.sum((X[:, None] - X) ** 2, axis=2)
    table[groups[:, None] == groups] = np.inf
    expected = np.argsort(table, axis=1, kind="stable")[:, :5]
    ids, squares = nearest_of_other_groups(X, groups, X, groups, 5, 2)
    np.testing.assert_array_equal(ids, expected)
    np.testing.assert_array_equal(squares, np.take_along_axis(table, expected, axis=1))
    one = np.zeros(90, dtype=np.int32)
    ids, squares = nearest_of_other_groups(X, one, X, one, 2, 2)
    assert np.all(ids == -1)
    assert np.all(np.isinf(squares))


@pytest.mark.parametrize("sparse", [False, True])
def test_lists_are_continued_with_more_centers(sparse):
    X = some_rows(100, 6, 0)
    centers, offsets = some_rows(150, 6, 1), np.zeros(150)
    x = kernel_rows(sp.csr_matrix(X) if sparse else X)
    ids, scores = np.empty((100, 9), dtype=np.int32), np.empty((100, 9))
    _kernels.nearest(x, centers, offsets, ids, scores, 2)
    parts_ids, parts_scores = np.empty_like(ids), np.empty_like(scores)
    for first, last in [(0, 16), (16, 23), (23, 150)]:
        _kernels.nearest(x, centers[first:last], offsets[first:last], parts_ids, parts_scores, 2, first)
    np.testing.assert_array_equal(parts_ids, ids)
    np.testing.assert_array_equal(parts_scores, scores)


# --- approximate neighbours


def clusters(n_rows, seed, dtype=np.float32):
    random = np.random.default_rng(seed)
    centers = 3 * random.normal(size=(12, 6))
    return (centers[random.integers(12, size=n_rows)] + random.normal(size=(n_rows, 6))).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_most_neighbors_are_found_approximately(dtype):
    X = clusters(3000, 0, dtype)
    ids, squares = nearest_neighbors(X, 6, method="approximate", random_state=0)
    expected, _ = nearest_neighbors(X, 6, **METHOD)
    assert np.mean([len(set(a) & set(b)) / 6 for a, b in zip(ids, expected)]) > 0.97
    assert ids.dtype == np.int32
    assert squares.dtype == dtype
    assert np.all(ids != np.arange(3000)[:, None])
    assert all(len(set(row)) == 6 for row in ids)
    assert np.all(np.diff(squares, axis=1) >= 0)
    own = np.sum((X[:, None].astype(np.float64) - X[ids]) ** 2, axis=2)
    np.testing.assert_allclose(squares, own, rtol=1e-5)


@pytest.mark.parametrize("n_queries", [0, 70])
@settings(max_examples=10, deadline=None)
@given(n=st.sampled_from([8, 50, 333]), seed=st.integers(0, 100))
def test_all_neighbors_are_found_where_all_cells_are_visited(n_queries, n, seed):
    X = clusters(n, seed, np.float64)
    queries = clusters(n_queries, seed + 1, np.float64) if n_queries else None
    found = approximate_neighbors(X, queries, 7, seed, 2, n_visits=n)
    for one, two in zip(found, exact_neighbors(X, queries, 7, 2)):
        np.testing.assert_array_equal(one, two)


def test_approximate_neighbors_have_the_same_bits_for_a_seed_and_any_threads():
    X = clusters(2000, 0)
    results = [
        nearest_neighbors(X, 5, method="approximate", random_state=seed, n_threads=n_threads)
        for seed, n_threads in [(0, 1), (0, 2), (0, 3), (1, 2)]
    ]
    for ids, squares in results[1:3]:
        np.testing.assert_array_equal(ids, results[0][0])
        np.testing.assert_array_equal(squares, results[0][1])
    assert np.any(results[3][0] != results[0][0])


def test_cells_with_few_points_are_no_obstacle():
    """As many neighbours are wanted as no few cells hold; and equal rows, which leave cells empty."""
    X = clusters(400, 0)
    ids, _ = nearest_neighbors(X, 390, method="approximate", random_state=0)
    np.testing.assert_array_equal(ids, nearest_neighbors(X, 390, **METHOD)[0])
    ids, squares = nearest_neighbors(np.ones((300, 2)), 4, method="approximate", random_state=0)
    assert not squares.any()
    assert np.all(ids != np.arange(300)[:, None])
    assert all(len(set(row)) == 4 for row in ids)


def test_auto_is_exact_for_small_sets_and_approximate_for_large_ones(monkeypatch):
    X = clusters(600, 0)
    options = dict(random_state=0)
    exact, approximate = (nearest_neighbors(X, 30, method=m, **options)[0] for m in ("exact", "approximate"))
    assert np.any(exact != approximate)
    np.testing.assert_array_equal(nearest_neighbors(X, 30, **options)[0], exact)
    monkeypatch.setattr("coterie.graphs.neighbors._EXACT_MULTIPLY_ADDS", 1)
    np.testing.assert_array_equal(nearest_neighbors(X, 30, **options)[0], approximate)
    nearest_neighbors(sp.csr_array(X), 3)


def test_any_instruction_set_with_fused_multiply_add_looks_into_the_same_cells():
    X = clusters(1500, 0)
    before = _kernels.instruction_set()
    found = []
    for name in set(_kernels.available_instruction_sets()) - {"baseline"}:
        _kernels.use_instruction_set(name)
        found.append(nearest_neighbors(X, 5, method="approximate", random_state=0)[0])
    _kernels.use_instruction_set(before)
    for ids in found[1:]:
        np.testing.assert_array_equal(ids, found[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(points=np.zeros((5, 3))), "width"),
        (dict(offsets=np.zeros(4)), "offset"),
        (dict(order=np.zeros(9, dtype=np.int32)), "whole panels"),
        (dict(order=np.full(8, 5, dtype=np.int32)), "order names a point"),
        (dict(panel_starts=np.array([0, 2])), "panel_starts does not cover"),
        (dict(row_order=np.array([7])), "row_order is out of range"),
        (dict(visits=np.ones((4, 1), dtype=np.int32)), "a visited cell is out of range"),
        (dict(ids=np.zeros((3, 2), dtype=np.int32)), "ids has the wrong shape"),
    ],
)
def test_the_kernel_of_cells_checks_its_arguments(change, message):
    arguments = dict(
        points=np.zeros((5, 2)),
        offsets=np.zeros(5),
        order=np.array([0, 1, 2, 3, 4, -1, -1, -1], dtype=np.int32),
        panel_starts=np.array([0, 1]),
        row_order=np.arange(4),
        visits=np.zeros((4, 1), dtype=np.int32),
        ids=np.zeros((4, 2), dtype=np.int32),
        scores=np.zeros((4, 2)),
        n_threads=1,
    )
    with pytest.raises(ValueError, match=message):
        _kernels.nearest_in_cells(kernel_rows(np.zeros((4, 2))), **(arguments | change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(centers=np.zeros((5, 3))), "width"),
        (dict(row_groups=np.zeros(3, dtype=np.int32)), "one group per row"),
        (dict(center_groups=np.zeros(3, dtype=np.int32)), "one group per center"),
        (dict(squares=np.zeros((4, 1))), "squares has the wrong shape"),
    ],
)
def test_the_kernel_of_groups_checks_its_arguments(change, message):
    arguments = dict(
        centers=np.zeros((5, 2)),
        row_groups=np.zeros(4, dtype=np.int32),
        center_groups=np.zeros(5, dtype=np.int32),
        ids=np.zeros((4, 2), dtype=np.int32),
        squares=np.zeros((4, 2)),
        n_threads=1,
    )
    with pytest.raises(ValueError, match=message):
        _kernels.nearest_apart(kernel_rows(np.zeros((4, 2))), **(arguments | change))


# --- graphs


WEIGHTS = {
    "binary": lambda square: 1.0,
    "distance": np.sqrt,
    "gaussian": lambda square: np.exp(-square / (2 * 0.7**2)),
}


@pytest.mark.parametrize("symmetrize", ["max", "mean", "none"])
@pytest.mark.parametrize("weights", [*WEIGHTS, "callable"])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), include_self=st.booleans(), m=st.integers(1, 6))
def test_graphs_are_those_of_the_oracle(weights, symmetrize, seed, include_self, m):
    X = few_values(30, 3, seed)
    weight = WEIGHTS.get(weights, lambda square: 1 / (1 + square))
    graph = knn_graph(
        X, m, weights=weight if weights == "callable" else weights, bandwidth=0.7, symmetrize=symmetrize,
        include_self=include_self, **METHOD,
    )  # fmt: skip
    check_stored(graph)
    expected = oracle.knn_graph(X, m, weight, symmetrize, include_self)
    stored = np.full((30, 30), np.nan)
    coordinates = graph.tocoo()
    stored[coordinates.row, coordinates.col] = coordinates.data
    np.testing.assert_allclose(stored, expected, rtol=1e-12)


def check_stored(graph):
    assert isinstance(graph, sp.csr_array)
    assert graph.indices.dtype == graph.indptr.dtype == np.int32
    for i in range(graph.shape[0]):
        assert np.all(np.diff(graph.indices[graph.indptr[i] : graph.indptr[i + 1]]) > 0)


@pytest.mark.parametrize("symmetrize", ["max", "mean"])
@pytest.mark.parametrize("weights", list(WEIGHTS))
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_graphs_are_symmetric_to_the_bit(dtype, sparse, weights, symmetrize):
    X = np.concatenate([some_rows(150, 5, 0, dtype), few_values(150, 5, 0, dtype)])
    X *= np.random.default_rng(0).random(X.shape) < 0.7
    graph = knn_graph(sp.csr_array(X) if sparse else X, 5, weights=weights, symmetrize=symmetrize, **METHOD)
    assert graph.dtype == dtype
    check_stored(graph)
    other = sp.csr_array(graph.T)
    other.sort_indices()
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(graph, name), getattr(other, name))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), symmetrize=st.sampled_from(["max", "mean", "none"]))
def test_a_permutation_of_rows_permutes_the_graph(seed, symmetrize):
    X = some_rows(60, 4, seed)
    order = np.random.default_rng(seed).permutation(60)
    options = dict(weights="distance", symmetrize=symmetrize, **METHOD)
    graph, permuted = knn_graph(X, 4, **options), knn_graph(X[order], 4, **options)
    np.testing.assert_array_equal(permuted.toarray(), graph.toarray()[np.ix_(order, order)])


def test_sparse_rows_give_the_graph_of_dense_ones():
    X = some_rows(200, 30, 0) * (np.random.default_rng(1).random((200, 30)) < 0.2)
    X[:3] = 0
    dense, sparse = (knn_graph(rows, 4, weights="gaussian", **METHOD) for rows in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(dense.indices, sparse.indices)
    np.testing.assert_allclose(dense.data, sparse.data, rtol=1e-12)


def test_edges_of_equal_rows_are_stored_where_weights_are_distances():
    X = [[0.0], [0.0], [5.0], [5.0]]
    graph = knn_graph(X, 1, weights="distance", **METHOD)
    assert graph.nnz == 4
    assert not graph.data.any()
    assert connected_components(graph).tolist() == [0, 0, 1, 1]
    assert knn_graph(X, 1, weights=lambda squares: squares, **METHOD).nnz == 0


def test_bandwidth():
    X = few_values(40, 3, 0)
    _, squares = oracle.nearest_neighbors(X, 4)
    assert gaussian_bandwidth(squares) == pytest.approx(np.sqrt(squares.mean()))
    given = knn_graph(X, 4, weights="gaussian", bandwidth=gaussian_bandwidth(squares), **METHOD)
    np.testing.assert_array_equal(given.data, knn_graph(X, 4, weights="gaussian", **METHOD).data)
    assert gaussian_bandwidth(np.zeros((2, 2))) == 1
    np.testing.assert_array_equal(knn_graph(np.ones((5, 2)), 2, weights="gaussian", **METHOD).data, 1)


# --- components and matrices


def random_graph(n, density, seed):
    random = np.random.default_rng(seed)
    W = np.triu(random.integers(1, 9, size=(n, n)) * (random.random((n, n)) < density), 1)
    return (W + W.T).astype(np.float64)


@settings(max_examples=30, deadline=None)
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
    for entries, entry in [("weights", float), ("roots", np.sqrt), ("ones", lambda w: 1.0)]:
        B = incidence_matrix(graph, entries=entries)
        np.testing.assert_array_equal(B.toarray(), oracle.incidence(W, entry))
    roots = incidence_matrix(W, entries="roots")
    np.testing.assert_allclose((roots.T @ roots).toarray(), graph_laplacian(W).toarray(), atol=1e-12)


def test_edges_from_a_vertex_to_itself_count_nothing():
    W = random_graph(8, 0.5, 0)
    with_loops = W + np.diag(np.arange(8.0))
    assert incidence_matrix(with_loops).shape == incidence_matrix(W).shape
    np.testing.assert_array_equal(graph_laplacian(with_loops).toarray(), graph_laplacian(W).toarray())


@pytest.mark.parametrize("sparse", [False, True])
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 1000), make=st.sampled_from([some_rows, few_values]))
def test_bridges_are_those_of_the_oracle(sparse, seed, make):
    X = make(40, 2, seed)
    graph = knn_graph(X, 1, weights="distance", **METHOD)
    labels = connected_components(graph)
    expected = oracle.bridges(X, labels)
    rows = sp.csr_array(X) if sparse else X
    bridged = bridge_components(graph, rows, weights=lambda squares: 100 + squares)
    check_stored(bridged)
    assert not connected_components(bridged).any()
    assert bridged.nnz == graph.nnz + 2 * len(expected)
    np.testing.assert_array_equal(bridged.toarray(), bridged.toarray().T)
    added = np.argwhere(np.triu(bridged.toarray()) >= 100)
    lengths = [np.sum((X[i] - X[j]) ** 2) for i, j in expected]
    np.testing.assert_allclose(sorted(bridged[i, j] - 100 for i, j in added), sorted(lengths), atol=1e-9)
    if not sparse:
        assert sorted(map(tuple, added.tolist())) == sorted(expected)


def test_bridges_join_with_the_weights_asked_for():
    X = np.array([[0.0, 0], [0, 1], [9, 0], [9, 1]])
    graph = knn_graph(X, 1, **METHOD)
    assert bridge_components(graph, X)[0, 2] == 1
    assert bridge_components(graph, X, weights="distance")[0, 2] == 9
    assert bridge_components(graph, X, weights="gaussian", bandwidth=9.0)[0, 2] == pytest.approx(np.exp(-0.5))
    assert bridge_components(graph, X, weights="gaussian", bandwidth=0.1)[0, 2] > 0
    whole = bridge_components(graph, X)
    np.testing.assert_array_equal(bridge_components(whole, X).toarray(), whole.toarray())


# --- checks


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


def test_check_graph_sums_what_occurs_twice_and_leaves_the_input_alone():
    given = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), np.array([0, 3, 3])), shape=(2, 2))
    before = given.data.copy(), given.indices.copy()
    np.testing.assert_array_equal(check_graph(given).toarray(), [[2, 5], [0, 0]])
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


ROWS = [[0.0], [1.0], [3.0], [7.0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(n_neighbors=4), "n_neighbors must be less than the number of rows, got 4 of 4 rows"),
        (dict(n_neighbors=0), "n_neighbors must be a positive integer"),
        (dict(n_neighbors=1.5), "n_neighbors must be a positive integer"),
        (dict(metric="manhattan"), "metric must be one of 'euclidean', 'cosine', got 'manhattan'"),
        (dict(method="fast"), "method must be one of 'auto', 'exact', 'approximate', got 'fast'"),
        (dict(n_threads=0), "n_threads"),
        (dict(X=[[0.0], [np.nan], [1.0]]), "NaN. First bad row: 1"),
        (dict(X=[[0.0], [1e30], [1.0]], dtype=np.float32), "X is too large for float32"),
        (dict(X=sp.csr_array([[0.0], [1e200], [1.0]])), "X is too large for float64"),
        (dict(X=[1.0, 2.0]), "Expected 2D array"),
        (dict(X="rows.npy"), "open_rows"),
        (dict(X=sp.csr_array(np.eye(3)), method="approximate"), "dense rows only"),
        (dict(queries=[[0.0, 1.0]]), "X has 1 features, but queries has 2"),
        (dict(queries=sp.csr_array([[1.0]])), "both be sparse"),
        (dict(queries=[[0.0]], n_neighbors=5), "must not exceed the 4 rows of X, got 5"),
        (dict(queries=[[0.0], [np.inf]]), "infinity.*First bad row: 1"),
    ],
)
def test_bad_arguments_of_neighbors(change, message):
    arguments = dict(X=ROWS, n_neighbors=1) | change
    X = arguments.pop("X")
    X = np.asarray(X, dtype=arguments.pop("dtype")) if "dtype" in arguments else X
    with pytest.raises((ValueError, TypeError), match=message):
        nearest_neighbors(X, arguments.pop("n_neighbors"), **arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            dict(weights="heat"),
            "weights must be one of 'binary', 'distance', 'gaussian' or callable, got 'heat'",
        ),
        (dict(symmetrize="min"), "symmetrize must be one of 'max', 'mean', 'none', got 'min'"),
        (dict(bandwidth=0), "bandwidth must be None or a positive number"),
        (dict(bandwidth="wide"), "bandwidth must be None or a positive number"),
        (dict(weights=lambda squares: -squares), "negative"),
        (dict(weights=lambda squares: squares[0]), "weights returned shape"),
        (dict(n_neighbors=9), "n_neighbors"),
    ],
)
def test_bad_arguments_of_graphs(change, message):
    with pytest.raises(ValueError, match=message):
        knn_graph(ROWS, **(dict(n_neighbors=2) | change))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bridge_components(np.eye(3), ROWS), "3 vertices, but there are 4 rows"),
        (lambda: bridge_components(np.eye(4), ROWS, weights="gaussian"), "bandwidth"),
        (lambda: bridge_components(np.eye(4), ROWS, metric="sum"), "metric must be one of"),
        (lambda: graph_laplacian(np.triu(np.ones((3, 3)))), "symmetric"),
        (lambda: incidence_matrix(np.triu(np.ones((3, 3)))), "symmetric"),
        (lambda: incidence_matrix(np.eye(3), entries="squares"), "'weights', 'roots', 'ones'"),
        (lambda: gaussian_bandwidth([]), "empty"),
        (lambda: gaussian_bandwidth([-1.0]), "not negative"),
        (lambda: gaussian_bandwidth([np.nan]), "finite"),
    ],
)
def test_bad_arguments_of_the_rest(call, message):
    with pytest.raises(ValueError, match=message):
        call()
