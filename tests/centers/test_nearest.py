"""The nearest center of each row is that of float64, for every filter, instruction set and number of threads."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import _kernels
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.frame import CenterFrame
from coterie.centers.labels import labels_and_squares, nearest_labels
from coterie.rows import as_rows
from tests.reference.k_means import squares_in_order
from tests.support.centers import DTYPES
from tests.support.instruction_sets import INSTRUCTION_SETS, using

FILTERS = {"fastest": 0, "bytes": 1, "scores": 2}


def nearest(X, centers, shift, *, filter=0, n_threads=1):
    frame = CenterFrame(centers, shift)
    labels, squares = np.full(len(X), -1, dtype=np.int32), np.empty(len(X))
    x = kernel_rows(X)
    _kernels.assign(x, frame.exact(x), labels, squares, n_threads, filter, None)
    alone = np.full(len(X), -1, dtype=np.int32)
    n_compared = _kernels.assign(x, frame.exact(x), alone, None, n_threads, filter, None)
    np.testing.assert_array_equal(alone, labels)
    return labels, squares, n_compared


def check(X, centers, shift=None, n_threads=1):
    shift = X.mean(axis=0, dtype=np.float64) if shift is None else shift
    squares = squares_in_order(X, centers)
    for name in INSTRUCTION_SETS:
        with using(name):
            for filter in FILTERS.values():
                labels, found, _ = nearest(X, centers, shift, filter=filter, n_threads=n_threads)
                np.testing.assert_array_equal(labels, squares.argmin(axis=1))
                np.testing.assert_array_equal(found, squares.min(axis=1))


def clusters(random, n, d, k, dtype, spread=1.0):
    centers = random.normal(size=(k, d))
    X = centers[random.integers(0, k, size=n)] + spread * random.normal(size=(n, d))
    return X.astype(dtype), (centers + 0.3 * spread * random.normal(size=(k, d))).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=40)
@given(
    n=st.integers(1, 150),
    d=st.integers(1, 70),
    k=st.integers(1, 140),
    scale=st.integers(-30, 30),
    offset=st.integers(-4, 6),
    seed=st.integers(0, 9999),
)
def test_any_shape_scale_and_offset(dtype, n, d, k, scale, offset, seed):
    random = np.random.default_rng(seed)
    X, centers = clusters(random, n, d, k, np.float64)
    move = 10.0**offset * random.normal(size=d)
    factor = 10.0 ** (scale if dtype == np.float64 or scale + offset < 30 else 0)
    check((factor * (X + move)).astype(dtype), (factor * (centers + move)).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [127, 128, 129, 1000, 4097])
def test_wide_rows(dtype, d):
    check(*clusters(np.random.default_rng(d), 70, d, 37, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=25)
@given(d=st.integers(1, 40), k=st.integers(1, 90), levels=st.integers(1, 127), seed=st.integers(0, 999))
def test_values_half_way_between_levels(dtype, d, k, levels, seed):
    """Ties, and the largest errors that rounding to levels can make."""
    random = np.random.default_rng(seed)
    X, centers = (random.integers(-levels, levels + 1, size=(n, d)) + 0.5 for n in (100, k))
    for rows in (X, centers):
        rows[:, 0] = levels
    check(X.astype(dtype), centers.astype(dtype), np.zeros(d))


@pytest.mark.parametrize("dtype", DTYPES)
def test_hard_data(dtype):
    random = np.random.default_rng(0)
    X, centers = clusters(random, 200, 33, 70, dtype)
    huge, huge_centers = X.copy(), centers.copy()
    huge[:, 5] *= dtype(1e12)
    huge_centers[:, 5] *= dtype(1e12)
    constant = X.copy()
    constant[:, 3:20] = 7
    cases = {
        "one huge column": (huge, huge_centers),
        "zeros": (np.zeros_like(X), np.zeros_like(centers)),
        "zero centers": (X, np.zeros_like(centers)),
        "zero rows": (np.zeros_like(X), centers),
        "constant columns": (constant, constant[:70]),
        "rows as centers": (X, X[:70].copy()),
        "equal centers": (X, np.repeat(X[:5], 20, axis=0)),
        "integers": (np.round(2 * X), np.round(2 * centers)),
        "far rows": (X * dtype(1e25), centers),
        "far centers": (X, centers * dtype(1e18)),
        "far center": (X, np.concatenate([centers, [np.full(33, 1e15, dtype=dtype)]])),
        "tiny centers": (X, centers * dtype(1e-30)),
        "one row": (X[:1], centers),
        "one center": (X, centers[:1]),
    }
    for given_rows, given_centers in cases.values():
        check(given_rows, given_centers)


def test_ten_thousand_problems():
    """Filters with few centers and columns, where ties are frequent."""
    random = np.random.default_rng(1)
    for number in range(2500):
        n, d, k = random.integers(1, 12), random.integers(1, 20), random.integers(1, 30)
        dtype = DTYPES[number % 2]
        X = random.normal(size=(n, d)) if number % 3 else random.integers(-3, 4, size=(n, d))
        centers = (X[random.integers(0, n, size=k)] + 0.1 * random.integers(-1, 2, size=(k, d))).astype(dtype)
        X = X.astype(dtype)
        expected = squares_in_order(X, centers).argmin(axis=1)
        for name in INSTRUCTION_SETS[:2]:
            with using(name):
                for filter in (1, 2):
                    labels, _, _ = nearest(X, centers, X.mean(axis=0, dtype=np.float64), filter=filter)
                    np.testing.assert_array_equal(labels, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_threads_and_many_centers(dtype):
    X, centers = clusters(np.random.default_rng(3), 1500, 24, 2500, dtype)
    check(X, centers, n_threads=3)


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=20)
@given(d=st.integers(1, 40), k=st.integers(1, 40), seed=st.integers(0, 999))
def test_sparse_rows(dtype, d, k, seed):
    random = np.random.default_rng(seed)
    X = (random.normal(size=(80, d)) * (random.random(size=(80, d)) < 0.3)).astype(dtype)
    centers = X[random.integers(0, 80, size=k)] + (random.random(size=(k, d)) < 0.1).astype(dtype)
    squares = squares_in_order(X, centers)
    for name in INSTRUCTION_SETS:
        with using(name):
            labels = nearest_labels(as_rows(sp.csr_array(X)), centers, np.full(d, seed % 2), 1)
        own = squares[np.arange(80), labels]
        np.testing.assert_allclose(own, squares.min(axis=1), rtol=1e-12, atol=1e-12)


def test_few_centers_are_compared_in_float64():
    """The filter leaves about one center of a row, so that exactness costs little."""
    X, centers = clusters(np.random.default_rng(0), 2000, 96, 300, np.float32, spread=0.5)
    for name in INSTRUCTION_SETS:
        with using(name):
            assert nearest(X, centers, X.mean(axis=0), filter=1)[2] < 1.5 * len(X)


def test_squares_are_those_of_labels():
    X, centers = clusters(np.random.default_rng(0), 300, 20, 40, np.float32)
    labels, squares = labels_and_squares(as_rows(X), centers, X.mean(axis=0, dtype=np.float64), 1)
    np.testing.assert_array_equal(squares, squares_in_order(X, centers)[np.arange(300), labels])
