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


def test_given_weights_are_the_initialization(rows):
    means, few = rows[::60].copy(), {"max_iter": 1, "tol": 0.0}
    equal = fitted(rows, init=means, weights_init=np.full(6, 1 / 6), **few)
    plain = fitted(rows, init=means, **few)
    np.testing.assert_array_equal(equal.means_, plain.means_)


def test_warm_start_begins_with_the_last_fit(rows):
    whole = fitted(rows, tol=0.0, max_iter=12, search_every=1)
    parts = TruncatedGaussianMixture(
        6, covariance_type="spherical", tol=0.0, max_iter=12, warm_start=True, random_state=0
    )
    first = parts.fit(rows).lower_bound_
    second = parts.fit(rows).lower_bound_
    assert second >= first - 1e-9
    assert second >= whole.lower_bound_ - 1e-6
    # From the end of a fit there is nowhere to go.
    assert np.allclose(parts.set_params(max_iter=1).fit(rows).means_, parts.means_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(weights_init=[0.5, 0.5]), r"n_components=6 positive numbers whose sum is 1, got shape \(2,\)"),
        (dict(weights_init=[0, 0.2, 0.2, 0.2, 0.2, 0.2]), "positive numbers whose sum is 1, got .*least 0"),
        (dict(weights_init=[0.2] * 6), "sum 1.2"),
    ],
)
def test_invalid_initial_parameters(parameters, message, rows):
    with pytest.raises(ValueError, match=message):
        fitted(rows, **parameters)


def test_one_variance_has_equal_weights(rows):
    with pytest.raises(ValueError, match='needs covariance_type="spherical", "diag" or "factors"'):
        TruncatedGaussianMixture(6, weights_init=np.full(6, 1 / 6)).fit(rows)


def test_a_warm_start_needs_the_same_shape(rows):
    model = fitted(rows, warm_start=True)
    with pytest.raises(ValueError, match="warm_start goes on with the last fit, whose 6 means of 2 columns"):
        model.set_params(n_components=5).fit(rows)


def test_saved_model_continues_its_stream(rows, tmp_path):
    model = fitted(rows, warm_start=True, init=rows[::60].copy(), weights_init=np.full(6, 1 / 6))
    model.save(tmp_path / "model.coterie")
    loaded = coterie.load(tmp_path / "model.coterie")
    same_bits(model.fit(rows).means_, loaded.fit(rows).means_)
