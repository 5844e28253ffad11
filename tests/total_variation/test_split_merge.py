"""Swaps of clusters: the best of all, never a larger cut."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from coterie import TotalVariationClustering
from coterie.graphs import knn_graph
from coterie.metrics import balanced_cut, clustering_accuracy
from coterie.total_variation.problem import CutProblem
from coterie.total_variation.split_merge import _best_move, _changed, split_and_merge
from tests.support.cuts import swapped

UNKNOWN = np.full(600, -1, dtype=np.int32)


def problem_of(graph, R, known):
    return CutProblem(graph, R, known, None, np.random.RandomState(0), 1)


def some_graph(n, seed):
    random = np.random.default_rng(seed)
    W = np.triu((random.random((n, n)) < 0.3) * random.random((n, n)), 1)
    return sp.csr_array(W + W.T)


@given(
    n=st.integers(6, 40), R=st.integers(2, 5), balance_weight=st.sampled_from([None, 0.5, 1, 7.5]),
    seed=st.integers(0, 999),
)  # fmt: skip
def test_the_best_of_all_swaps(n, R, balance_weight, seed):
    random = np.random.default_rng(seed)
    graph, labels = some_graph(n, seed), random.integers(0, R, n).astype(np.int32)
    is_second = random.random(n) < 0.5
    swap = _best_move(
        graph, labels, is_second, np.full(R, R - 1 if balance_weight is None else balance_weight, float)
    )
    energies = [
        balanced_cut(
            graph, swapped(labels, is_second, divided, kept, freed, R), R, balance_weight=balance_weight
        )
        for divided in range(R)
        for kept in range(R + 1)
        for freed in range(kept + 1, R + 1)
        if (kept, freed) != (divided, R)
    ]
    if np.isfinite(min(energies)):
        assert swap.energy == pytest.approx(min(energies), rel=1e-6)
        chosen = swapped(labels, is_second, swap.divided, swap.kept, swap.freed, R)
        assert balanced_cut(graph, chosen, R, balance_weight=balance_weight) == pytest.approx(min(energies))


@settings(max_examples=20)
@given(
    n=st.integers(6, 40), R=st.integers(2, 5), balance_weight=st.sampled_from([None, 0.5, 7.5]),
    seed=st.integers(0, 999),
)  # fmt: skip
def test_cut_never_increases(n, R, balance_weight, seed):
    random = np.random.default_rng(seed)
    graph, labels = some_graph(n, seed), random.integers(0, R, n).astype(np.int32)
    halve = lambda part: np.arange(part.shape[0]) % 2  # noqa: E731
    problem = replace(problem_of(graph, R, UNKNOWN[:n]), balance_weight=balance_weight)
    found = split_and_merge(problem, labels, halve, 3)
    before, cut = (
        balanced_cut(graph, clusters, R, balance_weight=balance_weight) for clusters in (labels, found)
    )
    assert cut <= before


def test_split_merge_repairs_a_wrong_partition():
    X, y = make_blobs(600, 2, centers=[(0, 0), (9, 0), (0, 9), (9, 9)], random_state=0)
    graph = knn_graph(X, 10)
    wrong = np.where(y == 1, 0, y)
    wrong[(y == 3) & (X[:, 0] > 9)] = 1
    halve = lambda part: TotalVariationClustering(2, affinity="precomputed", n_init=2).fit(part).labels_  # noqa: E731
    found = split_and_merge(problem_of(graph, 4, UNKNOWN), wrong.astype(np.int32), halve, 5)
    assert clustering_accuracy(y, found) > 0.99
    # Known rows say which number is which.
    known = np.where(np.arange(600) % 20 == 0, (y + 1) % 4, -1).astype(np.int32)
    found = split_and_merge(problem_of(graph, 4, known), wrong.astype(np.int32), halve, 5)
    assert np.mean(found == (y + 1) % 4) > 0.99
    # One that contradicts its neighbors stays what it is.
    known[1] = (y[1] + 2) % 4
    found = split_and_merge(problem_of(graph, 4, known), wrong.astype(np.int32), halve, 5)
    assert found[1] == known[1]
    assert np.mean(found == (y + 1) % 4) > 0.99


def test_changed_clusters():
    before = np.array([0, 0, 1, 1, 2, 2, 3, 3], dtype=np.int32)
    renumbered = np.array([1, 1, 2, 2, 0, 0, 3, 3], dtype=np.int32)
    assert list(_changed(before, renumbered, 4)) == []
    assert list(_changed(before, np.array([1, 1, 2, 0, 0, 0, 3, 3], dtype=np.int32), 4)) == [0, 2]
    assert list(_changed(before, np.array([1, 1, 1, 1, 0, 0, 3, 3], dtype=np.int32), 4)) == [1, 2]


def test_a_fit_with_swaps():
    from coterie.datasets import load_digits

    X, y = (array[::3] for array in load_digits())
    plain = TotalVariationClustering(10, n_init=1, random_state=0).fit(X)
    model = TotalVariationClustering(10, n_init=1, n_swaps=5, random_state=0).fit(X)
    assert model.energies_[0] == plain.energy_
    assert len(model.energies_) == 2
    assert model.energy_ <= plain.energy_
    assert model.energy_ == pytest.approx(balanced_cut(model.affinity_matrix_, model.labels_))
    again = TotalVariationClustering(10, n_init=1, n_swaps=5, random_state=0, n_threads=1).fit(X)
    assert np.array_equal(again.memberships_, model.memberships_)
    known = np.where(np.arange(len(y)) < 50, y, -1)
    plain = TotalVariationClustering(10, random_state=0).fit(X, known)
    labeled = TotalVariationClustering(10, n_swaps=5, random_state=0).fit(X, known)
    assert np.array_equal(labeled.labels_[:50], y[:50])
    assert np.array_equal(labeled.memberships_[:50], np.eye(10)[y[:50]])
    assert len(labeled.energies_) == 3
    assert labeled.energy_ <= plain.energy_ == labeled.energies_[0]


def test_wrong_number():
    with pytest.raises(ValueError, match="n_swaps must be a non-negative integer"):
        TotalVariationClustering(2, n_swaps=-1).fit(np.random.default_rng(0).random((20, 2)))
