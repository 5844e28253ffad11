"""Which gammas a path visits."""

from functools import partial

import numpy as np
import pytest

from coterie import ConvexClustering
from coterie.convex.gammas import AdaptiveGammas, coalescing_gamma, default_gammas
from coterie.fitting.deadline import Deadline
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


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@pytest.mark.parametrize("name", ["moons60", "gauss40x6"])
def test_without_time_the_last_gamma_is_that_of_a_tree(name, norm):
    X, graph = graph_of(name)
    upper = np.argwhere(np.triu(graph.toarray())).astype(np.int32)
    problem, _ = kernel_problem(X, upper, graph.toarray()[tuple(upper.T)], norm)
    late = Deadline(0.0)
    gamma = coalescing_gamma(problem, late)
    assert gamma >= coalescing_gamma(problem)
    assert AdaptiveGammas(problem, 5, late).following(0, lambda: X) == 0
    model = ConvexClustering(gamma, weights="precomputed", norm=norm, tol=1e-9).fit(X, graph=graph)
    assert model.n_clusters_ == 1


def test_flow_on_a_tree_of_two_edges():
    X, edges = (
        np.array([[0.0], [1.0], [5.0], [7.0], [9.0]]),
        np.array([[0, 1], [1, 2], [3, 4]], dtype=np.int32),
    )
    problem, _ = kernel_problem(X, edges, np.array([0.5, 1.0, 4.0]), "l2")
    # The means are 2 and 8: 2 flows over the first edge, of weight 0.5, 3 over the second, 1 over the last.
    assert coalescing_gamma(problem, Deadline(0.0)) == pytest.approx(4.0)


class TestAdaptiveGammas:
    def gammas(self, count_of, n_gammas=100):
        """The gammas of a path that would leave so many clusters."""
        X, edges, w, _, _ = random_problem(1, 30, 2, "l2")
        problem, _ = kernel_problem(X, edges, w, "l2")
        fitting, found, count = AdaptiveGammas(problem, n_gammas), [], 0
        while (gamma := fitting.following(count, lambda: X)) is not None:
            found.append(gamma)
            count = count_of(gamma)
        return np.array(found), coalescing_gamma(problem)

    def test_gammas_range_from_0_to_full_fusion(self):
        gammas, last = self.gammas(lambda gamma: 30)
        assert gammas[0] == 0
        assert np.all(np.diff(gammas) > 0)
        assert last < gammas[-1] <= 1.1 * last
        assert len(gammas) < 30  # nothing happens: steps are long

    def test_gammas_are_dense_where_rows_fuse(self):
        _, last = self.gammas(lambda gamma: 30)
        fused = 0.3 * last
        gammas, _ = self.gammas(lambda gamma: 30 if gamma < fused else max(2, int(30 * (fused / gamma) ** 3)))
        steps = np.diff(np.log(gammas[1:]))
        among = (gammas[1:-1] > 1.3 * fused) & (gammas[1:-1] < 2 * fused)
        assert steps[among].mean() < 0.3 * steps[: np.flatnonzero(gammas[2:] > fused)[0]].max()

    @pytest.mark.parametrize("n_gammas", [1, 2, 3, 7])
    def test_n_gammas_is_an_upper_limit(self, n_gammas):
        gammas, last = self.gammas(lambda gamma: max(2, int(30 / (1 + 50 * gamma))), n_gammas)
        assert len(gammas) <= n_gammas
        assert gammas[-1] >= last

    def test_gammas_before_the_first_fusion_follow_edge_lengths(self):
        X, edges, w, _, _ = random_problem(1, 30, 2, "l2")
        problem, _ = kernel_problem(X, edges, w, "l2")
        fitting, gamma = AdaptiveGammas(problem, 100), 0.0
        vanish = 0.4 * coalescing_gamma(problem)
        found = []
        for _ in range(3):
            gamma = fitting.following(30, partial(np.multiply, max(0.0, 1 - gamma / vanish), X))
            found.append(gamma)
        assert found[0] == 0
        assert found[2:] == [pytest.approx(vanish)]
