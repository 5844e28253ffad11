"""Edges of a problem: their weights, and how they are numbered."""

import warnings

import numpy as np
import pytest

from coterie import ConvexClustering, ConvexClusterPath
from coterie.convex.edges import weight_graph
from coterie.graphs.edges import edges_of_graph


@pytest.mark.parametrize("kind", ["knn", "dense"])
def test_weights(kind):
    X = np.random.default_rng(0).normal(size=(30, 3))
    edges = edges_of_graph(weight_graph(X, kind=kind, n_neighbors=4, phi=0.7, connect=False)[0], X.dtype)
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
    edges = edges_of_graph(weight_graph(X, kind="knn", n_neighbors=4, phi=0.5, connect=False)[0], X.dtype)
    order = edges.order_of_neighbors()
    other, places, is_turned = edges.renumbered(order)
    heads, tails = order[other.heads], order[other.tails]
    np.testing.assert_array_equal(np.where(is_turned, tails, heads), edges.heads[places])
    np.testing.assert_array_equal(np.where(is_turned, heads, tails), edges.tails[places])
    np.testing.assert_array_equal(other.weights, edges.weights[places])
    spans = [np.abs(found.heads - found.tails).mean() for found in (edges, other)]
    assert spans[1] < 0.7 * spans[0]


def test_connected_on_request():
    X = np.concatenate([np.random.default_rng(0).normal(size=(20, 2)), [[50.0, 50.0]], [[51.0, 50.0]]])
    apart = ConvexClusterPath([1e4], n_neighbors=1, phi=0.0).fit(X)
    together = ConvexClusterPath([1e4], n_neighbors=1, phi=0.0, connect=True).fit(X)
    assert apart.n_clusters_path_[-1] > 1
    assert together.n_clusters_path_[-1] == 1


class TestWeightsThatUnderflow:
    """They did so in silence, and all of them ended in "The graph has NaN or an infinite weight"."""

    X = 40 * np.random.default_rng(0).normal(size=(30, 3))

    def test_all(self):
        with pytest.raises(
            ValueError, match=r"all weights exp\(-phi d\^2\) underflow .* phi=.* would keep them"
        ):
            ConvexClusterPath(phi=1e3, n_neighbors=3).fit(self.X)

    @pytest.mark.parametrize("weights", ["knn", "dense"])
    def test_some_of_them_and_the_phi_that_keeps_them(self, weights):
        with pytest.warns(UserWarning, match="underflow to 0") as caught:
            ConvexClustering(1.0, phi=0.5, weights=weights).fit(self.X)
        keeps = float(str(caught[0].message).partition(": phi=")[2].split()[0])
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            model = ConvexClustering(1.0, phi=0.99 * keeps, weights=weights).fit(self.X)
        assert np.all(model.edge_weights_ > 0)

    def test_no_gamma_is_large_enough(self):
        X = np.concatenate([self.X, self.X + 1e3])
        with pytest.warns(UserWarning, match="underflow"), pytest.raises(ValueError, match='phi="auto"'):
            ConvexClusterPath(phi=1.0, connect=True).fit(X)
