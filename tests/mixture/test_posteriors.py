"""Truncated EM: its kernels against their plain versions on every instruction set, and its two steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import _kernels
from coterie.blocks.kernel_rows import kernel_rows
from coterie.mixture.m_step import m_step, shared_variance
from coterie.mixture.parameters import MixtureParameters
from coterie.mixture.posteriors import TruncatedPosteriors, distinct_draws, order_by
from coterie.rows import as_rows
from tests.reference import truncated_mixture as oracle
from tests.support.instruction_sets import FUSED, INSTRUCTION_SETS, using

DTYPES = [np.float32, np.float64]
COVARIANCE_TYPES = ["tied_spherical", "spherical", "diag"]


def tolerance(dtype):
    return dict(rtol=1e-4, atol=1e-4) if dtype == np.float32 else dict(rtol=1e-11, atol=1e-11)


def some_neighbors(random, n_components, n_neighbors):
    others = distinct_draws(random, n_components, n_components - 1, n_neighbors - 1)
    own = np.arange(n_components, dtype=np.int32)[:, None]
    return np.hstack([own, others + (others >= own)]).astype(np.int32)


class Problem:
    """Arguments of a search, and the energies of all rows with all components."""

    def __init__(
        self,
        n,
        d,
        n_components,
        n_candidates,
        n_neighbors,
        dtype,
        seed=0,
        scaled=False,
        extra=False,
        n_dead=0,
    ):
        random = np.random.RandomState(seed)
        self.sizes = (
            n,
            d,
            n_components,
            n_candidates,
            n_neighbors,
            dtype.__name__,
            seed,
            scaled,
            extra,
            n_dead,
        )
        self.dtype = dtype
        self.X = random.normal(size=(n, d)).astype(dtype)
        self.means = random.normal(size=(n_components, d)).astype(dtype)
        self.scales = random.uniform(0.5, 2, size=(n_components, d)).astype(dtype) if scaled else None
        self.precisions = random.uniform(0.5, 2, size=n_components).astype(dtype)
        self.offsets = random.uniform(0, 3, size=n_components).astype(dtype)
        self.offsets[random.permutation(n_components)[:n_dead]] = np.inf
        self.candidates = distinct_draws(random, n, n_components, n_candidates)
        self.neighbors = some_neighbors(random, n_components, n_neighbors)
        self.extra = random.randint(n_components, size=n, dtype=np.int32) if extra else None
        scales = np.ones((n_components, d)) if self.scales is None else self.scales.astype(float)
        relative = self.X.astype(float)[:, None, :] - self.means
        self.table = self.precisions.astype(float) * np.sum((relative * scales) ** 2, axis=2) + self.offsets

    def __repr__(self):
        return f"Problem{self.sizes}"

    def search(self, rows_per_tile=16, update_neighbors=True, n_threads=2, rows=None):
        """Candidates, energies, neighbours, number of distances."""
        candidates, neighbors = self.candidates.copy(), self.neighbors.copy()
        energies = np.full(candidates.shape, np.nan, dtype=self.dtype)
        n_distances = _kernels.truncated_search(
            kernel_rows(self.X) if rows is None else rows, self.means, self.scales, self.precisions,
            self.offsets, candidates, energies, neighbors, self.extra, rows_per_tile, update_neighbors, n_threads,
        )  # fmt: skip
        return candidates, energies, neighbors, n_distances

    def refresh(self, n_threads=2, rows=None):
        """Candidates and their energies, without a search."""
        candidates, energies = (
            self.candidates.copy(),
            np.full(self.candidates.shape, np.nan, dtype=self.dtype),
        )
        _kernels.distances_to_listed(
            kernel_rows(self.X) if rows is None else rows, self.means, self.scales, self.precisions,
            self.offsets, candidates, energies, n_threads,
        )  # fmt: skip
        return candidates, energies

    def expected(self, **options):
        return oracle.partial_e_step(self.table, self.candidates, self.neighbors, self.extra, **options)


@st.composite
def problems(draw, dtype, dead=False):
    n = draw(st.sampled_from([1, 2, 3, 15, 17, 40, 97]))
    d = draw(st.sampled_from([1, 2, 3, 7, 8, 15, 16, 17, 33]))
    n_components = draw(st.sampled_from([1, 2, 3, 5, 16, 17, 40]))
    sizes = st.one_of(st.just(1), st.just(n_components), st.integers(1, min(n_components, 6)))
    return Problem(
        n, d, n_components, draw(sizes), draw(sizes), dtype, draw(st.integers(0, 999)),
        scaled=draw(st.booleans()), extra=draw(st.booleans()),
        n_dead=draw(st.integers(1, n_components)) if dead else 0,
    )  # fmt: skip


def same_bits(left, right):
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", DTYPES)
class TestSearch:
    @settings(max_examples=100, deadline=None)
    @given(data=st.data(), rows_per_tile=st.sampled_from([1, 3, 16]), update_neighbors=st.booleans())
    def test_against_the_oracle(self, dtype, data, rows_per_tile, update_neighbors):
        problem = data.draw(problems(dtype))
        options = dict(rows_per_tile=rows_per_tile, update_neighbors=update_neighbors)
        ids, kept, neighbors, n_distances = problem.expected(**options)
        averages = oracle.mean_energies(
            problem.table, problem.candidates, problem.neighbors, problem.extra, rows_per_tile
        )
        for name in INSTRUCTION_SETS:
            with using(name):
                found = problem.search(**options)
            np.testing.assert_allclose(found[1], kept, **tolerance(dtype))
            own = np.take_along_axis(problem.table, found[0], axis=1)
            np.testing.assert_allclose(own, found[1], **tolerance(dtype))
            assert np.all(np.diff(found[1], axis=1) >= 0)
            assert all(len(set(row)) == len(row) for row in found[0])
            assert found[3] == n_distances
            np.testing.assert_array_equal(found[2][:, 0], np.arange(len(neighbors)))
            np.testing.assert_allclose(
                np.take_along_axis(averages, found[2], axis=1),
                np.take_along_axis(averages, neighbors, axis=1),
                **tolerance(dtype),
            )
            if dtype == np.float64:
                np.testing.assert_array_equal(found[0], ids)
                np.testing.assert_array_equal(found[2], neighbors)

    @settings(max_examples=100, deadline=None)
    @given(data=st.data(), rows_per_tile=st.sampled_from([1, 3, 16]))
    def test_nobody_chooses_the_dead_while_others_live(self, dtype, data, rows_per_tile):
        """Their offset is infinite. Rows that already have some give them up, whatever else they know."""
        problem = data.draw(problems(dtype, dead=True))
        for name in INSTRUCTION_SETS:
            with using(name):
                ids, energies, neighbors, _ = problem.search(rows_per_tile)
            assert np.all((ids >= 0) & (ids < len(problem.means)))
            assert np.all((neighbors >= 0) & (neighbors < len(problem.means)))
            for _, rows in oracle.tiles(problem.candidates, len(problem.means), rows_per_tile):
                known = oracle.search_set(rows, problem.candidates, problem.neighbors, problem.extra)
                for row in rows:
                    _, expected = oracle.keep_best(problem.table[row, known], known, ids.shape[1])
                    if len(expected) == 0 or not np.isfinite(problem.table[row, known]).any():
                        continue
                    np.testing.assert_allclose(energies[row], expected, **tolerance(dtype))
                    living = np.isfinite(expected)
                    np.testing.assert_allclose(
                        problem.table[row, ids[row]][living], expected[living], **tolerance(dtype)
                    )
                    assert len(set(ids[row])) == living.sum()

    @settings(max_examples=30, deadline=None)
    @given(data=st.data(), n_steps=st.integers(2, 5))
    def test_energies_never_rise(self, dtype, data, n_steps):
        """The k-th best component that a row keeps is at least as good as the k-th best that it had."""
        problem = data.draw(problems(dtype))
        before = np.sort(np.take_along_axis(problem.table, problem.candidates, axis=1), axis=1)
        for _ in range(n_steps):
            problem.candidates, energies, problem.neighbors, _ = problem.search()
            assert np.all(energies <= before + tolerance(dtype)["atol"] * (1 + np.abs(before)))
            before = energies.astype(float)

    def test_what_a_row_knows_is_what_its_tile_knows(self, dtype):
        """By hand: two rows of one component, of which only the first has heard of component 3."""
        X = np.array([[0.0], [0.1], [9.0]], dtype=dtype)
        candidates = np.array([[0, 3], [0, 1], [2, 1]], dtype=np.int32)
        for rows_per_tile, second in [(1, [0, 1]), (16, [3, 0])]:
            found, energies = candidates.copy(), np.empty((3, 2), dtype=dtype)
            neighbors = np.arange(4, dtype=np.int32)[:, None].copy()
            _kernels.truncated_search(
                kernel_rows(X), np.array([[0.5], [1.0], [9.0], [0.1]], dtype=dtype), None,
                np.ones(4, dtype=dtype), np.zeros(4, dtype=dtype), found, energies, neighbors, None,
                rows_per_tile, True, 1,
            )  # fmt: skip
            np.testing.assert_array_equal(found, [[3, 0], second, [2, 1]])
            np.testing.assert_allclose(energies[[0, 2]], [[0.01, 0.25], [0, 64]], rtol=1e-4)

    @pytest.mark.parametrize("rows_per_tile", [1, 3, 16])
    @pytest.mark.parametrize("n", [512, 513, 1700, 20_000])
    def test_groups_of_many_rows(self, dtype, rows_per_tile, n):
        problem = Problem(n, 3, 7, 2, 3, dtype, extra=True)
        problem.candidates[: n - 5, 0], problem.candidates[: n - 5, 1] = 2, 4
        ids, kept, neighbors, n_distances = problem.expected(rows_per_tile=rows_per_tile)
        found = [problem.search(rows_per_tile, n_threads=n_threads) for n_threads in (1, 2, 3)]
        np.testing.assert_allclose(found[0][1], kept, **tolerance(dtype))
        np.testing.assert_array_equal(found[0][2], neighbors)
        assert found[0][3] == n_distances
        assert np.mean(found[0][0] == ids) > 0.999
        same_bits(found[0], found[1])
        same_bits(found[0], found[2])

    @pytest.mark.parametrize("scaled", [False, True])
    def test_fused_instruction_sets_and_threads_agree_to_the_bit(self, dtype, scaled):
        problem = Problem(3000, 37, 60, 5, 5, dtype, scaled=scaled, extra=True)
        results = []
        for name in INSTRUCTION_SETS:
            with using(name):
                found = [problem.search(n_threads=n_threads) for n_threads in (1, 2, 3)]
            same_bits(found[0], found[1])
            same_bits(found[0], found[2])
            if name in FUSED:
                results.append(found[0])
        for result in results[1:]:
            same_bits(result, results[0])

    @pytest.mark.parametrize("scaled", [False, True])
    def test_selected_rows(self, dtype, scaled):
        problem = Problem(61, 19, 23, 3, 4, dtype, scaled=scaled)
        expected = problem.search()
        order = np.random.default_rng(0).permutation(61)
        stored = np.empty_like(problem.X)
        stored[order] = problem.X
        same_bits(problem.search(rows=_kernels.select_rows(kernel_rows(stored), order)), expected)

    def test_inputs_stay_and_neighbors_rest_unless_wanted(self, dtype):
        problem = Problem(200, 5, 20, 3, 4, dtype, scaled=True, extra=True)
        inputs = ("X", "means", "scales", "precisions", "offsets", "extra")
        before = [getattr(problem, name).copy() for name in inputs]
        _, _, neighbors, _ = problem.search(update_neighbors=False)
        same_bits([getattr(problem, name) for name in inputs], before)
        np.testing.assert_array_equal(neighbors, problem.neighbors)
        assert np.any(problem.search()[2] != problem.neighbors)

    def test_nothing_is_known_but_itself(self, dtype):
        """With one candidate and one neighbour in tiles of one row no row can find another component."""
        problem = Problem(50, 4, 9, 1, 1, dtype)
        ids, _, neighbors, n_distances = problem.search(rows_per_tile=1)
        np.testing.assert_array_equal(ids, problem.candidates)
        np.testing.assert_array_equal(neighbors[:, 0], np.arange(9))
        assert n_distances == 50

    def test_equal_components(self, dtype):
        """Rows that are equally close to all keep distinct ones, even where every energy is 0."""
        problem = Problem(40, 3, 12, 5, 3, dtype)
        problem.X[:], problem.means[:], problem.precisions[:], problem.offsets[:] = 1, 1, 1, 0
        for _ in range(3):
            problem.candidates, energies, problem.neighbors, _ = problem.search()
            assert np.all(energies == 0)
            assert all(len(set(row)) == 5 for row in problem.candidates)
            assert all(len(set(row)) == 3 for row in problem.neighbors)

    def test_stand_ins_give_way(self, dtype):
        """Row 0 knew nothing but component 0, which stands in for itself; 1 is near enough to be found."""
        candidates, energies = np.array([[0, 0]], dtype=np.int32), np.empty((1, 2), dtype=dtype)
        neighbors = np.array([[0, 1], [1, 0]], dtype=np.int32)
        _kernels.truncated_search(
            kernel_rows(np.zeros((1, 1), dtype=dtype)), np.array([[1.0], [2.0]], dtype=dtype), None,
            np.ones(2, dtype=dtype), np.zeros(2, dtype=dtype), candidates, energies, neighbors, None, 16, True, 1,
        )  # fmt: skip
        np.testing.assert_array_equal(candidates, [[0, 1]])
        np.testing.assert_array_equal(energies, [[1, 4]])

    def test_a_row_leaves_components_that_died(self, dtype):
        """All that it had is dead; of what it meets, as many live as it keeps."""
        candidates, energies = np.array([[0, 1]], dtype=np.int32), np.empty((1, 2), dtype=dtype)
        neighbors = np.array([[0, 2], [1, 3], [2, 3], [3, 2]], dtype=np.int32)
        offsets = np.array([np.inf, np.inf, 0, 0], dtype=dtype)
        _kernels.truncated_search(
            kernel_rows(np.zeros((1, 1), dtype=dtype)), np.array([[0.0], [0], [3], [2]], dtype=dtype), None,
            np.ones(4, dtype=dtype), offsets, candidates, energies, neighbors, None, 16, True, 1,
        )  # fmt: skip
        np.testing.assert_array_equal(candidates, [[3, 2]])
        np.testing.assert_array_equal(energies, [[4, 9]])

    def test_where_all_are_dead_the_numbers_are_still_those_of_components(self, dtype):
        problem = Problem(20, 3, 6, 2, 3, dtype, n_dead=6)
        for _ in range(2):
            problem.candidates, energies, problem.neighbors, _ = problem.search()
            assert np.all((problem.candidates >= 0) & (problem.candidates < 6))
            assert np.all(np.isinf(energies))


@pytest.mark.parametrize("dtype", DTYPES)
class TestRefresh:
    @settings(max_examples=60, deadline=None)
    @given(data=st.data())
    def test_against_the_oracle(self, dtype, data):
        problem = data.draw(problems(dtype))
        ids, kept = oracle.refreshed(problem.table, problem.candidates)
        for name in INSTRUCTION_SETS:
            with using(name):
                found, energies = problem.refresh()
            np.testing.assert_allclose(energies, kept, **tolerance(dtype))
            np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(problem.candidates, axis=1))
            if dtype == np.float64:
                np.testing.assert_array_equal(found, ids)

    @pytest.mark.parametrize("scaled", [False, True])
    @pytest.mark.parametrize("n_candidates", [1, 3, 5, 8])
    def test_a_search_that_finds_nothing_new_is_a_refresh(self, dtype, scaled, n_candidates):
        problem = Problem(1500, 21, 30, n_candidates, 1, dtype, scaled=scaled)
        for name in FUSED:
            with using(name):
                refreshed = [problem.refresh(n_threads) for n_threads in (1, 2, 3)]
                same_bits(refreshed[0], problem.search(rows_per_tile=1)[:2])
            same_bits(refreshed[0], refreshed[1])
            same_bits(refreshed[0], refreshed[2])

    def test_selected_rows(self, dtype):
        problem = Problem(61, 19, 23, 3, 4, dtype, scaled=True)
        order = np.random.default_rng(0).permutation(61)
        stored = np.empty_like(problem.X)
        stored[order] = problem.X
        same_bits(problem.refresh(rows=_kernels.select_rows(kernel_rows(stored), order)), problem.refresh())

    def test_stand_ins_stand_in_for_the_new_best_one(self, dtype):
        """Component 0 was the best one, and the third stood in for it; now 1 is better, and 2 is dropped."""
        candidates = np.array([[0, 1, 0, 2]], dtype=np.int32)
        energies = np.empty((1, 4), dtype=dtype)
        _kernels.distances_to_listed(
            kernel_rows(np.zeros((1, 1), dtype=dtype)), np.array([[2.0], [1], [0]], dtype=dtype), None,
            np.ones(3, dtype=dtype), np.array([0, 0, np.inf], dtype=dtype), candidates, energies, 1,
        )  # fmt: skip
        np.testing.assert_array_equal(candidates, [[1, 0, 1, 1]])
        np.testing.assert_array_equal(energies, [[1, 4, np.inf, np.inf]])


REFRESH_CHANGES = [
    (dict(centers=np.zeros((3, 5))), "width"),
    (dict(scales=np.ones((3, 5))), "scales"),
    (dict(precisions=np.ones(2)), "precision"),
    (dict(offsets=np.zeros(4)), "offset"),
    (dict(ids=np.zeros((4, 1), dtype=np.int32)), "ids"),
    (dict(ids=np.full((5, 1), 3, dtype=np.int32)), "a listed center is out of range"),
    (dict(ids=np.full((5, 1), -1, dtype=np.int32)), "a listed center is out of range"),
    (dict(distances=np.zeros((5, 2))), "distances"),
]


@pytest.mark.parametrize(("change", "message"), REFRESH_CHANGES)
def test_refresh_checks_its_arguments(change, message):
    arguments = {name: SEARCH[name] for name in ("scales", "precisions", "offsets", "n_threads")}
    arguments |= dict(centers=SEARCH["means"], ids=SEARCH["candidates"], distances=SEARCH["energies"])
    rows = kernel_rows(np.zeros((5, 4)))
    _kernels.distances_to_listed(rows=rows, **arguments)
    with pytest.raises(ValueError, match=message):
        _kernels.distances_to_listed(rows=rows, **(arguments | change))


SEARCH = dict(
    means=np.zeros((3, 4)),
    scales=np.ones((3, 4)),
    precisions=np.ones(3),
    offsets=np.zeros(3),
    candidates=np.zeros((5, 1), dtype=np.int32),
    energies=np.zeros((5, 1)),
    neighbors=np.array([[0, 1], [1, 2], [2, 0]], dtype=np.int32),
    extra=np.zeros(5, dtype=np.int32),
    rows_per_tile=16,
    update_neighbors=True,
    n_threads=1,
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(means=np.zeros((3, 5))), "centers and rows differ in width"),
        (dict(scales=np.ones((3, 3))), "scales and centers differ"),
        (dict(precisions=np.ones(2)), "one precision per center"),
        (dict(offsets=np.ones(4)), "one offset per center"),
        (dict(candidates=np.zeros((4, 1), dtype=np.int32)), "candidates has the wrong shape"),
        (
            dict(candidates=np.zeros((5, 4), dtype=np.int32), energies=np.zeros((5, 4))),
            "number of candidates",
        ),
        (
            dict(candidates=np.zeros((5, 0), dtype=np.int32), energies=np.zeros((5, 0))),
            "number of candidates",
        ),
        (dict(energies=np.zeros((5, 2))), "energies has the wrong shape"),
        (dict(candidates=np.full((5, 1), 3, dtype=np.int32)), "a candidate is out of range"),
        (dict(candidates=np.full((5, 1), -1, dtype=np.int32)), "a candidate is out of range"),
        (dict(neighbors=np.zeros((2, 2), dtype=np.int32)), "neighbors has the wrong shape"),
        (dict(neighbors=np.zeros((3, 4), dtype=np.int32)), "number of neighbors"),
        (dict(neighbors=np.array([[0, 1], [1, 3], [2, 0]], dtype=np.int32)), "a neighbor is out of range"),
        (
            dict(neighbors=np.array([[0, 1], [2, 1], [2, 0]], dtype=np.int32)),
            "begin with the component itself",
        ),
        (dict(extra=np.zeros(4, dtype=np.int32)), "one extra component per row"),
        (dict(extra=np.full(5, 3, dtype=np.int32)), "an extra component is out of range"),
        (dict(rows_per_tile=0), "rows_per_tile is out of range"),
        (dict(rows_per_tile=513), "rows_per_tile is out of range"),
    ],
)
def test_search_checks_its_arguments(change, message):
    rows = kernel_rows(np.zeros((5, 4)))
    _kernels.truncated_search(rows=rows, **SEARCH)
    with pytest.raises(ValueError, match=message):
        _kernels.truncated_search(rows=rows, **(SEARCH | change))


def shares_of(energies, negligible, n_threads=2):
    shares, log_densities = np.full_like(energies, np.nan), np.full(len(energies), np.nan)
    _kernels.truncated_posteriors(energies, negligible, shares, log_densities, n_threads)
    return shares, log_densities


@pytest.mark.parametrize("dtype", DTYPES)
class TestPosteriors:
    @settings(max_examples=40, deadline=None)
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

    def test_negligible_shares_are_nothing(self, dtype):
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


def test_posteriors_check_their_arguments():
    arguments = dict(
        energies=np.zeros((5, 2)), negligible=9.0, shares=np.zeros((5, 2)), log_densities=np.zeros(5), n_threads=1
    )  # fmt: skip
    _kernels.truncated_posteriors(**arguments)
    for change, message in [
        (dict(shares=np.zeros((5, 3))), "shares and energies"),
        (dict(log_densities=np.zeros(4)), "log-density"),
        (dict(energies=np.zeros((5, 0)), shares=np.zeros((5, 0))), "no candidates"),
    ]:
        with pytest.raises(ValueError, match=message):
            _kernels.truncated_posteriors(**(arguments | change))


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


@pytest.mark.parametrize("dtype", DTYPES)
class TestMoments:
    @settings(max_examples=50, deadline=None)
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
        atol = 1e-6 * n if dtype == np.float32 else 1e-9
        for name in INSTRUCTION_SETS:
            with using(name):
                found = add_moments(X, *shared, weights, means, second=second, start=start)
            for left, right in zip(found, expected):
                # Differences are taken in the rows' type, and added up in float64.
                np.testing.assert_allclose(left - start, right, atol=atol)
            # Weights times shares are rounded to the rows' type.
            np.testing.assert_allclose(
                found[0] - start, expected[0], rtol=1e-6 if dtype == np.float32 else 1e-11, atol=1e-11
            )

    def test_chunks(self, dtype):
        """More rows than the 16 MiB that are added up at a time."""
        random = np.random.default_rng(0)
        X, means = random.normal(size=(9000, 500)).astype(dtype), random.normal(size=(4, 500)).astype(dtype)
        shared, weights = some_shares(9000, 4, 2, dtype, 0), random.random(9000).astype(dtype)
        expected = oracle.moments(X, *shared, weights.astype(float), means.astype(float))
        for found in (
            add_moments(X, *shared, weights, means),
            add_moments(
                _kernels.select_rows(kernel_rows(X[::-1].copy()), np.arange(9000)[::-1].copy()),
                *shared,
                weights,
                means,
            ),
        ):
            for left, right in zip(found, expected):
                np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-2 if dtype == np.float32 else 1e-9)

    def test_bits(self, dtype):
        random = np.random.default_rng(0)
        X, means = random.normal(size=(20_000, 9)).astype(dtype), random.normal(size=(6, 9)).astype(dtype)
        shared, weights = some_shares(20_000, 6, 3, dtype, 0), random.random(20_000).astype(dtype)
        results = []
        for name in INSTRUCTION_SETS:
            with using(name):
                found = [add_moments(X, *shared, weights, means, n_threads=n) for n in (1, 2, 3)]
            same_bits(found[0], found[1])
            same_bits(found[0], found[2])
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


MOMENTS = dict(
    candidates=np.zeros((5, 2), dtype=np.int32),
    shares=np.ones((5, 2)),
    energies=np.zeros((5, 2)),
    weights=np.ones(5),
    means=np.zeros((3, 4)),
    masses=np.zeros(3),
    energy_sums=np.zeros(3),
    first=np.zeros((3, 4)),
    second=np.zeros((3, 4)),
    n_threads=1,
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(means=np.zeros((3, 5))), "means and rows differ in width"),
        (dict(candidates=np.zeros((4, 2), dtype=np.int32)), "candidates has the wrong shape"),
        (dict(shares=np.ones((5, 3))), "shares has the wrong shape"),
        (dict(energies=np.ones((5, 1))), "energies has the wrong shape"),
        (dict(candidates=np.full((5, 2), 3, dtype=np.int32)), "a candidate is out of range"),
        (dict(weights=np.ones(6)), "one weight per row"),
        (dict(masses=np.zeros(2)), "one mass per component"),
        (dict(energy_sums=np.zeros(2)), "one sum of energies per component"),
        (dict(first=np.zeros((3, 3))), "first and means"),
        (dict(second=np.zeros((2, 4))), "second and means"),
    ],
)
def test_moments_check_their_arguments(change, message):
    rows = kernel_rows(np.zeros((5, 4)))
    _kernels.mixture_moments(rows=rows, **MOMENTS)
    with pytest.raises(ValueError, match=message):
        _kernels.mixture_moments(rows=rows, **(MOMENTS | change))


# --- the steps


class TestEnergies:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("shape", [(), (6,), (6, 3)])
    def test_are_made_of_their_parts(self, dtype, shape):
        random = np.random.default_rng(0)
        X, means = random.normal(size=(20, 3)).astype(dtype), random.normal(size=(6, 3)).astype(dtype)
        variances, weights = random.uniform(0.1, 9, size=shape), random.dirichlet(np.ones(6))
        weights[2] = 0
        parameters = MixtureParameters(means, variances, weights / weights.sum())
        scales, precisions, offsets, base = parameters.energies()
        assert (scales is None) == (len(shape) < 2)
        assert precisions.dtype == offsets.dtype == dtype
        assert offsets.min() == 0
        assert np.isinf(offsets[2])
        relative = (X.astype(float)[:, None, :] - means) * (1 if scales is None else scales.astype(float))
        found = precisions * np.sum(relative**2, axis=2) + offsets + base
        expected = oracle.energies(X, means, variances, parameters.weights)
        np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == np.float32 else 1e-12)


def e_step(X, sizes, seed=0, weights=None, random_candidate=False, n_threads=2):
    return TruncatedPosteriors(
        as_rows(X), weights, sizes, random_candidate=random_candidate, random=np.random.RandomState(seed),
        n_threads=n_threads,
    )  # fmt: skip


class TestSteps:
    @pytest.mark.parametrize("n_components", [1, 2, 5, 40])
    def test_neighborhoods_begin_with_the_component_itself(self, n_components):
        for n_neighbors in {1, min(3, n_components), n_components}:
            posteriors = e_step(np.zeros((9, 2)), (n_components, 1, n_neighbors))
            assert posteriors.neighbors.shape == (n_components, n_neighbors)
            assert posteriors.neighbors.dtype == np.int32
            np.testing.assert_array_equal(posteriors.neighbors[:, 0], np.arange(n_components))
            assert all(len(set(row)) == n_neighbors for row in posteriors.neighbors)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_the_shared_variance_is_that_of_the_nearest_candidates(self, weighted):
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
    def test_the_m_step_is_the_oracles(self, covariance_type, dtype, weighted):
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
        after = m_step(
            posteriors, before, covariance_type=covariance_type, reg_covar=0.25, smallest_variance=1e-9
        )
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
    def test_the_m_step_drops_what_has_no_weight_or_variance(self, covariance_type):
        X = np.array([[0.0, 0], [1, 1], [2, 0], [50, 50], [50, 50]])
        means = np.array([[1.0, 0.5], [50, 50], [-900, 0]])
        before = MixtureParameters(means, np.array(1.0), np.full(3, 1 / 3))
        posteriors = e_step(X, (3, 3, 1))
        posteriors.update(posteriors.e_step(before))
        options = dict(covariance_type=covariance_type, smallest_variance=1e-9)
        after = m_step(posteriors, before, reg_covar=0.0, **options)
        np.testing.assert_array_equal(after.weights, [1, 0, 0])
        kept = m_step(posteriors, before, reg_covar=0.5, **options)
        np.testing.assert_allclose(kept.weights, [0.6, 0.4, 0])
        np.testing.assert_allclose(kept.variances[1], 0.5)
        tied = m_step(
            posteriors, before, covariance_type="tied_spherical", reg_covar=0.0, smallest_variance=1e-9
        )
        np.testing.assert_array_equal(tied.means[2], means[2])  # without mass it stays
        np.testing.assert_allclose(tied.weights, 1 / 3)

    def test_a_random_candidate_is_one_more_to_try(self):
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
    @settings(max_examples=100, deadline=None)
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

    @pytest.mark.parametrize("n_keys", [1, 7, 1 << 16, (1 << 16) + 1, 100_000])
    def test_order_by_is_stable(self, n_keys):
        keys = np.random.default_rng(0).integers(0, n_keys, size=5000).astype(np.int32)
        keys[:2] = n_keys - 1, 0
        order = order_by(keys, n_keys)
        assert order.dtype == np.int64
        np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))
