"""Graphs of nearest neighbors: against their oracle, and the laws that they must keep."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.graphs import graph_of_neighbors, knn_graph, nearest_neighbors
from coterie.graphs.knn import gaussian_bandwidth
from coterie.graphs.matrices import connected_components
from tests.graphs.examples import DTYPES, METHOD, ROWS, check_stored, few_values, some_rows
from tests.reference import graphs as oracle
from tests.support.bits import same_bits

WEIGHTS = {
    "binary": lambda square: 1.0,
    "distance": np.sqrt,
    "gaussian": lambda square: np.exp(-square / (2 * 0.7**2)),
}


@pytest.mark.parametrize("symmetrize", ["max", "mean", "none"])
@pytest.mark.parametrize("weights", [*WEIGHTS, "callable"])
@settings(max_examples=10)
@given(seed=st.integers(0, 1000), m=st.integers(1, 6))
def test_graphs_are_those_of_the_oracle(weights, symmetrize, seed, m):
    X = few_values(30, 3, seed)
    weight = WEIGHTS.get(weights, lambda square: 1 / (1 + square))
    graph = knn_graph(
        X, m, weights=weight if weights == "callable" else weights, bandwidth=0.7, symmetrize=symmetrize,
        **METHOD,
    )  # fmt: skip
    check_stored(graph)
    expected = oracle.knn_graph(X, m, weight, symmetrize)
    stored = np.full((30, 30), np.nan)
    coordinates = graph.tocoo()
    stored[coordinates.row, coordinates.col] = coordinates.data
    np.testing.assert_allclose(stored, expected, rtol=1e-12)


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), m=st.integers(1, 9), n_lost=st.integers(0, 9))
def test_self_tuning_weights_are_those_of_the_formula(seed, m, n_lost):
    X = few_values(30, 3, seed)  # with equal rows
    ids, squares = nearest_neighbors(X, m, **METHOD)
    ids[:5, m - min(n_lost, m - 1) :], squares[:5, m - min(n_lost, m - 1) :] = -1, np.inf
    found = graph_of_neighbors(ids, squares, weights="self-tuning", symmetrize="none").toarray()
    scales = [np.sqrt(np.sort(square[near >= 0])[:7][-1]) for near, square in zip(ids, squares)]
    for i, (near, square) in enumerate(zip(ids, squares)):
        assert np.count_nonzero(found[i]) == np.count_nonzero(near >= 0)
        for j, distance in zip(near[near >= 0], np.sqrt(square)):
            own, other = (scale or distance for scale in (scales[i], scales[j]))
            exponent = distance**2 / (own * other) if distance else 0
            assert found[i, j] == pytest.approx(np.exp(-min(exponent, 20)))


def test_self_tuning_weights_have_no_unit_and_keep_far_rows():
    X = np.vstack([some_rows(60, 2, 0), [[1e6, 0]]])
    graph = knn_graph(X, 8, weights="self-tuning", **METHOD)
    np.testing.assert_allclose(
        knn_graph(1e-9 * X, 8, weights="self-tuning", **METHOD).toarray(), graph.toarray()
    )
    assert connected_components(graph).max() == connected_components(knn_graph(X, 8, **METHOD)).max()


@pytest.mark.parametrize("symmetrize", ["max", "mean"])
@pytest.mark.parametrize("weights", [*WEIGHTS, "self-tuning"])
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
    same_bits(graph, other)


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), symmetrize=st.sampled_from(["max", "mean", "none"]))
def test_a_permutation_of_rows_permutes_the_graph(seed, symmetrize):
    X = some_rows(60, 4, seed)
    order = np.random.default_rng(seed).permutation(60)
    options = dict(weights="distance", symmetrize=symmetrize, **METHOD)
    graph, permuted = knn_graph(X, 4, **options), knn_graph(X[order], 4, **options)
    np.testing.assert_array_equal(permuted.toarray(), graph.toarray()[np.ix_(order, order)])


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            dict(weights="heat"),
            "weights must be one of 'binary', 'distance', 'gaussian', 'self-tuning' or callable, got 'heat'",
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
        (lambda: gaussian_bandwidth([]), "empty"),
        (lambda: gaussian_bandwidth([-1.0]), "not negative"),
        (lambda: gaussian_bandwidth([np.nan]), "finite"),
    ],
)
def test_bad_squares_of_a_bandwidth(call, message):
    with pytest.raises(ValueError, match=message):
        call()
