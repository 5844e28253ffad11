"""Initialization of total variation clustering."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from coterie.fitting.deadline import Deadline
from coterie.graphs import knn_graph
from coterie.multilevel.solver import multilevel_partition
from coterie.total_variation.initialization import (
    diffused,
    drawn_vertices,
    initial_memberships,
    on_the_simplex,
    quadratic_memberships,
    rough_cut,
)
from coterie.total_variation.problem import CutProblem
from tests.reference import total_variation as oracle

PATH = knn_graph(np.arange(12.0)[:, None], 2)
HALVES = np.repeat(np.arange(2, dtype=np.int32), 6)


def path_problem(known=(), given=None):
    labels = np.full(12, -1, dtype=np.int32)
    labels[: len(known)] = known
    return CutProblem(PATH, 2, labels, given, np.random.RandomState(0), 1)


def test_given_memberships_are_the_one_start():
    given = np.eye(2)[HALVES]
    problem = path_problem(given=given)
    assert not problem.draws_vertices
    (start,) = initial_memberships(problem, None)
    assert start is given


def test_a_label_for_each_class_gives_two_starts():
    problem = path_problem([0, -1, 1])
    assert not problem.draws_vertices
    start, sized = initial_memberships(problem, None)
    assert start[0].argmax() == 0
    assert np.all(start[2:].argmax(axis=1) == 1)
    assert set(sized.ravel()) == {0, 1}


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_clusters_of_the_quadratic_program_have_the_sizes_of_the_priors(share):
    problem = replace(path_problem([0] + [-1] * 10 + [1]), priors=np.array([share, 1 - share]))
    Z = quadratic_memberships(problem)
    np.testing.assert_allclose(Z.sum(axis=0), 12 * problem.priors, rtol=0.02)
    np.testing.assert_array_equal(Z.argmax(axis=1), np.arange(12) >= 12 * share)


@pytest.mark.parametrize("seed", range(4))
def test_the_quadratic_program_against_the_oracle(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(24, 2)) + 3 * np.eye(3)[np.arange(24) % 3, :2]
    graph = knn_graph(X, 4).astype(np.float64)
    known = np.where(np.arange(24) < 3, np.arange(24) % 3, -1).astype(np.int32)
    priors = random.dirichlet([20, 20, 20])
    problem = CutProblem(graph, 3, known, None, np.random.RandomState(0), 1, priors=priors)
    W, free = graph.toarray(), known < 0
    centering = np.eye(21) - 1 / 21
    system = centering @ (np.diag(W.sum(axis=1)) - W)[np.ix_(free, free)] @ centering
    first = np.zeros((24, 3))
    first[free] = (
        np.linalg.lstsq(system, centering @ W[free][:, ~free], rcond=None)[0] + priors - (1 - 3 * priors) / 21
    )
    expected = oracle.quadratic_steps(W, known, 24 * priors, first, 400)
    np.testing.assert_allclose(quadratic_memberships(problem), expected, atol=0.02)


@pytest.mark.parametrize("scale", [1, 1e-30, 1e30])
def test_the_quadratic_program_with_isolated_vertices(scale):
    graph = sp.csr_array(sp.block_diag([PATH, sp.csr_array((3, 3))]))
    known = np.full(15, -1, dtype=np.int32)
    known[[0, 11]] = 0, 1
    problem = CutProblem(graph, 2, known, None, np.random.RandomState(0), 1)
    Z = quadratic_memberships(problem)
    np.testing.assert_array_equal(Z[:12].argmax(axis=1), HALVES)
    scaled = quadratic_memberships(replace(problem, graph=scale * graph.astype(np.float64)))
    np.testing.assert_allclose(scaled, Z, atol=1e-3)


def test_the_quadratic_program_without_edges():
    known = np.array([0, -1, -1, 1], dtype=np.int32)
    problem = CutProblem(sp.csr_array((4, 4)), 2, known, None, np.random.RandomState(0), 1)
    Z = quadratic_memberships(problem)
    assert np.all(np.isfinite(Z))
    np.testing.assert_array_equal(Z[[0, 3]].argmax(axis=1), [0, 1])


def test_the_first_start_without_labels_is_the_rough_clusters():
    problem = path_problem()
    assert problem.draws_vertices
    starts = list(islice(initial_memberships(problem, HALVES), 3))
    np.testing.assert_array_equal(starts[0], np.eye(2)[HALVES])
    for start in starts:
        np.testing.assert_allclose(start.sum(axis=1), 1)


def test_rough_clusters_are_a_multilevel_partition_unless_time_is_over():
    partition = multilevel_partition(PATH, 2)[0]
    np.testing.assert_array_equal(rough_cut(path_problem(), Deadline()).clusters, partition)
    assert not rough_cut(path_problem(), Deadline(0.0)).clusters.any()
    assert rough_cut(path_problem(known=[0, 1]), Deadline()).clusters is None


def test_vertices_are_drawn_out_of_different_clusters():
    clusters = np.repeat(np.arange(4, dtype=np.int32), [5, 10, 20, 2])
    labels = np.full(37, -1, dtype=np.int32)
    labels[5] = 2
    drawn = drawn_vertices(clusters, labels, 4, np.random.RandomState(0))
    assert drawn[5] == 2
    assert sorted(clusters[drawn == label].tolist() for label in (0, 1, 3)) == [[0], [2], [3]]
    everywhere = drawn_vertices(np.zeros(3, dtype=np.int32), np.array([-1, 0, -1], dtype=np.int32), 3,
                                np.random.RandomState(0))  # fmt: skip
    assert sorted(everywhere) == [0, 1, 2]


def test_diffusion_by_its_equation():
    X, y = load_digits(return_X_y=True)
    graph = knn_graph(X.astype(np.float32), 10)
    labels = np.full(len(y), -1, dtype=np.int32)
    labels[:40] = y[:40]
    F = diffused(graph, labels, 10, n_threads=2)
    W = graph.toarray().astype(float)
    system = np.eye(len(W)) + np.diag(W.sum(axis=1)) - W
    expected = np.linalg.solve(system, np.eye(11)[labels][:, :10])
    np.testing.assert_allclose(F, expected, atol=1e-5)


@given(n=st.integers(1, 30), R=st.integers(1, 20), seed=st.integers(0, 9999))
def test_projections(n, R, seed):
    rows = np.random.default_rng(seed).normal(scale=3, size=(n, R))
    np.testing.assert_allclose(on_the_simplex(rows), oracle.on_the_simplex(rows), atol=1e-12)
