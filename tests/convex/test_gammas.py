"""Which gammas a path visits."""

import numpy as np
import pytest

from coterie import ConvexClustering, ConvexClusterPath
from coterie.convex.gammas import coalescing_gamma, default_gammas
from tests.convex.problems import graph_of, kernel_problem, random_problem


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_a_grid_begins_with_0_and_grows_by_a_factor(norm):
    X, edges, w, _, _ = random_problem(0, 20, 3, norm)
    problem, _ = kernel_problem(X, edges, w, norm)
    gammas = default_gammas(problem, 9)
    assert gammas.shape == (9,)
    assert gammas[0] == 0
    np.testing.assert_allclose(gammas[2:] / gammas[1:-1], gammas[2] / gammas[1])
    assert gammas[-1] == coalescing_gamma(problem)
    assert default_gammas(problem, 1).tolist() == [gammas[-1]]


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@pytest.mark.parametrize("name", ["moons60", "gauss40x6"])
def test_the_last_gamma_leaves_one_centroid_for_each_component(name, norm):
    X, graph = graph_of(name)
    upper = np.argwhere(np.triu(graph.toarray())).astype(np.int32)
    problem, _ = kernel_problem(X, upper, graph.toarray()[tuple(upper.T)], norm)
    model = ConvexClustering(coalescing_gamma(problem), weights="precomputed", norm=norm, tol=1e-9)
    model.fit(X, graph=graph)
    means = np.array([X[model.labels_ == label].mean(axis=0) for label in model.labels_])
    np.testing.assert_allclose(model.centroids_, means, atol=1e-9)
    assert model.n_clusters_ == 1


def test_flow_on_a_tree_of_two_edges():
    X, edges = (
        np.array([[0.0], [1.0], [5.0], [7.0], [9.0]]),
        np.array([[0, 1], [1, 2], [3, 4]], dtype=np.int32),
    )
    problem, _ = kernel_problem(X, edges, np.array([0.5, 1.0, 4.0]), "l2")
    # The means are 2 and 8: 2 flows over the first edge, of weight 0.5, 3 over the second, 1 over the last.
    assert coalescing_gamma(problem) == pytest.approx(4.0)


def test_few_rows_fuse_before_the_second_gamma():
    X = np.random.default_rng(0).normal(size=(200, 2))
    path = ConvexClusterPath(n_gammas=20).fit(X)
    assert path.n_clusters_path_[0] == 200
    assert path.n_clusters_path_[1] > 180
    assert path.n_clusters_path_[-1] == 1
