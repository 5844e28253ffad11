"""Truncated EM as a whole: plain EM where nothing is truncated, its laws where something is."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from coterie.mixture.posteriors import distinct_draws
from tests.mixture.mixtures import COVARIANCE_TYPES, DTYPES, energies_of, fitted_for, full, mixture
from tests.reference import truncated_mixture as oracle


def check_against_the_oracle(
    n, d, n_components, n_candidates, n_neighbors, n_iter, weighted, covariance_type, seed, **steps
):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) + 4 * random.normal(size=(5, d))[np.arange(n) % 5]
    weights = random.uniform(0.5, 2, size=n) if weighted else None
    model = full(
        n_components, covariance_type, n_candidates=n_candidates, n_neighbors=n_neighbors, init=X[:n_components],
        reg_covar=0.01, random_state=seed, n_threads=2, **steps,
    )  # fmt: skip
    fitted_for(n_iter, model, X, weights)
    # The draws of the fit: candidates of each row, then neighbors of each component.
    draws = np.random.RandomState(seed)
    candidates = distinct_draws(draws, n, n_components, n_candidates)
    others = distinct_draws(draws, n_components, n_components - 1, n_neighbors - 1)
    own = np.arange(n_components, dtype=np.int32)[:, None]
    neighbors = np.hstack([own, others + (others >= own)])
    means, variances, mixing, neighbors, bounds, closest = oracle.truncated_em(
        X, X[:n_components], candidates, neighbors, covariance_type=covariance_type, n_iter=n_iter,
        weights=weights, reg_covar=0.01, **steps,
    )  # fmt: skip
    assume(closest > 1e-7)  # else two means coincide but for rounding, and a row may take either
    alive = mixing > 0
    np.testing.assert_allclose(model.lower_bounds_, bounds, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.means_, means[alive], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        model.covariances_, variances[alive] if variances.ndim else variances, rtol=1e-6
    )
    np.testing.assert_allclose(model.weights_, mixing[alive], rtol=1e-6)
    if alive.all():
        np.testing.assert_array_equal(model.neighbors_, neighbors)


class TestNothingTruncated:
    """With n_candidates = n_neighbors = n_components this is plain EM."""

    @settings(max_examples=15)
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
        # A component that shrinks to a row or two is dropped here, and magnifies rounding there.
        assume(ours.n_components_ == n_components and np.min(ours.covariances_) > 0.01)
        assert ours.n_iter_ == theirs.n_iter_ == n_iter
        for name in ("means_", "covariances_", "weights_"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-8)
        # Theirs belongs to the parameters before the last M-step.
        np.testing.assert_allclose(ours.lower_bounds_[-2], theirs.lower_bound_, rtol=1e-8)
        np.testing.assert_allclose(ours.lower_bound_, theirs.score(X), rtol=1e-8)
        np.testing.assert_array_equal(ours.labels_, theirs.predict(X))

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


class TestTruncated:
    @given(
        n=st.integers(60, 250), d=st.integers(1, 9), n_components=st.integers(2, 20), n_candidates=st.integers(1, 4),
        n_neighbors=st.integers(1, 5), n_iter=st.integers(1, 12), weighted=st.booleans(),
        covariance_type=st.sampled_from(COVARIANCE_TYPES), seed=st.integers(0, 99),
        steps=st.fixed_dictionaries(
            dict(
                search_group_size=st.sampled_from([1, 4, 16]), search_every=st.integers(1, 4),
                initial_e_steps=st.integers(1, 4),
            )
        ),
    )  # fmt: skip
    def test_steps_as_in_the_papers_against_the_oracle(
        self, n, d, n_components, n_candidates, n_neighbors, n_iter, weighted, covariance_type, seed, steps
    ):
        sizes = n_components, min(n_candidates, n_components), min(n_neighbors, n_components)
        check_against_the_oracle(n, d, *sizes, n_iter, weighted, covariance_type, seed, **steps)

    @given(
        d=st.integers(1, 9), n_components=st.integers(1, 25), n_candidates=st.integers(1, 6),
        n_neighbors=st.integers(1, 6), covariance_type=st.sampled_from(COVARIANCE_TYPES),
        dtype=st.sampled_from(DTYPES), weighted=st.booleans(), coreset_size=st.sampled_from([None, 300]),
        random_candidate=st.booleans(), offset=st.sampled_from([0, 50]), seed=st.integers(0, 99),
        steps=st.sampled_from([{}, dict(search_group_size=1, search_every=1, initial_e_steps=2)]),
    )  # fmt: skip
    def test_the_free_energy_never_falls(
        self, d, n_components, n_candidates, n_neighbors, covariance_type, dtype, weighted, coreset_size,
        random_candidate, offset, seed, steps,
    ):  # fmt: skip
        random = np.random.default_rng(seed)
        centers = random.normal(size=(9, d)) * 4 + offset
        X = (random.normal(size=(600, d)) + centers[np.arange(600) % 9]).astype(dtype)
        weights = random.uniform(0.5, 2, size=600) if weighted else None
        model = mixture(
            n_components, covariance_type, n_candidates=n_candidates, n_neighbors=n_neighbors, tol=0,
            reg_covar=0, coreset_size=coreset_size, random_candidate=random_candidate, random_state=seed, **steps,
        )  # fmt: skip
        fitted_for(25, model, X, weights)
        if model.n_components_ < n_components:
            return  # what is dropped because it has no variance takes its infinite density along
        slack = 2e-4 if dtype == np.float32 else 1e-9
        assert np.all(np.diff(model.lower_bounds_) >= -slack * (1 + np.abs(model.lower_bounds_[1:])))
        assert model.lower_bound_ == model.lower_bounds_[-1] == model.history_.objective[-1]

    @pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
    @pytest.mark.parametrize("weighted", [False, True])
    def test_free_energy_is_a_lower_bound_of_the_likelihood(self, blobs, covariance_type, weighted):
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

    def test_random_candidate_finds_distant_components(self):
        """In one column, with no neighbors at all, the means come from where the rows are not."""
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

    def test_search_every_1_searches_in_each_e_step(self, blobs):
        """What does not search evaluates the candidates alone."""
        options = dict(init=blobs[:23], tol=0, max_iter=9)
        for search_every in (1, 2, 3):
            evaluated = mixture(23, search_every=search_every, **options).fit(blobs).history_.n_distances
            searches = evaluated > 5 * len(blobs)
            steps = np.arange(1, 10)  # E-step 0 is before the first iteration
            np.testing.assert_array_equal(searches, (steps <= 3) | ((steps - 3) % search_every == 0))
