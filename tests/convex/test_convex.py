"""Convex clustering: kernels against their oracle, solutions against an interior-point solver, the model's laws."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import coterie
from coterie import ConvexClustering, ConvexClusterPath
from coterie.convex.edges import weight_graph
from coterie.convex.fusion import Fuser
from coterie.convex.norms import find_norm
from coterie.convex.problem import make_problem
from coterie.convex.solvers import ADMM, AMA
from coterie.datasets import load_iris, load_mammals, load_senate
from coterie.graphs.edges import Edges, edges_of_graph
from coterie.metrics import clustering_accuracy
from tests.reference import convex_clustering as oracle
from tests.support.instruction_sets import INSTRUCTION_SETS, using

REFERENCES = np.load(Path(__file__).parent / "data" / "convex_references.npz")
SOLUTIONS = sorted(key[:-2] for key in REFERENCES if key.endswith("/U"))
DTYPES = [np.float32, np.float64]


@parametrize_with_checks(
    [
        ConvexClustering(n_neighbors=3, max_iter=2000),
        ConvexClusterPath(n_gammas=5, n_neighbors=3, max_iter=2000),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def graph_of(name):
    """The rows of a reference, and its edges as a symmetric matrix."""
    X, edges, w = (REFERENCES[f"{name}/{key}"] for key in ("X", "edges", "w"))
    upper = sp.coo_array((w, (edges[:, 0], edges[:, 1])), shape=(len(X), len(X)))
    return X, sp.csr_array(upper + upper.T)


def random_problem(seed, n, p, kind, dtype=np.float64):
    """Rows, edges as pairs, weights, a norm as users name it, and gamma."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).astype(dtype)
    pairs = np.column_stack(np.triu_indices(n, 1)).astype(np.int32)
    kept = pairs[rng.random(len(pairs)) < 0.4]
    norm = [list(range(p))[g::2] for g in range(min(p, 2))] if kind == "groups" else kind
    return X, kept, rng.uniform(0.2, 1.5, len(kept)).astype(dtype), norm, float(rng.uniform(0.05, 1))


PROBLEMS = st.tuples(
    st.integers(0, 10**6), st.integers(2, 40), st.sampled_from([1, 2, 3, 4, 5, 8, 9, 17]),
    st.sampled_from(["l1", "l2", "linf", "groups"]),
)  # fmt: skip


def kernel_problem(X, edges, w, norm, n_threads=1):
    found = find_norm(norm, X.shape[1])
    columns = found.columns
    problem = make_problem(
        np.ascontiguousarray(X[:, columns]), Edges(edges[:, 0].copy(), edges[:, 1].copy(), w, len(X)), found,
        step_size=None, n_threads=n_threads,
    )  # fmt: skip
    return problem, columns


class TestKernels:
    @pytest.mark.parametrize("name", INSTRUCTION_SETS)
    @pytest.mark.parametrize("dtype", DTYPES)
    @settings(max_examples=40, deadline=None)
    @given(PROBLEMS)
    def test_against_the_oracle(self, name, dtype, drawn):
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
    def test_a_sweep_is_a_step_and_its_points(self, p, norm, dtype):
        X = np.random.default_rng(0).normal(size=(1500, p)).astype(dtype)
        if p != 3 and not isinstance(norm, str):
            norm = [list(range(p))]
        edges = edges_of_graph(weight_graph(X, kind="knn", n_neighbors=9, phi=0.1, connect=False), dtype)
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
        for left, right in zip(*results):
            np.testing.assert_array_equal(left, right)

    @settings(max_examples=30, deadline=None)
    @given(PROBLEMS, st.floats(0, 2))
    def test_fused_sets(self, drawn, threshold):
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

    @pytest.mark.parametrize("p", [1, 2, 3, 4, 20])
    @pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
    def test_equal_bits_for_any_number_of_threads(self, p, norm):
        X = np.random.default_rng(0).normal(size=(3000, p))
        results = []
        for n_threads in (1, 2, 3):
            model = ConvexClustering(0.05, norm=norm, tol=1e-6, n_threads=n_threads).fit(X)
            results.append((model.centroids_, model.dual_, model.objective_, model.dual_gap_))
        for other in results[1:]:
            for left, right in zip(results[0], other):
                np.testing.assert_array_equal(left, right)


