"""Mixtures of factor analyzers: kernels, EM and the estimator against full covariance matrices."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

import coterie
from coterie import TruncatedGaussianMixture, _kernels
from coterie.blocks.kernel_rows import kernel_rows
from coterie.fitting.deadline import Deadline
from coterie.fitting.report import FitReport
from coterie.mixture.em import HISTORY_FIELDS, EMOptions, em, first_factors, m_step
from coterie.mixture.parameters import MixtureParameters, count_parameters
from coterie.mixture.posteriors import distinct_draws
from tests.mixture.mixtures import DTYPES
from tests.mixture.problems import e_step, some_neighbors
from tests.reference import factor_analyzers as oracle
from tests.reference import truncated_mixture
from tests.support.bits import same_bits
from tests.support.instruction_sets import FUSED, INSTRUCTION_SETS, using


def some_parameters(n_components, n_factors, d, dtype, seed=0, noise=1.0):
    random = np.random.RandomState(seed)
    return MixtureParameters(
        random.normal(size=(n_components, d)).astype(dtype),
        noise * random.uniform(0.5, 2, size=(n_components, d)),
        random.dirichlet(np.ones(n_components)),
        random.normal(size=(n_components, n_factors, d)),
    )


def of_kernel(parameters):
    directions = parameters.directions
    return (
        parameters.means, directions.scales, directions.vectors, directions.shrinkages, parameters.energies()[2],
    )  # fmt: skip


def energies_of(X, parameters):
    """Return the energies of the kernel, base included."""
    everything = np.arange(len(parameters.means), dtype=np.int32)
    found = np.empty((len(X), len(everything)), dtype=X.dtype)
    _kernels.factor_energies(kernel_rows(X), *of_kernel(parameters), everything, found, 2)
    return found + parameters.energies()[3]


def expected_energies(X, parameters):
    return oracle.energies(
        X, parameters.means.astype(float), parameters.variances, parameters.weights, parameters.factors
    )


@pytest.fixture(scope="module")
def rows():
    """Rows of four components with two factors each."""
    random = np.random.default_rng(0)
    means, factors = 4 * random.normal(size=(4, 12)), 1.5 * random.normal(size=(4, 2, 12))
    parts = [
        mean + random.normal(size=(300, 2)) @ own + 0.4 * random.normal(size=(300, 12))
        for mean, own in zip(means, factors)
    ]
    return random.permutation(np.concatenate(parts))


def factor_mixture(n_components=4, n_factors=2, **parameters):
    return TruncatedGaussianMixture(
        n_components, covariance_type="factors", n_factors=n_factors, **(dict(random_state=0) | parameters)
    )


class TestKernels:
    @pytest.mark.parametrize("dtype", DTYPES)
    @given(
        n=st.sampled_from([1, 2, 3, 5, 16, 17, 40]), d=st.sampled_from([1, 2, 7, 8, 15, 16, 17, 33, 65]),
        n_factors=st.integers(0, 11), n_components=st.sampled_from([1, 2, 5]), seed=st.integers(0, 999),
    )  # fmt: skip
    def test_energies_against_the_oracle(self, dtype, n, d, n_factors, n_components, seed):
        parameters = some_parameters(n_components, n_factors, d, dtype, seed)
        X = np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)
        expected = expected_energies(X, parameters)
        for name in INSTRUCTION_SETS:
            with using(name):
                found = energies_of(X, parameters)
            np.testing.assert_allclose(
                found, expected, rtol=1e-4 if dtype == np.float32 else 1e-10, atol=1e-4
            )

    @pytest.mark.parametrize("noise", [1e-3, 1e-6])
    def test_little_noise_does_not_cancel(self, noise):
        """Rows on the planes of the factors: |s|^2 is 1e6 to 1e9, the squared distance about the number of columns."""
        parameters = some_parameters(3, 4, 50, np.float32, noise=noise)
        random = np.random.default_rng(0)
        X = parameters.means[0] + random.normal(size=(40, 4)) @ parameters.factors[0]
        X = (X + np.sqrt(parameters.variances[0]) * random.normal(size=X.shape)).astype(np.float32)
        np.testing.assert_allclose(
            energies_of(X, parameters)[:, 0], expected_energies(X, parameters)[:, 0], rtol=2e-3
        )

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("group_size", [1, 5, 16, 40])
    def test_search_is_that_of_the_energies(self, dtype, group_size):
        random = np.random.RandomState(0)
        parameters = some_parameters(30, 3, 19, dtype)
        X = random.normal(size=(97, 19)).astype(dtype)
        candidates, neighbors = distinct_draws(random, 97, 30, 4), some_neighbors(random, 30, 5)
        table = energies_of(X, parameters) - parameters.energies()[3]
        expected = truncated_mixture.partial_e_step(
            table.astype(float), candidates, neighbors, group_size=group_size
        )
        results = []
        for name in INSTRUCTION_SETS:
            with using(name):
                for n_threads in (1, 3):
                    found, near = candidates.copy(), neighbors.copy()
                    energies = np.empty(found.shape, dtype=dtype)
                    n_distances = _kernels.factor_search(
                        kernel_rows(X), *of_kernel(parameters), found, energies, near, None, group_size, True,
                        False, n_threads,
                    )  # fmt: skip
                    np.testing.assert_array_equal(found, expected[0])
                    np.testing.assert_allclose(energies, expected[1], rtol=1e-5)
                    np.testing.assert_array_equal(near, expected[2])
                    assert n_distances == expected[3]
                    results += [energies] if name in FUSED else []
        same_bits(results[1:], results[:1] * (len(results) - 1))

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_listed_energies_are_sorted_and_those_of_all(self, dtype):
        random = np.random.RandomState(0)
        parameters = some_parameters(9, 3, 21, dtype)
        X = random.normal(size=(50, 21)).astype(dtype)
        listed = distinct_draws(random, 50, 9, 4)
        table = energies_of(X, parameters) - parameters.energies()[3]
        ids, energies = listed.copy(), np.empty(listed.shape, dtype=dtype)
        _kernels.factor_energies_of_listed(kernel_rows(X), *of_kernel(parameters), ids, energies, 2)
        expected, kept = truncated_mixture.refreshed(table, listed)
        np.testing.assert_array_equal(ids, expected)
        np.testing.assert_allclose(energies, kept, rtol=1e-6)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_moments_against_plain_sums(self, dtype):
        random = np.random.RandomState(0)
        parameters = some_parameters(3, 3, 21, dtype)
        directions = parameters.directions
        X, weights = random.normal(size=(1300, 21)).astype(dtype), random.uniform(size=1300).astype(dtype)
        candidates = distinct_draws(random, 1300, 3, 2)
        shares = np.tile(np.array([0.75, 0.25], dtype=dtype), (1300, 1))
        shares[::3] = [1, 0]
        expected = [np.zeros((3, *shape)) for shape in [(), (21,), (21,), (3, 21), (3,), (3, 3)]]
        vectors, scales = directions.vectors[:, :, :21].astype(float), directions.scales.astype(float)
        for i, k in np.ndindex(candidates.shape):
            c = candidates[i, k]
            weight, row = float(weights[i]) * shares[i, k], X[i].astype(float) - parameters.means[c]
            b = vectors[c] @ (row * scales[c])
            for sums, term in zip(expected, [1.0, row, row**2, np.outer(b, row), b, np.outer(b, b)]):
                sums[c] += weight * term
        results = []
        for name in INSTRUCTION_SETS:
            for n_threads in (1, 3):
                found = [np.zeros_like(sums) for sums in expected]
                with using(name):
                    _kernels.factor_moments(
                        kernel_rows(X), candidates, shares, weights, parameters.means, directions.scales,
                        directions.vectors, *found, n_threads,
                    )  # fmt: skip
                for left, right in zip(found, expected):
                    atol = (1e-5 if dtype == np.float32 else 1e-13) * weights.sum()
                    np.testing.assert_allclose(left, right, atol=atol)
                results += [found] if name in FUSED else []
        same_bits(results[1:], results[:1] * (len(results) - 1))


def test_directions_keep_the_covariance():
    parameters = some_parameters(4, 3, 10, np.float64)
    turned = parameters.directions.factors()
    for c in range(4):
        np.testing.assert_allclose(
            oracle.covariance(turned[c], parameters.variances[c]),
            oracle.covariance(parameters.factors[c], parameters.variances[c]),
        )
        scaled = turned[c] / np.sqrt(parameters.variances[c])
        products = scaled @ scaled.T
        np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-10)
        assert np.all(np.diff(np.diag(products)) <= 0)


class TestEM:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_iterations_with_all_components_are_those_of_full_em(self, rows, weighted):
        random = np.random.default_rng(1)
        weights = random.uniform(0.5, 2, size=len(rows)) if weighted else None
        start = MixtureParameters(
            rows[:4].copy(), np.full((4, 12), 2.0), np.full(4, 0.25), random.normal(size=(4, 2, 12))
        )
        options = EMOptions("factors", 0, 1, 0.0, 0.0, 8, 0.0, 0.0, 1, n_factors=2)
        posteriors = e_step(rows, (4, 4, 4), weights=weights)
        result = em(posteriors, start, options, FitReport(None, HISTORY_FIELDS))
        plain = np.ones(len(rows)) if weights is None else weights
        means, noise, shares, factors = start.means, start.variances, start.weights, start.factors
        bounds = []
        for _ in range(9):
            expected = means, noise, shares, factors
            means, noise, shares, factors, bound = oracle.em_step(rows, plain, *expected)
            bounds.append(bound)
        np.testing.assert_allclose(result.history["objective"], bounds[1:], rtol=1e-9)
        np.testing.assert_allclose(result.parameters.means, expected[0], rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(result.parameters.variances, expected[1], rtol=1e-6)
        np.testing.assert_allclose(result.parameters.weights, expected[2], rtol=1e-8)
        for found, right in zip(result.parameters.factors, expected[3]):
            np.testing.assert_allclose(found.T @ found, right.T @ right, atol=1e-6)

    @settings(max_examples=15)
    @given(
        n_components=st.sampled_from([3, 12, 30]), n_factors=st.integers(1, 7), seed=st.integers(0, 99),
        n_candidates=st.integers(1, 4), coreset=st.sampled_from([None, 400]),
    )  # fmt: skip
    def test_free_energy_never_decreases(self, rows, n_components, n_factors, seed, n_candidates, coreset):
        model = factor_mixture(
            n_components, n_factors, n_candidates=n_candidates, coreset_size=coreset, reg_covar=0.0,
            random_state=seed, tol=1e-5, max_iter=40,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            bounds = model.fit(rows).lower_bounds_
        assume(model.n_components_ == n_components)  # to drop a component lowers it
        assert np.all(np.diff(bounds) >= -1e-6 * np.abs(bounds[1:]))

    def test_a_component_of_few_rows_keeps_its_factors_and_noise(self, rows):
        start = replace(
            some_parameters(2, 2, 12, np.float64), means=np.array([np.zeros(12), np.full(12, 500.0)])
        )
        X = np.concatenate([rows, np.full((2, 12), 500.0)])
        posteriors = e_step(X, (2, 2, 2))
        posteriors.update(posteriors.e_step(start))
        options = EMOptions("factors", smallest_variance=1e-12, least_mass=3.0)
        after = m_step(posteriors, start, "factors", options)
        np.testing.assert_array_equal(after.variances[1], start.variances[1])
        np.testing.assert_allclose(
            after.factors[1].T @ after.factors[1], start.factors[1].T @ start.factors[1]
        )
        assert np.all(after.variances[0] != start.variances[0])

    def test_first_factors_are_the_leading_directions(self, rows):
        own = rows[np.linalg.norm(rows - rows[0], axis=1) < 6]
        start = MixtureParameters(own[:1].copy(), np.ones((1, 12)), np.ones(1))
        posteriors = e_step(own, (1, 1, 1))
        before = posteriors.update(posteriors.e_step(start)) / len(own)
        options = EMOptions("factors", 0, 1, 0.0, 1e-12, 1, 0.0, 0.0, 1, n_factors=2, least_mass=3.0)
        assert first_factors(posteriors, start, options, FitReport(deadline=Deadline(0))) is None
        found = first_factors(posteriors, start, options, FitReport())
        after = posteriors.update(posteriors.e_step(found)) / len(own)
        scaled = (own - own.mean(axis=0)) / own.std(axis=0)
        values, vectors = np.linalg.eigh(scaled.T @ scaled / len(own))
        directions = found.factors[0] / own.std(axis=0)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        np.testing.assert_allclose(np.linalg.svd(directions @ vectors[:, -2:])[1], np.ones(2), atol=1e-3)
        assert after > before
        assert np.all(values[-2:] > 1)
        # Directions that are no factors, here for want of rows, keep a thousandth of the noise for later steps.
        weak = first_factors(posteriors, start, replace(options, least_mass=1e9), FitReport())
        shares = np.sum(weak.factors[0] ** 2 / weak.variances[0], axis=1)
        np.testing.assert_allclose(shares, 1e-3)

    @pytest.mark.parametrize("reg_covar", [0.01, 0.1, 1.0, 10.0])
    def test_first_factors_include_reg_covar(self, rows, reg_covar):
        """M-steps that add r to variances never lower the free energy minus r / 2 sum 1 / variance (the oracle)."""
        own = rows[np.linalg.norm(rows - rows[0], axis=1) < 6]
        found = MixtureParameters(own[:1].copy(), np.ones((1, 12)), np.ones(1))
        posteriors, objectives = e_step(own, (1, 1, 1)), []
        options = EMOptions("factors", 0, 1, reg_covar, 1e-12, 1, 0.0, 0.0, 1, n_factors=2, least_mass=3.0)
        for step in range(8):
            posteriors.update(posteriors.e_step(found))
            if step == 2:
                found = first_factors(posteriors, found, options, FitReport())
            else:
                kind = "diag" if step < 2 else "factors"
                found = m_step(posteriors, found, kind, replace(options, least_mass=0.0))
            assert np.all(found.variances >= (1 - 1e-12) * reg_covar)
            diag = truncated_mixture.energies(own, found.means, found.variances, found.weights)
            energies = expected_energies(own, found) if step > 1 else diag
            objectives.append(-energies.mean() - reg_covar / 2 * np.sum(1 / found.variances))
        assert np.all(np.diff(objectives) > -1e-3)  # weak factors are drawn


class TestEstimator:
    def test_no_factors_are_diagonal_variances(self, rows):
        diag = TruncatedGaussianMixture(4, covariance_type="diag", random_state=0).fit(rows)
        none = factor_mixture(n_factors=0).fit(rows)
        same_bits(none.means_, diag.means_)
        same_bits(none.covariances_, diag.covariances_)
        np.testing.assert_allclose(none.score_samples(rows), diag.score_samples(rows), rtol=1e-10)
        assert none.components_.shape == (4, 0, 12)

    def test_a_fit_that_ends_before_its_first_factors(self, rows):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = factor_mixture(max_iter=1).fit(rows)
            diag = TruncatedGaussianMixture(4, covariance_type="diag", max_iter=1, random_state=0).fit(rows)
        assert not model.components_.any()
        np.testing.assert_array_equal(model.labels_, model.predict(rows))
        np.testing.assert_array_equal(model.labels_, diag.labels_)
        np.testing.assert_allclose(model.score_samples(rows), diag.score_samples(rows), rtol=1e-10)
        np.testing.assert_allclose(model.denoise(rows), diag.denoise(rows), rtol=1e-10)

    def test_covariances_are_recovered(self, rows):
        model = factor_mixture(tol=1e-7).fit(rows)
        full = GaussianMixture(4, random_state=0, means_init=model.means_).fit(rows)
        diag = TruncatedGaussianMixture(4, covariance_type="diag", random_state=0).fit(rows)
        assert full.score(rows) - 0.1 < model.score(rows) < full.score(rows)
        assert model.score(rows) > diag.score(rows) + 5
        for c in range(4):
            np.testing.assert_allclose(
                oracle.covariance(model.components_[c], model.covariances_[c]), full.covariances_[c], atol=0.6
            )

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_predictions_are_those_of_full_covariances(self, rows, dtype):
        X = rows.astype(dtype)
        model = factor_mixture(n_candidates=4).fit(X)
        parameters = model.means_, model.covariances_, model.weights_, model.components_
        table = oracle.energies(X, *parameters)
        np.testing.assert_array_equal(model.labels_, table.argmin(axis=1))
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        tolerance = 1e-4 if dtype == np.float32 else 1e-9
        scores = truncated_mixture.posteriors(table)[1]
        np.testing.assert_allclose(model.score_samples(X), scores, atol=tolerance)
        shares = np.exp(-table - scores[:, None])
        np.testing.assert_allclose(model.predict_proba(X), shares, atol=tolerance)
        np.testing.assert_allclose(model.responsibilities(X).toarray(), shares, atol=100 * tolerance)
        np.testing.assert_allclose(model.denoise(X), oracle.denoised(X, *parameters), atol=100 * tolerance)
        log_weights = np.log(model.weights_)
        for c in range(4):
            own = X[model.labels_ == c].astype(float) - model.means_[c]
            full = oracle.covariance(model.components_[c], model.covariances_[c])
            squares = np.sum(own * np.linalg.solve(full, own.T).T, axis=1)
            found = (
                model.outlier_scores(X[model.labels_ == c], np.full(len(own), c)) * model.cluster_scales_[c]
            )
            np.testing.assert_allclose(found, np.sqrt(squares), rtol=1e-4)
        assert np.all(np.isfinite(log_weights))

    def test_samples_have_the_moments_of_the_components(self, rows):
        model = factor_mixture().fit(rows)
        X, y = model.sample(40_000)
        for c in range(4):
            own = X[y == c]
            np.testing.assert_allclose(own.mean(axis=0), model.means_[c], atol=0.2)
            full = oracle.covariance(model.components_[c], model.covariances_[c])
            np.testing.assert_allclose(np.cov(own.T), full, atol=0.06 * full.max())

    def test_a_model_begins_the_next_fit(self, rows):
        model = factor_mixture().fit(rows)
        taken = factor_mixture(init=model, max_iter=1).fit(rows)
        assert taken.lower_bound_ >= model.lower_bound_ - 1e-6

    def test_factors_begin_with_the_clusters_of_k_means(self, rows):
        """All components are candidates, so that nothing but the means is random."""
        seed = np.random.RandomState(3).randint(np.iinfo(np.int32).max)
        centers = coterie.KMeans(4, init="split-merge", random_state=seed).fit(rows).cluster_centers_

        def fitted(n_steps, **options):
            return factor_mixture(
                random_state=3, tol=0, callback=lambda progress: progress.iteration == n_steps, **options
            ).fit(rows)

        same_bits(fitted(1, init="k-means").means_, fitted(1, init=centers).means_)
        assert np.all(np.any(fitted(2, init="k-means").components_ != 0, axis=(1, 2)))
        assert not np.any(fitted(2, init=centers).components_)

    def test_wrong_numbers_of_factors(self, rows):
        with pytest.raises(ValueError, match="n_factors=12 should be less than the number of features, 12"):
            factor_mixture(n_factors=12).fit(rows)
        with pytest.raises(ValueError, match="n_factors"):
            factor_mixture(n_factors=-1).fit(rows)
        other = factor_mixture(n_factors=1, init=factor_mixture().fit(rows)).fit(rows)
        assert other.components_.shape == (4, 1, 12)

    def test_free_parameters_are_counted(self):
        # Means, noise, weights, and 2 * 12 loadings less the one rotation of each component.
        assert count_parameters("factors", 4, 12, 2) == 48 + 48 + 3 + 4 * 23
