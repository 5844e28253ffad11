"""Initialization of EM: given means and weights, several runs, and warm starts."""

import numpy as np
import pytest

import coterie
from coterie import TruncatedGaussianMixture
from tests.support.bits import same_bits


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    return np.concatenate([random.normal(size=(60, 2)) + 6 * random.normal(size=2) for _ in range(6)])


def fitted(rows, **parameters):
    model = TruncatedGaussianMixture(6, covariance_type="spherical", random_state=0, **parameters)
    with np.errstate(all="ignore"):
        return model.fit(rows)


def test_the_best_of_several_starts_is_kept(rows):
    single = [
        TruncatedGaussianMixture(6, covariance_type="spherical", init="random", random_state=random).fit(rows)
        for random in [np.random.RandomState(3)]
        for _ in range(4)
    ]
    best = TruncatedGaussianMixture(
        6, covariance_type="spherical", init="random", n_init=4, random_state=np.random.RandomState(3)
    ).fit(rows)
    assert best.lower_bound_ == max(model.lower_bound_ for model in single)


def test_given_means_are_the_initialization(rows):
    with pytest.warns(RuntimeWarning, match="only one init"):
        again = TruncatedGaussianMixture(6, init=rows[::60], n_init=3, random_state=0).fit(rows)
    assert again.n_components_ == 6


def test_saved_model_continues_its_stream(rows, tmp_path):
    model = fitted(rows, init=rows[::60].copy())
    model.save(tmp_path / "model.coterie")
    loaded = coterie.load(tmp_path / "model.coterie")
    same_bits(model.fit(rows).means_, loaded.fit(rows).means_)
