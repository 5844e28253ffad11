"""The benchmark of mixtures is fair: what is said to be the same is."""

import numpy as np
import pytest

from benchmarks.mixture.contenders import FITS, VC_GMM, Setting, draw_coreset, draw_seeds
from coterie.mixture import estimator as mixture_module

SETTING = Setting(20, 300, chain_length=5)


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(2000, 6)).astype(np.float32)


@pytest.mark.parametrize("coreset", [False, True])
def test_k_means_begins_where_the_mixture_does(X, coreset, monkeypatch):
    began = []

    def watched(*args):
        found = mixture_seeding(*args)
        began.append(found[0].copy())
        return found

    mixture_seeding = mixture_module.seed_by_markov_chain
    monkeypatch.setattr(mixture_module, "seed_by_markov_chain", watched)
    SETTING.mixture(7, 2, coreset_size=300 if coreset else None, max_iter=1, tol=0).fit(X)
    random = np.random.RandomState(7)
    drawn = draw_coreset(X, SETTING, random, 2) if coreset else (X, None)
    seeds = draw_seeds(drawn, SETTING, random, 2)
    np.testing.assert_array_equal(seeds, began[0])


def test_published_steps_are_algorithm_2():
    assert FITS[f"{VC_GMM}, the papers' steps"].call.keywords == dict(
        coreset=True, search_group_size=1, search_every=1, coreset_tol=0
    )
