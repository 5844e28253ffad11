"""TruncatedGaussianMixture: EM where nothing is truncated, its laws where something is, and the estimator."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

import coterie
from coterie import KMeans, TruncatedGaussianMixture
from coterie.coresets import lightweight_coreset
from coterie.mixture.posteriors import distinct_draws
from tests.reference import truncated_mixture as oracle
from tests.support.storages import STORAGES, stored

COVARIANCE_TYPES = ["tied_spherical", "spherical", "diag"]
DTYPES = [np.float32, np.float64]

# As for KMeans: rows that are repeated are drawn by other random numbers than rows that are weighted.
_EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "seeding draws other numbers for weights than for repetitions",
}


@parametrize_with_checks([TruncatedGaussianMixture()], expected_failed_checks=lambda _: _EXPECTED_FAILURES)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    X, _ = make_blobs(2000, 7, centers=23, cluster_std=2.0, random_state=0)
    return X.astype(np.float32)


def mixture(n_components, covariance_type="tied_spherical", **parameters):
    return TruncatedGaussianMixture(
        n_components, covariance_type=covariance_type, **(dict(random_state=0) | parameters)
    )


def full(n_components, covariance_type="tied_spherical", **parameters):
    """A mixture that truncates nothing, and regularises nothing."""
    everything = dict(n_candidates=n_components, n_neighbors=n_components, reg_covar=0, tol=0)
    return mixture(n_components, covariance_type, **(everything | parameters))


def fitted_for(n_iter, model, X, sample_weight=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.set_params(max_iter=n_iter).fit(X, sample_weight=sample_weight)


def same_bits(left, right):
    for name in ("means_", "covariances_", "weights_", "neighbors_", "labels_", "lower_bounds_"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)
    np.testing.assert_array_equal(left.history_.n_distances, right.history_.n_distances)


def energies_of(model, X):
    return oracle.energies(X, model.means_, model.covariances_, model.weights_)


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


class TestNothingTruncated:
    """With n_candidates = n_neighbors = n_components this is plain EM."""

    @settings(max_examples=15, deadline=None)
    @given(
        d=st.integers(1, 6), n_components=st.integers(2, 7), n_iter=st.integers(2, 12), seed=st.integers(0, 99),
        covariance_type=st.sampled_from(["spherical", "diag"]),
    )  # fmt: skip
    def test_like_scikit_learn(self, d, n_components, n_iter, seed, covariance_type):
        X = np.random.default_rng(seed).normal(size=(200, d)) + 3 * np.eye(8)[np.arange(200) % 8, :d]
        start = fitted_for(3, full(n_components, covariance_type, random_state=seed), X)
        ours = fitted_for(n_iter, full(n_components, covariance_type, init=start), X)
        theirs = GaussianMixture(
            n_components, covariance_type=covariance_type, means_init=start.means_,
            weights_init=start.weights_, precisions_init=1 / start.covariances_, reg_covar=0, tol=1e-300,
            max_iter=n_iter, init_params="random_from_data", random_state=0,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs.fit(X)
        assert ours.n_iter_ == theirs.n_iter_ == n_iter
        for name in ("means_", "covariances_", "weights_"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-8)
        # Theirs belongs to the parameters before the last M-step.
        np.testing.assert_allclose(ours.lower_bounds_[-2], theirs.lower_bound_, rtol=1e-8)
        np.testing.assert_allclose(ours.lower_bound_, theirs.score(X), rtol=1e-8)
        np.testing.assert_array_equal(ours.labels_, theirs.predict(X))

    @settings(max_examples=25, deadline=None)
    @given(
        n=st.integers(40, 300), d=st.integers(1, 6), n_components=st.integers(1, 8), n_iter=st.integers(1, 9),
        weighted=st.booleans(), covariance_type=st.sampled_from(COVARIANCE_TYPES), seed=st.integers(0, 99),
    )  # fmt: skip
    def test_against_the_oracle(self, n, d, n_components, n_iter, weighted, covariance_type, seed):
        check_against_the_oracle(
            n, d, n_components, n_components, n_components, n_iter, weighted, covariance_type, seed
        )

    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    def test_weights_are_repetitions(self, covariance_type):
        X = np.random.default_rng(0).normal(size=(300, 3))
        weights = np.random.default_rng(1).integers(0, 4, size=300)
        options = dict(init=X[:6], n_neighbors=2)
        weighted = fitted_for(15, full(6, covariance_type, **options), X, weights)
        repeated = fitted_for(15, full(6, covariance_type, **options), np.repeat(X, weights, axis=0))
        for name in ("means_", "covariances_", "weights_", "lower_bounds_"):
            np.testing.assert_allclose(
                getattr(weighted, name), getattr(repeated, name), rtol=1e-8, atol=1e-10
            )
        np.testing.assert_array_equal(np.repeat(weighted.labels_, weights), repeated.labels_)

    def test_one_component_by_hand(self):
        X = np.array([[0.0, 1], [2, 1], [4, 7]])
        options = dict(sample_weight=[1, 2, 1])
        mean, variances = [2, 2.5], np.array([2, 6.75])
        tied = full(1, max_iter=5).fit(X, **options)
        np.testing.assert_allclose(tied.means_, [mean])
        np.testing.assert_allclose(tied.covariances_, variances.mean())
        diag = full(1, "diag", max_iter=5).fit(X, **options)
        np.testing.assert_allclose(diag.covariances_, [variances])
        np.testing.assert_array_equal(diag.weights_, [1])
        np.testing.assert_array_equal(diag.labels_, [0, 0, 0])
        expected = -0.5 * (2 + np.log(2 * np.pi * variances).sum())
        np.testing.assert_allclose(diag.lower_bound_, expected)


def check_against_the_oracle(
    n, d, n_components, n_candidates, n_neighbors, n_iter, weighted, covariance_type, seed
):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) + 4 * random.normal(size=(5, d))[np.arange(n) % 5]
    weights = random.uniform(0.5, 2, size=n) if weighted else None
    model = full(
        n_components, covariance_type, n_candidates=n_candidates, n_neighbors=n_neighbors, init=X[:n_components],
        reg_covar=0.01, random_state=seed, n_threads=2,
    )  # fmt: skip
    fitted_for(n_iter, model, X, weights)
    # The draws of the fit: candidates of each row, then neighbours of each component.
    draws = np.random.RandomState(seed)
    candidates = distinct_draws(draws, n, n_components, n_candidates)
    others = distinct_draws(draws, n_components, n_components - 1, n_neighbors - 1)
    own = np.arange(n_components, dtype=np.int32)[:, None]
    neighbors = np.hstack([own, others + (others >= own)])
    means, variances, mixing, neighbors, bounds = oracle.truncated_em(
        X, X[:n_components], candidates, neighbors, covariance_type=covariance_type, n_iter=n_iter,
        weights=weights, reg_covar=0.01,
    )  # fmt: skip
    alive = mixing > 0
    np.testing.assert_allclose(model.lower_bounds_, bounds, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.means_, means[alive], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        model.covariances_, variances[alive] if variances.ndim else variances, rtol=1e-6
    )
    np.testing.assert_allclose(model.weights_, mixing[alive], rtol=1e-6)
    if alive.all():
        np.testing.assert_array_equal(model.neighbors_, neighbors)


class TestTruncated:
    @settings(max_examples=40, deadline=None)
    @given(
        n=st.integers(60, 400), d=st.integers(1, 9), n_components=st.integers(2, 30), n_candidates=st.integers(1, 5),
        n_neighbors=st.integers(1, 6), n_iter=st.integers(1, 14), weighted=st.booleans(),
        covariance_type=st.sampled_from(COVARIANCE_TYPES), seed=st.integers(0, 99),
    )  # fmt: skip
    def test_against_the_oracle(
        self, n, d, n_components, n_candidates, n_neighbors, n_iter, weighted, covariance_type, seed
    ):
        sizes = n_components, min(n_candidates, n_components), min(n_neighbors, n_components)
        check_against_the_oracle(n, d, *sizes, n_iter, weighted, covariance_type, seed)

    @settings(max_examples=40, deadline=None)
    @given(
        d=st.integers(1, 9), n_components=st.integers(1, 25), n_candidates=st.integers(1, 6),
        n_neighbors=st.integers(1, 6), covariance_type=st.sampled_from(COVARIANCE_TYPES),
        dtype=st.sampled_from(DTYPES), weighted=st.booleans(), coreset_size=st.sampled_from([None, 300]),
        random_candidate=st.booleans(), offset=st.sampled_from([0, 50]), seed=st.integers(0, 99),
    )  # fmt: skip
    def test_the_free_energy_never_falls(
        self, d, n_components, n_candidates, n_neighbors, covariance_type, dtype, weighted, coreset_size,
        random_candidate, offset, seed,
    ):  # fmt: skip
        random = np.random.default_rng(seed)
        centers = random.normal(size=(9, d)) * 4 + offset
        X = (random.normal(size=(600, d)) + centers[np.arange(600) % 9]).astype(dtype)
        weights = random.uniform(0.5, 2, size=600) if weighted else None
        model = mixture(
            n_components, covariance_type, n_candidates=n_candidates, n_neighbors=n_neighbors, tol=0,
            reg_covar=0, coreset_size=coreset_size, random_candidate=random_candidate, random_state=seed,
        )  # fmt: skip
        fitted_for(25, model, X, weights)
        if model.n_components_ < n_components:
            return  # what is dropped because it has no variance takes its infinite density along
        slack = 2e-4 if dtype == np.float32 else 1e-9
        assert np.all(np.diff(model.lower_bounds_) >= -slack * (1 + np.abs(model.lower_bounds_[1:])))
        assert model.lower_bound_ == model.lower_bounds_[-1] == model.history_.objective[-1]

    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    @pytest.mark.parametrize("weighted", [False, True])
    def test_the_lower_bound_is_one(self, blobs, covariance_type, weighted):
        X = blobs.astype(np.float64)
        weights = np.random.default_rng(0).random(len(X)) if weighted else None
        model = mixture(40, covariance_type, max_iter=20, tol=0)
        fitted_for(20, model, X, weights)
        log_likelihood = np.average(model.score_samples(X), weights=weights)
        five_best = np.sort(energies_of(model, X), axis=1)[:, :5]
        truncated = np.average(oracle.posteriors(five_best)[1], weights=weights)
        assert model.lower_bound_ <= truncated + 1e-9
        assert truncated <= log_likelihood + 1e-9
        assert model.lower_bound_ > log_likelihood - 0.02

    def test_finds_what_full_em_finds(self, blobs):
        X = blobs.astype(np.float64)
        start = KMeans(23, random_state=0).fit(X)
        ours = mixture(23, "spherical", init=start, tol=1e-8).fit(X)
        everything = full(23, "spherical", init=start, reg_covar=1e-6, tol=1e-8).fit(X)
        np.testing.assert_allclose(ours.lower_bound_, everything.lower_bound_, rtol=1e-3)
        assert np.mean(ours.labels_ == everything.labels_) > 0.99
        assert ours.history_.n_distances[-1] < 0.9 * everything.history_.n_distances[-1]

    def test_more_candidates_and_neighbors_than_components(self, blobs):
        many = mixture(4, n_candidates=50, n_neighbors=70).fit(blobs)
        same_bits(many, mixture(4, n_candidates=4, n_neighbors=4).fit(blobs))
        assert many.neighbors_.shape == (4, 4)
        assert many.responsibilities(blobs).nnz == 4 * len(blobs)

    def test_a_random_candidate_helps_where_nothing_else_does(self):
        """In one column, with no neighbours at all, the means come from where the rows are not."""
        X = np.repeat(np.arange(50.0), 20)[:, None] + np.random.default_rng(0).normal(
            scale=0.05, size=(1000, 1)
        )
        options = dict(n_candidates=1, n_neighbors=1, init=X[::20], tol=0, max_iter=60)
        without, with_random = (
            mixture(50, random_candidate=random_candidate, **options).fit(X)
            for random_candidate in (False, True)
        )
        assert with_random.lower_bound_ > without.lower_bound_ + 0.5
        assert np.all(np.diff(with_random.lower_bounds_) >= -1e-6)
        assert with_random.history_.n_distances[0] > without.history_.n_distances[0]

    def test_the_regulariser_is_added(self, blobs):
        X = blobs.astype(np.float64)
        for covariance_type in COVARIANCE_TYPES:
            plain = fitted_for(1, full(5, covariance_type, init=X[:5]), X)
            more = fitted_for(1, full(5, covariance_type, init=X[:5], reg_covar=0.5), X)
            np.testing.assert_allclose(more.covariances_, plain.covariances_ + 0.5)
            np.testing.assert_allclose(more.means_, plain.means_)


class TestSameBits:
    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    @pytest.mark.parametrize("random_candidate", [False, True])
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_threads_do_not_matter(self, blobs, covariance_type, random_candidate, dtype):
        options = dict(random_candidate=random_candidate, max_iter=30)
        models = [
            mixture(40, covariance_type, n_threads=n, **options).fit(blobs.astype(dtype)) for n in (1, 2, 3)
        ]
        same_bits(models[0], models[1])
        same_bits(models[0], models[2])

    @pytest.mark.parametrize("kept", [0, 1 << 30])
    @pytest.mark.parametrize("storage", STORAGES[1:])
    @pytest.mark.parametrize("coreset_size", [None, 500])
    def test_storage_does_not_matter(self, blobs, tmp_path, monkeypatch, kept, storage, coreset_size):
        monkeypatch.setattr("coterie.blocks.kernel_rows.KEPT_BYTES", kept)
        monkeypatch.setattr("coterie.mixture.posteriors.KEPT_BYTES", kept)
        monkeypatch.setattr("coterie.mixture.posteriors._BLOCK_BYTES", 1)
        X = blobs.astype(np.float64)
        weights = np.random.default_rng(0).random(len(X))
        options = dict(coreset_size=coreset_size, random_candidate=True, max_iter=10)
        reference = fitted_for(10, mixture(40, "spherical", **options), X, weights)
        rows = stored(X, storage, tmp_path)
        same_bits(fitted_for(10, mixture(40, "spherical", **options), rows, weights), reference)
        np.testing.assert_array_equal(reference.predict(rows), reference.labels_)
        np.testing.assert_allclose(reference.score_samples(rows), reference.score_samples(X), rtol=1e-12)

    def test_layouts_and_types_do_not_matter(self, blobs):
        reference = mixture(20, max_iter=10).fit(blobs)
        same_bits(mixture(20, max_iter=10).fit(np.asfortranarray(blobs)), reference)
        same_bits(mixture(20, max_iter=10).fit(np.repeat(blobs, 2, axis=0)[::2]), reference)
        small = np.clip(blobs * 5 + 100, 0, 255).astype(np.uint8)
        same_bits(mixture(9, max_iter=10).fit(small), mixture(9, max_iter=10).fit(small.astype(np.float32)))
        assert reference.means_.dtype == np.float32
        assert mixture(9, max_iter=2).fit(blobs.astype(np.float64)).means_.dtype == np.float64

    def test_rows_that_are_read_again_and_again(self, blobs, monkeypatch):
        """Blocks change which rows learn from which; the fit is as good."""
        whole = mixture(23, init=blobs[:23]).fit(blobs)
        monkeypatch.setattr("coterie.mixture.posteriors.KEPT_BYTES", 0)
        monkeypatch.setattr("coterie.mixture.posteriors._BLOCK_BYTES", 1)
        blocks = mixture(23, init=blobs[:23]).fit(blobs)
        np.testing.assert_allclose(blocks.lower_bound_, whole.lower_bound_, rtol=0.01)
        assert np.all(np.diff(blocks.lower_bounds_) >= -1e-4)

    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    def test_weights_of_one_are_none(self, blobs, covariance_type):
        weighted = mixture(20, covariance_type, max_iter=10).fit(blobs, sample_weight=np.ones(len(blobs)))
        same_bits(weighted, mixture(20, covariance_type, max_iter=10).fit(blobs))

    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    def test_weights_may_be_scaled(self, blobs, covariance_type):
        weights = np.random.default_rng(0).integers(1, 5, size=len(blobs))
        options = dict(init=blobs[:20], max_iter=10)
        plain = mixture(20, covariance_type, **options).fit(blobs, sample_weight=weights)
        same_bits(mixture(20, covariance_type, **options).fit(blobs, sample_weight=64 * weights), plain)

    def test_seeds(self, blobs):
        same_bits(mixture(40).fit(blobs), mixture(40).fit(blobs))
        assert np.any(mixture(40).fit(blobs).means_ != mixture(40, random_state=1).fit(blobs).means_)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_the_data_is_not_changed(self, blobs, weighted):
        X, weights = blobs.copy(), np.random.default_rng(0).random(len(blobs)) if weighted else None
        before = None if weights is None else weights.copy()
        model = mixture(20, max_iter=10, tol=0).fit(X, sample_weight=weights)
        assert model.n_iter_ == 10  # rows have been put in another order
        np.testing.assert_array_equal(X, blobs)
        np.testing.assert_array_equal(weights, before)


class TestCoreset:
    def test_it_is_the_fit_of_weighted_rows(self, blobs):
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

    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    def test_it_stands_for_all(self, blobs, covariance_type):
        model = mixture(23, covariance_type, coreset_size=1000, max_iter=50).fit(blobs)
        everything = mixture(23, covariance_type, max_iter=50).fit(blobs)
        assert model.score(blobs) > everything.score(blobs) - 0.6
        np.testing.assert_allclose(model.weights_.sum(), 1)

    def test_a_callable_gets_the_coreset(self, blobs):
        def first_rows(X, n_components, random_state):
            assert X.shape == (300, 7)
            return X[:n_components]

        assert mixture(9, init=first_rows, coreset_size=300).fit(blobs).n_components_ == 9


class TestStart:
    @pytest.mark.parametrize("init", ["afk-mc2", "k-means++", "random"])
    def test_by_name(self, blobs, init):
        model = mixture(23, init=init, max_iter=50).fit(blobs)
        assert len(np.unique(model.labels_)) > 10
        assert model.lower_bound_ > mixture(1).fit(blobs).lower_bound_ + 1

    def test_by_array_model_or_callable(self, blobs):
        reference = mixture(23, init=blobs[:23], max_iter=5).fit(blobs)
        same_bits(mixture(23, init=lambda X, k, random_state: X[:k], max_iter=5).fit(blobs), reference)
        same_bits(mixture(23, init=blobs[:23].tolist(), max_iter=5).fit(blobs), reference)
        start = KMeans(23, init=blobs[:23], max_iter=3).fit(blobs)
        by_model = mixture(23, init=start, max_iter=5).fit(blobs)
        same_bits(by_model, mixture(23, init=start.cluster_centers_, max_iter=5).fit(blobs))

    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    def test_by_a_mixture_goes_on_where_that_was(self, blobs, covariance_type):
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
        same_bits(model, mixture(9, "diag", init=begun.means_, max_iter=5).fit(blobs))

    def test_the_model_that_is_given_stays(self, blobs):
        begun = mixture(9, "spherical", max_iter=5).fit(blobs)
        before = {name: np.copy(getattr(begun, name)) for name in ("means_", "covariances_", "weights_")}
        mixture(9, "spherical", init=begun, max_iter=5).fit(blobs)
        for name, value in before.items():
            np.testing.assert_array_equal(getattr(begun, name), value)

    def test_by_a_model_without_a_fit(self, blobs):
        with pytest.raises(NotFittedError):
            mixture(9, init=mixture(9)).fit(blobs)
        begun = mixture(9, max_iter=2).fit(blobs)
        with pytest.raises(ValueError, match="does not match the number of clusters 8"):
            mixture(8, init=begun).fit(blobs)


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
    def test_components_that_nobody_wants_are_dropped(self, blobs, tmp_path, covariance_type, dtype):
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

    def test_one_variance_and_equal_weights_keep_them(self, blobs):
        init = np.vstack([blobs[:9], np.full((1, 7), 10_000)])
        model = mixture(10, init=init, max_iter=5).fit(blobs)
        assert model.n_components_ == 10
        np.testing.assert_array_equal(model.means_[9], init[9])
        np.testing.assert_allclose(model.weights_, 0.1)

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

    def test_one_column(self):
        X = np.r_[np.zeros(50), np.full(50, 9.0)][:, None] + np.random.default_rng(0).normal(size=(100, 1))
        model = mixture(2, "spherical", init=[[0.0], [9]]).fit(X)
        np.testing.assert_allclose(model.means_[:, 0], [X[:50].mean(), X[50:].mean()], atol=0.05)
        np.testing.assert_array_equal(model.labels_, np.repeat([0, 1], 50))

    def test_far_from_the_origin(self):
        X, blob = make_blobs(2000, 5, centers=4, cluster_std=0.5, random_state=0)
        init = X[np.unique(blob, return_index=True)[1]]
        for covariance_type in COVARIANCE_TYPES:
            near = mixture(4, covariance_type, init=init).fit(X)
            far = mixture(4, covariance_type, init=init + 1e4).fit((X + 1e4).astype(np.float32))
            np.testing.assert_array_equal(near.labels_, far.labels_)
            np.testing.assert_allclose(far.covariances_, near.covariances_, rtol=0.02)
            np.testing.assert_allclose(far.lower_bound_, near.lower_bound_, rtol=0.01)

    @pytest.mark.parametrize("init", ["afk-mc2", "k-means++", "random"])
    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    def test_rows_without_weight_have_no_vote(self, blobs, init, covariance_type):
        X = np.vstack([blobs, np.full((1000, 7), 1000.0, dtype=np.float32)])
        model = mixture(10, covariance_type, init=init, max_iter=10)
        model.fit(X, sample_weight=np.repeat([1.0, 0.0], [len(blobs), 1000]))
        assert np.all(np.abs(model.means_) <= np.abs(blobs).max())
        assert np.max(model.covariances_) < 1000


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

    def test_with_all_candidates_responsibilities_are_the_posteriors(self, fitted, blobs):
        X = blobs[:300].astype(np.float64)
        everything = clone(fitted).set_params(n_candidates=23, init=fitted, max_iter=1).fit(blobs)
        np.testing.assert_allclose(
            everything.responsibilities(X).toarray(), everything.predict_proba(X), atol=1e-9
        )

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

    def test_names_and_shapes(self, fitted):
        assert fitted.cluster_centers_ is fitted.means_
        assert fitted.n_features_in_ == 7
        shape = {"tied_spherical": (), "spherical": (23,), "diag": (23, 7)}[fitted.covariance_type]
        assert np.shape(fitted.covariances_) == shape
        np.testing.assert_allclose(fitted.weights_.sum(), 1)
        assert fitted.neighbors_.dtype == np.int32
        assert all(len(set(row)) == 5 for row in fitted.neighbors_)
        assert fitted.n_iter_ == len(fitted.history_) == len(fitted.lower_bounds_)
        np.testing.assert_array_equal(fitted.history_.iteration, np.arange(1, fitted.n_iter_ + 1))
        assert np.all(fitted.history_.n_distances > 0)

    def test_survives_every_way(self, fitted, blobs, tmp_path):
        fitted.predict(blobs)
        fitted.save(tmp_path / "model.coterie")
        for loaded in (coterie.load(tmp_path / "model.coterie"), pickle.loads(pickle.dumps(fitted))):
            assert loaded.get_params() == fitted.get_params()
            same_bits(loaded, fitted)
            np.testing.assert_array_equal(loaded.predict(blobs), fitted.predict(blobs))
            np.testing.assert_array_equal(loaded.sample(9)[0], fitted.sample(9)[0])
            np.testing.assert_allclose(loaded.score_samples(blobs), fitted.score_samples(blobs))
            assert loaded.n_components_ == 23

    def test_clones_are_unfitted(self, fitted, blobs):
        again = clone(fitted)
        assert again.get_params() == fitted.get_params()
        for method in (again.predict, again.responsibilities, again.predict_proba, again.score_samples):
            with pytest.raises(NotFittedError):
                method(blobs)
        with pytest.raises(NotFittedError):
            again.sample()
        assert not hasattr(again, "cluster_centers_")

    def test_another_fit_forgets_the_first(self, blobs):
        model = mixture(9, max_iter=3).fit(blobs)
        model.predict(blobs)
        model.set_params(n_components=5, compute_labels=False).fit(blobs[:, :4] + 1)
        assert not hasattr(model, "labels_")
        fresh = mixture(5, max_iter=3).fit(blobs[:, :4] + 1)
        np.testing.assert_array_equal(model.predict(blobs[:, :4]), fresh.predict(blobs[:, :4]))
        with pytest.raises(ValueError, match="7 features"):
            model.predict(blobs)


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
    def test_searches_agree_on_well_separated_data(self, many):
        model, X = many
        exact, truncated = (
            pickle.loads(pickle.dumps(model)).set_params(assignment=a) for a in ("exact", "truncated")
        )
        table, rows = energies_of(model, X), np.arange(len(X))
        for labels in (exact.predict(X), truncated.predict(X)):  # means that coincide may take turns
            np.testing.assert_allclose(table[rows, labels], table.min(axis=1), rtol=1e-4, atol=1e-3)
        np.testing.assert_array_equal(truncated.predict(X), model.labels_)
        shares = exact.responsibilities(X).toarray()
        np.testing.assert_allclose(shares, truncated.responsibilities(X).toarray(), atol=1e-4)
        np.testing.assert_allclose(shares, model.predict_proba(X), atol=1e-4)

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
        monkeypatch.setattr("coterie.mixture.component_search._BLOCK_BYTES", 16 * 6 * 7)
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

    @pytest.mark.filterwarnings("error")
    def test_equal_means_are_no_matter(self):
        """Users are not told of the cells that the search makes for itself."""
        X = np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 30, axis=0)
        model = mixture(300, max_iter=3, assignment="truncated").fit(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)

    def test_auto_is_exact_where_there_are_few(self, many, monkeypatch):
        model = pickle.loads(pickle.dumps(many[0])).set_params(assignment="auto")
        X = np.random.default_rng(1).uniform(-100, 100, size=(3000, 6)).astype(np.float32)
        labels = []
        for most in (model.n_components_, model.n_components_ - 1):
            monkeypatch.setattr("coterie.mixture.base._EXACT_COMPONENTS", most)
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


class TestFitting:
    def test_callback_sees_progress_and_stops(self, blobs):
        seen = []

        def callback(progress):
            seen.append(progress)
            return len(seen) == 4

        model = mixture(30, callback=callback).fit(blobs)
        assert [progress.iteration for progress in seen] == [1, 2, 3, 4]
        assert model.n_iter_ == 4
        assert not model.converged_
        assert all(progress.centers.shape == (30, 7) for progress in seen)
        np.testing.assert_array_equal(seen[-1].centers, model.means_)
        assert np.any(seen[0].centers != seen[1].centers)
        np.testing.assert_array_equal([progress.objective for progress in seen], model.lower_bounds_)
        with pytest.raises(ValueError, match="read-only"):
            seen[0].centers[0] = 0

    def test_time_budget(self, blobs):
        with pytest.warns(ConvergenceWarning, match="max_time"):
            model = mixture(30, max_time=1e-9).fit(blobs)
        assert model.n_iter_ == 1
        assert not model.converged_
        np.testing.assert_array_equal(model.predict(blobs), model.labels_)

    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    def test_converges_when_the_free_energy_settles(self, blobs, covariance_type):
        model = mixture(20, covariance_type, tol=1e-3).fit(blobs)
        assert model.converged_
        assert 1 < model.n_iter_ < 300
        changes = np.abs(np.diff(model.lower_bounds_) / model.lower_bounds_[1:])
        assert changes[-1] < 1e-3
        n_shared = 0 if covariance_type == "tied_spherical" else 2
        assert np.all(changes[n_shared:-1] >= 1e-3)
        assert mixture(20, covariance_type, tol=1e-6).fit(blobs).n_iter_ > model.n_iter_
        assert not mixture(20, covariance_type, max_iter=2, tol=0).fit(blobs).converged_

    def test_the_flexible_models_do_not_converge_while_they_share(self):
        """The first two M-steps have one variance; that nothing changes then says nothing."""
        X = np.random.default_rng(0).normal(size=(300, 2)) * np.repeat([[1.0], [9]], 150, axis=0)
        for covariance_type in ("spherical", "diag"):
            model = mixture(2, covariance_type, init=[[0.0, 0], [0.1, 0]], tol=0.5).fit(X)
            assert model.n_iter_ >= 3
            assert len(np.unique(model.covariances_)) > 1

    def test_verbose_prints_each_iteration(self, blobs, capsys):
        model = mixture(3, verbose=1).fit(blobs)
        assert len(capsys.readouterr().out.splitlines()) == model.n_iter_

    def test_silent_by_default(self, blobs, capsys):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for covariance_type in COVARIANCE_TYPES:
                mixture(3, covariance_type).fit(blobs)
        assert capsys.readouterr() == ("", "")

    def test_compute_labels(self, blobs):
        with_labels, without = mixture(9).fit(blobs), mixture(9, compute_labels=False).fit(blobs)
        assert not hasattr(without, "labels_")
        np.testing.assert_array_equal(without.means_, with_labels.means_)
        np.testing.assert_array_equal(without.predict(blobs), with_labels.labels_)

    def test_feature_names(self):
        frame = load_iris(as_frame=True).data
        model = mixture(3, "diag").fit(frame)
        assert list(model.feature_names_in_) == list(frame.columns)
        np.testing.assert_array_equal(model.predict(frame), model.labels_)

    def test_iris(self):
        """On real data as good as scikit-learn's EM, from the same start."""
        X, _ = load_iris(return_X_y=True)
        start = KMeans(3, random_state=0).fit(X)
        for covariance_type in ("spherical", "diag"):
            theirs = GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X)
            ours = mixture(3, covariance_type, init=start, tol=1e-6).fit(X)
            assert ours.score(X) > theirs.score(X) - 0.03


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(n_components=0), "n_components must be a positive integer"),
        (dict(n_components=2.5), "n_components must be a positive integer"),
        (dict(n_components=7), "n_samples=6 should be >= n_components=7"),
        (dict(covariance_type="full"), "covariance_type must be one of tied_spherical, spherical, diag"),
        (dict(n_candidates=0), "n_candidates must be a positive integer"),
        (dict(n_neighbors=0), "n_neighbors must be a positive integer"),
        (dict(n_neighbors=1.5), "n_neighbors must be a positive integer"),
        (dict(coreset_size=0), "coreset_size must be a positive integer"),
        (dict(coreset_size=2), "coreset_size=2 should be >= n_components=3"),
        (dict(chain_length=0), "chain_length must be a positive integer"),
        (dict(init="best"), "init must be one of"),
        (dict(init=np.zeros((2, 2))), "does not match the number of clusters 3 and of features 2"),
        (dict(init=np.zeros((3, 3))), "does not match the number of clusters 3 and of features 2"),
        (dict(init=np.full((3, 2), np.nan)), "contains NaN"),
        (dict(init=lambda X, k, random_state: X[:1]), "does not match the number of clusters 3"),
        (dict(reg_covar=-1e-9), "reg_covar must not be negative"),
        (dict(reg_covar=np.nan), "reg_covar must not be negative"),
        (dict(assignment="fast"), "assignment must be one of auto, exact, truncated"),
        (dict(max_iter=0), "max_iter must be"),
        (dict(tol=-1), "tol must not be negative"),
        (dict(max_time=0), "max_time must be"),
        (dict(n_threads=0), "n_threads must be"),
    ],
)  # fmt: skip
def test_bad_parameters(parameters, message):
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(ValueError, match=message):
        TruncatedGaussianMixture(**(dict(n_components=3) | parameters)).fit(X)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"sample_weight.shape == \(2,\), expected \(6,\)"),
        ([1, 1, 1, 1, 1, -1], "[Nn]egative"),
        ([0] * 6, "zero|positive|0"),
        ([np.nan] * 6, "NaN"),
    ],
)
@pytest.mark.parametrize("coreset_size", [None, 5])
def test_bad_weights(weights, message, coreset_size):
    with pytest.raises(ValueError, match=message):
        mixture(2, coreset_size=coreset_size).fit(np.arange(12.0).reshape(6, 2), sample_weight=weights)


