"""Pairs that are cut again: never a larger cut."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from coterie.fitting.deadline import Deadline
from coterie.fitting.report import Report
from coterie.graphs import knn_graph
from coterie.metrics import balanced_cut, clustering_accuracy
from coterie.size_constrained.sizes import SizeBounds
from coterie.total_variation import solver
from coterie.total_variation.pairs import cut_pairs_again
from coterie.total_variation.problem import CutProblem
from coterie.total_variation.solver import CutOptions, CutResult, minimize_cut

UNKNOWN = np.full(600, -1, dtype=np.int32)


def problem_of(graph, R, known):
    return CutProblem(graph, R, known, None, np.random.RandomState(0), 1)


def some_graph(n, seed):
    random = np.random.default_rng(seed)
    W = np.triu((random.random((n, n)) < 0.3) * random.random((n, n)), 1)
    return sp.csr_array(W + W.T)


def crossed_pair():
    """Return a graph of three clusters, its classes, and clusters that halve two of them across their border."""
    X, y = make_blobs(600, 2, centers=[(0, 0), (6, 0), (0, 20)], random_state=0)
    crossed = np.where(y == 2, 2, (X[:, 1] > 0).astype(int)).astype(np.int32)
    return knn_graph(X, 10), y.astype(np.int32), crossed


def test_a_pair_that_is_cut_across_its_border_is_cut_again():
    graph, y, crossed = crossed_pair()
    found = cut_pairs_again(problem_of(graph, 3, UNKNOWN), crossed)
    assert clustering_accuracy(y, found) == 1
    assert cut_pairs_again(problem_of(graph, 3, UNKNOWN), found) is found
    # Known rows say which half is which.
    for classes in (y, np.array([1, 0, 2])[y]):
        known = np.where(np.arange(600) % 30 == 0, classes, -1).astype(np.int32)
        found = cut_pairs_again(problem_of(graph, 3, known), np.where(known >= 0, known, crossed))
        np.testing.assert_array_equal(found, classes)


def test_a_pair_is_not_cut_again_against_its_labels():
    graph, _, crossed = crossed_pair()
    known = np.where(np.arange(600) % 30 == 0, crossed, -1).astype(np.int32)
    assert cut_pairs_again(problem_of(graph, 3, known), crossed) is crossed


def test_pairs_are_cut_again_within_the_size_bounds():
    graph, _, crossed = crossed_pair()
    sizes = np.bincount(crossed)
    assert sizes.max() > 200
    tight = replace(problem_of(graph, 3, UNKNOWN), bounds=SizeBounds(201, 600))
    assert cut_pairs_again(tight, crossed) is crossed
    loose = replace(tight, bounds=SizeBounds(200, 200))
    assert np.bincount(cut_pairs_again(loose, crossed)).tolist() == [200, 200, 200]


@settings(max_examples=30)
@given(
    n=st.integers(4, 40), R=st.integers(2, 5), n_known=st.integers(0, 6), share=st.sampled_from([None, 0.5]),
    seed=st.integers(0, 999),
)  # fmt: skip
def test_cutting_pairs_again_never_raises_the_cut(n, R, n_known, share, seed):
    random = np.random.default_rng(seed)
    graph, labels = some_graph(n, seed), random.integers(0, R, n).astype(np.int32)
    known = np.where(np.arange(n) < n_known, labels, -1).astype(np.int32)
    priors = None if share is None else np.append(share, np.full(R - 1, (1 - share) / (R - 1)))
    problem = replace(problem_of(graph, R, known), priors=priors)
    found = cut_pairs_again(problem, labels)
    np.testing.assert_array_equal(found[:n_known], labels[:n_known])
    assert found.dtype == np.int32
    cuts = [balanced_cut(graph, clusters, R, class_priors=priors) for clusters in (labels, found)]
    assert cuts[1] < cuts[0] or found is labels


def test_no_pair_is_cut_again_after_the_time():
    graph, _, crossed = crossed_pair()
    assert cut_pairs_again(problem_of(graph, 3, UNKNOWN), crossed, Deadline(0.0)) is crossed


def test_a_fit_that_cuts_a_pair_again():
    graph, y, crossed = crossed_pair()
    known = np.full(600, -1, dtype=np.int32)
    for label in range(3):
        known[np.flatnonzero(y == label)[0]] = label
    problem = problem_of(graph, 3, known)
    with pytest.MonkeyPatch.context() as patch:
        # Runs that leave the clusters of their initialization as they are, and start across the border.
        patch.setattr(solver, "initial_memberships", lambda *_, **__: iter([np.eye(3)[crossed]] * 2))
        patch.setattr(solver, "_descend", _as_started)
        plain, _ = minimize_cut(problem, CutOptions(1, 2000), Report())
        best, energies = minimize_cut(problem, CutOptions(2, 2000), Report())
    assert clustering_accuracy(y, plain.labels) < 0.7
    np.testing.assert_array_equal(best.labels, y)
    assert len(energies) == 3
    assert energies[2] < energies[0] == energies[1]


def _as_started(run, energy):
    labels, cut = run.descent.rounded()
    return CutResult(cut, energy, labels, run.descent.memberships)
