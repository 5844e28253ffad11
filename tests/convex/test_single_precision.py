"""First gammas in single precision: certified in double precision, and left where roundings are too large."""

import numpy as np
import pytest

from coterie import ConvexClusterPath
from coterie.convex import path_solver, single_precision
from coterie.convex.norms import find_norm
from coterie.convex.path_solver import PathSolver
from coterie.convex.setting import make_setting
from coterie.convex.single_precision import pays_in_single_precision
from coterie.graphs import bridge_components, knn_graph
from tests.reference import convex_clustering as oracle

N_COLUMNS = 40


@pytest.fixture(scope="module")
def blobs():
    random = np.random.default_rng(0)
    centers = random.normal(size=(4, N_COLUMNS))
    return centers[np.arange(80) % 4] + 0.7 * random.normal(size=(80, N_COLUMNS)) + 10


def setting_of(rows, norm="l2"):
    graph = bridge_components(knn_graph(rows, 4), rows)
    return make_setting(rows, graph, find_norm(norm, rows.shape[1]))


def solver_of(rows, tol):
    setting = setting_of(rows)
    return setting, PathSolver(
        setting.solver, setting.fuser, tol=tol, max_iter=20_000, has_even_steps=True, is_late=lambda: False
    )


def test_gammas_in_single_precision_are_certified_in_double(blobs, monkeypatch):
    whole = ConvexClusterPath(n_gammas=40).fit(blobs)
    monkeypatch.setattr(single_precision, "_CACHE", 0)
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
    monkeypatch.setattr(single_precision, "_CACHE", 0)
    setting, solver = solver_of(blobs, 1e-5)
    problem = setting.solver.problem
    for gamma in (0.05, 0.1, 0.2):
        certificate, *_ = solver.solve(gamma)
        assert solver._single is not None
        duals = setting.solver.duals
        assert duals.dtype == np.float64
        assert np.all(np.linalg.norm(duals, axis=1) <= gamma * problem.edges.weights * (1 + 1e-12))
        edges = np.column_stack([problem.edges.heads, problem.edges.tails])
        bound = oracle.dual(problem.rows, duals, edges)
        np.testing.assert_allclose(certificate.objective - certificate.gap, bound, rtol=1e-12)


def test_double_precision_goes_on_where_single_stalls(blobs, monkeypatch):
    monkeypatch.setattr(path_solver, "pays_in_single_precision", lambda problem, tol: True)
    monkeypatch.setattr(PathSolver, "_are_worth_leaving", lambda self, n_left: False)
    _, solver = solver_of(blobs, 1e-11)
    for gamma in (0.1, 0.3, 1.0, 2.0):
        certificate, *_ = solver.solve(gamma)
        assert certificate.gap <= 1e-11 * certificate.objective
    assert solver._single is None
    again, *_ = solver_of(blobs, 1e-11)[1].solve(2.0)
    np.testing.assert_allclose(certificate.objective, again.objective, rtol=3e-11)


@pytest.mark.parametrize(("tol", "scale", "norm", "cache", "pays"), [
    (1e-5, 1, "l2", 0, True), (1e-7, 1, "l2", 0, False), (1e-5, 1e9, "l2", 0, False), (1e-5, 1e-9, "l2", 0, False),
    (1e-5, 1, "l1", 0, False), (1e-5, 1, "linf", 0, False), (1e-5, 1, "l2", 1 << 23, False),
])  # fmt: skip
def test_single_precision_is_for_what_it_can_tell(blobs, monkeypatch, tol, scale, norm, cache, pays):
    monkeypatch.setattr(single_precision, "_CACHE", cache)
    assert pays_in_single_precision(setting_of(scale * blobs, norm).solver.problem, tol) == pays
