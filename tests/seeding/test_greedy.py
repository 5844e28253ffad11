"""Greedy k-means++: its kernel and its choices against plain oracles, its law, and its quality."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from coterie import _kernels
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.frame import CenterFrame
from coterie.seeding import k_means_plus_plus
from tests.reference import k_means as oracle
from tests.support.bits import same_bits
from tests.support.centers import DTYPES, SHAPES, rows_and_centers


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sparse", [False, True])
@given(shape=SHAPES, seed=st.integers(0, 1000), far=st.booleans())
def test_pairs_equal_plain_distances(dtype, sparse, shape, seed, far):
    X, _, proposals = rows_and_centers(shape, dtype, sparse, seed)
    random = np.random.default_rng(seed)
    shift = X.mean(axis=0, dtype=float) if not sparse else np.zeros(shape[1])
    if far and not sparse:  # rows far from 0: the errors of scores are larger
        X, proposals, shift = X + dtype(50), proposals + dtype(50), shift + 50
    x = kernel_rows(csr_matrix(X) if sparse else X)
    squares = np.sum((X.astype(float) - shift) ** 2, axis=1).astype(dtype)
    owners = X[random.integers(0, len(X), size=2)]
    nearest = oracle.square_distances(X, owners).min(axis=1).astype(dtype)
    frame = CenterFrame(proposals, shift)

    def found(n_threads=1):
        return _kernels.pairs_in_reach(x, frame.relative, frame.offsets, squares, nearest, n_threads)

    ids, rows, lower = found()
    plain = oracle.square_distances(X, proposals)
    slack = (2 * shape[1] + 16) * np.finfo(dtype).eps * (np.max(np.sum(X.astype(float) ** 2, axis=1)) + 10)
    np.testing.assert_allclose(lower, plain[rows, ids], atol=slack)
    is_found = np.zeros(plain.shape, dtype=bool)
    is_found[rows, ids] = True
    assert np.all(is_found[plain < nearest[:, None] - slack])
    assert not np.any(is_found[plain > nearest[:, None] + slack])
    same_bits(found(n_threads=3), (ids, rows, lower))


@pytest.mark.parametrize("n_trials", [1, 4])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(40, 2, 7), (700, 3, 40), (2000, 96, 60)])
def test_choices_equal_those_of_the_oracle(shape, sparse, n_trials):
    # Whole numbers with mean 0: no sum or product is rounded.
    n_rows, n_columns, n_clusters = shape
    random = np.random.default_rng(n_rows)
    half = random.integers(-30, 30, size=(n_rows // 2, min(n_columns, 8))) @ random.integers(
        -1, 2, size=(min(n_columns, 8), n_columns)
    )
    X = np.concatenate([half, -half]).astype(np.float32)
    weights = random.integers(0, 3, size=n_rows).astype(np.float32)
    _, indices = k_means_plus_plus(
        csr_matrix(X) if sparse else X,
        n_clusters,
        sample_weight=weights,
        random_state=3,
        n_local_trials=n_trials,
    )
    expected = oracle.greedy_seeding(X, n_clusters, n_trials, weights, np.random.RandomState(3))
    np.testing.assert_array_equal(indices, expected)


def test_fewer_distinct_rows_than_centers():
    X = np.repeat(np.arange(3.0), 10)[:, None]
    _, indices = k_means_plus_plus(X, 8, random_state=0)
    assert len(set(indices.tolist())) == 8
    assert set(X[indices[:3], 0]) == {0.0, 1.0, 2.0}


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


def test_a_draw_beyond_the_last_probability_is_the_last_row_that_has_one():
    """Rounding of sums can lead there; the random numbers of this test do."""

    class Ones(np.random.RandomState):
        def uniform(self, low=0.0, high=1.0, size=None):
            return np.ones(size)

    X = np.arange(5.0)[:, None]
    _, indices = k_means_plus_plus(X, 1, sample_weight=[1, 2, 0, 1, 0], random_state=Ones(0))
    assert indices.tolist() == [3]


def test_plain_sampling_follows_the_square_distances():
    X = np.array([[0.0], [1.0], [2.0], [4.0]])
    counts, n_draws = np.zeros((4, 4)), 500
    for seed in range(n_draws):
        _, indices = k_means_plus_plus(X, 2, random_state=seed, n_local_trials=1, n_threads=1)
        counts[tuple(indices)] += 1
    squares = oracle.square_distances(X, X)
    expected = n_draws / 4 * squares / squares.sum(axis=1, keepdims=True)
    assert np.all(np.abs(counts - expected) <= 4 * np.sqrt(expected))
