"""AMA and ADMM: the iterations of the paper, where they end, and the certificate of fused centroids."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import ConvexClustering
from coterie.convex.norms import find_norm
from coterie.convex.problem import make_problem
from coterie.convex.solvers import ADMM, AMA, Fuser, iterate
from coterie.fitting.deadline import UNLIMITED
from coterie.fitting.report import Stop
from coterie.graphs import knn_graph
from coterie.graphs.edges import Edges
from tests.convex.problems import (
    DTYPES,
    PROBLEMS,
    REFERENCES,
    SOLUTIONS,
    graph_of,
    kernel_problem,
    ordered_problem,
    random_problem,
)
from tests.reference import convex_clustering as oracle


@pytest.mark.parametrize("solver", ["ama", "admm"])
@pytest.mark.parametrize("name", SOLUTIONS)
def test_against_an_interior_point_solver(name, solver):
    data, norm, gamma = name.rsplit("_", 2)
    X, graph = graph_of(data)
    if norm == "l12":
        groups = REFERENCES[f"{data}/groups"]
        norm = [np.flatnonzero(groups == group).tolist() for group in np.unique(groups)]
    model = ConvexClustering(
        float(gamma[1:]), weights="precomputed", norm=norm, solver=solver, tol=1e-13, max_iter=40_000
    ).fit(X, graph=graph)
    assert model.converged_
    np.testing.assert_allclose(model.centroids_, REFERENCES[f"{name}/U"], atol=1e-5)
    np.testing.assert_allclose(model.objective_, REFERENCES[f"{name}/objective"], rtol=1e-9)
    assert model.n_clusters_ == REFERENCES[f"{name}/n_clusters"] == len(np.unique(model.labels_))


@pytest.mark.parametrize("norm", ["l1", "l2", "linf", [[0, 2], [1]]])
def test_plain_iterations_are_those_of_the_paper(norm):
    X, edges, w, _, gamma = random_problem(3, 15, 3, "l2")
    plain = oracle.PlainNorm(norm, 3)
    found = find_norm(norm, 3)
    back = np.argsort(found.columns)
    nodes = Edges(edges[:, 0].copy(), edges[:, 1].copy(), w, len(X))
    degrees = np.bincount(edges.ravel(), minlength=len(X))
    nu = 1 / (degrees[edges[:, 0]] + degrees[edges[:, 1]]).max()
    for step, expected in [
        (nu, oracle.ama(X, edges, w, gamma, plain, 25)), (0.7, oracle.admm(X, edges, w, gamma, plain, 0.7, 25)[:2])
    ]:  # fmt: skip
        problem = make_problem(X[:, found.columns], nodes, found, step_size=step, n_threads=1)
        solver = AMA(problem, acceleration=False) if step == nu else ADMM(problem)
        solver.start(gamma)
        for _ in range(25):
            solver.iterate()
        np.testing.assert_allclose(solver.duals[:, back], expected[1], atol=1e-10)
        if step == nu:
            np.testing.assert_allclose(solver.points[:, back], expected[0], atol=1e-10)


def test_dense_graphs_and_sparse_systems():
    X = np.random.default_rng(0).normal(size=(40, 3))
    by_formula = ConvexClustering(0.05, weights="dense", solver="admm", tol=1e-12).fit(X)
    by_ama = ConvexClustering(0.05, weights="dense", tol=1e-12).fit(X)
    np.testing.assert_allclose(by_formula.centroids_, by_ama.centroids_, atol=1e-5)
    np.testing.assert_array_equal(by_formula.labels_, by_ama.labels_)


@given(PROBLEMS, st.floats(0, 2))
def test_fused_sets(drawn, threshold):
    X, edges, w, norm, _ = random_problem(*drawn)
    problem, _ = kernel_problem(X, edges, w, norm)
    lengths = np.random.default_rng(0).uniform(0, 2, len(edges))
    labels, n_sets = problem.join(lengths <= threshold)
    sets = [{i} for i in range(len(X))]
    for head, tail in edges[lengths <= threshold]:
        both = sets[head] | sets[tail]
        for i in both:
            sets[i] = both
    firsts = sorted({min(some) for some in sets})
    assert n_sets == len(firsts)
    assert labels.tolist() == [firsts.index(min(some)) for some in sets]


@pytest.mark.parametrize("dtype", DTYPES)
def test_coordinate_ascent_takes_half_of_the_iterations(dtype):
    X = np.random.default_rng(0).normal(size=(200, 30)).astype(dtype)
    tol = 1e-8 if dtype == np.float64 else 1e-4
    graph = knn_graph(X, 5)
    one = ConvexClustering(2.0, weights="precomputed", tol=tol).fit(X, graph=graph)
    ordered = ordered_problem(X, graph)
    assert ordered.problem.has_ascent
    sweeps = AMA(ordered.problem, acceleration=True, has_given_step=True)
    stop, never = Stop(10_000, tol), lambda best, done: False
    found, n_iter, converged = iterate(
        sweeps, Fuser(ordered.problem), 2.0, stop=stop, is_stopped=never, deadline=UNLIMITED
    )
    assert converged
    assert one.converged_
    assert one.n_iter_ < 0.6 * n_iter
    np.testing.assert_allclose(one.objective_, found.objective, rtol=2 * tol)
    # The points follow many changes of the duals; the certificate is that of the duals.
    bound = oracle.dual(X.astype(float), one.dual_.astype(float), one.edges_)
    np.testing.assert_allclose(
        one.objective_ - one.dual_gap_, bound, rtol=1e-10 if dtype == np.float64 else 1e-4
    )


@given(PROBLEMS, st.integers(0, 40))
def test_the_gap_is_never_negative_and_bounds_the_error(drawn, n_iter):
    X, edges, w, norm, gamma = random_problem(*drawn)
    problem, _ = kernel_problem(X, edges, w, norm)
    solver, fuser = AMA(problem, acceleration=True), Fuser(problem)
    solver.start(gamma)
    for _ in range(n_iter):
        solver.iterate()
    certificate = fuser.certify(gamma, solver.points, solver.duals, solver.origin(), 0.0)
    assert certificate.gap >= 0
    plain = oracle.PlainNorm(norm, X.shape[1])
    columns = find_norm(norm, X.shape[1]).columns
    U = np.empty_like(certificate.centroids)
    duals = np.empty_like(solver.duals)
    U[:, columns], duals[:, columns] = certificate.centroids, solver.duals
    assert np.all(plain.dual_value(duals) <= gamma * w * (1 + 1e-12))
    F, D = oracle.primal(X, U, edges, w, gamma, plain), oracle.dual(X, duals, edges)
    np.testing.assert_allclose(certificate.objective, F, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(certificate.gap, F - D, atol=1e-9 * max(1, F))