class TestSolvers:
    @pytest.mark.parametrize("solver", ["ama", "admm"])
    @pytest.mark.parametrize("name", SOLUTIONS)
    def test_against_an_interior_point_solver(self, name, solver):
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
    def test_plain_iterations_are_those_of_the_paper(self, norm):
        X, edges, w, _, gamma = random_problem(3, 15, 3, "l2")
        plain = oracle.PlainNorm(norm, 3)
        found = find_norm(norm, 3)
        back = np.argsort(found.columns)
        nodes = Edges(edges[:, 0].copy(), edges[:, 1].copy(), w, len(X))
        degrees = np.bincount(edges.ravel(), minlength=len(X))
        nu = 1 / (degrees[edges[:, 0]] + degrees[edges[:, 1]]).max()
        for step, expected in [
            (nu, oracle.ama(X, edges, w, gamma, plain, 25)), (0.7, oracle.admm(X, edges, w, gamma, plain, 0.7, 25))
        ]:  # fmt: skip
            problem = make_problem(X[:, found.columns], nodes, found, step_size=step, n_threads=1)
            solver = AMA(problem, acceleration=False) if step == nu else ADMM(problem)
            solver.start(gamma)
            for _ in range(25):
                solver.iterate()
            np.testing.assert_allclose(solver.duals[:, back], expected[1], atol=1e-10)
            if step == nu:
                np.testing.assert_allclose(solver.points[:, back], expected[0], atol=1e-10)

    @pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
    def test_an_object_may_be_the_norm(self, norm):
        X, graph = graph_of("moons60")
        built_in, own = (
            ConvexClustering(0.5, weights="precomputed", norm=kind, tol=1e-9).fit(X, graph=graph)
            for kind in (norm, oracle.PlainNorm(norm, 2))
        )
        np.testing.assert_allclose(own.centroids_, built_in.centroids_, atol=1e-4)
        np.testing.assert_allclose(own.objective_, built_in.objective_, rtol=1e-8)
        path = ConvexClusterPath(n_gammas=4, norm=oracle.PlainNorm(norm, 2), connect=True).fit(X[:30])
        same = ConvexClusterPath(n_gammas=4, norm=norm, connect=True).fit(X[:30])
        np.testing.assert_allclose(path.gammas_, same.gammas_, rtol=1e-6)

    def test_dense_graphs_and_sparse_systems(self):
        X = np.random.default_rng(0).normal(size=(40, 3))
        by_formula = ConvexClustering(0.05, weights="dense", solver="admm", tol=1e-12).fit(X)
        by_ama = ConvexClustering(0.05, weights="dense", tol=1e-12).fit(X)
        np.testing.assert_allclose(by_formula.centroids_, by_ama.centroids_, atol=1e-5)
        np.testing.assert_array_equal(by_formula.labels_, by_ama.labels_)


