"""The kernels of approximate neighbors: points of few cells, and the nearest of candidates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import _kernels
from coterie.arrays import lanes_of
from coterie.blocks.kernel_rows import kernel_rows
from coterie.graphs.cell_search import Slots
from tests.graphs.examples import DTYPES, few_values
from tests.reference import graphs as oracle
from tests.support.bits import same_bits
from tests.support.instruction_sets import using

_GROUP = 24


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("are_shared", [True, False])
@settings(max_examples=15, deadline=None)
@given(
    n=st.sampled_from([1, 7, 60, 900]),
    q=st.sampled_from([1, 24, 25, 97, 200]),
    m=st.sampled_from([1, 2, 17, 40]),
    n_values=st.sampled_from([1, 2, 9, 1000]),
    seed=st.integers(0, 1000),
)
def test_the_lowest_scores_in_the_cells_of_each_group(dtype, are_shared, n, q, m, n_values, seed):
    """Whole numbers, so that scores are exact; many are equal where there are few values.

    Or the cells of each row for itself: then the row finds the same, down to equal scores, where it asks alone.
    """
    random = np.random.default_rng(seed)
    points, rows = (random.integers(n_values, size=(k, 3)).astype(dtype) for k in (n, q))
    n_cells = int(random.integers(1, 12))
    own = random.integers(n_cells, size=n).astype(np.int32)
    visits = random.integers(n_cells, size=(q, 2)).astype(np.int32)
    row_order = random.permutation(q)[: max(1, q - 3)]
    slots = Slots.of(own, n_cells, lanes_of(dtype))
    offsets = np.square(points).sum(axis=1)
    found = []
    for name, n_threads in (("baseline", 1), ("baseline", 2), (None, 3)):
        ids, scores = np.full((q, m), -7, dtype=np.int32), np.full((q, m), -7, dtype=dtype)
        with using(name or _kernels.instruction_set()):
            _kernels.nearest_in_cells(
                kernel_rows(rows),
                points,
                offsets,
                slots.order,
                slots.panel_starts,
                row_order,
                visits,
                are_shared,
                ids,
                scores,
                n_threads,
            )
        found.append((ids, scores))
    for again in found[1:]:
        same_bits(again, found[0])
    ids, scores = found[0]
    size = _GROUP if are_shared else 1
    for group in np.split(row_order, range(size, len(row_order), size)):
        met = np.flatnonzero(np.isin(own, visits[group]))
        for row in group:
            true = oracle.scores(rows[row], points)
            expected = np.sort(true[met])[:m]
            np.testing.assert_array_equal(scores[row, : len(expected)], expected)
            of_row = ids[row, : len(expected)]
            np.testing.assert_array_equal(true[of_row], expected)
            assert len(set(of_row)) == len(of_row)
            assert np.all(np.isin(of_row, met))
            assert np.all(ids[row, len(expected) :] == -1)
            assert np.all(np.isinf(scores[row, len(expected) :]))
    others = np.setdiff1d(np.arange(q), row_order)
    assert np.all(ids[others] == -7)
    if not are_shared:
        one = row_order[:1]
        some = slots.only(visits[one])
        alone, its_scores = np.empty((1, m), dtype=np.int32), np.empty((1, m), dtype=dtype)
        _kernels.nearest_in_cells(
            kernel_rows(rows[one]),
            points,
            offsets,
            some.order,
            some.panel_starts,
            np.zeros(1, dtype=np.intp),
            visits[one],
            are_shared,
            alone,
            its_scores,
            1,
        )
        same_bits((alone, its_scores), (ids[one], scores[one]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("are_points", [False, True])
@settings(max_examples=15, deadline=None)
@given(
    n=st.sampled_from([1, 5, 70, 150]),
    d=st.sampled_from([1, 3, 16, 17, 65]),
    m=st.sampled_from([1, 3, 4, 30]),
    n_kept=st.sampled_from([1, 2, 15]),
    seed=st.integers(0, 1000),
)
def test_the_nearest_of_candidates(dtype, are_points, n, d, m, n_kept, seed):
    random = np.random.default_rng(seed)
    points = few_values(n, d, seed, dtype)
    rows = points if are_points else few_values(37, d, seed + 1, dtype)
    q = len(rows)
    candidates = np.full((q, m), -1, dtype=np.int32)
    for row in range(q):
        drawn = random.permutation(n)[: random.integers(m + 1)]
        candidates[row, : len(drawn)] = drawn
        random.shuffle(candidates[row])
    row_order = random.permutation(q)
    found = []
    for n_threads in (1, 3):
        ids, squares = np.empty((q, n_kept), dtype=np.int32), np.empty((q, n_kept), dtype=dtype)
        for some in np.array_split(row_order, 2):
            _kernels.nearest_of_candidates(
                kernel_rows(rows), points, some, candidates, are_points, ids, squares, n_threads
            )
        found.append((ids, squares))
    same_bits(*found)
    for row, (ids, squares) in enumerate(zip(*found[0])):
        expected, true = oracle.nearest_of(
            rows[row], points, candidates[row], row if are_points else -1, n_kept
        )
        np.testing.assert_array_equal(ids[: len(expected)], expected)
        np.testing.assert_array_equal(squares[: len(expected)], true)
        assert np.all(ids[len(expected) :] == -1)
        assert np.all(np.isinf(squares[len(expected) :]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(points=np.zeros((5, 3))), "width"),
        (dict(offsets=np.zeros(4)), "offset"),
        (dict(order=np.zeros(9, dtype=np.int32)), "whole panels"),
        (dict(order=np.zeros(0, dtype=np.int32), panel_starts=np.array([0, 0])), "whole panels"),
        (dict(order=np.full(8, 5, dtype=np.int32)), "order names a point"),
        (dict(panel_starts=np.array([0, 2])), "panel_starts does not cover"),
        (dict(row_order=np.array([7])), "row_order is out of range"),
        (dict(visits=np.ones((4, 1), dtype=np.int32)), "a visited cell is out of range"),
        (dict(ids=np.zeros((3, 2), dtype=np.int32)), "ids has the wrong shape"),
    ],
)
def test_the_kernel_of_cells_checks_its_arguments(change, message):
    arguments = dict(
        points=np.zeros((5, 2)),
        offsets=np.zeros(5),
        order=np.array([0, 1, 2, 3, 4, -1, -1, -1], dtype=np.int32),
        panel_starts=np.array([0, 1]),
        row_order=np.arange(4),
        visits=np.zeros((4, 1), dtype=np.int32),
        are_shared=True,
        ids=np.zeros((4, 2), dtype=np.int32),
        scores=np.zeros((4, 2)),
        n_threads=1,
    )
    with pytest.raises(ValueError, match=message):
        _kernels.nearest_in_cells(kernel_rows(np.zeros((4, 2))), **(arguments | change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(points=np.zeros((5, 3))), "width"),
        (dict(points=np.zeros((5, 2)), are_points=True), "rows are not the points"),
        (dict(row_order=np.array([4])), "row_order is out of range"),
        (dict(candidates=np.zeros((3, 2), dtype=np.int32)), "candidates has the wrong shape"),
        (dict(candidates=np.full((4, 2), 5, dtype=np.int32)), "a candidate is not there"),
        (dict(ids=np.zeros((3, 2), dtype=np.int32)), "ids has the wrong shape"),
        (dict(squares=np.zeros((4, 3))), "squares has the wrong shape"),
    ],
)
def test_the_kernel_of_candidates_checks_its_arguments(change, message):
    arguments = dict(
        points=np.zeros((5, 2)),
        row_order=np.arange(4),
        candidates=np.zeros((4, 2), dtype=np.int32),
        are_points=False,
        ids=np.zeros((4, 2), dtype=np.int32),
        squares=np.zeros((4, 2)),
        n_threads=1,
    )
    with pytest.raises(ValueError, match=message):
        _kernels.nearest_of_candidates(kernel_rows(np.zeros((4, 2))), **(arguments | change))
