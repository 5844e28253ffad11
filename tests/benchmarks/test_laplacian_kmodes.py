"""What stands beside Laplacian K-modes in its benchmark: the convex relaxation."""

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.laplacian_kmodes.lk import memberships_of
from benchmarks.laplacian_kmodes.paper import printed_objective
from coterie.total_variation.initialization import on_the_simplex
from tests.reference import laplacian_kmodes as oracle


@pytest.fixture
def problem():
    random = np.random.default_rng(0)
    K = np.triu((random.random((40, 40)) < 0.1) * random.random((40, 40)), 1)
    return sp.csr_array(K + K.T), random.random((40, 4))


@pytest.mark.parametrize("lam", [0.0, 0.3, 2.0])
def test_memberships_are_the_minimum_of_the_convex_programme(problem, lam):
    graph, affinities = problem
    Z = memberships_of(graph, affinities, lam, on_the_simplex(affinities), 1e-10)
    K = graph.toarray()
    gradient = 2 * lam * (K.sum(axis=1)[:, None] * Z - K @ Z) - affinities
    # Where a membership is above 0 the gradient is the row's lowest.
    gap = np.where(Z > 1e-6, gradient - gradient.min(axis=1, keepdims=True), 0)
    assert gap.max() < 1e-3


def test_objectives_as_printed(problem):
    graph, affinities = problem
    labels = affinities.argmax(axis=1)
    expected = oracle.published_objective(labels, affinities, graph.toarray(), 0.7)
    assert printed_objective(graph, affinities, labels, 0.7) == pytest.approx(expected)