class TestLaws:
    @settings(max_examples=25, deadline=None)
    @given(PROBLEMS, st.integers(0, 40))
    def test_the_gap_is_never_negative_and_bounds_the_error(self, drawn, n_iter):
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

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("solver", ["ama", "admm"])
    def test_what_a_fit_says_of_itself(self, dtype, solver):
        X = make_moons(200, noise=0.05, random_state=0)[0].astype(dtype)
        model = ConvexClustering(0.5, n_neighbors=10, solver=solver).fit(X)
        assert model.converged_
        assert 0 <= model.dual_gap_ <= 1e-5 * model.objective_
        assert model.centroids_.dtype == dtype
        plain = oracle.PlainNorm("l2", 2)
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

    def test_nothing_happens_without_a_penalty(self):
        X = load_iris()[0]
        model = ConvexClustering(0.0, connect=True).fit(X)
        np.testing.assert_allclose(model.centroids_, X, atol=1e-12)
        assert model.dual_gap_ <= 1e-20
        assert model.n_clusters_ == len(np.unique(X, axis=0))

    @pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
    def test_components_collapse_to_their_means(self, norm):
        X, y = make_moons(60, noise=0.02, random_state=0)
        graph = (y[:, None] == y) * (1.0 - np.eye(60))
        model = ConvexClustering(10.0, weights="precomputed", norm=norm).fit(X, graph=graph)
        means = np.array([X[y == label].mean(axis=0) for label in y])
        np.testing.assert_allclose(model.centroids_, means, atol=1e-12)
        assert model.n_clusters_ == 2

    def test_small_steps_change_little(self):
        X, graph = graph_of("halfmoons200")
        path = ConvexClusterPath(np.linspace(0.5, 0.6, 11), weights="precomputed", tol=1e-9).fit(
            X, graph=graph
        )
        moves = np.linalg.norm(np.diff(path.centroids_path_, axis=0), axis=(1, 2))
        assert np.all(moves < 0.05 * np.linalg.norm(X))
        assert np.all(np.diff(path.objectives_) > 0)

    def test_both_solvers_agree(self):
        X, graph = graph_of("moons60")
        fits = [
            ConvexClustering(
                0.3, weights="precomputed", solver=solver, acceleration=fast, tol=1e-12, max_iter=10**5
            )
            for solver, fast in [("ama", True), ("ama", False), ("admm", True)]
        ]
        centroids = [model.fit(X, graph=graph).centroids_ for model in fits]
        for other in centroids[1:]:
            np.testing.assert_allclose(other, centroids[0], atol=1e-5)

    def test_the_l1_norm_separates_the_columns(self):
        X, graph = graph_of("gauss40x6")
        whole = ConvexClustering(0.5, weights="precomputed", norm="l1", tol=1e-11).fit(X, graph=graph)
        for column in range(6):
            alone = ConvexClustering(0.5, weights="precomputed", norm="l2", tol=1e-11)
            alone.fit(X[:, [column]], graph=graph)
            np.testing.assert_allclose(alone.centroids_[:, 0], whole.centroids_[:, column], atol=1e-5)

    def test_where_the_data_lie_makes_no_difference(self):
        X, graph = graph_of("moons60")
        here = ConvexClustering(0.3, weights="precomputed").fit(X, graph=graph)
        there = ConvexClustering(0.3, weights="precomputed").fit(X + 1e6, graph=graph)
        np.testing.assert_array_equal(here.labels_, there.labels_)
        np.testing.assert_allclose(there.centroids_ - 1e6, here.centroids_, atol=1e-8)

    def test_the_order_of_rows_makes_no_difference(self):
        X, graph = graph_of("halfmoons200")
        order = np.random.default_rng(0).permutation(len(X))
        first = ConvexClustering(0.3, weights="precomputed", tol=1e-10).fit(X, graph=graph)
        second = ConvexClustering(0.3, weights="precomputed", tol=1e-10).fit(
            X[order], graph=graph[order][:, order]
        )
        np.testing.assert_allclose(second.centroids_, first.centroids_[order], atol=1e-5)


