"""Tree weights: the kernel against dual ascent, certificates, contraction, the choice of gammas, and the estimators."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from sklearn.datasets import make_moons

from coterie import ConvexClustering, ConvexClusterPath, _kernels
from coterie.convex.tree_solver import tree_problem
from tests.reference import convex_clustering as plain
from tests.reference import tree_denoising as oracle
from tests.support.bits import same_bits


def random_tree(seed, n, n_columns=1, on_a_grid=False):
    """Parents, weights, sizes and columns; shapes from a path to a star."""
    rng = np.random.default_rng(seed)
    reach = rng.integers(1, n + 1)
    parents = np.array([0, *(rng.integers(max(0, i - reach), i) for i in range(1, n))], dtype=np.int32)
    columns = rng.normal(size=(n_columns, n))
    weights, sizes = rng.uniform(0.2, 2, n), rng.integers(1, 4, n).astype(float)
    if on_a_grid:  # ties
        columns, weights, sizes = np.round(columns), np.ones(n), np.ones(n)
    return parents, weights, sizes, columns


def solve(parents, weights, sizes, columns, gamma, fused=None, n_threads=1):
    tree = _kernels.weighted_tree(parents, sizes, weights)
    marks = np.zeros(columns.shape, dtype=np.uint8) if fused is None else fused.copy()
    values, flows, sums = np.empty_like(columns), np.empty_like(columns), np.empty((len(columns), 2))
    _kernels.denoise_on_tree(tree, gamma, columns, marks, values, flows, sums, n_threads)
    return values, marks, flows, sums


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.integers(1, 60), st.floats(0, 4), st.booleans())
def test_against_dual_ascent(seed, n, gamma, on_a_grid):
    parents, weights, sizes, columns = random_tree(seed, n, on_a_grid=on_a_grid)
    values, marks, flows, sums = solve(parents, weights, sizes, columns, gamma)
    u = values[0]
    own = oracle.objective(columns[0], u, parents, weights, sizes, gamma)
    np.testing.assert_allclose(sums[0, 0], own, rtol=1e-12, atol=1e-12)
    assert 0 <= sums[0, 1] <= 1e-12 * max(1, own)
    np.testing.assert_array_equal(marks[0, 1:], u[1:] == u[parents[1:]])
    assert np.all(np.abs(flows[0]) <= gamma * weights)
    assert flows[0, 0] == 0
    if n > 1:
        plain_u, value, lower = oracle.denoise(
            columns[0], parents, weights, sizes, gamma, tol=1e-9, most=20_000
        )
        assert own <= value + 1e-12 * max(1, value)
        assert own - sums[0, 1] >= lower - 1e-12 * max(1, value)
        # Strong convexity: half the squared distance to the minimum is at most the gap.
        assert 0.5 * np.sum(sizes * (u - plain_u) ** 2) <= value - lower + 1e-9


@given(st.integers(0, 10**6), st.integers(2, 300), st.booleans())
def test_contraction_does_not_change_solutions(seed, n, on_a_grid):
    """Also not where all edges are marked as fused, wrongly."""
    parents, weights, sizes, columns = random_tree(seed, n, 2, on_a_grid)
    fused = np.ones(columns.shape, dtype=np.uint8)
    for gamma in (0.1, 0.12, 0.5, 3.0):
        alone, warm = solve(parents, weights, sizes, columns, gamma), None
        warm = solve(parents, weights, sizes, columns, gamma, fused)
        np.testing.assert_allclose(warm[0], alone[0], atol=1e-8)
        assert warm[3][:, 1].sum() <= 1e-12 * max(1, warm[3][:, 0].sum())
        fused = warm[1]


def test_last_gamma_fuses_all_nodes():
    parents, weights, sizes, columns = random_tree(3, 150, 3)
    columns -= (columns @ sizes / sizes.sum())[:, None]
    tree = _kernels.weighted_tree(parents, sizes, weights)
    last = _kernels.last_gamma(tree, columns)
    assert np.ptp(solve(parents, weights, sizes, columns, 1.000001 * last)[0], axis=1).max() <= 1e-12
    assert np.ptp(solve(parents, weights, sizes, columns, 0.999 * last)[0], axis=1).max() > 0


@pytest.fixture(scope="module")
def moons():
    return make_moons(400, noise=0.05, random_state=0)[0]


class TestPath:
    def test_each_gamma_is_certified(self, moons):
        path = ConvexClusterPath(weights="tree", norm="l1", n_gammas=30).fit(moons)
        assert path.converged_
        assert path.relative_gaps_[0] == 0
        assert path.relative_gaps_.max() <= 1e-10
        norm = plain.PlainNorm("l1", 2)
        for gamma, centroids, objective, gap in zip(
            path.gammas_, path.centroids_path_, path.objectives_, path.dual_gaps_
        ):
            value = plain.primal(moons, centroids, path.edges_, path.edge_weights_, gamma, norm)
            np.testing.assert_allclose(value, objective, rtol=1e-9, atol=1e-12)
            assert 0 <= gap <= 1e-10 * objective + 1e-12
        other = ConvexClusterPath(
            path.gammas_[:5], weights="precomputed", norm="l1", tol=1e-9, max_iter=50_000
        )
        other.fit(moons, graph=graph_of(path, len(moons)))
        np.testing.assert_allclose(other.objectives_, path.objectives_[:5], rtol=1e-6, atol=1e-9)

    def test_labels_splits_and_merges_follow_from_the_centroids(self, moons):
        path = ConvexClusterPath(weights="tree", norm="l1", n_gammas=40, distance_decay=0.0).fit(moons)
        for centroids, labels, count in zip(path.centroids_path_, path.labels_path_, path.n_clusters_path_):
            assert labels.max() + 1 == count
            same = np.all(centroids[path.edges_[:, 0]] == centroids[path.edges_[:, 1]], axis=1)
            np.testing.assert_array_equal(labels[path.edges_[:, 0]] == labels[path.edges_[:, 1]], same)
            assert len(path.edges_) - same.sum() + 1 == count
            assert labels[0] == 0
        assert is_valid_linkage(path.linkage_)
        if not path.n_splits_.any():
            for at in range(0, len(path.gammas_), 7):
                cut = fcluster(path.linkage_, path.gammas_[at], "distance")
                assert len(np.unique(np.column_stack([cut, path.labels_path_[at]]), axis=0)) == cut.max()

    def test_equal_rows_are_one_node_of_their_number(self):
        distinct = np.random.default_rng(0).normal(size=(30, 2))
        which = np.concatenate([np.arange(30), [3, 3, 3, 7]])
        path = ConvexClusterPath(weights="tree", norm="l1", n_gammas=8, n_neighbors=3).fit(distinct[which])
        assert path.n_clusters_path_[0] == 30
        assert path.edges_.shape == (29, 2)
        assert path.linkage_.shape == (33, 4)
        assert is_valid_linkage(path.linkage_)
        np.testing.assert_array_equal(path.centroids_path_, path.centroids_path_[:, which])
        np.testing.assert_allclose(path.centroids_path_[-1], [distinct[which].mean(axis=0)] * 34, atol=1e-12)

    def test_units_make_no_difference(self, moons):
        path, other = (
            ConvexClusterPath(weights="tree", norm="l1", n_gammas=9).fit(scale * moons)
            for scale in (1.0, 2.0**60)
        )
        same_bits(path.labels_path_, other.labels_path_)
        np.testing.assert_allclose(other.gammas_, path.gammas_ * 2.0**60, rtol=1e-12)


class TestOneGamma:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_duals_certify_the_centroids(self, moons, dtype):
        X = (moons + 3).astype(dtype)
        model = ConvexClustering(0.7, weights="tree", norm="l1").fit(X)
        assert model.converged_
        assert model.centroids_.dtype == model.dual_.dtype == dtype
        assert np.all(np.abs(model.dual_) <= 0.7 * model.edge_weights_[:, None] * (1 + 1e-6))
        norm = plain.PlainNorm("l1", 2)
        rows = X.astype(float) - X.mean(axis=0, dtype=float)
        value = plain.primal(
            X.astype(float), model.centroids_.astype(float), model.edges_, model.edge_weights_, 0.7, norm
        )
        bound = plain.dual(rows, model.dual_.astype(float), model.edges_)
        assert value - bound <= (1e-9 if dtype == np.float64 else 1e-5) * value
        np.testing.assert_allclose(model.objective_, value, rtol=1e-5)

    def test_single_gamma_equals_the_path(self, moons):
        path = ConvexClusterPath([0.2, 1.0, 5.0], weights="tree", norm="l1").fit(moons)
        alone = ConvexClustering(5.0, weights="tree", norm="l1").fit(moons)
        np.testing.assert_allclose(alone.centroids_, path.centroids_path_[2], atol=1e-9)
        np.testing.assert_array_equal(alone.labels_, path.labels_path_[2])


def test_a_tree_problem_keeps_the_rows():
    X = np.random.default_rng(0).normal(size=(50, 3))
    problem = tree_problem(X, n_neighbors=5, decay="auto")
    np.testing.assert_allclose(problem.columns.T[problem.nodes] + problem.mean, X, atol=1e-12)
    assert np.all(problem.parents[1:] < np.arange(1, 50))
    lengths = np.linalg.norm(X[problem.edges[:, 0]] - X[problem.edges[:, 1]], axis=1)
    order = np.argsort(lengths)
    assert np.all(np.diff(problem.weights[1:][order]) <= 0)


def graph_of(path, n):
    graph = np.zeros((n, n))
    graph[path.edges_[:, 0], path.edges_[:, 1]] = graph[path.edges_[:, 1], path.edges_[:, 0]] = (
        path.edge_weights_
    )
    return graph
