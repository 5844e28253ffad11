"""The M-step: moments of the shares against plain ones, and what is made of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import _kernels
from coterie.blocks.kernel_rows import kernel_rows
from coterie.mixture.em import EMOptions, m_step, shared_variance
from coterie.mixture.parameters import MixtureParameters
from coterie.mixture.passes import ChunkPosteriors
from coterie.mixture.posteriors import distinct_draws
from coterie.passes import Passes, measure
from coterie.rows import as_rows
from tests.mixture.mixtures import COVARIANCE_TYPES, DTYPES
from tests.mixture.problems import e_step, shares_of
from tests.reference import truncated_mixture as oracle
from tests.support.bits import same_bits
from tests.support.instruction_sets import FUSED, INSTRUCTION_SETS, using


def some_shares(n, n_components, n_candidates, dtype, seed, n_threads=1):
    random = np.random.RandomState(seed)
    candidates = distinct_draws(random, n, n_components, n_candidates)
    energies = np.sort(random.uniform(0, 8, size=candidates.shape), axis=1).astype(dtype)
    shares, _ = shares_of(energies, 6, n_threads)
    return candidates, shares, energies


def add_moments(X, candidates, shares, energies, weights, means, second=True, n_threads=2, start=0.0):
    out = [np.full(len(means), start), np.full(len(means), start), np.full(means.shape, start)]
    out.append(np.full(means.shape, start) if second else None)
    rows = X if not isinstance(X, np.ndarray) else kernel_rows(X)
    _kernels.mixture_moments(rows, candidates, shares, energies, weights, means, *out, n_threads)
    return out if second else out[:3]


def error_bounds(X, candidates, shares, energies, weights, means, start=0.0):
    """Return how far sums of the kernel and of the oracle may be apart: masses, energies, first and second moments.

    A term of a moment is rounded to the type of the rows where a weight is multiplied by a share, and where a mean is
    subtracted, which counts twice in a square. Sums are in float64, here and in the oracle.
    """
    unit = np.finfo(X.dtype).eps / 2
    positive = oracle.moments(X, candidates, shares, np.abs(energies), weights, means)
    first = np.zeros(means.shape)
    for own, share in zip(candidates.T, shares.T):
        np.add.at(first, own, (weights * share)[:, None] * np.abs(X - means[own]))
    sizes = positive[0], positive[1], first, positive[3]
    of_sums = 2 * (candidates.size + 4) * 2.0**-53
    return [
        n_roundings * unit * size + of_sums * (size + start) for n_roundings, size in zip((1, 1, 2, 3), sizes)
    ]


@pytest.mark.parametrize("dtype", DTYPES)
class TestMoments:
    @given(
        n=st.sampled_from([1, 2, 7, 97, 2500, 9001]), d=st.sampled_from([1, 2, 5, 16, 19]),
        n_components=st.sampled_from([1, 2, 5, 40]), m=st.integers(1, 5), weighted=st.booleans(),
        second=st.booleans(), start=st.sampled_from([0.0, 2.5]), seed=st.integers(0, 999),
    )  # fmt: skip
    def test_against_the_oracle(self, dtype, n, d, n_components, m, weighted, second, start, seed):
        random = np.random.default_rng(seed)
        X, means = (
            random.normal(size=(n, d)).astype(dtype),
            random.normal(size=(n_components, d)).astype(dtype),
        )
        shared = some_shares(n, n_components, min(m, n_components), dtype, seed)
        weights = random.integers(0, 4, size=n).astype(dtype) if weighted else None
        plain_weights = np.ones(n) if weights is None else weights.astype(float)
        expected = oracle.moments(X, *shared, plain_weights, means.astype(float))
        bounds = error_bounds(X, *shared, plain_weights, means.astype(float), start)
        for name in INSTRUCTION_SETS:
            with using(name):
                found = add_moments(X, *shared, weights, means, second=second, start=start)
            for left, right, bound in zip(found, expected, bounds):
                assert np.all(np.abs(left - start - right) <= bound)

    def test_chunks(self, dtype):
        """More rows than the 16 MiB that are added up at a time."""
        random = np.random.default_rng(0)
        X, means = random.normal(size=(9000, 500)).astype(dtype), random.normal(size=(4, 500)).astype(dtype)
        shared, weights = some_shares(9000, 4, 2, dtype, 0), random.random(9000).astype(dtype)
        given = X, *shared, weights.astype(float), means.astype(float)
        expected, bounds = oracle.moments(*given), error_bounds(*given)
        for found in (
            add_moments(X, *shared, weights, means),
            add_moments(
                _kernels.select_rows(kernel_rows(X[::-1].copy()), np.arange(9000)[::-1].copy()),
                *shared,
                weights,
                means,
            ),
        ):
            for left, right, bound in zip(found, expected, bounds):
                assert np.all(np.abs(left - right) <= bound)

    def test_bits(self, dtype):
        random = np.random.default_rng(0)
        X, means = random.normal(size=(20_000, 9)).astype(dtype), random.normal(size=(6, 9)).astype(dtype)
        shared, weights = some_shares(20_000, 6, 3, dtype, 0), random.random(20_000).astype(dtype)
        results = []
        for name in INSTRUCTION_SETS:
            with using(name):
                found = [add_moments(X, *shared, weights, means, n_threads=n) for n in (1, 2, 3)]
            same_bits(found[1:], [found[0], found[0]])
            if name in FUSED:
                results.append(found[0])
        for result in results[1:]:
            same_bits(result, results[0])

    def test_a_component_without_shares_gets_nothing(self, dtype):
        candidates = np.array([[0, 1], [2, 1]], dtype=np.int32)
        shares = np.array([[1, 0], [1, 0]], dtype=dtype)
        energies = np.array([[1, np.inf], [2, np.inf]], dtype=dtype)
        X, means = np.array([[3.0], [4.0]], dtype=dtype), np.ones((3, 1), dtype=dtype)
        masses, sums, first, second = add_moments(X, candidates, shares, energies, None, means)
        np.testing.assert_array_equal(masses, [1, 0, 1])
        np.testing.assert_array_equal(sums, [1, 0, 2])
        np.testing.assert_array_equal(first, [[2], [0], [3]])
        np.testing.assert_array_equal(second, [[4], [0], [9]])

    def test_selected_rows(self, dtype):
        random = np.random.default_rng(0)
        X, means = random.normal(size=(300, 5)).astype(dtype), random.normal(size=(8, 5)).astype(dtype)
        shared = some_shares(300, 8, 3, dtype, 0)
        order = random.permutation(300)
        stored = np.empty_like(X)
        stored[order] = X
        selected = _kernels.select_rows(kernel_rows(stored), order)
        same_bits(add_moments(selected, *shared, None, means), add_moments(X, *shared, None, means))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_shared_variance_is_that_of_the_nearest_candidates(weighted):
    random = np.random.default_rng(0)
    X, means = random.normal(size=(100, 4)), random.normal(size=(10, 4))
    weights = random.random(100) if weighted else None
    posteriors = e_step(X, (10, 10, 1), weights=weights)
    start = MixtureParameters(means, np.array(np.nan), np.full(10, 0.1))
    parameters, base = shared_variance(posteriors, start, 1e-9)
    squares = np.min(np.sum((X[:, None] - means) ** 2, axis=2), axis=1)
    np.testing.assert_allclose(parameters.variances, np.average(squares, weights=weights) / 4)
    assert posteriors.n_distances == 1000
    table = oracle.energies(X, means, parameters.variances, parameters.weights)
    plain_weights = np.ones(100) if weights is None else weights
    np.testing.assert_allclose(posteriors.update(base), plain_weights @ oracle.posteriors(table)[1])


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_m_step_is_the_oracles(covariance_type, dtype, weighted):
    random = np.random.default_rng(1)
    X, means = (random.normal(size=(400, 5)) + 3).astype(dtype), random.normal(size=(7, 5)) + 3
    means = means.astype(dtype)
    weights = random.random(400).astype(dtype) if weighted else None
    plain_weights = np.ones(400) if weights is None else weights.astype(float)
    variances = {"tied_spherical": np.array(0.7), "spherical": random.uniform(0.5, 1, 7)}
    before = MixtureParameters(
        means,
        variances.get(covariance_type, random.uniform(0.5, 1, (7, 5))),
        random.dirichlet(np.ones(7)),
    )
    posteriors = e_step(X, (7, 7, 1), weights=weights)
    posteriors.update(posteriors.e_step(before))
    options = EMOptions(covariance_type, reg_covar=0.25, smallest_variance=1e-9)
    after = m_step(posteriors, before, covariance_type, options)
    table = oracle.energies(X, means, before.variances, before.weights)
    shares, _ = oracle.posteriors(table)
    everyone = np.tile(np.arange(7), (400, 1))
    expected = oracle.m_step(
        X.astype(float), plain_weights, everyone, shares, means.astype(float), before.weights,
        covariance_type=covariance_type, reg_covar=0.25,
    )  # fmt: skip
    assert after.means.dtype == dtype
    for found, right in zip((after.means, after.variances, after.weights), expected):
        np.testing.assert_allclose(found, right, rtol=1e-4 if dtype == np.float32 else 1e-10)


@pytest.mark.parametrize("covariance_type", ["spherical", "diag"])
def test_m_step_drops_components_without_weight_or_variance(covariance_type):
    X = np.array([[0.0, 0], [1, 1], [2, 0], [50, 50], [50, 50]])
    means = np.array([[1.0, 0.5], [50, 50], [-900, 0]])
    before = MixtureParameters(means, np.array(1.0), np.full(3, 1 / 3))
    posteriors = e_step(X, (3, 3, 1))
    posteriors.update(posteriors.e_step(before))
    options = EMOptions(covariance_type, smallest_variance=1e-9)
    after = m_step(posteriors, before, covariance_type, options)
    np.testing.assert_array_equal(after.weights, [1, 0, 0])
    kept = m_step(posteriors, before, covariance_type, replace(options, reg_covar=0.5))
    np.testing.assert_allclose(kept.weights, [0.6, 0.4, 0])
    np.testing.assert_allclose(kept.variances[1], 0.5)
    tied = m_step(posteriors, before, "tied_spherical", options)
    np.testing.assert_array_equal(tied.means[2], means[2])  # without mass it stays
    np.testing.assert_allclose(tied.weights, 1 / 3)


class RecordedPasses(Passes):
    """Passes that note the sums that are made, and the bounds they are made with."""

    def __init__(self, *args):
        super().__init__(*args)
        self.totals = []

    def total(self, shape, largest, base=None):
        self.totals.append((super().total(shape, largest, base), largest))
        return self.totals[-1][0]


@pytest.mark.parametrize("covariance_type", ["tied_spherical", "spherical", "diag", "factors"])
def test_bounds_of_sums_are_kept_and_a_few_times_what_is_reached(covariance_type):
    """On workers a sum above its bound loses digits in front, one far below it digits behind."""
    random = np.random.default_rng(0)
    X, means = random.uniform(-1, 1, size=(200, 3)), np.array([[50.0, 0, 0]])
    variances = np.full({"tied_spherical": (), "spherical": (1,)}.get(covariance_type, (1, 3)), 0.01)
    factors = np.array([[[1.0, 0, 0]]]) if covariance_type == "factors" else None
    parameters = MixtureParameters(means, variances, np.ones(1), factors)
    passes = RecordedPasses(as_rows(X), random.uniform(1, 3, size=200))
    posteriors = ChunkPosteriors(measure(passes, 1), (1, 1, 1), 1)
    posteriors.e_step(parameters)
    posteriors.moments(
        means, per_column=covariance_type in ("diag", "factors"), directions=parameters.directions
    )
    assert len(passes.totals) == {"diag": 4, "factors": 6}.get(covariance_type, 3)
    for total, largest in passes.totals:
        assert np.abs(total.total()).max() < largest < 10 * np.abs(total.total()).max()