class TestEdges:
    @pytest.mark.parametrize("kind", ["knn", "dense"])
    def test_weights(self, kind):
        X = np.random.default_rng(0).normal(size=(30, 3))
        edges = edges_of_graph(weight_graph(X, kind=kind, n_neighbors=4, phi=0.7, connect=False), X.dtype)
        squares = ((X[:, None] - X) ** 2).sum(axis=2)
        near = np.argsort(squares + np.diag(np.full(30, np.inf)), axis=1)[:, :4]
        expected = np.zeros((30, 30), dtype=bool)
        expected[np.arange(30)[:, None], near] = True
        expected = (expected | expected.T) if kind == "knn" else ~np.eye(30, dtype=bool)
        found = edges.adjacency(edges.weights).toarray()
        np.testing.assert_allclose(found, np.exp(-0.7 * squares) * expected, rtol=1e-12)
        assert edges.is_complete == (kind == "dense")

    def test_renumbering_keeps_the_edges(self):
        X = np.random.default_rng(0).normal(size=(50, 2))
        edges = edges_of_graph(weight_graph(X, kind="knn", n_neighbors=4, phi=0.5, connect=False), X.dtype)
        order = edges.order_of_neighbors()
        other, places, is_turned = edges.renumbered(order)
        heads, tails = order[other.heads], order[other.tails]
        np.testing.assert_array_equal(np.where(is_turned, tails, heads), edges.heads[places])
        np.testing.assert_array_equal(np.where(is_turned, heads, tails), edges.tails[places])
        np.testing.assert_array_equal(other.weights, edges.weights[places])
        spans = [np.abs(found.heads - found.tails).mean() for found in (edges, other)]
        assert spans[1] < 0.7 * spans[0]

    def test_connected_on_request(self):
        X = np.concatenate([np.random.default_rng(0).normal(size=(20, 2)), [[50.0, 50.0]], [[51.0, 50.0]]])
        apart = ConvexClusterPath([1e4], n_neighbors=1, phi=0.0).fit(X)
        together = ConvexClusterPath([1e4], n_neighbors=1, phi=0.0, connect=True).fit(X)
        assert apart.n_clusters_path_[-1] > 1
        assert together.n_clusters_path_[-1] == 1


