"""Paths in fewer columns and in single precision: the same problems, certified as the whole ones."""

import numpy as np
import pytest

from coterie import ConvexClustering, ConvexClusterPath
from coterie.convex import path_solver
from coterie.convex.path_solver import (
    PathSolver,
    SpanProblem,
    parts_of_duals,
    pays_in_single_precision,
    span_of_means,
)  # fmt: skip
from coterie.graphs import bridge_components, knn_graph
from tests.convex.problems import kernel_problem, path_solver_of, random_problem
from tests.reference import convex_clustering as oracle

N_COLUMNS = 40


@pytest.fixture(scope="module")
def blobs():
    random = np.random.default_rng(0)
    centers = random.normal(size=(4, N_COLUMNS))
    return centers[np.arange(80) % 4] + 0.7 * random.normal(size=(80, N_COLUMNS)) + 10


def solver_of(rows, tol=1e-6, norm="l2"):
    return path_solver_of(rows, tol, norm)[1]


def test_the_span_holds_all_means():
    random = np.random.default_rng(1)
    rows, labels = random.normal(size=(30, 9)), np.arange(30) % 5
    rows -= rows.mean(axis=0)
    basis = span_of_means(rows, labels, 5)
    assert basis.shape == (9, 4)
    np.testing.assert_allclose(basis.T @ basis, np.eye(4), atol=1e-12)
    means = np.array([rows[labels == label].mean(axis=0) for label in range(5)])
    np.testing.assert_allclose(means @ basis @ basis.T, means, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_objectives_and_gaps_are_those_of_the_whole_problem(dtype):
    X, edges, w, norm, gamma = random_problem(3, 25, 17, "l2", dtype)
    whole, _ = kernel_problem(X, edges, w, norm)
    random = np.random.default_rng(2)
    duals = np.zeros(whole.dual_shape, dtype=dtype)
    whole.project(0.5 * gamma, random.normal(size=whole.dual_shape).astype(dtype), duals)
    points = X.astype(float)
    np.add.at(points, edges[:, 0], duals.astype(float))
    np.add.at(points, edges[:, 1], -duals.astype(float))
    basis = np.linalg.qr(random.normal(size=(17, 12)))[0]
    further = np.linalg.qr(random.normal(size=(12, 5)))[0]
    middle = SpanProblem(whole, basis, parts_of_duals(duals, basis)[1], points.astype(dtype))
    inside, own_points = (duals @ basis).astype(dtype), (points @ basis).astype(dtype)
    narrow = SpanProblem(middle, further, parts_of_duals(inside, further)[1], own_points)
    # Other duals in the subspace: as far as the balls allow.
    own = np.zeros(narrow.dual_shape, dtype=dtype)
    narrow.project(gamma, (5 * random.normal(size=narrow.dual_shape)).astype(dtype), own)
    both = basis @ further
    lifted = duals + (own - duals @ both) @ both.T
    assert np.all(np.linalg.norm(lifted, axis=1) <= gamma * w * (1 + 1e-5))
    assert np.any(np.linalg.norm(lifted, axis=1) >= gamma * w * (1 - 1e-5))
    centroids = random.normal(size=(25, 5)).astype(dtype)
    plain = oracle.PlainNorm("l2", 17)
    w, lifted, rows = w.astype(float), lifted.astype(float), X.astype(float)
    F = oracle.primal(rows, centroids @ both.T, edges, w, gamma, plain)
    own_origin = (rows @ both).astype(dtype)
    np.add.at(own_origin, edges[:, 0], own)
    np.add.at(own_origin, edges[:, 1], -own)
    rtol = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(narrow.objectives(gamma, centroids).sum(), F, rtol=rtol)
    gap = narrow.gap(gamma, centroids, own, own_origin)
    np.testing.assert_allclose(gap, F - oracle.dual(rows, lifted, edges), rtol=rtol)
    assert narrow.own_gap(gamma, centroids, own, own_origin) < gap


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_reduced_columns_give_the_same_path(blobs, dtype, monkeypatch):
    tol = 1e-4 if dtype == np.float32 else 1e-6
    rows = blobs.astype(dtype)
    path = ConvexClusterPath(tol=tol, n_gammas=40).fit(rows)
    assert path.converged_
    monkeypatch.setattr(PathSolver, "_are_worth_leaving", lambda self, n_left: False)
    whole = ConvexClusterPath(path.gammas_, tol=1e-2 * tol, max_iter=50_000).fit(rows)
    plain = oracle.PlainNorm("l2", N_COLUMNS)
    w = path.edge_weights_.astype(float)
    for at in range(1, len(path.gammas_)):
        centroids, gamma = path.centroids_path_[at].astype(float), path.gammas_[at]
        F = oracle.primal(rows.astype(float), centroids, path.edges_, w, gamma, plain)
        np.testing.assert_allclose(F, path.objectives_[at], rtol=1e-6 if dtype == np.float64 else 1e-3)
        best = whole.objectives_[at] - whole.dual_gaps_[at]
        assert F - path.dual_gaps_[at] <= whole.objectives_[at] * (
            1 + 0.1 * tol
        )  # no bound above the minimum
        assert F - best <= (2 if dtype == np.float32 else 1.02) * tol * F
        assert len(np.unique(centroids, axis=0)) == path.n_clusters_path_[at]


def test_columns_are_few_where_clusters_are(blobs):
    solver = solver_of(blobs)
    counts = []
    for gamma in np.geomspace(0.1, 4.0, 24):
        certificate, centroids, _ = solver.solve(gamma)
        assert centroids.whole().shape == blobs.shape
        assert certificate.gap <= 1e-6 * certificate.objective
        counts.append((certificate.n_clusters, solver.n_columns))
    assert counts[0][1] == N_COLUMNS
    assert any(n_clusters - 1 == n_columns < N_COLUMNS / 2 for n_clusters, n_columns in counts)


@pytest.mark.parametrize("norm", ["l1", "linf", [list(range(20)), list(range(20, 40))]])
def test_other_norms_keep_all_columns(blobs, norm):
    solver = solver_of(blobs, tol=1e-3, norm=norm)
    for gamma in (1.0, 3.0, 10.0):
        solver.solve(gamma)
    assert solver.n_columns == N_COLUMNS


def test_columns_are_restored_if_needed(blobs, monkeypatch):
    # With so coarse a tolerance rows are told to be in clusters that they are not in.
    monkeypatch.setattr(path_solver, "_MAY_MISS", 1e6)
    solver = solver_of(blobs, tol=0.05)
    for gamma in np.geomspace(0.1, 2.0, 12):
        solver.solve(gamma)
    assert solver.n_columns == 4  # 3, and one of zeros
    monkeypatch.setattr(PathSolver, "_are_worth_leaving", lambda self, n_left: False)
    solver.tol = 1e-6
    found, _, n_steps = solver.solve(2.1)
    again, *_ = solver_of(blobs).solve(2.1)
    assert solver.n_columns == N_COLUMNS
    assert n_steps > 0
    assert found.gap <= 1e-6 * found.objective
    np.testing.assert_allclose(found.objective, again.objective, rtol=2e-6)


def test_columns_come_back_for_a_smaller_gamma(blobs):
    solver = solver_of(blobs)
    for gamma in np.geomspace(0.1, 3.0, 8):
        solver.solve(gamma)
    assert solver.n_columns < N_COLUMNS
    found, *_ = solver.solve(0.1)
    again, *_ = solver_of(blobs).solve(0.1)
    assert solver.n_columns == N_COLUMNS
    assert found.gap <= 1e-6 * found.objective
    np.testing.assert_allclose(found.objective, again.objective, rtol=2e-6)


def test_few_columns_become_those_of_a_register():
    random = np.random.default_rng(3)
    rows = 4 * random.normal(size=(4, 7))[np.arange(60) % 4] + random.normal(size=(60, 7))
    solver, counts = solver_of(rows), []
    for gamma in np.geomspace(0.1, 30.0, 20):
        certificate, centroids, _ = solver.solve(gamma)
        assert certificate.gap <= 1e-6 * certificate.objective
        counts.append((certificate.n_clusters, solver.n_columns))
        plain = objective_alone(rows, gamma)
        np.testing.assert_allclose(certificate.objective, plain, rtol=2e-6)
        assert len(centroids.distinct) == certificate.n_clusters
    assert {columns for n_clusters, columns in counts if n_clusters <= 5} <= {1, 2, 4, 7}
    assert any(n_clusters == 4 and columns == 4 for n_clusters, columns in counts)


def objective_alone(rows, gamma):
    graph = bridge_components(knn_graph(rows, 4), rows)
    return ConvexClustering(gamma, weights="precomputed", tol=1e-7).fit(rows, graph=graph).objective_


def test_gammas_in_single_precision_are_certified_in_double(blobs, monkeypatch):
    whole = ConvexClusterPath(n_gammas=40).fit(blobs)
    monkeypatch.setattr(path_solver, "_CACHE", 0)
    path = ConvexClusterPath(whole.gammas_).fit(blobs)
    assert path.converged_
    assert not np.array_equal(
        path.dual_gaps_, ConvexClusterPath(whole.gammas_, tol=6e-6).fit(blobs).dual_gaps_
    )
    plain, w = oracle.PlainNorm("l2", N_COLUMNS), path.edge_weights_
    for at in range(1, len(path.gammas_)):
        F = oracle.primal(blobs, path.centroids_path_[at], path.edges_, w, path.gammas_[at], plain)
        np.testing.assert_allclose(F, path.objectives_[at], rtol=1e-10)
        assert path.dual_gaps_[at] <= 1e-5 * F
        # Neither bound is above the objective that the other path has found.
        assert F - path.dual_gaps_[at] <= whole.objectives_[at] * (1 + 1e-12)
        assert whole.objectives_[at] - whole.dual_gaps_[at] <= F * (1 + 1e-12)


def test_duals_that_certify_are_feasible_and_give_the_gap(blobs, monkeypatch):
    monkeypatch.setattr(path_solver, "_CACHE", 0)
    ordered, solver = path_solver_of(blobs, 1e-5)
    problem = ordered.problem
    for gamma in (0.05, 0.1, 0.2):
        certificate, *_ = solver.solve(gamma)
        assert solver._levels[0].single is not None
        duals = solver._levels[0].solver.duals
        assert duals.dtype == np.float64
        assert np.all(np.linalg.norm(duals, axis=1) <= gamma * problem.edges.weights * (1 + 1e-12))
        edges = np.column_stack([problem.edges.heads, problem.edges.tails])
        bound = oracle.dual(problem.rows, duals, edges)
        np.testing.assert_allclose(certificate.objective - certificate.gap, bound, rtol=1e-12)


def test_few_columns_are_solved_in_single_precision_too(blobs, monkeypatch):
    monkeypatch.setattr(path_solver, "_CACHE", 0)
    _ordered, solver = path_solver_of(blobs, 1e-5)
    n_single = 0
    for gamma in np.geomspace(0.1, 3.0, 12):
        certificate, *_ = solver.solve(gamma)
        again, *_ = solver_of(blobs).solve(gamma)
        assert certificate.gap <= 1e-5 * certificate.objective
        assert (
            certificate.objective - certificate.gap <= again.objective <= certificate.objective * (1 + 1e-6)
        )
        level = solver._levels[-1]
        if level.basis is not None and level.single is not None:
            n_single += 1
            assert level.single.solver.duals.dtype == np.float32
            assert level.single.solver.problem.missed == level.solver.problem.missed
    assert n_single > 0


def test_double_precision_continues_where_single_precision_stalls(blobs, monkeypatch):
    monkeypatch.setattr(path_solver, "pays_in_single_precision", lambda problem, tol: True)
    monkeypatch.setattr(PathSolver, "_are_worth_leaving", lambda self, n_left: False)
    solver = solver_of(blobs, 1e-11)
    for gamma in (0.1, 0.3, 1.0, 2.0):
        certificate, *_ = solver.solve(gamma)
        assert certificate.gap <= 1e-11 * certificate.objective
    assert solver._levels[0].single is None
    again, *_ = solver_of(blobs, 1e-11).solve(2.0)
    np.testing.assert_allclose(certificate.objective, again.objective, rtol=3e-11)


@pytest.mark.parametrize(("tol", "scale", "norm", "cache", "pays"), [
    (1e-5, 1, "l2", 0, True), (1e-7, 1, "l2", 0, False), (1e-5, 1e9, "l2", 0, False), (1e-5, 1e-9, "l2", 0, False),
    (1e-5, 1, "l1", 0, False), (1e-5, 1, "linf", 0, False), (1e-5, 1, "l2", 1 << 23, False),
])  # fmt: skip
def test_single_precision_only_where_it_resolves_the_gap(blobs, monkeypatch, tol, scale, norm, cache, pays):
    monkeypatch.setattr(path_solver, "_CACHE", cache)
    assert pays_in_single_precision(path_solver_of(scale * blobs, tol, norm)[0].problem, tol) == pays
