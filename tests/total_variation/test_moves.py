"""Moves of single vertices: comparison with a plain version; the cut never increases."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

import tests.reference.total_variation as oracle
from coterie import TotalVariationClustering, _kernels
from coterie.graphs import knn_graph
from coterie.size_constrained.sizes import SizeBounds
from coterie.total_variation.problem import CutGraph
from coterie.total_variation.rounding import VertexMoves
from coterie.total_variation.solver import StoppingRule

problems = dict(
    n=st.integers(4, 40), R=st.integers(2, 5), balance_weight=st.sampled_from([None, 0.5, 7.5]),
    is_weighted=st.booleans(), dtype=st.sampled_from([np.float32, np.float64]), seed=st.integers(0, 9999),
)  # fmt: skip


def some_problem(n, R, balance_weight, is_weighted, dtype, seed):
    random = np.random.default_rng(seed)
    # Weights that sum without rounding: equal moves are equal in any order.
    W = np.triu(
        (random.random((n, n)) < 0.3) * (random.integers(1, 9, (n, n)) / 8 if is_weighted else 1.0), 1
    )
    W = W + W.T
    labels = random.integers(0, R, n).astype(np.int32)
    balance_weights = np.full(R, R - 1 if balance_weight is None else balance_weight, float)
    sizes = random.integers(1, 4, n).astype(float) if is_weighted else None
    fixed = random.random(n) < 0.2
    moves = VertexMoves(CutGraph(sp.csr_array(W.astype(dtype))), balance_weights, sizes, fixed)
    return W, labels, balance_weights, sizes, fixed, moves.after_moves(labels)


@given(slack=st.sampled_from([None, 0, 1, 3]), **problems)
def test_the_moves_of_a_plain_version(slack, **problem):
    W, labels, balance_weights, sizes, fixed, _ = some_problem(**problem)
    counts, bounds, limits = np.bincount(labels, minlength=len(balance_weights)), None, ()
    if slack is not None:
        bounds = SizeBounds(counts.min() - slack, counts.max() + slack)
        limits = bounds.least, bounds.most
    found = VertexMoves(CutGraph(sp.csr_array(W)), balance_weights, sizes, fixed, bounds).after_moves(labels)
    assert found.dtype == np.int32
    expected = oracle.moved_vertices(W, labels, len(counts), balance_weights, sizes, fixed, *limits)
    np.testing.assert_array_equal(found, expected)


@given(**problems)
def test_no_single_move_lowers_the_cut_afterwards(n, R, balance_weight, is_weighted, dtype, seed):
    W, labels, balance_weights, sizes, fixed, moved_labels = some_problem(
        n, R, balance_weight, is_weighted, dtype, seed
    )
    np.testing.assert_array_equal(moved_labels[fixed], labels[fixed])
    np.testing.assert_array_equal(np.unique(moved_labels), np.unique(labels))
    if len(np.unique(labels)) < R:
        return
    cut = oracle.balanced_cut(W, moved_labels, R, balance_weights, sizes)
    assert cut <= oracle.balanced_cut(W, labels, R, balance_weights, sizes) * (1 + 1e-12)
    for i in np.flatnonzero(~fixed & (np.bincount(moved_labels, minlength=R)[moved_labels] > 1)):
        for r in np.unique(moved_labels[W[i] > 0]):
            moved = moved_labels.copy()
            moved[i] = r
            assert oracle.balanced_cut(W, moved, R, balance_weights, sizes) >= cut * (1 - 1e-8)


class TestFits:
    @pytest.fixture
    def graph(self):
        X = make_blobs(600, 8, centers=6, cluster_std=3.0, random_state=1)[0]
        return knn_graph(X.astype(np.float32), 8)

    @pytest.mark.parametrize("known", [None, 40])
    def test_no_single_move_lowers_the_cut_of_a_fit(self, graph, known):
        y = np.full(600, -1)
        if known is not None:
            y[:known] = np.arange(known) % 6
        model = TotalVariationClustering(6, affinity="precomputed", n_init=2, random_state=0).fit(graph, y)
        moves = VertexMoves(CutGraph(graph), np.full(6, 5.0), None, y >= 0)
        np.testing.assert_array_equal(moves.after_moves(model.labels_), model.labels_)
        np.testing.assert_array_equal(model.memberships_.argmax(axis=1), model.labels_)
        np.testing.assert_allclose(model.energy_, oracle.balanced_cut(graph.toarray(), model.labels_, 6))
        relaxed = sum(oracle.energy(graph.toarray(), f, 5) for f in model.memberships_.astype(float).T)
        np.testing.assert_allclose(model.relaxed_energy_, relaxed, rtol=1e-4)

    def test_no_moves_with_steps_of_the_paper(self, graph, monkeypatch):
        def fail(self, labels):
            raise AssertionError

        monkeypatch.setattr(VertexMoves, "after_moves", fail)
        TotalVariationClustering(6, affinity="precomputed", steps="paper", n_init=2, random_state=0).fit(
            graph
        )

    def test_no_move_within_size_bounds_lowers_the_cut_of_a_fit(self, graph):
        bounds, y = SizeBounds(90, 110), np.full(600, -1)
        y[::40] = np.arange(15) % 6
        model = TotalVariationClustering(
            6, affinity="precomputed", size_min=90, size_max=110, n_init=2, random_state=0
        ).fit(graph, y)
        sizes = np.bincount(model.labels_)
        assert 90 <= sizes.min() <= sizes.max() <= 110
        np.testing.assert_array_equal(model.labels_[y >= 0], y[y >= 0])
        moves = VertexMoves(CutGraph(graph), np.full(6, 5.0), None, y >= 0, bounds)
        np.testing.assert_array_equal(moves.after_moves(model.labels_), model.labels_)


def path_of(*steps, tol=1e-4):
    """Whether the rule is met after each step: inner iterations so far, relaxed energy, cut, cut after moves."""
    rule = StoppingRule(tol, steps[0][1], steps[0][3], steps[0][2])
    said = []
    for n_inner, relaxed, before, cut in steps[1:]:
        rule.add(n_inner, relaxed, cut, before)
        said.append(rule.is_met)
    return said


class TestStoppingRule:
    def test_stops_after_twice_the_iterations_of_the_best_clusters(self):
        falls = [(n, 9 / (1 + n), 5 if n < 150 else 4, 4) for n in (0, 50, 100, 150, 250, 299, 300)]
        assert path_of(*falls) == [False] * 5 + [True]

    def test_no_fewer_than_300_and_no_single_step(self):
        falls = [(n, 9 / (1 + n), 5, 5) for n in (0, 10, 299, 300)]
        assert path_of(*falls) == [False, False, True]
        assert path_of((0, 9, 5, 5), (500, 1, 5, 5), (501, 0.5, 5, 5)) == [False, False]

    def test_stops_if_the_cut_does_not_change_for_half_of_the_iterations(self):
        # The cut of the rounded memberships falls on.
        still = [(0, 9, 9, 9), (40, 5, 5, 4), (60, 5, 4.9, 4), (99, 5, 4.8, 4), (110, 4.96, 4.7, 4)]
        assert path_of(*still) == [False] * 3 + [True]
        for i, fallen in ((1, 4.89), (3, 3.99)):
            last = list(still[-1])
            last[i] = fallen
            assert path_of(*still[:-1], tuple(last)) == [False] * 4
        assert path_of(*still, tol=1e-6) == [False] * 4
        assert path_of(still[0], (5, 5, 5, 4), (105, 5, 4.9, 4), (130, 5, 4.8, 4)) == [False, False, True]


def move_arguments():
    return dict(
        starts=np.array([0, 1, 2]), columns=np.array([1, 0], dtype=np.int32), weights=None, sizes=None,
        fixed=np.zeros(2, dtype=np.uint8), asymmetries=np.ones(2), least=0.0, most=2.0,
        clusters=np.array([0, 1], dtype=np.int32),
    )  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"starts": np.array([0, 1])},
        {"starts": np.array([0, 2, 1])},
        {"columns": np.array([1], dtype=np.int32)},
        {"columns": np.array([2, 0], dtype=np.int32)},
        {"weights": np.ones(1)},
        {"sizes": np.ones(3)},
        {"fixed": np.zeros(3, dtype=np.uint8)},
        {"clusters": np.array([0, 2], dtype=np.int32)},
    ],
)
def test_the_kernel_checks_its_arguments(change):
    assert _kernels.move_vertices(*move_arguments().values()) == 0
    with pytest.raises(ValueError, match="kernel"):
        _kernels.move_vertices(*(move_arguments() | change).values())
