"""The kernels of approximate neighbors: points of few cells, and the nearest of candidates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import _kernels
from coterie.blocks.kernel_rows import kernel_rows
from coterie.graphs.approximate import CellPoints, Cells, Visits, rows_in_directions
from coterie.graphs.exact import byte_unit
from tests.graphs.examples import DTYPES, few_values
from tests.reference import graphs as oracle
from tests.support.bits import same_bits
from tests.support.instruction_sets import INSTRUCTION_SETS, using


def drawn_visits(n_rows, n_cells, random):
    """Return the visits of some rows, none of its own cell, and whether a row visits a cell."""
    own = random.integers(n_cells, size=n_rows).astype(np.int32)
    visited = np.zeros((n_rows, n_cells), dtype=bool)
    for row in range(n_rows):
        visited[row, random.integers(n_cells, size=random.integers(4))] = True
    visited[np.arange(n_rows), own] = False
    starts = np.concatenate([[0], np.cumsum(visited.sum(axis=1))])
    return Visits(own, starts, np.nonzero(visited)[1].astype(np.int32)), visited


@pytest.mark.parametrize("dtype", DTYPES)
@given(
    n=st.sampled_from([1, 7, 60, 900]),
    q=st.sampled_from([1, 24, 97, 400]),
    m=st.sampled_from([1, 2, 17, 40]),
    d=st.sampled_from([1, 3, 20]),
    n_values=st.sampled_from([1, 2, 9, 1000]),
    seed=st.integers(0, 1000),
)
def test_lowest_scores_within_overlapping_cells(dtype, n, q, m, d, n_values, seed):
    """Whole numbers, so that scores are exact; many are equal where there are few values."""
    random = np.random.default_rng(seed)
    points, rows = (random.integers(n_values, size=(k, d)).astype(dtype) for k in (n, q))
    n_cells = int(random.integers(1, 12))
    (visits, of_points), (asked, of_rows) = (drawn_visits(k, n_cells, random) for k in (n, q))
    own = asked.own
    squares = np.square(points).sum(axis=1)
    cells = CellPoints(points, squares, visits, n_cells)
    found = []
    best, *_, plainest = [*INSTRUCTION_SETS, INSTRUCTION_SETS[-1]]
    for name, n_threads in ((plainest, 1), (best, 1), (best, 3)):
        with using(name):
            found.append(cells.candidates(rows, asked, m, n_threads))
    same_bits(found[1], found[0])
    same_bits(found[2], found[0])
    for row in range(q):
        visits_own = of_points[:, own[row]]
        meets = (visits.own == own[row]) | visits_own
        meets |= of_rows[row, visits.own] & ~visits_own
        true = oracle.scores(rows[row], points)
        expected = np.sort(true[np.flatnonzero(meets)])[:m]
        ids = found[0][row, : len(expected)]
        np.testing.assert_array_equal(true[ids], expected)
        assert len(set(ids)) == len(ids)
        assert np.all(meets[ids])
        assert np.all(found[0][row, len(expected) :] == -1)
    one = int(random.integers(q))
    its = asked.cells[asked.starts[one] : asked.starts[one + 1]]
    alone = cells.candidates(rows[[one]], Visits(own[[one]], np.array([0, len(its)]), its), m, 1)
    same_bits(alone[0], found[0][one])


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=15)
@given(
    n=st.sampled_from([60, 900]),
    d=st.sampled_from([1, 20, 70]),
    scale=st.sampled_from([2.0**-40, 1, 2.0**40]),
    offset=st.sampled_from([0, 30]),
    seed=st.integers(0, 1000),
)
def test_lowest_scores_of_rounded_rows(name, dtype, n, d, scale, offset, seed):
    """What rounding to `step` moves is bounded; the first row is far from all points, where nothing is found."""
    random = np.random.default_rng(seed)
    points, rows = (scale * (random.normal(size=(k, d)) + offset).astype(dtype) for k in (n, 50))
    rows[0] *= 2.0**60
    n_cells, m = int(random.integers(1, 5)), 9
    (visits, of_points), (asked, of_rows) = (drawn_visits(k, n_cells, random) for k in (n, 50))
    unit = byte_unit(points)
    with using(name):
        cells = CellPoints(points, np.square(points).sum(axis=1), visits, n_cells, unit)
        found = [cells.candidates(rows, asked, m, n_threads) for n_threads in (1, 3)]
    same_bits(*found)
    step = max(np.abs(points).max(), np.abs(rows[1:]).max()) / 63
    for row in range(1, 50):
        meets = (visits.own == asked.own[row]) | of_points[:, asked.own[row]] | of_rows[row, visits.own]
        true = np.sqrt(np.square(points.astype(float) - rows[row]).sum(axis=1))
        expected = np.sort(true[meets])[:m]
        ids = found[0][row, : len(expected)]
        assert np.all(meets[ids])
        assert len(set(ids)) == len(ids)
        assert np.all(np.sort(true[ids]) <= expected + 2.1 * step * np.sqrt(d))


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=15)
@given(
    n=st.sampled_from([1, 7, 130]),
    n_cells=st.sampled_from([1, 5, 16, 37]),
    d=st.sampled_from([1, 3, 20]),
    seed=st.integers(0, 1000),
)
def test_rows_visit_the_cells_whose_borders_are_near(dtype, n, n_cells, d, seed):
    random = np.random.default_rng(seed)
    rows, centers = random.normal(size=(n, d)).astype(dtype), random.normal(size=(n_cells, d)).astype(dtype)
    found = [Cells(centers, 0.7, 1).visits(rows, n_threads) for n_threads in (1, 3)]
    same_bits(*(list(vars(visits).values()) for visits in found))
    own, cells = oracle.visited_cells(rows, centers, 0.35)
    np.testing.assert_array_equal(found[0].own, own)
    for row in range(n):
        sure, unsure = cells[row]
        visited = set(found[0].cells[found[0].starts[row] : found[0].starts[row + 1]].tolist())
        assert sure <= visited <= sure | unsure


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "d", "m"), [(1, 1, 1), (7, 3, 16), (100, 65, 17), (25, 20, 40)])
def test_products_with_directions_are_the_same_for_any_other_rows(dtype, n, d, m):
    random = np.random.default_rng(0)
    rows, directions = random.normal(size=(n, d)).astype(dtype), random.normal(size=(d, m)).astype(dtype)
    found = rows_in_directions(rows, directions, 2)
    np.testing.assert_allclose(found, rows @ directions, rtol=1e-4, atol=1e-4)
    same_bits(rows_in_directions(rows[-1:], directions, 1), found[-1:])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("are_points", [False, True])
@settings(max_examples=15)
@given(
    n=st.sampled_from([1, 5, 100]),
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
        (dict(offsets=np.zeros(4)), "one offset per point"),
        (dict(order=np.zeros(4, dtype=np.int32)), "all points in order"),
        (dict(order=np.full(5, 5, dtype=np.int32)), "a point is not there"),
        (dict(cell_starts=np.array([0, 4])), "cell_starts does not cover"),
        (dict(visitor_starts=np.array([0, 1])), "visitor_starts does not cover"),
        (
            dict(visitor_starts=np.array([0, 1]), visitors=np.array([5], dtype=np.int32)),
            "a point is not there",
        ),
        (dict(row_order=np.array([7])), "row_order is out of range"),
        (dict(own=np.ones(4, dtype=np.int32)), "the cell of a row is out of range"),
        (dict(starts=np.array([0, 0, 0, 0])), "starts has the wrong shape"),
        (dict(starts=np.array([0, 1, 1, 1, 1])), "starts does not cover"),
        (
            dict(starts=np.array([0, 1, 1, 1, 1]), visits=np.ones(1, dtype=np.int32)),
            "a visited cell is out of range",
        ),
        (dict(ids=np.zeros((3, 2), dtype=np.int32)), "shape"),
    ],
)
def test_the_kernel_of_cells_checks_its_arguments(change, message):
    arguments = dict(
        points=np.zeros((5, 2)),
        offsets=np.zeros(5),
        order=np.arange(5, dtype=np.int32),
        cell_starts=np.array([0, 5]),
        visitors=np.empty(0, dtype=np.int32),
        visitor_starts=np.array([0, 0]),
        row_order=np.arange(4),
        own=np.zeros(4, dtype=np.int32),
        starts=np.zeros(5, dtype=np.intp),
        visits=np.empty(0, dtype=np.int32),
        unit=0.0,
        ids=np.zeros((4, 2), dtype=np.int32),
        n_threads=1,
    )
    with pytest.raises(ValueError, match=message):
        _kernels.nearest_in_cells(kernel_rows(np.zeros((4, 2))), *(arguments | change).values())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(points=np.zeros((5, 3))), "width"),
        (dict(points=np.zeros((5, 2)), are_points=True), "rows are not the points"),
        (dict(row_order=np.array([4])), "row_order is out of range"),
        (dict(candidates=np.zeros((3, 2), dtype=np.int32)), "candidates has the wrong shape"),
        (dict(candidates=np.full((4, 2), 5, dtype=np.int32)), "a candidate is not there"),
        (dict(ids=np.zeros((3, 2), dtype=np.int32)), "shape"),
        (dict(squares=np.zeros((4, 3))), "shape"),
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
        _kernels.nearest_of_candidates(kernel_rows(np.zeros((4, 2))), *(arguments | change).values())
