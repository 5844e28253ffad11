"""Clusters numbered by the labels that they contain."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp

from coterie.graphs.edges import edges_of_graph
from coterie.total_variation.rounding import numbers_by_labels


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
