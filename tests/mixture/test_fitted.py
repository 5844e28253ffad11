"""Methods of a fitted mixture."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from tests.mixture.mixtures import COVARIANCE_TYPES, energies_of, fitted_for, mixture
from tests.reference import truncated_mixture as oracle


def as_scikit_learn(model, X):
    """scikit-learn's mixture with the same parameters."""
    variances = np.asarray(model.covariances_)
    kind = "diag" if variances.ndim == 2 else "spherical"
    other = GaussianMixture(len(model.means_), covariance_type=kind)
    other.weights_, other.means_ = model.weights_, model.means_.astype(float)
    other.covariances_ = np.broadcast_to(variances, variances.shape or len(model.means_))
    other.precisions_cholesky_ = 1 / np.sqrt(other.covariances_)
    other.n_features_in_ = X.shape[1]
    return other


@pytest.fixture(scope="module", params=COVARIANCE_TYPES)
def fitted(request, blobs):
    return fitted_for(30, mixture(23, request.param), blobs.astype(np.float64))


class TestFittedModel:
    def test_like_scikit_learn_with_the_same_parameters(self, fitted, blobs):
        theirs = as_scikit_learn(fitted, blobs)
        X = np.random.default_rng(0).normal(scale=9, size=(100, 7))
        np.testing.assert_allclose(fitted.score_samples(X), theirs.score_samples(X), rtol=1e-9)
        np.testing.assert_allclose(fitted.score(X), theirs.score(X))
        np.testing.assert_allclose(fitted.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
        np.testing.assert_allclose(fitted.transform(X), theirs.predict_proba(X), atol=1e-9)
        assert list(fitted.get_feature_names_out()) == [f"truncatedgaussianmixture{c}" for c in range(23)]
        np.testing.assert_array_equal(fitted.predict(X), theirs.predict(X))
        n_parameters = 23 * 7 + 1 if fitted.covariance_type == "tied_spherical" else theirs._n_parameters()
        log_likelihood = theirs.score_samples(X).sum()
        np.testing.assert_allclose(fitted.aic(X), -2 * log_likelihood + 2 * n_parameters)
        np.testing.assert_allclose(fitted.bic(X), -2 * log_likelihood + n_parameters * np.log(100))

    def test_responsibilities_are_the_posteriors_of_the_best(self, fitted, blobs):
        X = blobs[:300].astype(np.float64)
        found = fitted.responsibilities(X)
        assert found.shape == (300, 23)
        assert found.has_sorted_indices
        np.testing.assert_array_equal(np.diff(found.indptr), 5)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        table = energies_of(fitted, X)
        table[table > np.sort(table, axis=1)[:, 4:5]] = np.inf
        np.testing.assert_allclose(found.toarray(), oracle.posteriors(table)[0], atol=1e-9)

    def test_predict_gives_the_labels(self, fitted, blobs):
        assert fitted.labels_.dtype == np.int32
        np.testing.assert_array_equal(fitted.predict(blobs.astype(np.float64)), fitted.labels_)
        np.testing.assert_array_equal(energies_of(fitted, blobs).argmin(axis=1), fitted.labels_)
        best = fitted.responsibilities(blobs).toarray().argmax(axis=1)
        np.testing.assert_array_equal(best, fitted.labels_)
        again = clone(fitted)
        np.testing.assert_array_equal(again.fit_predict(blobs.astype(np.float64)), fitted.labels_)

    def test_samples_are_of_the_mixture(self, fitted):
        X, y = fitted.sample(40_000)
        assert X.shape == (40_000, 7)
        assert X.dtype == fitted.means_.dtype
        assert y.dtype == np.int32
        assert np.all(np.diff(y) >= 0)
        np.testing.assert_allclose(np.bincount(y, minlength=23) / 40_000, fitted.weights_, atol=0.008)
        variances = np.asarray(fitted.covariances_)
        variances = np.broadcast_to(variances if variances.ndim == 2 else variances[..., None], (23, 7))
        for c in range(23):
            own, count = X[y == c], np.sum(y == c)
            np.testing.assert_allclose(
                own.mean(axis=0), fitted.means_[c], atol=5 * np.sqrt(variances[c].max() / count)
            )
            np.testing.assert_allclose(own.var(axis=0), variances[c], rtol=7 / np.sqrt(count))
        np.testing.assert_array_equal(fitted.sample(40_000)[0], X)
        with pytest.raises(ValueError, match="n_samples must be a positive integer"):
            fitted.sample(0)


@pytest.fixture(scope="module", params=COVARIANCE_TYPES)
def many(request):
    """Well separated: 400 components, 8 rows of each."""
    random = np.random.default_rng(0)
    centers = random.uniform(-100, 100, size=(400, 6))
    X = (np.repeat(centers, 8, axis=0) + random.normal(size=(3200, 6))).astype(np.float32)
    model = mixture(400, request.param, init=centers, reg_covar=0.1, max_iter=20, assignment="truncated")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X), X


