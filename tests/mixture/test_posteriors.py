"""Truncated posteriors: shares and densities against plain ones, and the E-step that keeps them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.mixture.parameters import MixtureParameters
from coterie.mixture.passes import nearest_components
from coterie.mixture.posteriors import distinct_draws
from tests.mixture.mixtures import DTYPES
from tests.mixture.problems import e_step, shares_of
from tests.reference import truncated_mixture as oracle
from tests.support.bits import same_bits
from tests.support.instruction_sets import FUSED, INSTRUCTION_SETS, using


@pytest.mark.parametrize("dtype", DTYPES)
class TestPosteriors:
    @given(
        n=st.sampled_from([1, 2, 17, 300, 2049, 5000]), m=st.sampled_from([1, 2, 3, 5, 17]),
        spread=st.sampled_from([0.1, 5.0, 1000.0]), level=st.sampled_from([0.0, -500.0, 2e4]),
        n_missing=st.integers(0, 3), seed=st.integers(0, 999),
    )  # fmt: skip
    def test_against_the_oracle(self, dtype, n, m, spread, level, n_missing, seed):
        random = np.random.default_rng(seed)
        energies = np.sort(level + spread * random.random(size=(n, m)), axis=1).astype(dtype)
        energies[:, m - min(n_missing, m - 1) :] = np.inf  # stand-ins
        expected_shares, expected = oracle.posteriors(energies)
        for name in INSTRUCTION_SETS:
            with using(name):
                shares, log_densities = shares_of(energies, 30)
            np.testing.assert_allclose(shares, expected_shares, rtol=2e-5, atol=1e-12)
            np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6 if dtype == np.float32 else 1e-12)
            np.testing.assert_allclose(log_densities, expected, rtol=1e-6, atol=1e-6)
            assert np.all(shares[np.isinf(energies)] == 0)
            assert np.all(shares >= 0)
            if dtype == np.float64:
                np.testing.assert_allclose(log_densities, expected, rtol=1e-12, atol=1e-11)

    def test_negligible_shares_are_zero(self, dtype):
        energies = np.array([[7, 7, 11.9, 12.1], [0, 4, 6, np.inf]], dtype=dtype)
        shares, log_densities = shares_of(energies, 5)
        np.testing.assert_array_equal(shares == 0, [[False, False, False, True], [False, False, True, True]])
        expected_shares, expected = oracle.posteriors(np.where(shares > 0, energies, np.inf))
        np.testing.assert_allclose(shares, expected_shares, rtol=1e-6)
        np.testing.assert_allclose(log_densities, expected, rtol=1e-6)

    def test_bits(self, dtype):
        energies = np.sort(20 * np.random.default_rng(0).random(size=(9000, 5)), axis=1).astype(dtype)
        results = []
        for name in FUSED:
            with using(name):
                results += [shares_of(energies, 15, n_threads) for n_threads in (1, 2, 3)]
        for result in results[1:]:
            same_bits(result, results[0])


def start_at_rows(X, n_components):
    """Return parameters whose means are the first rows."""
    return MixtureParameters(X[:n_components].copy(), np.array(0.5), np.full(n_components, 1 / n_components))


@pytest.mark.parametrize(("n_columns", "is_long"), [(5, False), (511, False), (512, True), (700, True)])
def test_long_rows_are_not_sorted(n_columns, is_long):
    X = np.random.default_rng(1).normal(size=(200, n_columns)).astype(np.float32)
    posteriors, parameters = e_step(X, (6, 3, 3)), start_at_rows(X, 6)
    for _ in range(4):
        posteriors.e_step(parameters)
    assert np.array_equal(posteriors._in_memory, X) == is_long
    posteriors.e_step(parameters)
    best = ((posteriors._in_memory[:, None] - parameters.means) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(posteriors._candidates[:, 0], best)


def test_sums_begin_anew():
    X = np.random.default_rng(2).normal(size=(90, 4))
    posteriors, parameters = e_step(X, (6, 3, 3)), start_at_rows(X, 6)
    posteriors.update(posteriors.e_step(parameters))
    for per_column in (False, False, True, True, False):
        found = posteriors.moments(parameters.means, per_column=per_column)
        assert (found.second is not None) == per_column
        np.testing.assert_allclose(found.masses.sum(), 90)
        shares = np.zeros((90, 6))
        np.put_along_axis(shares, posteriors._candidates, posteriors._shares, axis=1)
        expected = shares.T @ X - shares.sum(axis=0)[:, None] * parameters.means
        np.testing.assert_allclose(found.first, expected, atol=1e-12)


@pytest.mark.parametrize("n_columns", [3, 600])
def test_a_search_around_given_components_depends_on_nothing_before(n_columns):
    X = np.random.default_rng(0).normal(size=(500, n_columns))
    parameters, others = start_at_rows(X, 12), start_at_rows(X[100:], 12)
    nearest = ((X[:, None] - parameters.means) ** 2).sum(axis=2).argmin(axis=1).astype(np.int32)
    neighbors, found = nearest_components(parameters.means, 4), []
    for past in ([], [others], [others, parameters]):
        posteriors = e_step(X, (12, 3, 4), weights=np.arange(500.0))
        for one in past:
            posteriors.start_at(nearest[::-1])
            posteriors.search_around(one, neighbors)
            posteriors.refresh(parameters)
        posteriors.start_at(nearest)
        posteriors.search_around(parameters, neighbors)
        bound = posteriors.update(0.0)
        moments = posteriors.moments(parameters.means, per_column=True)
        found.append((bound, moments.masses, moments.first, moments.second, posteriors._candidates))
    same_bits(found[1:], [found[0], found[0]])
    distances = ((posteriors._in_memory[:, None] - parameters.means) ** 2).sum(axis=2)
    np.testing.assert_array_equal(posteriors._candidates[:, 0], distances.argmin(axis=1))


@pytest.mark.parametrize("n_components", [1, 2, 5, 40])
def test_neighborhoods_begin_with_the_component_itself(n_components):
    for n_neighbors in {1, min(3, n_components), n_components}:
        posteriors = e_step(np.zeros((9, 2)), (n_components, 1, n_neighbors))
        assert posteriors.neighbors.shape == (n_components, n_neighbors)
        assert posteriors.neighbors.dtype == np.int32
        np.testing.assert_array_equal(posteriors.neighbors[:, 0], np.arange(n_components))
        assert all(len(set(row)) == n_neighbors for row in posteriors.neighbors)


def test_a_random_candidate_is_one_more_to_try():
    """With nothing else to look at, only the random ones bring a row to its best component, whichever it is."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    means = np.random.default_rng(1).normal(size=(50, 2))
    parameters = MixtureParameters(means, np.array(1.0), np.full(50, 1 / 50))
    best = -np.sum(oracle.energies(X, means, 1.0, parameters.weights).min(axis=1))
    bounds = {}
    for random_candidate in (False, True):
        posteriors = e_step(X, (50, 1, 1), random_candidate=random_candidate)
        bounds[random_candidate] = [posteriors.update(posteriors.e_step(parameters)) for _ in range(600)]
        assert np.all(np.diff(bounds[random_candidate]) >= -1e-9)
    assert bounds[False][-1] < best - 1
    np.testing.assert_allclose(bounds[True][-1], best)


