"""Edges of a problem: their weights, with and without units, and how they are numbered."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph

from coterie import ConvexClustering, ConvexClusterPath
from coterie.convex.weights import weight_graph
from coterie.graphs.edges import edges_of_graph
from tests.support.bits import same_bits

OPTIONS = dict(kind="knn", n_neighbors=4, decay="auto", connect=True)


@pytest.mark.parametrize("kind", ["knn", "dense"])
def test_weights(kind):
    X = np.random.default_rng(0).normal(size=(30, 3))
    edges = edges_of_graph(weight_graph(X, kind=kind, n_neighbors=4, decay=0.7, connect=False)[0], X.dtype)
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    near = np.argsort(squares + np.diag(np.full(30, np.inf)), axis=1)[:, :4]
    expected = np.zeros((30, 30), dtype=bool)
    expected[np.arange(30)[:, None], near] = True
    expected = (expected | expected.T) if kind == "knn" else ~np.eye(30, dtype=bool)
    found = edges.adjacency(edges.weights).toarray()
    np.testing.assert_allclose(found, np.exp(-0.7 * squares) * expected, rtol=1e-12)
    assert edges.is_complete == (kind == "dense")


def test_renumbering_keeps_the_edges():
    X = np.random.default_rng(0).normal(size=(50, 2))
    edges = edges_of_graph(weight_graph(X, kind="knn", n_neighbors=4, decay=0.5, connect=False)[0], X.dtype)
    order = edges.order_of_neighbors()
    other, places, is_turned = edges.renumbered(order)
    heads, tails = order[other.heads], order[other.tails]
    np.testing.assert_array_equal(np.where(is_turned, tails, heads), edges.heads[places])
    np.testing.assert_array_equal(np.where(is_turned, heads, tails), edges.tails[places])
    np.testing.assert_array_equal(other.weights, edges.weights[places])
    spans = [np.abs(found.heads - found.tails).mean() for found in (edges, other)]
    assert spans[1] < 0.7 * spans[0]


class TestWeightsThatUnderflow:
    """They did so in silence, and all of them ended in "The graph has NaN or an infinite weight"."""

    X = 40 * np.random.default_rng(0).normal(size=(30, 3))

    def test_all(self):
        with pytest.raises(
            ValueError, match=r"all weights exp\(-decay d\^2\) underflow .* distance_decay=.* would keep them"
        ):
            ConvexClusterPath(distance_decay=1e3, n_neighbors=3).fit(self.X)

    @pytest.mark.parametrize("weights", ["knn", "dense"])
    def test_some_of_them_and_the_distance_decay_that_keeps_them(self, weights):
        with pytest.warns(UserWarning, match="underflow to 0") as caught:
            ConvexClustering(1.0, distance_decay=0.5, weights=weights).fit(self.X)
        keeps = float(str(caught[0].message).partition(": distance_decay=")[2].split()[0])
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            model = ConvexClustering(1.0, distance_decay=0.99 * keeps, weights=weights).fit(self.X)
        assert np.all(model.edge_weights_ > 0)

    def test_no_gamma_is_large_enough(self):
        X = np.concatenate([self.X, self.X + 1e3])
        with (
            pytest.warns(UserWarning, match="underflow"),
            pytest.raises(ValueError, match='smaller distance_decay or "auto"'),
        ):
            ConvexClusterPath(distance_decay=1.0, connect=True).fit(X)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(80, 3))


def test_weights_fall_by_half_between_the_quantiles(rows):
    graph, phi = weight_graph(rows, **OPTIONS)
    upper = sp.triu(graph, 1).tocoo()
    weights, squares = upper.data, ((rows[upper.row] - rows[upper.col]) ** 2).sum(axis=1)
    short, long = np.quantile(squares, [0.1, 0.9])
    np.testing.assert_allclose(phi, np.log(2) / (long - short), rtol=1e-12)
    np.testing.assert_allclose(weights, np.maximum(np.exp(-phi * (squares - squares.min())), 0.01), rtol=1e-9)
    assert weights.max() == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1e6, 1e30])
@pytest.mark.parametrize("kind", ["knn", "dense"])
def test_units_make_no_difference(rows, dtype, scale, kind):
    first, phi = weight_graph(rows.astype(dtype), **(OPTIONS | {"kind": kind}))
    other, other_phi = weight_graph((rows * scale).astype(dtype), **(OPTIONS | {"kind": kind}))
    assert (first != other).nnz == 0 or abs(first - other).max() < 1e-4
    np.testing.assert_allclose(other_phi, phi / scale**2, rtol=1e-4)


def test_far_rows_keep_a_weight(rows):
    far = np.concatenate([rows, rows[:10] + 1e9])
    for kind in ("knn", "dense"):
        graph, _ = weight_graph(far, **(OPTIONS | {"kind": kind}))
        assert graph.data.min() >= 0.01
        assert csgraph.connected_components(graph)[0] == 1
    apart, _ = weight_graph(far, **(OPTIONS | {"connect": False}))
    assert csgraph.connected_components(apart)[0] == 2


def test_copies_have_edges_of_their_own(rows):
    once, phi = weight_graph(rows, **OPTIONS)
    twice, other_phi = weight_graph(np.repeat(rows, 2, axis=0), **OPTIONS)
    np.testing.assert_allclose(other_phi, phi)
    members = sp.csr_array((np.ones(160), (np.repeat(np.arange(80), 2), np.arange(160))))
    summed = (members @ twice @ members.T).toarray()
    np.fill_diagonal(summed, 0)
    np.testing.assert_allclose(summed, 2 * once.toarray(), rtol=1e-12)
    assert all(twice[2 * i, 2 * i + 1] > 0 for i in range(80))


def test_duplicates_remain_fused():
    random = np.random.default_rng(3)
    distinct = random.normal(size=(12, 2))
    which = np.concatenate([np.arange(12), np.repeat([0, 3, 5], [40, 1, 7])])
    X = distinct[which]
    path = ConvexClusterPath(n_gammas=15, n_neighbors=3).fit(X)
    assert path.n_clusters_path_[0] == 12
    assert path.n_clusters_path_[-1] == 1
    for labels, centroids in zip(path.labels_path_, path.centroids_path_):
        assert len(np.unique(np.column_stack([which, labels]), axis=0)) == 12
        np.testing.assert_allclose(centroids, centroids[which], atol=1e-3)


def test_the_order_of_the_rows_makes_no_difference(rows):
    order = np.random.default_rng(1).permutation(80)
    first, _ = weight_graph(rows, **OPTIONS)
    second, _ = weight_graph(rows[order], **OPTIONS)
    assert abs(first[order][:, order] - second).max() < 1e-12


@pytest.mark.parametrize("weights", ["knn", "dense"])
def test_the_distance_decay_that_was_chosen(rows, weights):
    model = ConvexClustering(0.1, weights=weights).fit(rows)
    _, phi = weight_graph(rows, kind=weights, n_neighbors=5, decay="auto")
    assert model.distance_decay_ == phi
    assert not hasattr(model.set_params(distance_decay=phi).fit(rows), "distance_decay_")


def test_given_graph_is_unchanged_by_default(rows):
    graph = np.zeros((80, 80))
    graph[0, 1] = graph[1, 0] = 0.3
    graph[2, 3] = graph[3, 2] = 2.0
    alone = ConvexClustering(1.0, weights="precomputed").fit(rows, graph=graph)
    same_bits(alone.edge_weights_, np.array([0.3, 2.0]))
    connected = ConvexClustering(1.0, weights="precomputed", connect=True).fit(rows, graph=graph)
    assert len(connected.edge_weights_) == 79
    same_bits(np.unique(connected.edge_weights_), np.array([0.3, 2.0]))
