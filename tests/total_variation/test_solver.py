"""The search for a balanced cut, without an estimator."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from coterie.fitting.report import FitReport
from coterie.graphs import knn_graph
from coterie.total_variation.problem import CutProblem
from coterie.total_variation.solver import CutOptions, minimize_cut


def problem_of(graph, n_clusters, seed=0):
    unknown = np.full(graph.shape[0], -1, dtype=np.int32)
    return CutProblem(graph, n_clusters, unknown, None, np.random.RandomState(seed), 2)


@pytest.fixture(scope="module")
def graph():
    # More rows than a block has, so that they get an order of their own.
    return knn_graph(make_blobs(1500, 3, centers=4, random_state=0)[0], 8)


def test_the_best_run_is_in_the_order_of_the_data(graph):
    problem = problem_of(graph, 4)
    best, energies = minimize_cut(problem, CutOptions(3, 100), FitReport())
    assert len(energies) == 3
    assert best.objective == energies.min()
    np.testing.assert_array_equal(best.labels, best.memberships.argmax(axis=1))
    # Neighbors are together, as they would not be in any other order.
    rows = np.repeat(np.arange(1500), np.diff(graph.indptr))
    assert np.mean(best.labels[rows] == best.labels[graph.indices]) > 0.95


def test_constant_initial_columns_are_an_error():
    unknown = np.full(6, -1, dtype=np.int32)
    given = np.full((6, 2), 0.5)
    problem = CutProblem(
        sp.csr_array(np.ones((6, 6)) - np.eye(6)), 2, unknown, given, np.random.RandomState(0), 1
    )
    with pytest.raises(ValueError, match="same membership in every row"):
        minimize_cut(problem, CutOptions(1, 100), FitReport())
