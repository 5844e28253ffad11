"""Wide rows in their own coordinates."""

import numpy as np
import pytest

from coterie import ConvexClustering, ConvexClusterPath
from coterie.convex.norms import find_norm
from coterie.convex.rotation import own_coordinates
from coterie.convex.setting import make_setting
from coterie.graphs import knn_graph
from tests.reference import convex_clustering as oracle


@pytest.fixture(scope="module")
def wide():
    return np.random.default_rng(0).normal(size=(20, 90)) + 100


@pytest.mark.parametrize("rank", [3, 19])
def test_coordinates_keep_all_products(rank):
    random = np.random.default_rng(1)
    X = random.normal(size=(20, rank)) @ random.normal(size=(rank, 90))
    X -= X.mean(axis=0)
    basis = own_coordinates(X, find_norm("l2", 90))
    assert basis.shape == (90, 19)
    np.testing.assert_allclose(basis.T @ basis, np.eye(19), atol=1e-12)
    np.testing.assert_allclose((X @ basis) @ (X @ basis).T, X @ X.T, atol=1e-10)
    np.testing.assert_allclose(X @ basis @ basis.T, X, atol=1e-11)


@pytest.mark.parametrize(
    ("shape", "norm"), [((20, 90), "l1"), ((20, 90), "linf"), ((20, 20), "l2"), ((1, 5), "l2")]
)
def test_where_columns_stay(shape, norm):
    assert own_coordinates(np.zeros(shape), find_norm(norm, shape[1])) is None


def test_problems_are_small(wide):
    setting = make_setting(wide, knn_graph(wide, 3), find_norm("l2", 90))
    assert setting.solver.problem.rows.shape == (20, 19)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", ["ama", "admm"])
def test_what_a_fit_says_in_the_columns_of_the_data(wide, dtype, solver):
    X = wide.astype(dtype)
    model = ConvexClustering(1.0, solver=solver, tol=1e-6 if dtype == np.float64 else 1e-4).fit(X)
    assert model.converged_
    assert model.centroids_.shape == (20, 90)
    assert model.centroids_.dtype == model.dual_.dtype == dtype
    assert model.dual_.shape == (len(model.edges_), 90)
    plain = oracle.PlainNorm("l2", 90)
    w, duals = model.edge_weights_.astype(float), model.dual_.astype(float)
    assert np.all(plain.value(duals) <= w * (1 + 1e-5))
    F = oracle.primal(X.astype(float), model.centroids_.astype(float), model.edges_, w, 1.0, plain)
    D = oracle.dual(X - X.mean(axis=0, dtype=float), duals, model.edges_)
    np.testing.assert_allclose(F, model.objective_, rtol=1e-4)
    np.testing.assert_allclose(F - D, model.dual_gap_, atol=(1e-9 if dtype == np.float64 else 1e-3) * F)


def test_centroids_are_equal_in_clusters(wide):
    path = ConvexClusterPath(n_gammas=12).fit(wide)
    for n_clusters, centroids in zip(path.n_clusters_path_, path.centroids_path_):
        assert len(np.unique(centroids, axis=0)) == n_clusters


def test_warm_starts_of_wide_rows(wide):
    model = ConvexClustering(2.0, warm_neighbors=[2, 4], tol=1e-7).fit(wide)
    plain = ConvexClustering(2.0, tol=1e-7).fit(wide)
    np.testing.assert_allclose(model.objective_, plain.objective_, rtol=1e-6)
