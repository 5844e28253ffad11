"""The kernels of a problem against their plain versions, on every instruction set, and wide rows."""

import numpy as np
import pytest
from hypothesis import given

from coterie import ConvexClusterPath
from coterie.convex.norms import find_norm
from coterie.convex.problem import make_problem
from coterie.convex.weights import weight_graph
from coterie.graphs.edges import edges_of_graph
from tests.convex.problems import DTYPES, PROBLEMS, kernel_problem, random_problem
from tests.reference import convex_clustering as oracle
from tests.support.bits import same_bits
from tests.support.instruction_sets import INSTRUCTION_SETS, using


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
@pytest.mark.parametrize("dtype", DTYPES)
@given(PROBLEMS)
def test_against_the_oracle(name, dtype, drawn):
    X, edges, w, norm, gamma = random_problem(*drawn, dtype)
    plain = oracle.PlainNorm(norm, X.shape[1])
    rng = np.random.default_rng(1)
    tolerance = 1e-11 if dtype == np.float64 else 2e-4
    with using(name):
        problem, columns = kernel_problem(X, edges, w, norm)
        back = np.argsort(columns)
        duals = plain.dual_projection(rng.normal(size=(len(edges), X.shape[1])), gamma * w).astype(dtype)
        former = plain.dual_projection(rng.normal(size=duals.shape), gamma * w).astype(dtype)
        U = X + oracle.delta(duals + 0.3 * (duals - former), edges, len(X))
        out = np.ascontiguousarray(former[:, columns])
        own = np.ascontiguousarray(duals[:, columns])
        problem.step(gamma, 0.3, np.ascontiguousarray(U[:, columns].astype(dtype)), own, out)
        steps = problem.steps.astype(float)
        expected = oracle.dual_step(X, duals, former, 0.3, edges, w, gamma, steps, plain)
        np.testing.assert_allclose(out[:, back], expected, atol=tolerance)

        points, ahead = np.empty_like(problem.rows), np.empty_like(problem.rows)
        square = problem.points_of(own, 0.7, problem.rows, points, ahead)
        U = X + oracle.delta(duals, edges, len(X))
        np.testing.assert_allclose(points[:, back], U, atol=tolerance)
        np.testing.assert_allclose(ahead[:, back], U + 0.7 * (U - X), atol=tolerance)
        np.testing.assert_allclose(square, np.sum(U**2), rtol=max(tolerance, 1e-12))

        candidate = rng.normal(size=X.shape).astype(dtype)
        inner = np.ascontiguousarray(candidate[:, columns])
        F = oracle.primal(X, candidate, edges, w, gamma, plain)
        np.testing.assert_allclose(problem.objectives(gamma, inner).sum(), F, rtol=max(tolerance, 1e-12))
        gap = problem.gap(gamma, inner, own, points)
        np.testing.assert_allclose(
            gap, F - oracle.dual(X, duals, edges), rtol=1e-3, atol=tolerance * max(F, 1)
        )

        lengths = problem.split_lengths(gamma, points, own)
        V = plain.prox(U[edges[:, 0]] - U[edges[:, 1]] - duals / steps[:, None], gamma * w / steps)
        if isinstance(norm, str):
            groups = [[j] for j in range(X.shape[1])] if norm == "l1" else [list(range(X.shape[1]))]
        else:
            groups = norm
        for found, group in zip(lengths, groups):
            of_group = np.abs(V).max(axis=1) if norm == "linf" else np.linalg.norm(V[:, group], axis=1)
            np.testing.assert_allclose(found * steps, of_group * steps, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("norm", ["l1", "l2", "linf", [[1], [0, 2]]])
@pytest.mark.parametrize("p", [1, 2, 3, 4, 11])
def test_a_sweep_is_a_step_and_its_points(p, norm, dtype):
    X = np.random.default_rng(0).normal(size=(1500, p)).astype(dtype)
    if p != 3 and not isinstance(norm, str):
        norm = [list(range(p))]
    edges = edges_of_graph(weight_graph(X, kind="knn", n_neighbors=9, decay=0.1, connect=False)[0], dtype)
    edges, _, _ = edges.renumbered(np.lexsort(X.T[::-1]))
    found = find_norm(norm, p)
    results = []
    for n_threads in (1, 3):
        problem = make_problem(X[:, found.columns], edges, found, step_size=None, n_threads=n_threads)
        assert problem._windows is not None
        assert len(problem._windows[1]) > 1
        duals, former = (
            np.random.default_rng(s).normal(size=problem.dual_shape).astype(dtype) for s in (1, 2)
        )
        points = [np.random.default_rng(s).normal(size=X.shape).astype(dtype) for s in (3, 4, 5)]
        expected = former.copy()
        problem.step(0.1, 0.4, points[2], duals, expected)
        next_, ahead = np.empty_like(X), np.empty_like(X)
        square = problem.points_of(expected, 0.6, points[0], next_, ahead)
        swept = problem.sweep(0.1, (0.4, 0.6), duals, former, tuple(points))
        np.testing.assert_array_equal(former, expected)
        tolerance = 1e-12 if dtype == np.float64 else 1e-4
        np.testing.assert_allclose(points[1], next_, atol=tolerance)
        np.testing.assert_allclose(points[2], ahead, atol=tolerance)
        np.testing.assert_allclose(swept, square, rtol=tolerance)
        results.append((former, *points, swept))
    same_bits(*results)


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
@pytest.mark.parametrize("dtype", DTYPES)
@given(PROBLEMS)
def test_coordinate_ascent_against_the_oracle(name, dtype, drawn):
    X, edges, w, norm, gamma = random_problem(*drawn[:3], "l2", dtype)
    plain = oracle.PlainNorm(norm, X.shape[1])
    tolerance = 1e-11 if dtype == np.float64 else 2e-4
    found = []
    for n_threads in (1, 3):
        with using(name):
            problem, columns = kernel_problem(X, edges, w, norm, n_threads)
            duals, former = (
                plain.dual_projection(
                    np.random.default_rng(s).normal(size=(len(edges), X.shape[1])), gamma * w
                )
                for s in (1, 2)
            )
            U = X + oracle.delta(duals + 0.3 * (duals - former), edges, len(X))
            own, out, ahead = (
                np.ascontiguousarray(part[:, columns].astype(dtype)) for part in (duals, former, U)
            )
            next_ = np.empty_like(ahead)
            square = problem.ascend(gamma, (0.3, 0.7), own, out, (problem.rows, ahead, next_))
        found.append((out, ahead, next_, square))
    same_bits(*found)
    expected, points = oracle.dual_ascent(X, duals, former, 0.3, edges, w, gamma, plain)
    np.testing.assert_allclose(out, expected[:, columns], atol=tolerance)
    np.testing.assert_allclose(ahead, points[:, columns], atol=tolerance)
    np.testing.assert_allclose(next_, ahead + 0.7 * (ahead - problem.rows), atol=tolerance)
    np.testing.assert_allclose(square, np.sum(points**2), rtol=max(tolerance, 1e-12))


@pytest.fixture(scope="module")
def wide():
    return np.random.default_rng(0).normal(size=(20, 90)) + 100


def test_centroids_are_equal_in_clusters(wide):
    path = ConvexClusterPath(n_gammas=12).fit(wide)
    for n_clusters, centroids in zip(path.n_clusters_path_, path.centroids_path_):
        assert len(np.unique(centroids, axis=0)) == n_clusters