class TestManyComponents:
    @pytest.mark.parametrize("assignment", ["exact", "truncated"])
    def test_labels_do_not_depend_on_the_block(self, many, assignment, monkeypatch):
        fitted, _ = many
        model = pickle.loads(pickle.dumps(fitted)).set_params(assignment=assignment)
        X = np.random.default_rng(1).uniform(-100, 100, size=(700, 6)).astype(np.float32)
        labels = model.predict(X)
        np.testing.assert_array_equal(labels[::3], model.predict(X[::3]))
        np.testing.assert_array_equal(labels[::-1], model.predict(X[::-1]))
        for row in (0, 350, 699):
            np.testing.assert_array_equal(labels[row : row + 1], model.predict(X[row : row + 1]))
        monkeypatch.setattr("coterie.mixture.component_search._SCORED_BYTES", 16 * 6 * 7)
        np.testing.assert_array_equal(labels, model.predict(X))

    @pytest.mark.parametrize("assignment", ["exact", "truncated"])
    def test_more_candidates_than_a_cell_lists(self, many, assignment):
        """A row is compared with the 80 components around its cell, and has shares in 100."""
        fitted, X = many
        model = pickle.loads(pickle.dumps(fitted)).set_params(assignment=assignment, n_candidates=100)
        found = model.responsibilities(X[:200])
        np.testing.assert_allclose(found.sum(axis=1), 1)
        np.testing.assert_array_equal(np.diff(found.indptr), 100)
        np.testing.assert_allclose(found.toarray(), model.predict_proba(X[:200]), atol=1e-4)

    def test_auto_is_exact_where_there_are_few(self, many, monkeypatch):
        model = pickle.loads(pickle.dumps(many[0])).set_params(assignment="auto")
        X = np.random.default_rng(1).uniform(-100, 100, size=(3000, 6)).astype(np.float32)
        labels = []
        for most in (model.n_components_, model.n_components_ - 1):
            monkeypatch.setattr("coterie.mixture.estimator._EXACT_COMPONENTS", most)
            labels.append(model.predict(X))
        assert np.any(labels[0] != labels[1])
        np.testing.assert_array_equal(labels[0], model.set_params(assignment="exact").predict(X))
        np.testing.assert_array_equal(labels[1], model.set_params(assignment="truncated").predict(X))

    def test_the_truncated_search_misses_little(self, many):
        model, _ = pickle.loads(pickle.dumps(many))
        X, _ = model.sample(3000)
        table = energies_of(model, X)
        best, rows = table.min(axis=1), np.arange(len(X))
        exact = model.set_params(assignment="exact").predict(X)
        np.testing.assert_allclose(table[rows, exact], best, rtol=1e-4, atol=1e-3)
        truncated = model.set_params(assignment="truncated").predict(X)
        assert np.mean(table[rows, truncated] > best + 1e-3) < 0.01
