"""Initialization of mixtures: names, arrays, models, callables, and coresets."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from coterie import KMeans
from coterie.coresets import lightweight_coreset
from tests.mixture.mixtures import COVARIANCE_TYPES, fitted_for, full, mixture
from tests.support.bits import same_fits


class TestStart:
    def test_auto_finds_clusters_of_unequal_size(self):
        random, labels = np.random.default_rng(0), np.repeat(np.arange(4), [1000, 400, 40, 10])
        X = random.normal(size=(4, 300))[labels] + random.normal(size=(1450, 300))
        found = [
            adjusted_rand_score(labels, mixture(4, init=init).fit(X).labels_) for init in ("auto", "afk-mc2")
        ]
        assert found[0] == 1 > found[1] + 0.2

    def test_auto_is_afk_mc2_for_many_components(self, blobs):
        options = dict(n_candidates=3, n_neighbors=2, max_iter=5)
        same_fits(*(mixture(25, init=init, **options).fit(blobs) for init in ("auto", "afk-mc2")))
        few, plain = (mixture(24, init=init, **options).fit(blobs) for init in ("auto", "afk-mc2"))
        assert few.lower_bound_ > plain.lower_bound_

    def test_by_array_model_or_callable(self, blobs):
        reference = mixture(23, init=blobs[:23], max_iter=5).fit(blobs)
        same_fits(mixture(23, init=lambda X, k, random_state: X[:k], max_iter=5).fit(blobs), reference)
        same_fits(mixture(23, init=blobs[:23].tolist(), max_iter=5).fit(blobs), reference)
        start = KMeans(23, init=blobs[:23], max_iter=3).fit(blobs)
        by_model = mixture(23, init=start, max_iter=5).fit(blobs)
        same_fits(by_model, mixture(23, init=start.cluster_centers_, max_iter=5).fit(blobs))

    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    def test_init_by_a_mixture_continues_its_fit(self, blobs, covariance_type):
        X = blobs.astype(np.float64)
        begun = fitted_for(10, full(9, covariance_type), X)
        resumed = fitted_for(5, full(9, covariance_type, init=begun), X)
        at_once = fitted_for(15, full(9, covariance_type), X)
        np.testing.assert_allclose(resumed.lower_bounds_, at_once.lower_bounds_[10:], rtol=1e-9)
        np.testing.assert_allclose(resumed.means_, at_once.means_, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(resumed.covariances_, at_once.covariances_, rtol=1e-6)

    def test_by_a_mixture_of_another_kind_takes_the_means(self, blobs):
        begun = mixture(9, "spherical", max_iter=5).fit(blobs)
        model = mixture(9, "diag", init=begun, max_iter=5).fit(blobs)
        same_fits(model, mixture(9, "diag", init=begun.means_, max_iter=5).fit(blobs))

    def test_the_model_that_is_given_stays(self, blobs):
        begun = mixture(9, "spherical", max_iter=5).fit(blobs)
        before = {name: np.copy(getattr(begun, name)) for name in ("means_", "covariances_", "weights_")}
        mixture(9, "spherical", init=begun, max_iter=5).fit(blobs)
        for name, value in before.items():
            np.testing.assert_array_equal(getattr(begun, name), value)

    def test_given_means_are_the_only_initialization(self, blobs):
        with pytest.warns(RuntimeWarning, match="only one init"):
            assert mixture(9, init=blobs[:9], n_init=3, max_iter=5).fit(blobs).n_components_ == 9

    def test_the_best_of_several_starts_is_kept(self, blobs):
        options, one = dict(init="random", max_iter=20), np.random.RandomState(3)
        single = [mixture(6, random_state=one, **options).fit(blobs).lower_bound_ for _ in range(4)]
        best = mixture(6, n_init=4, random_state=np.random.RandomState(3), **options).fit(blobs)
        assert best.lower_bound_ == max(single)


class TestCoreset:
    def test_coreset_fit_is_the_fit_of_weighted_rows(self, blobs):
        weights = np.random.default_rng(1).uniform(0.5, 2, size=len(blobs))
        options = dict(init=blobs[:9], max_iter=10)
        model = mixture(9, coreset_size=300, random_state=np.random.RandomState(3), **options)
        model.fit(blobs, sample_weight=weights)
        random = np.random.RandomState(3)
        rows, masses, _ = lightweight_coreset(blobs, 300, sample_weight=weights, random_state=random)
        plain = mixture(9, random_state=random, **options).fit(rows, sample_weight=masses)
        np.testing.assert_array_equal(model.means_, plain.means_)
        np.testing.assert_array_equal(model.lower_bounds_, plain.lower_bounds_)
        assert len(model.labels_) == len(blobs)
        np.testing.assert_array_equal(model.labels_, plain.predict(blobs))

    def test_a_callable_gets_the_coreset(self, blobs):
        def first_rows(X, n_components, random_state):
            assert X.shape == (300, 7)
            return X[:n_components]

        assert mixture(9, init=first_rows, coreset_size=300).fit(blobs).n_components_ == 9