class TestKnownData:
    @pytest.mark.parametrize("name", ["halfmoons200", "iris150", "mammals27", "senate48"])
    def test_numbers_of_clusters_of_published_paths(self, name):
        X, graph = graph_of(name)
        path = ConvexClusterPath(REFERENCES[f"{name}/gammas"], weights="precomputed", tol=1e-8).fit(
            X, graph=graph
        )
        assert path.converged_
        assert np.all(path.dual_gaps_ <= 1e-8 * path.objectives_ + 1e-20)
        difference = np.abs(path.n_clusters_path_ - REFERENCES[f"{name}/n_clusters"])
        # The references stop at a gap of their own: where rows are about to fuse they may count a few more.
        assert difference.max() <= 5
        assert np.mean(difference > 0) <= 0.25
        assert difference[-1] == 0

    def test_half_moons_separate(self):
        X, _ = graph_of("halfmoons200")
        path = ConvexClusterPath(n_gammas=60, n_neighbors=10, phi=0.5).fit(X)
        labels = path.labels_at(2)
        assert len(np.unique(labels)) == 2
        assert clustering_accuracy(np.arange(200) // 100, labels) > 0.97

    def test_senate_parties_separate(self):
        senate = load_senate(complete=True)
        X, graph = graph_of("senate48")
        path = ConvexClusterPath(REFERENCES["senate48/gammas"], weights="precomputed").fit(X, graph=graph)
        labels = path.labels_at(2)
        np.testing.assert_array_equal((senate.data > 0).astype(float), X)
        counts = [np.bincount(senate.target[labels == label], minlength=3).tolist() for label in (0, 1)]
        assert sorted(counts) == [[1, 1, 27], [19, 0, 0]]

    def test_the_brown_bat_joins_the_other_bats(self):
        mammals = load_mammals()
        path = ConvexClusterPath(n_gammas=60, n_neighbors=5, phi=0.5).fit(mammals.data.astype(float))
        bats = np.array([name.endswith("bat") for name in mammals.row_names])
        brown, house, red = (
            list(mammals.row_names).index(name) for name in ("brownbat", "housebat", "redbat")
        )
        for labels in path.labels_path_:
            if labels[brown] == labels[house] == labels[red]:
                np.testing.assert_array_equal(labels == labels[brown], bats)
                break
        else:
            pytest.fail("the bats never meet")

    def test_setosa_separates(self):
        X, y = load_iris()
        path = ConvexClusterPath(n_gammas=40, n_neighbors=5, phi=4.0).fit(X)
        labels = path.labels_at(2)
        np.testing.assert_array_equal(labels == labels[0], y == 0)


class TestPath:
    @pytest.fixture(scope="class")
    def moons(self):
        return make_moons(300, noise=0.05, random_state=0)[0]

    def test_every_gamma_is_certified(self, moons):
        path = ConvexClusterPath(n_gammas=20, n_neighbors=10, phi=2.0, connect=True, tol=1e-6).fit(moons)
        assert path.converged_
        assert np.all(path.dual_gaps_ <= 1e-6 * path.objectives_ + 1e-20)
        assert path.gammas_[0] == 0
        assert path.n_clusters_path_[0] == 300
        assert path.n_clusters_path_[-1] == 1
        assert path.labels_path_.shape == (20, 300)
        assert path.centroids_path_.shape == (20, 300, 2)
        assert path.history_["n_steps"].sum() == path.n_iter_
        for gamma, centroids, labels in list(zip(path.gammas_, path.centroids_path_, path.labels_path_))[
            4::5
        ]:
            alone = ConvexClustering(gamma, n_neighbors=10, phi=2.0, connect=True, tol=1e-8).fit(moons)
            radius = np.sqrt(4e-6 * alone.objective_)
            assert np.linalg.norm(alone.centroids_ - centroids) <= radius
            assert len(np.unique(labels)) == labels.max() + 1

    def test_labels_at(self, moons):
        path = ConvexClusterPath(n_gammas=20, n_neighbors=10).fit(moons)
        labels = path.labels_at(5)
        assert len(np.unique(labels)) <= 5
        np.testing.assert_array_equal(labels, path.labels_path_[path.index_at(5)])
        short = ConvexClusterPath([0.0, 0.001], n_neighbors=10).fit(moons)
        with pytest.raises(ValueError, match="at least"):
            short.labels_at(1)

    def test_the_tree_is_one_of_scipy(self, moons):
        from scipy.cluster.hierarchy import fcluster, is_valid_linkage

        path = ConvexClusterPath(n_gammas=30, n_neighbors=10, connect=True).fit(moons)
        assert path.linkage_.shape == (299, 4)
        assert is_valid_linkage(path.linkage_)
        assert np.all(np.diff(path.linkage_[:, 2]) >= 0)
        if len(path.fissions_) == 0:
            for number in (10, 20, 29):
                cut = fcluster(path.linkage_, path.gammas_[number], "distance")
                assert len(np.unique(cut)) == path.n_clusters_path_[number]

    def test_rows_that_part_again_are_told(self):
        from coterie.convex.tree import has_fission, linkage_of_path

        labels = np.array([[0, 1, 2, 3], [0, 0, 1, 2], [0, 1, 1, 2]], dtype=np.int32)
        assert not has_fission(labels[0], labels[1])
        assert has_fission(labels[1], labels[2])
        tree = linkage_of_path(np.array([0.0, 1.0, 2.0]), labels)
        np.testing.assert_array_equal(tree[:, 2], [1.0, 2.0, 2.5])
        np.testing.assert_array_equal(tree[:, 3], [2, 3, 4])

    @pytest.mark.parametrize(
        "options", [dict(solver="admm"), dict(norm="l1"), dict(norm="linf"), dict(weights="dense")]
    )
    def test_options(self, options):
        X = make_moons(60, noise=0.05, random_state=0)[0]
        path = ConvexClusterPath(n_gammas=8, connect=True, max_iter=50_000, **options).fit(X)
        assert path.converged_
        assert path.n_clusters_path_[-1] == 1

    def test_storage_and_threads_make_no_difference(self, moons, tmp_path):
        np.save(tmp_path / "rows.npy", moons)
        rows = coterie.open_rows(tmp_path / "rows.npy")
        first, second = (
            ConvexClusterPath(n_gammas=6, n_threads=n_threads).fit(data)
            for n_threads, data in [(1, moons), (3, rows)]
        )
        np.testing.assert_array_equal(first.centroids_path_, second.centroids_path_)
        np.testing.assert_array_equal(first.gammas_, second.gammas_)

    def test_time_callbacks_and_files(self, moons, tmp_path):
        seen = []
        path = ConvexClusterPath(n_gammas=6, callback=seen.append).fit(moons)
        assert [progress.iteration for progress in seen] == list(range(1, 7))
        assert seen[0].centers.shape == moons.shape
        with pytest.warns(ConvergenceWarning, match="max_time"):
            short = ConvexClusterPath(n_gammas=6, max_time=1e-9).fit(moons)
        assert len(short.gammas_) == 1 == len(short.labels_path_)
        stopped = ConvexClusterPath(n_gammas=6, callback=lambda progress: progress.iteration == 2).fit(moons)
        assert len(stopped.gammas_) == 2
        path.save(tmp_path / "path.coterie")
        for other in (coterie.load(tmp_path / "path.coterie"), pickle.loads(pickle.dumps(path))):
            np.testing.assert_array_equal(other.labels_path_, path.labels_path_)


def test_a_fit_that_is_stopped():
    X = make_moons(300, noise=0.05, random_state=0)[0]
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        few = ConvexClustering(1.0, max_iter=5, tol=1e-12).fit(X)
    assert few.n_iter_ == 5
    assert few.dual_gap_ > 0
    with pytest.warns(ConvergenceWarning, match="max_time"):
        ConvexClustering(1.0, max_time=1e-9, tol=1e-12).fit(X)
    model = ConvexClustering(1.0, callback=lambda progress: True).fit(X)
    assert model.n_iter_ == 0


def test_save_and_load(tmp_path):
    X, graph = graph_of("moons60")
    model = ConvexClustering(0.5, weights="precomputed").fit(X, graph=graph)
    model.save(tmp_path / "model.coterie")
    np.testing.assert_array_equal(coterie.load(tmp_path / "model.coterie").dual_, model.dual_)


def test_equal_rows():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0)
    model = ConvexClustering(0.1, n_neighbors=3).fit(X)
    assert model.n_clusters_ == 2
    assert model.converged_
    constant = ConvexClusterPath(n_gammas=3, n_neighbors=3).fit(np.ones((10, 2)))
    assert constant.converged_


