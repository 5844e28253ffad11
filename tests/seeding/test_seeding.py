"""Seeding: who is chosen, and how good the choice is."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.cluster import kmeans_plusplus

from coterie import open_rows
from coterie.seeding import afk_mc2, k_means_plus_plus, random_rows
from tests.reference import k_means as oracle

SEEDINGS = [random_rows, k_means_plus_plus, afk_mc2]


@pytest.fixture(scope="module")
def blobs():
    random = np.random.default_rng(0)
    return (
        20 * random.normal(size=(30, 5))[random.integers(30, size=1500)] + random.normal(size=(1500, 5))
    ).astype(np.float32)


def potential(X, centers, weights=1.0):
    return float(np.sum(weights * oracle.square_distances(X, centers).min(axis=1)))


@pytest.mark.parametrize("seeding", SEEDINGS)
class TestEverySeeding:
    def test_centers_are_rows(self, seeding, blobs):
        centers, indices = seeding(blobs, 20, random_state=0)
        np.testing.assert_array_equal(centers, blobs[indices])
        assert len(set(indices)) == 20

    def test_storage_and_threads_do_not_matter(self, seeding, blobs, tmp_path):
        np.save(tmp_path / "rows.npy", blobs)
        _, expected = seeding(blobs, 20, random_state=0, n_threads=1)
        for X in (blobs, np.load(tmp_path / "rows.npy", mmap_mode="r"), open_rows(tmp_path / "rows.npy")):
            np.testing.assert_array_equal(seeding(X, 20, random_state=0, n_threads=3)[1], expected)

    def test_sparse(self, seeding, blobs):
        X = scipy.sparse.csr_matrix(np.maximum(blobs, 0))
        centers, indices = seeding(X, 20, random_state=0)
        np.testing.assert_array_equal(centers, X[indices].toarray())

    def test_rows_of_weight_zero_are_not_chosen(self, seeding, blobs):
        weights = np.zeros(len(blobs))
        weights[100:200] = 1
        for seed in range(5):
            _, indices = seeding(blobs, 10, sample_weight=weights, random_state=seed)
            assert np.all((indices >= 100) & (indices < 200))

    def test_too_many_clusters(self, seeding, blobs):
        with pytest.raises(ValueError, match="n_samples=1500 should be >= n_clusters=1501"):
            seeding(blobs, 1501)

    def test_every_row_is_a_center(self, seeding):
        X = np.arange(12.0).reshape(6, 2)
        assert seeding(X, 6, random_state=0)[0].shape == (6, 2)


def test_k_means_plus_plus_is_as_good_as_scikit_learns(blobs):
    ours = np.median([potential(blobs, k_means_plus_plus(blobs, 30, random_state=s)[0]) for s in range(9)])
    theirs = np.median([potential(blobs, kmeans_plusplus(blobs, 30, random_state=s)[0]) for s in range(9)])
    assert ours <= 1.15 * theirs


def test_greedy_is_better_than_plain(blobs):
    greedy = np.mean([potential(blobs, k_means_plus_plus(blobs, 30, random_state=s)[0]) for s in range(9)])
    plain = np.mean(
        [
            potential(blobs, k_means_plus_plus(blobs, 30, random_state=s, n_local_trials=1)[0])
            for s in range(9)
        ]
    )
    assert greedy < plain


def test_plain_sampling_follows_the_square_distances():
    X = np.array([[0.0], [1.0], [2.0], [4.0]])
    second = []
    for seed in range(4000):
        _, indices = k_means_plus_plus(X, 2, random_state=seed, n_local_trials=1, n_threads=1)
        if indices[0] == 0:
            second.append(indices[1])
    shares = np.bincount(second, minlength=4) / len(second)
    np.testing.assert_allclose(shares, np.array([0, 1, 4, 16]) / 21, atol=0.05)


def test_markov_chains_follow_the_paper():
    X = np.random.default_rng(3).normal(size=(200, 3))
    weights = np.random.default_rng(4).random(200)
    _, indices = afk_mc2(X, 40, chain_length=15, sample_weight=weights, random_state=5)
    expected = oracle.markov_chain_seeding(X, 40, 15, weights, np.random.RandomState(5))
    np.testing.assert_array_equal(indices, expected)


def test_long_chains_come_near_to_k_means_plus_plus(blobs):
    chains = np.median([potential(blobs, afk_mc2(blobs, 30, random_state=s)[0]) for s in range(9)])
    plain = np.median(
        [
            potential(blobs, k_means_plus_plus(blobs, 30, random_state=s, n_local_trials=1)[0])
            for s in range(9)
        ]
    )
    assert chains <= 1.5 * plain


@pytest.mark.parametrize(
    ("seeding", "parameters", "message"),
    [
        (afk_mc2, dict(chain_length=0), "chain_length must be at least 1"),
        (k_means_plus_plus, dict(n_local_trials=0), "n_local_trials must be at least 1"),
        (random_rows, dict(sample_weight=[1.0] + [0.0] * 5), "Fewer than n_clusters=2 rows"),
        (afk_mc2, dict(sample_weight=[0.0] * 6), "weight"),
    ],
)
def test_bad_arguments(seeding, parameters, message):
    with pytest.raises(ValueError, match=message):
        seeding(np.arange(12.0).reshape(6, 2), 2, **parameters)
