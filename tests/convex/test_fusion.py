"""Fused sets, and the certificate of the centroids that they share."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.convex.fusion import Fuser
from coterie.convex.norms import find_norm
from coterie.convex.solvers import AMA
from tests.convex.problems import PROBLEMS, kernel_problem, random_problem
from tests.reference import convex_clustering as oracle


@settings(max_examples=30, deadline=None)
@given(PROBLEMS, st.floats(0, 2))
def test_fused_sets(drawn, threshold):
    X, edges, w, norm, _ = random_problem(*drawn)
    problem, _ = kernel_problem(X, edges, w, norm)
    lengths = np.random.default_rng(0).uniform(0, 2, len(edges))
    parents = np.arange(len(X), dtype=np.int32)
    problem.join(lengths, -1.0, threshold / 2, parents)
    labels, n_sets = problem.join(lengths, threshold / 2, threshold, parents)
    short = edges[lengths <= threshold]
    graph = sp.coo_array((np.ones(len(short)), (short[:, 0], short[:, 1])), shape=(len(X), len(X)))
    expected_n, expected = sp.csgraph.connected_components(graph, directed=False)
    assert n_sets == expected_n
    np.testing.assert_array_equal(labels, expected)


@settings(max_examples=25, deadline=None)
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
