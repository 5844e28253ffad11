"""ConvexClustering: certificates, laws, prediction, and parameters that are refused."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from coterie import ConvexClustering, ConvexClusterPath
from coterie.datasets import load_iris
from tests.convex.problems import DTYPES
from tests.reference import convex_clustering as oracle
from tests.support.bits import same_bits


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("solver", ["ama", "admm"])
@pytest.mark.parametrize("wide", [False, True])
def test_certificate_of_a_fit(dtype, solver, wide):
    X = make_moons(200, noise=0.05, random_state=0)[0]
    X = (np.random.default_rng(0).normal(size=(20, 90)) + 100 if wide else X).astype(dtype)
    model = ConvexClustering(0.5, n_neighbors=10, solver=solver).fit(X)
    assert model.converged_
    assert 0 <= model.dual_gap_ <= 1e-5 * model.objective_
    assert model.centroids_.dtype == model.dual_.dtype == dtype
    plain = oracle.PlainNorm("l2", X.shape[1])
    w, duals = model.edge_weights_.astype(float), model.dual_.astype(float)
    F = oracle.primal(X.astype(float), model.centroids_.astype(float), model.edges_, w, 0.5, plain)
    np.testing.assert_allclose(F, model.objective_, rtol=1e-5)
    assert np.all(plain.value(duals) <= 0.5 * w * (1 + 1e-6))
    centered = X.astype(float) - X.mean(axis=0, dtype=float)
    D = oracle.dual(centered, duals, model.edges_)
    np.testing.assert_allclose(F - D, model.dual_gap_, atol=2e-5 * F)
    assert len(np.unique(model.centroids_, axis=0)) == model.n_clusters_ == len(model.cluster_centers_)
    np.testing.assert_array_equal(model.cluster_centers_[model.labels_], model.centroids_)
    assert model.history_["gap"][-1] == model.dual_gap_
    assert model.history_["n_steps"][-1] == model.n_iter_


@pytest.mark.parametrize(("norm", "p"), [("l1", 4), ("l2", 2), ("l2", 20), ("linf", 3)])
def test_clustering_does_not_depend_on_threads(norm, p):
    X = np.random.default_rng(0).normal(size=(2000, p))
    results = []
    for n_threads in (1, 2, 3):
        model = ConvexClustering(0.05, norm=norm, tol=1e-4, n_threads=n_threads).fit(X)
        results.append((model.centroids_, model.dual_, model.objective_, model.dual_gap_))
    for other in results[1:]:
        same_bits(other, results[0])


def test_gamma_0_keeps_the_rows():
    X = load_iris()[0]
    model = ConvexClustering(0.0, connect=True).fit(X)
    np.testing.assert_allclose(model.centroids_, X, atol=1e-12)
    assert model.dual_gap_ <= 1e-20
    assert model.n_clusters_ == len(np.unique(X, axis=0))


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_components_collapse_to_their_means(norm):
    X, y = make_moons(60, noise=0.02, random_state=0)
    graph = (y[:, None] == y) * (1.0 - np.eye(60))
    model = ConvexClustering(10.0, weights="precomputed", norm=norm).fit(X, graph=graph)
    means = np.array([X[y == label].mean(axis=0) for label in y])
    np.testing.assert_allclose(model.centroids_, means, atol=1e-12)
    assert model.n_clusters_ == 2


def test_few_iterations():
    X = make_moons(300, noise=0.05, random_state=0)[0]
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        few = ConvexClustering(1.0, max_iter=5, tol=1e-12).fit(X)
    assert few.n_iter_ == 5
    assert few.dual_gap_ > 0


@pytest.mark.parametrize("estimator", [ConvexClustering(3.0), ConvexClusterPath(n_gammas=12)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_predict_gives_the_label_of_the_nearest_training_row(estimator, dtype):
    X = make_moons(120, noise=0.05, random_state=0)[0]
    X = X.astype(dtype)
    labels = estimator.fit_predict(X)
    assert len(np.unique(labels)) == estimator.n_clusters_ > 1
    np.testing.assert_array_equal(labels, estimator.labels_)
    np.testing.assert_array_equal(estimator.predict(X), labels)
    others = np.random.default_rng(1).normal(size=(50, 2)).astype(dtype)
    nearest = ((others[:, None] - X) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(estimator.predict(others), labels[nearest])


@pytest.mark.parametrize("estimator", [ConvexClustering, ConvexClusterPath])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(weights="precomputed"), "graph"),
        (dict(norm=[[0], [0]]), "groups must hold each column"),
        (dict(norm=3), "norm must be"),
        (dict(step_size=1.0), "not safe"),
        (dict(stopping="residuals", solver="plain-ama"), "plain-ama never splits"),
        (dict(step_size="paper", solver="admm"), "for ADMM the paper names none"),
        (dict(weights="tree"), "needs norm"),
        (dict(weights="tree", norm="l1", solver="admm"), "takes no solver"),
        (dict(weights="tree", norm="l1", distance_decay=1e9), "the tree is not connected"),
    ],
)
def test_wrong_arguments(estimator, options, message):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=message):
        estimator(**options).fit(X)


@pytest.mark.parametrize(
    ("estimator", "graph", "message"),
    [
        (ConvexClusterPath([1.0, 0.5]), None, "ascending"),
        (ConvexClusterPath([-1.0, 0.5]), None, "not negative"),
        (ConvexClustering(), np.ones((20, 20)), "takes none"),
        (ConvexClustering(weights="precomputed"), np.ones((19, 19)), "vertices"),
        (ConvexClustering(weights="precomputed"), -np.ones((20, 20)), "negative"),
        (ConvexClustering(weights="precomputed"), np.triu(np.ones((20, 20))), "symmetric"),
    ],
)
def test_wrong_gammas_and_graphs(estimator, graph, message):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, graph=graph)


@pytest.mark.parametrize(
    ("solver", "greatest", "too_large"),
    [("ama", 1 / 6, 1.01 / 6), ("plain-ama", 1.99 / 6, 2 / 6)],  # Proposition 4.1 is strict
)
def test_steps_are_limited_by_the_degrees_of_the_graph(solver, greatest, too_large):
    X = np.random.default_rng(0).normal(size=(6, 2))
    model = ConvexClustering(0.5, weights="dense", solver=solver, step_size=greatest, max_iter=5000).fit(X)
    assert model.converged_
    with pytest.raises(ValueError, match="not safe"):
        ConvexClustering(weights="dense", solver=solver, step_size=too_large).fit(X)
