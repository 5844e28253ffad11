"""D^2 sampling by Markov chains: comparison with the paper's algorithm, and quality."""

import numpy as np

from coterie.seeding import afk_mc2, k_means_plus_plus
from tests.reference import k_means as oracle


def test_markov_chains_follow_the_paper():
    X = np.random.default_rng(3).normal(size=(200, 3))
    weights = np.random.default_rng(4).random(200)
    _, indices = afk_mc2(X, 40, chain_length=15, sample_weight=weights, random_state=5)
    expected = oracle.markov_chain_seeding(X, 40, 15, weights, np.random.RandomState(5))
    np.testing.assert_array_equal(indices, expected)


def test_long_chains_come_near_to_k_means_plus_plus(blobs):
    chains = np.median([oracle.potential(blobs, afk_mc2(blobs, 30, random_state=s)[0]) for s in range(9)])
    plain = np.median(
        [
            oracle.potential(blobs, k_means_plus_plus(blobs, 30, random_state=s, n_local_trials=1)[0])
            for s in range(9)
        ]
    )
    assert chains <= 1.5 * plain
