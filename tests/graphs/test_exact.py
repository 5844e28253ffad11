"""Exact neighbors: against their oracle, and the laws that they must keep."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import _kernels, open_rows
from coterie.blocks.kernel_rows import kernel_rows
from coterie.graphs import nearest_neighbors
from coterie.graphs.exact import nearest_of_other_groups
from tests.graphs.examples import DTYPES, METHOD, SHAPES, few_values, some_rows
from tests.reference import graphs as oracle
from tests.support.bits import same_bits
from tests.support.instruction_sets import INSTRUCTION_SETS, using


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [some_rows, few_values])
@settings(max_examples=12)
@given(shape=SHAPES, seed=st.integers(0, 1000), data=st.data())
def test_neighbors_are_those_of_the_oracle(make, dtype, sparse, shape, seed, data):
    X = make(*shape, seed, dtype)
    m = data.draw(st.integers(1, min(shape[0] - 1, 12)))
    ids, squares = nearest_neighbors(sp.csr_array(X) if sparse else X, m, **METHOD)
    expected, expected_squares = oracle.nearest_neighbors(X, m)
    assert ids.dtype == np.int32
    assert squares.dtype == dtype
    assert ids.shape == squares.shape == (shape[0], m)
    np.testing.assert_allclose(squares, expected_squares, rtol=1e-5 if dtype == np.float32 else 1e-12)
    if make is few_values or dtype == np.float64:
        np.testing.assert_array_equal(ids, expected)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=12)
@given(shape=SHAPES, n_queries=st.sampled_from([1, 2, 30]), seed=st.integers(0, 1000), data=st.data())
def test_queries(dtype, sparse, shape, n_queries, seed, data):
    X, queries = few_values(*shape, seed, dtype), few_values(n_queries, shape[1], seed + 1, dtype)
    m = data.draw(st.integers(1, min(shape[0], 12)))
    kind = sp.csr_array if sparse else np.asarray
    ids, squares = nearest_neighbors(kind(X), m, queries=kind(queries), **METHOD)
    expected, expected_squares = oracle.nearest_neighbors(X, m, queries)
    np.testing.assert_array_equal(ids, expected)
    np.testing.assert_array_equal(squares, expected_squares)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("far", [0, 1e2, 1e4])
def test_rounding_of_products_hides_no_neighbor(dtype, far):
    """Tight clusters far from each other and from the origin, where products lose all digits."""
    random = np.random.default_rng(0)
    unit = 1e3 * far * np.finfo(dtype).eps + 1e-3
    centers = far * random.normal(size=(6, 5))
    X = (centers[random.integers(6, size=400)] + unit * random.normal(size=(400, 5)) + far).astype(dtype)
    ids, squares = nearest_neighbors(X, 7, **METHOD)
    expected, expected_squares = oracle.nearest_neighbors(X, 7)
    np.testing.assert_allclose(squares, expected_squares, rtol=1e-5)
    assert np.mean(ids == expected) > 0.999  # all but equal distances may change places in float32


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [some_rows, few_values])
def test_same_bits_for_threads_and_cuts(monkeypatch, tmp_path, make, dtype):
    X = make(1500, 19, 0, dtype)
    np.save(tmp_path / "rows.npy", X)
    expected = nearest_neighbors(X, 6, n_threads=1, **METHOD)
    runs = [(X, 2), (X, 3), (open_rows(tmp_path / "rows.npy"), 2)]
    found = [nearest_neighbors(rows, 6, n_threads=n_threads, **METHOD) for rows, n_threads in runs]
    monkeypatch.setattr("coterie.graphs.exact._POINT_BYTES", 1)
    monkeypatch.setattr("coterie.graphs.exact.CALL_MULTIPLY_ADDS", 1)
    found.append(nearest_neighbors(X, 6, **METHOD))
    for neighbors in found:
        same_bits(neighbors, expected)


def test_any_instruction_set_finds_the_same_neighbors():
    X = some_rows(300, 21, 0, np.float32)
    found = []
    for name in INSTRUCTION_SETS:
        with using(name):
            found.append(nearest_neighbors(X, 5, **METHOD)[0])
    for ids in found[1:]:
        same_bits(ids, found[0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_rows_of_call", [7680, 960])
@pytest.mark.parametrize("kind", ["a cloud", "groups", "few values", "large rows"])
def test_products_of_bytes_find_the_same_neighbors(monkeypatch, kind, n_rows_of_call, dtype):
    """With so many rows that bytes are tried, whether they decide all of them or few; in one call and in several."""
    random = np.random.default_rng(0)
    groups = random.normal(size=(40, 64))[random.integers(40, size=2500)]
    X = few_values(2500, 64, 0) if kind == "few values" else random.normal(size=(2500, 64))
    X = (X + (3 if kind == "groups" else 0.1) * groups if kind != "few values" else X).astype(dtype)
    X[::7] *= 1e4 if kind == "large rows" else 1
    queries = X[:2100] + dtype(0.25)
    queries[5] *= 1e3
    monkeypatch.setattr("coterie.graphs.exact._BYTE_ROWS", n_rows_of_call)
    monkeypatch.setattr("coterie.graphs.exact._BYTES_AT_A_TIME", 1e-9)
    for name in INSTRUCTION_SETS:
        with using(name):
            found = []
            for least_numbers in (1 << 40, 0):
                monkeypatch.setattr("coterie.graphs.exact._LEAST_BYTE_NUMBERS", least_numbers)
                found.append(nearest_neighbors(X, 8, n_threads=2, **METHOD))
                found.append(nearest_neighbors(X, 8, queries=queries, **METHOD))
            same_bits(found[2], found[0])
            same_bits(found[3], found[1])


def test_distances_are_the_same_both_ways():
    X = some_rows(200, 37, 0, np.float32)
    ids, squares = nearest_neighbors(X, 199, **METHOD)
    table = np.zeros((200, 200), dtype=np.float32)
    np.put_along_axis(table, ids.astype(np.intp), squares, axis=1)
    np.testing.assert_array_equal(table, table.T)


def test_rows_of_other_groups():
    X = few_values(90, 3, 0)
    groups = np.random.default_rng(0).integers(4, size=90).astype(np.int32)
    table = np.sum((X[:, None] - X) ** 2, axis=2)
    table[groups[:, None] == groups] = np.inf
    expected = np.argsort(table, axis=1, kind="stable")[:, :5]
    ids, squares = nearest_of_other_groups(X, groups, X, groups, 5, 2)
    np.testing.assert_array_equal(ids, expected)
    np.testing.assert_array_equal(squares, np.take_along_axis(table, expected, axis=1))
    one = np.zeros(90, dtype=np.int32)
    ids, squares = nearest_of_other_groups(X, one, X, one, 2, 2)
    assert np.all(ids == -1)
    assert np.all(np.isinf(squares))


@pytest.mark.parametrize("sparse", [False, True])
def test_lists_are_continued_with_more_centers(sparse):
    X = some_rows(100, 6, 0)
    centers, offsets = some_rows(150, 6, 1), np.zeros(150)
    x = kernel_rows(sp.csr_matrix(X) if sparse else X)
    ids, scores = np.empty((100, 9), dtype=np.int32), np.empty((100, 9))
    _kernels.nearest(x, centers, offsets, ids, scores, 2, 0)
    parts_ids, parts_scores = np.empty_like(ids), np.empty_like(scores)
    for first, last in [(0, 16), (16, 23), (23, 150)]:
        _kernels.nearest(x, centers[first:last], offsets[first:last], parts_ids, parts_scores, 2, first)
    np.testing.assert_array_equal(parts_ids, ids)
    np.testing.assert_array_equal(parts_scores, scores)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(centers=np.zeros((5, 3))), "width"),
        (dict(row_groups=np.zeros(3, dtype=np.int32)), "one group per row"),
        (dict(center_groups=np.zeros(3, dtype=np.int32)), "one group per center"),
        (dict(squares=np.zeros((4, 1))), "shape"),
    ],
)
def test_the_kernel_of_groups_checks_its_arguments(change, message):
    arguments = dict(
        centers=np.zeros((5, 2)),
        row_groups=np.zeros(4, dtype=np.int32),
        center_groups=np.zeros(5, dtype=np.int32),
        ids=np.zeros((4, 2), dtype=np.int32),
        squares=np.zeros((4, 2)),
        n_threads=1,
    )
    with pytest.raises(ValueError, match=message):
        _kernels.nearest_apart(kernel_rows(np.zeros((4, 2))), *(arguments | change).values())
