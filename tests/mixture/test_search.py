"""The search of an E-step: rows find better components. Against the plain one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import _kernels
from coterie.blocks.kernel_rows import kernel_rows
from tests.mixture.mixtures import DTYPES
from tests.mixture.problems import Problem, problems, tolerance
from tests.reference import truncated_mixture as oracle
from tests.support.bits import same_bits
from tests.support.instruction_sets import FUSED, INSTRUCTION_SETS, using


@pytest.mark.parametrize("dtype", DTYPES)
class TestSearch:
    @given(
        data=st.data(), group_size=st.sampled_from([1, 3, 16]), update_neighbors=st.booleans(),
        regroup=st.booleans(),
    )  # fmt: skip
    def test_against_the_oracle(self, dtype, data, group_size, update_neighbors, regroup):
        problem = data.draw(problems(dtype))
        options = dict(group_size=group_size, update_neighbors=update_neighbors, regroup=regroup)
        ids, kept, neighbors, n_distances = problem.expected(**options)
        averages = oracle.mean_energies(
            problem.table, problem.candidates, problem.neighbors, problem.extra, group_size,
            ids[:, 0] if regroup else None,
        )  # fmt: skip
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

    @given(data=st.data(), group_size=st.sampled_from([1, 3, 16]))
    def test_dropped_components_are_not_chosen(self, dtype, data, group_size):
        """Their offset is infinite. Rows that already have some give them up, whatever else they know."""
        problem = data.draw(problems(dtype, dead=True))
        for name in INSTRUCTION_SETS:
            with using(name):
                ids, energies, neighbors, _ = problem.search(group_size)
            assert np.all((ids >= 0) & (ids < len(problem.means)))
            assert np.all((neighbors >= 0) & (neighbors < len(problem.means)))
            for _, rows in oracle.tiles(problem.candidates, len(problem.means), group_size):
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

    @given(data=st.data(), n_steps=st.integers(2, 5))
    def test_energies_never_rise(self, dtype, data, n_steps):
        """The k-th best component that a row keeps is at least as good as the k-th best that it had."""
        problem = data.draw(problems(dtype))
        before = np.sort(np.take_along_axis(problem.table, problem.candidates, axis=1), axis=1)
        for _ in range(n_steps):
            problem.candidates, energies, problem.neighbors, _ = problem.search()
            assert np.all(energies <= before + tolerance(dtype)["atol"] * (1 + np.abs(before)))
            before = energies.astype(float)

    def test_rows_of_a_group_share_candidates(self, dtype):
        """By hand: two rows of one component, of which only the first has heard of component 3."""
        X = np.array([[0.0], [0.1], [9.0]], dtype=dtype)
        candidates = np.array([[0, 3], [0, 1], [2, 1]], dtype=np.int32)
        for group_size, second in [(1, [0, 1]), (16, [3, 0])]:
            found, energies = candidates.copy(), np.empty((3, 2), dtype=dtype)
            neighbors = np.arange(4, dtype=np.int32)[:, None].copy()
            _kernels.truncated_search(
                kernel_rows(X), np.array([[0.5], [1.0], [9.0], [0.1]], dtype=dtype), None,
                np.ones(4, dtype=dtype), np.zeros(4, dtype=dtype), found, energies, neighbors, None,
                group_size, True, False, 1,
            )  # fmt: skip
            np.testing.assert_array_equal(found, [[3, 0], second, [2, 1]])
            np.testing.assert_allclose(energies[[0, 2]], [[0.01, 0.25], [0, 64]], rtol=1e-4)

    @pytest.mark.parametrize(("group_size", "regroup"), [(1, False), (3, False), (16, False), (1, True)])
    @pytest.mark.parametrize("n", [513, 2500])
    def test_groups_of_many_rows(self, dtype, group_size, regroup, n):
        problem = Problem(n, 3, 7, 2, 3, dtype, extra=True)
        problem.candidates[: n - 5, 0], problem.candidates[: n - 5, 1] = 2, 4
        options = dict(group_size=group_size, regroup=regroup)
        ids, kept, neighbors, n_distances = problem.expected(**options)
        found = [problem.search(**options, n_threads=n_threads) for n_threads in (1, 2, 3)]
        np.testing.assert_allclose(found[0][1], kept, **tolerance(dtype))
        np.testing.assert_array_equal(found[0][2], neighbors)
        assert found[0][3] == n_distances
        assert np.mean(found[0][0] == ids) > 0.999
        same_bits(found[1:], [found[0], found[0]])

    @pytest.mark.parametrize(("d", "scaled"), [(1, False), (255, True), (257, False), (530, True)])
    @pytest.mark.parametrize("group_size", [1, 3, 4, 9, 16, 40])
    def test_tiles_of_any_height_and_rows_of_any_width(self, dtype, d, group_size, scaled):
        """Tiles of four rows or more have a lane for each row, and sum up 256 columns at a time."""
        problem = Problem(150, d, 21, 4, 3, dtype, scaled=scaled)
        ids, kept, _, n_distances = problem.expected(group_size=group_size)
        for name in INSTRUCTION_SETS:
            with using(name):
                found = problem.search(group_size)
            np.testing.assert_allclose(found[1], kept, **tolerance(dtype))
            assert found[3] == n_distances
            if dtype == np.float64:
                np.testing.assert_array_equal(found[0], ids)

    @pytest.mark.parametrize("scaled", [False, True])
    @pytest.mark.parametrize("options", [{}, dict(group_size=1, regroup=True)])
    def test_fused_instruction_sets_and_threads_agree_to_the_bit(self, dtype, scaled, options):
        problem = Problem(3000, 37, 60, 5, 5, dtype, scaled=scaled, extra=True)
        results = []
        for name in INSTRUCTION_SETS:
            with using(name):
                found = [problem.search(n_threads=n_threads, **options) for n_threads in (1, 2, 3)]
            same_bits(found[1:], [found[0], found[0]])
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

    def test_search_changes_neither_inputs_nor_neighbors_unless_updated(self, dtype):
        problem = Problem(200, 5, 20, 3, 4, dtype, scaled=True, extra=True)
        inputs = ("X", "means", "scales", "precisions", "offsets", "extra")
        before = [getattr(problem, name).copy() for name in inputs]
        _, _, neighbors, _ = problem.search(update_neighbors=False)
        same_bits([getattr(problem, name) for name in inputs], before)
        np.testing.assert_array_equal(neighbors, problem.neighbors)
        assert np.any(problem.search()[2] != problem.neighbors)

    def test_replacements_are_replaced(self, dtype):
        """Row 0 knew nothing but component 0, which stands in for itself; 1 is near enough to be found."""
        candidates, energies = np.array([[0, 0]], dtype=np.int32), np.empty((1, 2), dtype=dtype)
        neighbors = np.array([[0, 1], [1, 0]], dtype=np.int32)
        _kernels.truncated_search(
            kernel_rows(np.zeros((1, 1), dtype=dtype)), np.array([[1.0], [2.0]], dtype=dtype), None,
            np.ones(2, dtype=dtype), np.zeros(2, dtype=dtype), candidates, energies, neighbors, None, 16,
            True, False, 1,
        )  # fmt: skip
        np.testing.assert_array_equal(candidates, [[0, 1]])
        np.testing.assert_array_equal(energies, [[1, 4]])


def test_group_size_1_equals_the_published_search():
    """Algorithm 2, point by point, over several E-steps with the same components."""
    for seed in range(6):
        problem = Problem(200, 3, 25, 3, 3, np.float64, seed, scaled=seed % 2 == 0, extra=seed % 3 == 0)
        for _ in range(4):
            expected = oracle.algorithm_2(problem.table, problem.candidates, problem.neighbors, problem.extra)
            found = problem.search(group_size=1, regroup=True)
            np.testing.assert_array_equal(found[0], expected[0])
            np.testing.assert_allclose(found[1], expected[1], **tolerance(np.float64))
            np.testing.assert_array_equal(found[2], expected[2])
            assert found[3] == expected[3]
            problem.candidates, _, problem.neighbors, _ = found
