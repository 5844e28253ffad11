"""The paper's own algorithms as options: its fixed step, Boyd's residuals, and increasingly dense warm starts."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from coterie import ConvexClustering, ConvexClusterPath
from coterie.convex.problem import SolverOptions
from coterie.convex.solvers import make_solver
from tests.convex.problems import graph_of, ordered_problem, random_problem
from tests.reference import convex_clustering as oracle


def as_graph(edges, w, n):
    upper = sp.coo_array((w, (edges[:, 0], edges[:, 1])), shape=(n, n))
    return sp.csr_array(upper + upper.T)


def given(gamma, **options):
    return ConvexClustering(gamma, weights="precomputed", **options)


@pytest.fixture(scope="module")
def blobs():
    random = np.random.default_rng(0)
    return random.normal(size=(60, 3)) + 4 * random.integers(0, 2, size=(60, 1))


class TestPaperStep:
    @pytest.mark.parametrize("dense", [False, True])
    def test_plain_ama_line_by_line(self, dense):
        """nu = 1 / max(d(i) + d(j)) on a sparse graph, and 1 / n where all rows are connected."""
        X, edges, w, _, gamma = random_problem(5, 14, 3, "l2")
        if dense:
            edges = np.column_stack(np.triu_indices(14, 1)).astype(np.int32)
            w = np.random.default_rng(0).uniform(0.2, 1, len(edges))
        options = dict(solver="plain-ama", step_size="paper")
        ordered = ordered_problem(X, as_graph(edges, w, 14), **options)
        solver = make_solver(ordered.problem, SolverOptions(**options))
        degrees = np.bincount(edges.ravel(), minlength=14)
        most = 14 if dense else (degrees[edges[:, 0]] + degrees[edges[:, 1]]).max()
        np.testing.assert_allclose(ordered.problem.steps, 1 / min(14, most))
        solver.start(gamma)
        steps, duals = np.full(len(edges), 1 / min(14, most)), np.zeros((len(edges), 3))
        plain = oracle.PlainNorm("l2", 3)
        for _ in range(30):
            solver.iterate()
            duals = oracle.dual_step(X, duals, duals, 0.0, edges, w, gamma, steps, plain)
        np.testing.assert_allclose(ordered.duals(solver.duals), duals, atol=1e-10)

    @pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
    @pytest.mark.parametrize("solver", ["ama", "plain-ama"])
    def test_the_minimum_is_the_same(self, norm, solver):
        X, graph = graph_of("moons60")
        ours = given(0.3, norm=norm, tol=1e-12, max_iter=10**5).fit(X, graph=graph)
        theirs = given(0.3, norm=norm, solver=solver, step_size="paper", tol=1e-12, max_iter=10**5)
        theirs.fit(X, graph=graph)
        assert theirs.converged_
        np.testing.assert_allclose(theirs.centroids_, ours.centroids_, atol=1e-5)


class TestResiduals:
    @pytest.mark.parametrize("norm", ["l1", "l2", "linf", [[0, 2], [1]]])
    @pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
    def test_residual_stopping_equals_the_oracle(self, norm, tol):
        X, edges, w, _, gamma = random_problem(7, 16, 3, "l2")
        X -= X.mean(axis=0)
        plain = oracle.PlainNorm(norm, 3)
        _, duals, n_iter, residuals = oracle.admm(X, edges, w, gamma, plain, 0.6, 10_000, tol)
        model = given(gamma, norm=norm, solver="admm", step_size=0.6, stopping="residuals", tol=tol)
        model.fit(X, graph=as_graph(edges, w, 16))
        assert model.converged_
        assert model.n_iter_ == n_iter
        np.testing.assert_allclose(model.residuals_, residuals, rtol=1e-5, atol=1e-8)
        assert model.residuals_.max() <= 1
        np.testing.assert_allclose(model.dual_, duals, atol=1e-10)
        assert model.dual_gap_ >= 0  # it is certified all the same

    def test_too_few_iterations(self, blobs):
        model = ConvexClustering(0.5, solver="admm", stopping="residuals", tol=1e-9, max_iter=7)
        with pytest.warns(
            ConvergenceWarning, match=r"residual are .* times what tol=1e-09 allows after max_iter=7"
        ):
            model.fit(blobs)
        assert model.n_iter_ == 7
        assert not model.converged_
        assert model.residuals_.max() > 1
        assert not hasattr(model.set_params(stopping="gap", max_iter=10_000).fit(blobs), "residuals_")

    def test_paths(self, blobs):
        path = ConvexClusterPath(n_gammas=8, solver="admm", stopping="residuals", tol=1e-6).fit(blobs)
        assert path.residuals_.shape == (8, 2)
        assert path.converged_
        assert path.residuals_.max() <= 1
        certified = ConvexClusterPath(path.gammas_, tol=1e-9).fit(blobs)
        np.testing.assert_allclose(path.centroids_path_, certified.centroids_path_, atol=1e-3)
        with pytest.warns(ConvergenceWarning, match="The residuals of 7 of 8 gammas"):
            ConvexClusterPath(path.gammas_, solver="admm", stopping="residuals", tol=1e-14, max_iter=3).fit(
                blobs
            )