def test_sparse_rows_are_not_taken():
    with pytest.raises(TypeError, match="Sparse rows are not supported"):
        mixture(2).fit(sp.eye(9, format="csr"))
    model = mixture(2).fit(np.eye(9))
    with pytest.raises(TypeError, match="Sparse rows are not supported"):
        model.predict(sp.eye(9, format="csr"))


@pytest.mark.parametrize("coreset_size", [None, 100])
@pytest.mark.parametrize("storage", ["array", "npy"])
@pytest.mark.parametrize("init", ["afk-mc2", "given"])
def test_bad_rows_are_named(storage, init, coreset_size, tmp_path):
    X = np.random.default_rng(0).normal(size=(1000, 2))
    X[777, 1] = np.nan
    rows = stored(X, storage, tmp_path)
    model = mixture(3, init=X[:3] if init == "given" else init, coreset_size=coreset_size)
    with pytest.raises(ValueError, match=r"contains NaN.*First bad row: 777\."):
        model.fit(rows)
    X[777, 1] = np.inf
    with pytest.raises(ValueError, match=r"contains inf.*First bad row: 777\."):
        model.fit(stored(X, storage, tmp_path))
    fitted = mixture(3, max_iter=2).fit(X[:700])
    for method in (fitted.predict, fitted.responsibilities, fitted.predict_proba, fitted.score_samples):
        with pytest.raises(ValueError, match=r"contains inf.*First bad row: 777\."):
            method(X)


@pytest.mark.parametrize("coreset_size", [None, 100])
def test_rows_too_large_for_their_type(coreset_size):
    X = np.random.default_rng(0).normal(size=(1000, 2)).astype(np.float32)
    X[777, 1] = 1e30
    with pytest.raises(ValueError, match=r"too large for float32"):
        mixture(3, coreset_size=coreset_size).fit(X)


@pytest.mark.parametrize(
    ("X", "message"), [(np.zeros((0, 3)), "0 sample"), (np.zeros(9), "1D|one-dimensional|2D")]
)
def test_bad_shapes(X, message):
    with pytest.raises(ValueError, match=message):
        mixture(1).fit(X)
