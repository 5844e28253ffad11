"""Approximate neighbours: nearly all of them, and the same for a seed."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import _kernels
from coterie.blocks.kernel_rows import kernel_rows
from coterie.graphs import nearest_neighbors
from coterie.graphs.approximate import approximate_neighbors
from coterie.graphs.exact import exact_neighbors
from tests.graphs.examples import DTYPES, METHOD
from tests.support.bits import same_bits
from tests.support.instruction_sets import FUSED, using


def clusters(n_rows, seed, dtype=np.float32):
    random = np.random.default_rng(seed)
    centers = 3 * random.normal(size=(12, 6))
    return (centers[random.integers(12, size=n_rows)] + random.normal(size=(n_rows, 6))).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_most_neighbors_are_found_approximately(dtype):
    X = clusters(3000, 0, dtype)
    ids, squares = nearest_neighbors(X, 6, method="approximate", random_state=0)
    expected, _ = nearest_neighbors(X, 6, **METHOD)
    assert np.mean([len(set(a) & set(b)) / 6 for a, b in zip(ids, expected)]) > 0.97
    assert ids.dtype == np.int32
    assert squares.dtype == dtype
    assert np.all(ids != np.arange(3000)[:, None])
    assert all(len(set(row)) == 6 for row in ids)
    assert np.all(np.diff(squares, axis=1) >= 0)
    own = np.sum((X[:, None].astype(np.float64) - X[ids]) ** 2, axis=2)
    np.testing.assert_allclose(squares, own, rtol=1e-5)


@pytest.mark.parametrize("n_queries", [0, 70])
@settings(max_examples=10, deadline=None)
@given(n=st.sampled_from([8, 50, 333]), seed=st.integers(0, 100))
def test_all_neighbors_are_found_where_all_cells_are_visited(n_queries, n, seed):
    X = clusters(n, seed, np.float64)
    queries = clusters(n_queries, seed + 1, np.float64) if n_queries else None
    found = approximate_neighbors(X, queries, 7, seed, 2, n_visits=n)
    same_bits(found, exact_neighbors(X, queries, 7, 2))


def test_approximate_neighbors_have_the_same_bits_for_a_seed_and_any_threads():
    X = clusters(2000, 0)
    results = [
        nearest_neighbors(X, 5, method="approximate", random_state=seed, n_threads=n_threads)
        for seed, n_threads in [(0, 1), (0, 2), (0, 3), (1, 2)]
    ]
    for neighbors in results[1:3]:
        same_bits(neighbors, results[0])
    assert np.any(results[3][0] != results[0][0])


def test_cells_with_few_points_are_no_obstacle():
    """As many neighbours are wanted as no few cells hold; and equal rows, which leave cells empty."""
    X = clusters(400, 0)
    ids, _ = nearest_neighbors(X, 390, method="approximate", random_state=0)
    np.testing.assert_array_equal(ids, nearest_neighbors(X, 390, **METHOD)[0])
    ids, squares = nearest_neighbors(np.ones((300, 2)), 4, method="approximate", random_state=0)
    assert not squares.any()
    assert np.all(ids != np.arange(300)[:, None])
    assert all(len(set(row)) == 4 for row in ids)


def test_auto_is_exact_for_small_sets_and_approximate_for_large_ones(monkeypatch):
    X = clusters(600, 0)
    options = dict(random_state=0)
    exact, approximate = (nearest_neighbors(X, 30, method=m, **options)[0] for m in ("exact", "approximate"))
    assert np.any(exact != approximate)
    np.testing.assert_array_equal(nearest_neighbors(X, 30, **options)[0], exact)
    monkeypatch.setattr("coterie.graphs.neighbors._EXACT_MULTIPLY_ADDS", 1)
    np.testing.assert_array_equal(nearest_neighbors(X, 30, **options)[0], approximate)
    nearest_neighbors(sp.csr_array(X), 3)


def test_any_instruction_set_with_fused_multiply_add_looks_into_the_same_cells():
    X = clusters(1500, 0)
    found = []
    for name in FUSED:
        with using(name):
            found.append(nearest_neighbors(X, 5, method="approximate", random_state=0)[0])
    for ids in found[1:]:
        same_bits(ids, found[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(points=np.zeros((5, 3))), "width"),
        (dict(offsets=np.zeros(4)), "offset"),
        (dict(order=np.zeros(9, dtype=np.int32)), "whole panels"),
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
        ids=np.zeros((4, 2), dtype=np.int32),
        scores=np.zeros((4, 2)),
        n_threads=1,
    )
    with pytest.raises(ValueError, match=message):
        _kernels.nearest_in_cells(kernel_rows(np.zeros((4, 2))), **(arguments | change))
