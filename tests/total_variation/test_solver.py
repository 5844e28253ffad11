"""The search for a balanced cut, without an estimator."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from coterie import TotalVariationClustering
from coterie.fitting.report import Report
from coterie.graphs import knn_graph
from coterie.metrics import balanced_cut
from coterie.size_constrained.sizes import SizeBounds
from coterie.total_variation import solver
from coterie.total_variation.problem import CutProblem
from coterie.total_variation.solver import CutOptions, CutResult, minimize_cut


def problem_of(graph, n_clusters, seed=0):
    unknown = np.full(graph.shape[0], -1, dtype=np.int32)
    return CutProblem(graph, n_clusters, unknown, None, np.random.RandomState(seed), 2)


@pytest.fixture(scope="module")
def graph():
    # More rows than a block has, so that they get an order of their own.
    return knn_graph(make_blobs(1500, 3, centers=4, random_state=0)[0], 8)


def test_solver_without_an_estimator(graph):
    model = TotalVariationClustering(4, affinity="precomputed", n_init=2, n_swaps=2, random_state=5).fit(
        graph
    )
    best, energies = minimize_cut(problem_of(graph, 4, 5), CutOptions(2, 2000, n_swaps=2), Report())
    np.testing.assert_array_equal(best.labels, model.labels_)
    np.testing.assert_array_equal(best.memberships, model.memberships_)
    np.testing.assert_array_equal(energies, model.energies_)


def test_the_best_run_is_in_the_order_of_the_data(graph):
    problem = problem_of(graph, 4)
    best, energies = minimize_cut(problem, CutOptions(3, 100), Report())
    assert len(energies) == 3
    assert best.objective == energies.min()
    np.testing.assert_array_equal(best.labels, best.memberships.argmax(axis=1))
    # Neighbors are together, as they would not be in any other order.
    rows = np.repeat(np.arange(1500), np.diff(graph.indptr))
    assert np.mean(best.labels[rows] == best.labels[graph.indices]) > 0.95


def test_one_cluster_costs_nothing(graph):
    best, energies = minimize_cut(problem_of(graph, 1), CutOptions(1, 100), Report())
    assert best.objective == best.relaxed_objective == energies.sum() == 0
    np.testing.assert_array_equal(best.memberships, np.ones((1500, 1)))


def test_constant_initial_columns_are_an_error():
    unknown = np.full(6, -1, dtype=np.int32)
    given = np.full((6, 2), 0.5)
    problem = CutProblem(
        sp.csr_array(np.ones((6, 6)) - np.eye(6)), 2, unknown, given, np.random.RandomState(0), 1
    )
    with pytest.raises(ValueError, match="same membership in every row"):
        minimize_cut(problem, CutOptions(1, 100), Report())


def test_runs_rank_by_their_cut_and_then_by_their_relaxation():
    runs = [CutResult(energy, relaxed, None, None) for energy, relaxed in [(2, 0), (1, 3), (1, 2)]]
    assert min(runs, key=lambda run: run.rank) is runs[2]


class TestMembershipsOfTheQuadraticProgram:
    """A ladder with labels at 0 and 5: the smallest cut is between 4 and 5, that of the program between 3 and 4."""

    place = np.tile(np.arange(12), 2)
    ladder = sp.csr_array(
        np.kron(np.eye(2), np.eye(12, k=1) + np.eye(12, k=-1)) + np.eye(24, k=12) + np.eye(24, k=-12)
    )
    known = np.where(place == 0, 0, np.where(place == 5, 1, -1)).astype(np.int32)
    smallest, nearest = np.int32(place >= 5), np.int32(place >= 4)

    @pytest.fixture
    def memberships(self, monkeypatch):
        second = np.where(self.nearest == 1, 0.7, 0.1)
        second[self.place == 4] = 0.6
        memberships = np.column_stack([1 - second, second])
        monkeypatch.setattr(solver, "quadratic_memberships", lambda *_: memberships.copy())
        monkeypatch.setattr(solver, "initial_memberships", lambda *_, **__: iter([np.eye(2)[self.smallest]]))
        return memberships

    def result(self, **options):
        bounds = options.pop("bounds", None)
        problem = replace(problem_of(self.ladder, 2), known=self.known, bounds=bounds)
        return minimize_cut(problem, CutOptions(**{"n_runs": 2, "max_iter": 2000, **options}), Report())[0]

    def test_they_are_returned_if_they_keep_more_edges_of_labels(self, memberships):
        result = self.result(select_by="shared-neighbors")
        np.testing.assert_array_equal(result.labels, self.nearest)
        memberships[self.known >= 0] = np.tile(np.eye(2), (2, 1))
        np.testing.assert_allclose(result.memberships, memberships)
        assert result.objective == pytest.approx(balanced_cut(self.ladder, self.nearest))
        assert result.relaxed_objective > 0

    def test_they_are_not_if_the_smallest_cut_is_asked_for(self, memberships):
        result = self.result(select_by="energy")
        np.testing.assert_array_equal(result.labels, self.smallest)

    def test_one_run_does_without_them(self, memberships):
        result = self.result(select_by="shared-neighbors", n_runs=1)
        np.testing.assert_array_equal(result.labels, self.smallest)

    def test_their_clusters_are_within_the_size_bounds(self, memberships):
        result = self.result(select_by="shared-neighbors", bounds=SizeBounds(10, 14))
        np.testing.assert_array_equal(result.labels, self.smallest)
