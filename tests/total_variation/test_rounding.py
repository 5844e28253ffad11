"""Clusters numbered by the labels that they contain."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp

from coterie.graphs.edges import edges_of_graph
from coterie.total_variation.rounding import keeps_clearly_more, numbers_by_labels


@pytest.mark.parametrize("seed", range(8))
def test_no_other_numbers_keep_more_edges_of_labeled_vertices(seed):
    random = np.random.default_rng(seed)
    n, n_clusters = 30, 4
    graph = np.triu(random.random((n, n)) * (random.random((n, n)) < 0.3), 1)
    graph += graph.T
    labels = random.integers(n_clusters, size=n).astype(np.int32)
    some = random.integers(n_clusters - 1, size=n)  # none of the last class
    known = np.where(random.random(n) < 0.4, some, -1)

    def kept(numbers):
        found = np.where(known >= 0, known, np.asarray(numbers)[labels])
        between = (known[:, None] >= 0) & (known[None, :] < 0)
        return graph[between & (found[:, None] == found[None, :])].sum()

    numbers = numbers_by_labels(edges_of_graph(sp.csr_array(graph)), labels, known, n_clusters)
    assert sorted(numbers) == list(range(n_clusters))
    assert kept(numbers) == pytest.approx(max(map(kept, permutations(range(n_clusters)))))


def test_without_edges_to_labels_numbers_stay():
    labels = np.array([2, 1, 0], dtype=np.int32)
    known = np.array([-1, -1, 0])
    edges = edges_of_graph(sp.csr_array(np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]])))
    np.testing.assert_array_equal(numbers_by_labels(edges, labels, known, 3), [0, 1, 2])


def test_clusters_that_keep_clearly_more_of_the_edges_of_labels():
    # Two stars with a label in the center, of 22 vertices each; the other edges do not count.
    stars = np.zeros((46, 46))
    stars[0, 2:24] = stars[1, 24:] = 1
    stars[0, 1], stars[2, 3] = 50, 100
    edges = edges_of_graph(sp.csr_array(stars + stars.T))
    known = np.full(46, -1, dtype=np.int32)
    known[:2] = 0, 1

    def kept(first, second):  # so many edges of each star are within clusters
        labels = np.repeat(
            np.array([0, 1, 0, 1, 1, 0], dtype=np.int32), [1, 1, first, 22 - first, second, 22 - second]
        )
        return labels

    assert keeps_clearly_more(edges, known, kept(22, 22), kept(20, 20))
    assert keeps_clearly_more(edges, known, kept(1, 1), kept(0, 0))
    # 21 is not more than 5% above 20, and all that one label gains does not count.
    for more, less in (((20, 20), (20, 20)), ((21, 21), (20, 20)), ((19, 19), (21, 21)), ((22, 20), (0, 20))):
        assert not keeps_clearly_more(edges, known, kept(*more), kept(*less))
    assert not keeps_clearly_more(edges, np.full(46, -1, dtype=np.int32), kept(22, 22), kept(1, 1))