@pytest.mark.parametrize("estimator", [ConvexClustering, ConvexClusterPath])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(n_neighbors=0), "n_neighbors"),
        (dict(n_neighbors=20), "n_neighbors=20 should be < n_samples=20"),
        (dict(weights="binary"), "weights must be one of 'knn', 'dense', 'precomputed'"),
        (dict(weights="precomputed"), "graph"),
        (dict(solver="newton"), "solver must be one of 'ama', 'admm'"),
        (dict(phi=-1), "phi"),
        (dict(phi=float("inf")), "phi"),
        (dict(norm="l3"), "norm must be one of l2, l1, linf"),
        (dict(norm=[[0], [0]]), "groups must hold each column"),
        (dict(norm=[[0]]), "groups must hold each column"),
        (dict(norm=3), "norm must be"),
        (dict(step_size=0), "step_size"),
        (dict(step_size=1.0), "not safe"),
        (dict(tol=-1), "tol"),
        (dict(max_iter=0), "max_iter"),
        (dict(max_time=0), "max_time"),
    ],
)
def test_wrong_arguments(estimator, options, message):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=message):
        estimator(**options).fit(X)


@pytest.mark.parametrize(
    ("estimator", "graph", "message"),
    [
        (ConvexClustering(-1.0), None, "gamma"),
        (ConvexClustering(float("nan")), None, "gamma"),
        (ConvexClusterPath([1.0, 0.5]), None, "ascending"),
        (ConvexClusterPath([[1.0]]), None, "one-dimensional"),
        (ConvexClusterPath([-1.0, 0.5]), None, "not negative"),
        (ConvexClusterPath(n_gammas=0), None, "n_gammas"),
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
