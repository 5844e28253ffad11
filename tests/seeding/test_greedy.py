"""Greedy D^2 sampling: its kernels against plain sums, its law, and how good it is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import kmeans_plusplus

from coterie import _kernels
from coterie.arrays import lanes_of
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.frame import CenterFrame
from coterie.seeding import k_means_plus_plus
from tests.reference import k_means as oracle
from tests.support.centers import DTYPES, SHAPES, rows_and_centers, tolerance


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sparse", [False, True])
@settings(max_examples=15, deadline=None)
@given(shape=SHAPES, seed=st.integers(0, 1000), weighted=st.booleans())
def test_the_kernels_of_potentials(dtype, sparse, shape, seed, weighted):
    X, block, tried = rows_and_centers(shape, dtype, sparse, seed)
    n_rows, n_columns, n_tried = shape
    random = np.random.default_rng(seed)
    weights = random.random(n_rows).astype(dtype) if weighted else None
    plain_weights = np.ones(n_rows) if weights is None else weights.astype(float)
    owners = X[random.integers(0, n_rows, size=3)].astype(dtype)
    to_owners, to_tried = oracle.square_distances(X, owners), oracle.square_distances(X, tried)
    owner = to_owners.argmin(axis=1).astype(np.int32)
    nearest = to_owners.min(axis=1).astype(dtype)
    before = nearest.astype(float)
    squares = np.sum(X.astype(float) ** 2, axis=1).astype(dtype)
    state = (squares, weights, nearest, owner, np.zeros(n_rows, dtype=np.uint32))
    x = kernel_rows(block)
    lanes = lanes_of(dtype)
    n_slots = -(-n_tried // lanes) * lanes
    reach = (oracle.square_distances(owners, tried).min(axis=1) / 4).astype(dtype)
    n_quanta = -(-n_rows // _kernels.ROW_QUANTUM)
    gains, potentials = np.empty((n_quanta, n_slots)), np.full(n_quanta, np.nan)
    slack = n_columns * 10 * tolerance(dtype)

    frame = CenterFrame(tried, np.zeros(n_columns))
    _kernels.candidate_gains(x, frame.relative, frame.offsets, reach, *state, gains, 2)
    expected = oracle.candidate_gains(X, plain_weights, before, tried)
    np.testing.assert_allclose(gains.sum(axis=0)[:n_tried], expected, atol=n_rows * slack)
    assert np.all(gains[:, n_tried:] == 0)

    slot = int(random.integers(0, n_tried))
    one = CenterFrame(tried[slot : slot + 1], np.zeros(n_columns))
    potentials[:] = [
        np.sum((plain_weights * before)[q * _kernels.ROW_QUANTUM : (q + 1) * _kernels.ROW_QUANTUM])
        for q in range(n_quanta)
    ]
    _kernels.adopt_candidate(x, one.relative, one.offsets, slot, 3, *state, potentials, 2)
    lower = np.minimum(before, to_tried[:, slot])
    np.testing.assert_allclose(nearest, lower, atol=slack)
    np.testing.assert_allclose(potentials.sum(), np.sum(plain_weights * lower), atol=n_rows * slack)

    reach = np.append(reach, np.zeros(1, dtype=dtype))  # the new owner is itself among those tried
    _kernels.adopt_centers(x, frame.relative, frame.offsets, 4, reach, *state, potentials, 2)
    lowest = np.minimum(before, to_tried.min(axis=1))
    np.testing.assert_allclose(nearest, lowest, atol=slack)
    np.testing.assert_allclose(potentials.sum(), np.sum(plain_weights * lowest), atol=n_rows * slack)
    everything = np.hstack([to_owners, to_tried[:, slot : slot + 1], to_tried])
    np.testing.assert_allclose(everything[np.arange(n_rows), owner], lowest, atol=slack)


def test_k_means_plus_plus_is_as_good_as_scikit_learns(blobs):
    ours = np.median(
        [oracle.potential(blobs, k_means_plus_plus(blobs, 30, random_state=s)[0]) for s in range(9)]
    )
    theirs = np.median(
        [oracle.potential(blobs, kmeans_plusplus(blobs, 30, random_state=s)[0]) for s in range(9)]
    )
    assert ours <= 1.15 * theirs


def test_greedy_is_better_than_plain(blobs):
    greedy = np.mean(
        [oracle.potential(blobs, k_means_plus_plus(blobs, 30, random_state=s)[0]) for s in range(9)]
    )
    plain = np.mean(
        [
            oracle.potential(blobs, k_means_plus_plus(blobs, 30, random_state=s, n_local_trials=1)[0])
            for s in range(9)
        ]
    )
    assert greedy < plain


def test_plain_sampling_follows_the_square_distances():
    X = np.array([[0.0], [1.0], [2.0], [4.0]])
    counts, n_draws = np.zeros((4, 4)), 1500
    for seed in range(n_draws):
        _, indices = k_means_plus_plus(X, 2, random_state=seed, n_local_trials=1, n_threads=1)
        counts[tuple(indices)] += 1
    squares = oracle.square_distances(X, X)
    expected = n_draws / 4 * squares / squares.sum(axis=1, keepdims=True)
    assert np.all(np.abs(counts - expected) <= 4 * np.sqrt(expected))
