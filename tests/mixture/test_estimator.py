"""TruncatedGaussianMixture: bit-identical results, convergence, and invalid input."""

import numpy as np
import pytest
import scipy.sparse as sp

from coterie import TruncatedGaussianMixture
from tests.mixture.mixtures import COVARIANCE_TYPES, mixture
from tests.support.bits import same_fits


class TestSameBits:
    def test_rows_read_in_every_iteration(self, blobs, monkeypatch, kept_bytes):
        """Blocks change which rows learn from which; the fit is as good."""
        whole = mixture(23, init=blobs[:23]).fit(blobs)
        kept_bytes(0)
        monkeypatch.setattr("coterie.mixture.posteriors._EM_BLOCK_BYTES", 1)
        blocks = mixture(23, init=blobs[:23]).fit(blobs)
        np.testing.assert_allclose(blocks.lower_bound_, whole.lower_bound_, rtol=0.01)
        assert np.all(np.diff(blocks.lower_bounds_) >= -1e-4)

    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    def test_weights_may_be_scaled(self, blobs, covariance_type):
        weights = np.random.default_rng(0).integers(1, 5, size=len(blobs))
        options = dict(init=blobs[:20], max_iter=10)
        plain = mixture(20, covariance_type, **options).fit(blobs, sample_weight=weights)
        same_fits(mixture(20, covariance_type, **options).fit(blobs, sample_weight=64 * weights), plain)


class TestFitting:
    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    def test_converges_when_the_free_energy_settles(self, blobs, covariance_type):
        model = mixture(20, covariance_type, init="afk-mc2", tol=1e-3).fit(blobs)
        assert model.converged_
        assert 1 < model.n_iter_ < 300
        changes = np.abs(np.diff(model.lower_bounds_) / model.lower_bounds_[1:])
        assert changes[-1] < 1e-3
        n_shared = 0 if covariance_type == "tied_spherical" else 2
        assert np.all(changes[n_shared:-1] >= 1e-3)
        assert mixture(20, covariance_type, init="afk-mc2", tol=1e-6).fit(blobs).n_iter_ > model.n_iter_
        assert not mixture(20, covariance_type, max_iter=2, tol=0).fit(blobs).converged_

    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    def test_coreset_tol_stops_a_coreset_fit_early(self, covariance_type):
        """What the earlier end leaves is a small share of what p parameters gain by chance on N' rows."""
        X = np.random.default_rng(0).uniform(size=(20_000, 4)).astype(np.float32)
        options = dict(coreset_size=2_000, tol=1e-7)
        whole = mixture(60, covariance_type, coreset_tol=0, **options).fit(X)
        early = mixture(60, covariance_type, **options).fit(X)
        assert early.converged_
        assert early.n_iter_ < 0.7 * whole.n_iter_
        same = whole.lower_bounds_[: early.n_iter_]
        np.testing.assert_array_equal(early.lower_bounds_, same)
        by_chance = early._n_parameters() / 2_000
        assert whole.lower_bound_ - early.lower_bound_ < 3 * early.coreset_tol * by_chance

    def test_the_flexible_models_do_not_converge_while_they_share(self):
        """The first two M-steps have one variance; that nothing changes then says nothing."""
        X = np.random.default_rng(0).normal(size=(300, 2)) * np.repeat([[1.0], [9]], 150, axis=0)
        for covariance_type in ("spherical", "diag"):
            model = mixture(2, covariance_type, init=[[0.0, 0], [0.1, 0]], tol=0.5).fit(X)
            assert model.n_iter_ >= 3
            assert len(np.unique(model.covariances_)) > 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(n_components=7), "n_samples=6 should be >= n_components=7"),
        (dict(coreset_size=2), "coreset_size=2 should be >= n_components=3"),
        (dict(init=np.zeros((2, 2))), "does not match the number of clusters 3 and of features 2"),
        (dict(init=lambda X, k, random_state: X[:1]), "does not match the number of clusters 3"),
    ],
)  # fmt: skip
def test_bad_parameters(parameters, message):
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(ValueError, match=message):
        TruncatedGaussianMixture(**(dict(n_components=3) | parameters)).fit(X)


def test_sparse_rows_are_not_taken():
    with pytest.raises(TypeError, match="Sparse rows were passed"):
        mixture(2).fit(sp.eye(9, format="csr"))
    model = mixture(2).fit(np.eye(9))
    with pytest.raises(TypeError, match="Sparse rows were passed"):
        model.predict(sp.eye(9, format="csr"))
