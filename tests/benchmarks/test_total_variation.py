"""What the items of total variation's paper compute by themselves: relaxations, and labels of given sizes."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from benchmarks.total_variation.contenders import known_labels
from benchmarks.total_variation.cut_ssl import cut_ssl
from benchmarks.total_variation.paper import left_stochastic_memberships, scaled, spectral_relaxation
from coterie.graphs import knn_graph
from coterie.metrics import clustering_accuracy


def spectral_energy(graph, f):
    differences = f[:, None] - f[None, :]
    return np.sqrt(np.sum(graph.toarray() * differences**2) / 2) / np.sum(np.abs(f - np.median(f)))


def test_no_other_function_has_less_spectral_energy():
    path = sp.csr_array(sp.diags_array([np.ones(19), np.ones(19)], offsets=[1, -1]))
    found = spectral_relaxation(path)
    least = spectral_energy(path, found)
    random = np.random.default_rng(0)
    others = [np.linspace(1, 0, 20), np.repeat([1.0, 0.0], 10), random.random(20)]
    others += [found + scale * random.standard_normal(20) for scale in (1e-3, 0.1, 10)]
    assert all(spectral_energy(path, other) >= least for other in others)
    assert spectral_energy(path, scaled(found)) == pytest.approx(least)
    # A ramp, where total variation has a step of 1.
    assert np.abs(np.diff(scaled(found))).max() < 0.2


def test_factors_are_memberships_and_find_clusters():
    X, y = make_blobs(90, centers=3, cluster_std=0.5, random_state=0)
    graph = knn_graph(X, 8)
    W, start = graph.toarray(), 0.5 * np.eye(3)[y] + 0.5 / 3

    def misfit(F):
        product = F @ F.T
        scale = np.sum(W * product) / np.sum(product**2)
        return np.sum((W - scale * product) ** 2)

    F = left_stochastic_memberships(graph, start)
    np.testing.assert_allclose(F.sum(axis=1), 1)
    assert F.min() >= 0
    assert misfit(F) < misfit(start)
    assert misfit(left_stochastic_memberships(graph, start, n_iterations=3)) >= misfit(F)
    assert clustering_accuracy(y, F.argmax(axis=1)) == 1


def test_cut_ssl_finds_clusters_of_the_given_sizes():
    X, y = make_blobs([60, 30, 15], cluster_std=0.8, centers=[[0, 0], [4, 0], [0, 4]], random_state=0)
    known = known_labels(y, 1.0, 0)
    labels = cut_ssl(knn_graph(X, 8), known, np.bincount(y) / len(y))
    assert np.array_equal(labels[known >= 0], y[known >= 0])
    assert clustering_accuracy(y, labels) > 0.9
    assert np.abs(np.bincount(labels, minlength=3) - np.bincount(y)).max() <= 3
