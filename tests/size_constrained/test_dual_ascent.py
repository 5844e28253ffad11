"""The curvature of the dual is the one that is counted row by row, and its systems are solved."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import _kernels
from coterie.size_constrained.dual_ascent import Curvature
from tests.reference import curvature as reference


def dense(curvature):
    """Return the matrix, column by column."""
    n = len(curvature.diagonal)
    return np.stack([curvature.times(unit) for unit in np.eye(n)], axis=1)


@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(1, 200),
    n_nodes=st.integers(1, 12),
    weighted=st.booleans(),
    damping=st.sampled_from([1e-4, 0.01, 10.0]),
)
def test_rows_next_to_changing_are_counted(seed, n_rows, n_nodes, weighted, damping):
    random = np.random.default_rng(seed)
    heads, tails = random.integers(0, n_nodes, size=(2, n_rows), dtype=np.int32)
    margins, n_near = random.random(n_rows) + 0.1, int(random.integers(1, n_rows + 1))
    weights = random.random(n_rows) if weighted else None
    found = Curvature.of_rows(heads, tails, margins, weights, n_near, n_nodes, damping)
    expected = reference.counted(heads, tails, margins, weights, n_near, n_nodes, damping)
    np.testing.assert_allclose(dense(found), expected, atol=1e-12 * (1 + np.abs(expected).max()))
    for a, b in zip(found.starts, found.starts[1:]):
        assert len(set(found.ends[a:b])) == b - a
    if np.any(np.diag(expected) > 0):
        is_free, right = random.random(n_nodes) < 0.7, random.normal(size=n_nodes)
        step = found.solved(right, is_free)
        assert np.all(step[~is_free] == 0)
        residual = (right - expected @ step)[is_free]
        scales = 1 / np.diag(expected)[is_free]
        assert np.sum(scales * residual**2) <= 1.01e-6 * np.sum(scales * right[is_free] ** 2)


@pytest.mark.parametrize("seed", range(4))
def test_conjugate_gradients_reach_the_tolerance(seed):
    random = np.random.default_rng(seed)
    heads, tails = random.integers(0, 30, size=(2, 300), dtype=np.int32)
    found = Curvature.of_rows(heads, tails, random.random(300), None, 150, 30, 1e-3)
    is_free, right, solution = random.random(30) < 0.8, random.normal(size=30), np.empty(30)
    _kernels.solve_laplacian(
        found.starts,
        found.ends,
        found.weights,
        found.diagonal,
        is_free.view(np.uint8),
        right,
        1e-28,
        500,
        solution,
    )
    np.testing.assert_allclose(
        solution, reference.solved(dense(found), right, is_free), rtol=1e-9, atol=1e-12
    )


def test_equal_rows_and_separate_groups_have_finite_steps():
    none = np.zeros(4, dtype=np.int32)
    alike = Curvature.of_rows(none, none + 1, np.zeros(4), None, 2, 2, 0.01)
    assert np.all(np.isfinite(alike.solved(np.array([1.0, -1.0]), np.ones(2, dtype=bool))))
    alone = Curvature.of_rows(none, none, np.full(4, np.inf), None, 2, 1, 0.01)
    np.testing.assert_array_equal(alone.solved(np.zeros(1), np.ones(1, dtype=bool)), [0.0])


def test_arrays_that_do_not_fit_are_refused():
    ints, doubles = np.zeros(2, dtype=np.int32), np.zeros(2)
    with pytest.raises(ValueError, match="out of range"):
        _kernels.add_pairs(ints + 7, ints, None, ints, np.zeros(4, dtype=np.int32), np.zeros(4))
    with pytest.raises(ValueError, match="both directions"):
        _kernels.add_pairs(ints, ints, None, np.zeros(3, dtype=np.int32), ints, doubles)
    marks = np.ones(2, dtype=np.uint8)
    with pytest.raises(ValueError, match="as many ends as starts say"):
        _kernels.solve_laplacian(
            np.array([0, 1, 5], dtype=np.int32), ints, doubles, doubles, marks, doubles, 0.1, 9, doubles
        )
