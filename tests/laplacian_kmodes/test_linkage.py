"""Clusters along the shortest edges of a graph."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from coterie.graphs import bridge_components, knn_graph
from coterie.laplacian_kmodes.linkage import linked_clusters


def connected(X, n_neighbors=5):
    return bridge_components(knn_graph(X, n_neighbors), X)


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.05, random_state=0)


def rings():
    random = np.random.default_rng(0)
    classes = np.arange(450) % 3
    angles, radii = random.uniform(0, 2 * np.pi, 450), 1 + 1.2 * classes + random.normal(scale=0.1, size=450)
    return np.c_[radii * np.cos(angles), radii * np.sin(angles)], classes


@pytest.mark.parametrize("storage", [np.ascontiguousarray, sp.csr_array])
def test_long_and_nested_clusters_are_found(moons, storage):
    for X, classes in (moons, rings()):
        found = linked_clusters(connected(X), storage(X), len(np.unique(classes)))
        assert adjusted_rand_score(classes, found) == 1


def test_where_sizes_are_even_it_is_single_linkage():
    X = np.add.outer(40.0 * np.arange(4), np.arange(10.0) ** 1.01).reshape(-1, 1)
    expected = fcluster(linkage(X, "single"), 4, "maxclust")
    assert adjusted_rand_score(expected, linked_clusters(connected(X), X, 4)) == 1


def test_what_lies_apart_joins_the_rest(moons):
    """Single linkage alone would take the five far rows for clusters."""
    X, classes = moons
    X = np.vstack([X, [[9, 9], [-9, 9], [9, -9], [0, 20], [0, -20]]])
    found = linked_clusters(connected(X), X, 2)
    assert adjusted_rand_score(classes, found[:300]) == 1


def test_all_sizes_of_the_answer(moons):
    X = moons[0]
    graph = connected(X)
    for n_clusters in (1, 7, 299, 300):
        labels = linked_clusters(graph, X, n_clusters)
        assert labels.dtype == np.int32
        assert len(np.unique(labels)) == labels.max() + 1 == n_clusters


def test_equal_rows_and_units(moons):
    X = np.repeat(moons[0], 2, axis=0)
    graph = connected(X, 7)
    labels = linked_clusters(graph, X, 2)
    np.testing.assert_array_equal(labels[::2], labels[1::2])
    np.testing.assert_array_equal(labels, linked_clusters(graph, X * 1e-6, 2))


def test_more_parts_than_clusters(moons):
    X, classes = moons
    apart = X + 100 * classes[:, None]
    graph = knn_graph(apart, 5)
    assert linked_clusters(graph, apart, 1) is None
    assert len(np.unique(linked_clusters(graph, apart, 2))) == 2
