"""Mixtures of few, equal, far and weightless rows."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import coterie
from tests.mixture.mixtures import COVARIANCE_TYPES, DTYPES, mixture


def dropped(blobs, covariance_type, dtype=np.float32):
    """A mixture two of whose means were too far away to be anybody's."""
    init = blobs[:12].copy()
    init[[3, 7]] += 10_000
    model = mixture(12, covariance_type, init=init, max_iter=20)
    with pytest.warns(ConvergenceWarning, match="2 of 12 components had no weight or variance left"):
        model.fit(blobs.astype(dtype))
    return model


class TestDegenerate:
    @pytest.mark.parametrize("covariance_type", ["spherical", "diag"])
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_components_without_rows_are_dropped(self, blobs, tmp_path, covariance_type, dtype):
        model = dropped(blobs, covariance_type, dtype)
        assert (
            model.n_components_ == len(model.means_) == len(model.weights_) == len(model.covariances_) == 10
        )
        np.testing.assert_allclose(model.weights_.sum(), 1)
        assert np.all(model.weights_ > 0)
        assert np.all(np.abs(model.means_) < 100)
        assert np.all(np.isfinite(model.lower_bounds_))
        np.testing.assert_array_equal(model.neighbors_[:, 0], np.arange(10))
        assert np.all((model.neighbors_ >= 0) & (model.neighbors_ < 10))
        assert model.labels_.max() < 10
        np.testing.assert_array_equal(model.predict(blobs), model.labels_)
        assert model.predict_proba(blobs).shape == model.responsibilities(blobs).shape == (2000, 10)
        X, y = model.sample(100)
        assert X.shape == (100, 7)
        assert y.max() < 10
        model.save(tmp_path / "model.coterie")
        np.testing.assert_array_equal(coterie.load(tmp_path / "model.coterie").predict(blobs), model.labels_)
        again = mixture(10, covariance_type, init=model, max_iter=3).fit(blobs.astype(dtype))
        assert again.lower_bound_ >= model.lower_bound_ - 1e-3

    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    @pytest.mark.parametrize("init", ["afk-mc2", "k-means++", "random"])
    def test_constant_data(self, covariance_type, init):
        X = np.full((50, 3), 7.0)
        model = mixture(4, covariance_type, init=init).fit(X)
        np.testing.assert_allclose(model.means_, 7)
        np.testing.assert_allclose(model.covariances_, 1e-6)
        assert np.all(np.isfinite(model.score_samples(X)))
        np.testing.assert_array_equal(model.predict(X), model.labels_)

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("n_components", [10, 60])
    def test_fewer_distinct_rows_than_components(self, covariance_type, dtype, n_components):
        X = np.repeat(np.random.default_rng(0).normal(size=(n_components * 2 // 3, 2)), 25, axis=0).astype(
            dtype
        )
        for seed in range(3):
            model = mixture(n_components, covariance_type, random_state=seed).fit(X)
            assert np.all(np.isfinite(model.lower_bounds_))
            assert np.all(np.isfinite(model.means_))
            assert np.all(model.covariances_ > 0)
            np.testing.assert_array_equal(model.predict(X), model.labels_)
            np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("covariance_type", ["spherical", "diag"])
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("n_distinct", [1, 4, 40])
    def test_components_without_variance_and_nothing_to_add(self, covariance_type, dtype, n_distinct):
        """Rows whose components are all dropped go to others; where none is left, the error says what to do."""
        X = np.repeat(np.random.default_rng(0).normal(size=(n_distinct, 2)), 25, axis=0).astype(dtype)
        for seed in range(4):
            model = mixture(max(3, n_distinct * 3 // 2), covariance_type, reg_covar=0, random_state=seed)
            try:
                model.fit(X)
            except ValueError as error:
                assert "reg_covar" in str(error)  # noqa: PT017
                continue
            assert model.n_components_ >= 1
            assert np.all(np.isfinite(model.lower_bounds_))
            assert np.all(np.isfinite(model.means_))
            np.testing.assert_array_equal(model.predict(X), model.labels_)

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("covariance_type", ["spherical", "diag"])
    def test_a_component_that_shrinks_onto_one_row(self, covariance_type):
        """It is dropped; its row, which in a tile of its own knows nothing else, must go to another."""
        random = np.random.default_rng(36)
        X = random.normal(size=(300, 9)) + 4 * random.normal(size=(9, 9))[np.arange(300) % 9]
        for seed in range(20):
            model = mixture(
                40,
                covariance_type,
                n_candidates=2,
                n_neighbors=1,
                reg_covar=0,
                random_state=seed,
                max_iter=30,
            ).fit(X)
            assert np.all(np.isfinite(model.lower_bounds_))
            assert np.all(np.isfinite(model.means_))

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("covariance_type", ["spherical", "diag"])
    def test_components_of_rows_without_weight(self, blobs, covariance_type):
        """They have no mass and are dropped; their rows, which know hardly anything else, must go to others."""
        X = np.vstack([blobs, np.full((40, 7), 1000.0, dtype=np.float32)])
        weights = np.repeat([1.0, 0.0], [len(blobs), 40])
        init = np.vstack([blobs[:25], X[-5:] + np.arange(5)[:, None]])
        for n_candidates, n_neighbors in [(1, 2), (2, 1), (2, 2), (3, 3)]:
            model = mixture(
                30,
                covariance_type,
                init=init,
                n_candidates=n_candidates,
                n_neighbors=n_neighbors,
                max_iter=20,
            ).fit(X, sample_weight=weights)
            assert 1 <= model.n_components_ < 30
            assert np.all(np.isfinite(model.lower_bounds_))
            assert np.all(np.abs(model.means_) < 100)
            np.testing.assert_array_equal(model.predict(X), model.labels_)

    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    def test_as_many_components_as_rows(self, covariance_type):
        X = np.random.default_rng(0).normal(size=(40, 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = mixture(40, covariance_type).fit(X)
        assert np.all(np.isfinite(model.lower_bounds_))
        assert model.labels_.max() < model.n_components_ <= 40

    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    def test_one_row(self, covariance_type):
        model = mixture(1, covariance_type).fit([[3.0, 4.0]])
        np.testing.assert_array_equal(model.means_, [[3.0, 4.0]])
        np.testing.assert_allclose(model.covariances_, 1e-6)
        np.testing.assert_array_equal(model.labels_, [0])

    @pytest.mark.parametrize("init", ["afk-mc2", "k-means++", "random"])
    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    def test_rows_of_weight_zero_have_no_effect(self, blobs, init, covariance_type):
        X = np.vstack([blobs, np.full((1000, 7), 1000.0, dtype=np.float32)])
        model = mixture(10, covariance_type, init=init, max_iter=10)
        model.fit(X, sample_weight=np.repeat([1.0, 0.0], [len(blobs), 1000]))
        assert np.all(np.abs(model.means_) <= np.abs(blobs).max())
        assert np.max(model.covariances_) < 1000
