"""An E-step without a search: rows keep their components, whose energies change. Against the plain one."""

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
class TestRefresh:
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
                same_bits(refreshed[0], problem.search(group_size=1)[:2])
            same_bits(refreshed[1:], [refreshed[0], refreshed[0]])

    def test_selected_rows(self, dtype):
        problem = Problem(61, 19, 23, 3, 4, dtype, scaled=True)
        order = np.random.default_rng(0).permutation(61)
        stored = np.empty_like(problem.X)
        stored[order] = problem.X
        same_bits(problem.refresh(rows=_kernels.select_rows(kernel_rows(stored), order)), problem.refresh())

    def test_replacements_of_dropped_components(self, dtype):
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
