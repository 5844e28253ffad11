"""Near-ties, compared with plain distances."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.frame import CenterFrame
from coterie.centers.labels import nearest_labels
from coterie.centers.rounding import NearTies
from coterie.rows import as_rows
from tests.reference import k_means as oracle


def by_scores(X, frame):
    labels, scores = np.empty(X.shape[0], dtype=np.int32), np.empty(X.shape[0], dtype=X.dtype)
    frame.nearest(kernel_rows(X), labels, scores)
    return labels


@pytest.mark.parametrize(("dtype", "far"), [(np.float64, 1e12), (np.float32, 1e4)])
@pytest.mark.parametrize("sparse", [False, True])
@settings(max_examples=10)
@given(n=st.integers(1, 200), d=st.integers(1, 20), k=st.integers(1, 9), seed=st.integers(0, 999))
def test_near_ties_are_assigned_to_the_nearest_center(dtype, far, sparse, n, d, k, seed):
    random = np.random.default_rng(seed)
    X = (far * random.integers(0, 2, size=(n, 1)) + random.normal(size=(n, d))).astype(dtype)
    centers = X[random.integers(0, n, size=k)] + random.normal(size=(k, d)).astype(dtype)
    frame = CenterFrame(centers, np.zeros(d) if sparse else X.mean(axis=0, dtype=np.float64), 2)
    block = sp.csr_array(X) if sparse else X
    labels = by_scores(block, frame)
    before, near_ties = labels.copy(), NearTies(frame)
    changed = near_ties.break_ties(kernel_rows(block), block.__getitem__, labels)
    np.testing.assert_array_equal(changed, np.flatnonzero(labels != before))
    squares = oracle.square_distances(X.astype(np.float64), centers.astype(np.float64))
    own = squares[np.arange(n), labels]
    rounding = 64 * np.finfo(dtype).eps ** 2 * np.sum(centers[labels].astype(np.float64) ** 2, axis=1)
    assert np.all(own <= squares.min(axis=1) * (1 + 2 * near_ties.tolerance) + rounding)
    # To settle them again changes nothing.
    assert len(near_ties.break_ties(kernel_rows(block), block.__getitem__, labels)) == 0


def test_scores_alone_assign_near_ties_wrongly():
    """So that the law above cannot hold by chance."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[100:] += 1e12
    frame = CenterFrame(X[::20].copy(), X.mean(axis=0), 1)
    labels, near_ties = by_scores(X, frame), NearTies(frame)
    assert near_ties.any()
    assert len(near_ties.break_ties(kernel_rows(X), X.__getitem__, labels)) > 20
    np.testing.assert_array_equal(nearest_labels(as_rows(X), X[::20].copy(), X.mean(axis=0), 1), labels)


def test_distant_centers_have_no_near_ties():
    X = np.random.default_rng(0).normal(size=(300, 8))
    for dtype in (np.float64, np.float32):
        frame = CenterFrame(X[:20].astype(dtype), X.mean(axis=0), 1)
        assert not NearTies(frame).any()
        labels = by_scores(X.astype(dtype), frame)
        squares = oracle.square_distances(X, X[:20])[np.arange(300), labels]
        assert len(NearTies(frame).find(labels, squares)) == 0


def test_equal_centers_are_not_near_ties():
    X = np.random.default_rng(0).normal(size=(50, 8))
    frame = CenterFrame(np.repeat(X[:5], 2, axis=0), X.mean(axis=0), 1)
    assert not NearTies(frame).any()
    assert np.all(NearTies(frame).half_gaps(np.arange(10)) > 0.1)
