"""Eigenvectors of graphs."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph

from coterie.graphs.spectral import spectral_vectors


def grid(height, width):
    edges = []
    for i in range(height):
        for j in range(width):
            edges += [(i * width + j, i * width + j + 1)] * (j + 1 < width)
            edges += [(i * width + j, (i + 1) * width + j)] * (i + 1 < height)
    first, second = np.array(edges).T
    graph = sp.coo_array((np.ones(len(edges)), (first, second)), shape=(height * width,) * 2).tocsr()
    return sp.csr_array(graph + graph.T)


@pytest.mark.parametrize("size", [5, 30])
def test_eigenvectors_of_the_normalized_laplacian(size):
    graph = 0.1 * grid(size, size + 1)
    found = spectral_vectors(graph, 4, seed=0)
    laplacian = csgraph.laplacian(graph, normed=True).toarray()
    expected = np.linalg.eigvalsh(laplacian)[:4]
    np.testing.assert_allclose(found.values, expected, atol=2e-3)
    assert found.vectors.shape == (size * (size + 1), 4)
    residuals = laplacian @ found.vectors - found.vectors * found.values
    assert np.abs(residuals).max() < 5e-3
    np.testing.assert_allclose(np.linalg.norm(found.directions(), axis=1), 1)


def test_components_and_isolated_vertices():
    graph = sp.csr_array(sp.block_diag([grid(20, 20), grid(20, 20), np.zeros((3, 3))]))
    found = spectral_vectors(graph, 2, seed=0)
    np.testing.assert_allclose(found.values[0], 0, atol=1e-3)
    assert np.all(found.vectors[800:] == 0)
    assert np.all(found.directions()[800:] == 0)
    np.testing.assert_allclose(np.linalg.norm(found.directions()[:800], axis=1), 1)


def test_graphs_without_edges_and_more_vectors_than_vertices():
    assert spectral_vectors(sp.csr_array((400, 400)), 3, seed=0).vectors.shape == (400, 3)
    assert spectral_vectors(grid(2, 2), 9, seed=0).vectors.shape == (4, 4)