class TestDraws:
    @given(n_rows=st.integers(0, 40), n=st.integers(0, 60), share=st.floats(0, 1), seed=st.integers(0, 99))
    def test_are_distinct_and_in_range(self, n_rows, n, share, seed):
        n_draws = int(share * n)
        drawn = distinct_draws(np.random.RandomState(seed), n_rows, n, n_draws)
        assert drawn.shape == (n_rows, n_draws)
        assert drawn.dtype == np.int32
        assert np.all((drawn >= 0) & (drawn < n))
        assert all(len(set(row)) == n_draws for row in drawn)
        again = distinct_draws(np.random.RandomState(seed), n_rows, n, n_draws)
        np.testing.assert_array_equal(drawn, again)

    @pytest.mark.parametrize(("n", "n_draws"), [(8, 3), (30, 3)])
    def test_are_uniform(self, n, n_draws):
        drawn = distinct_draws(np.random.RandomState(0), 40_000, n, n_draws)
        for column in drawn.T:
            counts = np.bincount(column, minlength=n)
            expected = 40_000 / n
            assert np.sum((counts - expected) ** 2 / expected) < 2.5 * n  # chi-squared with n - 1 degrees
        pairs = np.bincount(drawn[:, 0] * n + drawn[:, 1], minlength=n * n).reshape(n, n)
        assert np.all(np.diag(pairs) == 0)
        others = pairs[~np.eye(n, dtype=bool)]
        assert np.all(np.abs(others / others.mean() - 1) < 7 / np.sqrt(others.mean()))
