"""Labels by bounds are those of the plain search, and the bounds hold."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import _kernels
from coterie.blocks.shuffled import ShuffledRows
from coterie.centers.bounded import BoundedAssignment, n_bounds_of, panels_of_neighbors
from coterie.centers.frame import CenterFrame
from coterie.passes import measure_rows
from coterie.rows import as_rows
from tests.centers.plain import PlainLabels
from tests.reference import k_means as oracle
from tests.support.centers import DTYPES, SHAPES, check_bounds, check_pass, lower_bounds, rows_and_centers


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sparse", [False, True])
@settings(max_examples=15)
@given(shape=SHAPES, seed=st.integers(0, 1000), n_groups=st.sampled_from([None, 1, 2, 5]))
def test_bounded_assign_is_the_plain_search(dtype, sparse, shape, seed, n_groups):
    X, block, centers = rows_and_centers(shape, dtype, sparse, seed)
    random = np.random.default_rng(seed)
    data = measure_rows(as_rows(block), n_clusters=shape[2], n_threads=2).in_this_process()
    frame = CenterFrame(centers, data.shift)
    plain, bounded = PlainLabels(data), BoundedAssignment(data, frame, n_groups)
    for step in range(6):
        check_pass(plain, bounded, data, X, frame)
        movement = random.normal(size=centers.shape) * 0.5**step
        frame = CenterFrame((frame.centers + movement).astype(dtype), data.shift)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_groups", [None, 6])
def test_bounds_of_many_centers_are_by_bytes(dtype, n_groups):
    n_columns, k = 512, 2 * max(_kernels.byte_limits()[1], 128)
    random = np.random.default_rng(0)
    X = random.normal(size=(2 * k, n_columns)).astype(dtype)
    data = measure_rows(as_rows(X), n_clusters=k, n_threads=2).in_this_process()
    frame = CenterFrame(X[:k], data.shift)
    plain, bounded = PlainLabels(data), BoundedAssignment(data, frame, n_groups)
    for _ in range(4):
        check_pass(plain, bounded, data, X, frame)
        movement = 0.2 * random.normal(size=frame.centers.shape)
        frame = CenterFrame((frame.centers + movement).astype(dtype), data.shift)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("n_columns", [1, 70])
@pytest.mark.parametrize("n_groups", [None, 1])
def test_equal_rows_and_centers_have_the_first_label(dtype, value, n_columns, n_groups):
    X = np.full((40, n_columns), value, dtype=dtype)
    data = measure_rows(as_rows(X), n_clusters=5, n_threads=1).in_this_process()
    frame = CenterFrame(X[:5], data.shift)
    bounded = BoundedAssignment(data, frame, n_groups)
    bounded.start(frame)
    for part, x in data.blocks():
        bounded.assign(part, x)
    assert np.all(bounded.labels == 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_groups", [None, 1, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_bounds_are_valid_in_every_iteration(dtype, n_groups, sparse):
    random = np.random.default_rng(5)
    X = (random.normal(size=(400, 9)) * (random.random(size=(400, 9)) < 0.6)).astype(dtype)
    rows = as_rows(sp.csr_array(X) if sparse else X)
    data = ShuffledRows(rows, None, random.permutation(400), n_clusters=60, n_threads=2)
    data.shift = np.zeros(9) if sparse else X.mean(axis=0, dtype=float)
    data.measure(data.extend(400 if sparse else 60))  # growing samples of sparse rows have no bounds
    frame = CenterFrame(X[:60], data.shift)
    plain, bounded = PlainLabels(data), BoundedAssignment(data, frame, n_groups)
    for number in range(12):
        for assignment in (plain, bounded):
            assignment.start(frame)
            for part, x in data.blocks():
                assignment.assign(part, x)
        size = data.size
        np.testing.assert_array_equal(bounded.labels[:size], plain.labels[:size])
        assert np.all(bounded.labels[size:] == -1)
        prefix = SimpleNamespace(**vars(bounded))
        prefix.labels, prefix._upper, prefix._lower = (
            array[:size] for array in (bounded.labels, bounded._upper, bounded._lower)
        )
        used = X[data.order[:size]]
        check_bounds(prefix, used, frame)
        means = frame.centers.astype(float)
        for label in np.unique(bounded.labels[:size]):
            means[label] = used[bounded.labels[:size] == label].mean(axis=0)
        frame = CenterFrame(means.astype(dtype), data.shift)
        if number % 2:
            data.measure(data.extend(min(2 * size, 400)))
    assert data.size == 400


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sparse", [False, True])
@settings(max_examples=15)
@given(shape=SHAPES, seed=st.integers(0, 1000), n_groups=st.sampled_from([None, 1, 2, 5]))
def test_rows_and_centers_of_length_one(dtype, sparse, shape, seed, n_groups):
    X, _, centers = rows_and_centers(shape, dtype, sparse, seed)
    random = np.random.default_rng(seed)
    X[~X.any(axis=1), 0] = 1
    X = oracle.unit_rows(X + 3 * (seed % 2)).astype(dtype)  # around the origin, or in one direction
    data = measure_rows(
        as_rows(sp.csr_matrix(X) if sparse else X), n_clusters=shape[2], n_threads=2
    ).in_this_process()
    frame = CenterFrame(oracle.unit_rows(centers).astype(dtype), data.shift)
    plain, bounded = PlainLabels(data), BoundedAssignment(data, frame, n_groups, unit_length=True)
    for step in range(6):
        for assignment in (plain, bounded):
            assignment.start(frame)
            for part, x in data.blocks():
                assignment.assign(part, x)
        np.testing.assert_array_equal(bounded.labels, plain.labels)
        assert 0 < bounded._length <= 1
        check_bounds(bounded, X, frame)
        movement = random.normal(size=centers.shape) * 0.5**step
        frame = CenterFrame(oracle.unit_rows(frame.centers + movement).astype(dtype), data.shift)


@pytest.mark.parametrize("length", [0.1, 0.5, 0.9, 1.0])
def test_any_length_of_centers_gives_the_same_labels(length, monkeypatch):
    monkeypatch.setattr(BoundedAssignment, "_shorten", lambda self, part, x: length)
    random = np.random.default_rng(0)
    X = oracle.unit_rows(random.normal(size=(500, 12)) + random.normal(size=12)).astype(np.float32)
    X[250:] = X[:250]  # ties of rows, and of centers
    data = measure_rows(as_rows(X), n_clusters=40, n_threads=1).in_this_process()
    frame = CenterFrame(np.vstack([X[:20], X[:20]]), data.shift)
    plain = PlainLabels(data)
    for n_groups in (None, 1, 2):
        bounded = BoundedAssignment(data, frame, n_groups, unit_length=True)
        at = frame
        for _ in range(5):
            for assignment in (plain, bounded):
                assignment.start(at)
                for part, x in data.blocks():
                    assignment.assign(part, x)
            np.testing.assert_array_equal(bounded.labels, plain.labels)
            check_bounds(bounded, X, at)
            moved = at.centers.copy()
            for label in np.unique(plain.labels):
                moved[label] = oracle.unit_rows(X[plain.labels == label].sum(axis=0, keepdims=True))[0]
            at = CenterFrame(moved, data.shift)


def test_shortened_centers_save_comparisons():
    """Rows around directions at half the length of rows: of the bounds in force more rule a center out."""
    random = np.random.default_rng(0)
    directions = oracle.unit_rows(random.normal(size=(30, 24)))
    X = directions[np.arange(3000) % 30] + 1.7 * random.normal(size=(3000, 24)) / np.sqrt(24)
    X = oracle.unit_rows(X).astype(np.float32)
    data = measure_rows(as_rows(X), n_clusters=30, n_threads=1).in_this_process()
    ruled_out = []
    for unit_length in (False, True):
        frame = CenterFrame(X[:30], data.shift)
        bounded = BoundedAssignment(data, frame, None, unit_length=unit_length)
        n_ruled_out = 0
        for number in range(6):
            bounded.start(frame)
            if number > 0:  # before that there are no bounds
                upper = bounded._upper + bounded._drift[bounded.labels]
                n_ruled_out += np.count_nonzero(lower_bounds(bounded) > upper[:, None])
            for part, x in data.blocks():
                bounded.assign(part, x)
            sums = np.array([X[bounded.labels == label].sum(axis=0) for label in range(30)])
            frame = CenterFrame(oracle.unit_rows(sums).astype(np.float32), data.shift)
        ruled_out.append(n_ruled_out)
    assert ruled_out[1] > 1.1 * ruled_out[0]


@pytest.mark.parametrize("k", [1, 15, 16, 17, 100, 1000])
def test_panels_hold_every_centroid_once(k):
    centers = np.random.default_rng(0).normal(size=(k, 3)).astype(np.float32)
    order = panels_of_neighbors(centers, 16)
    assert len(order) == -(-k // 16) * 16
    assert sorted(order[order >= 0]) == list(range(k))
    for panel in order.reshape(-1, 16):
        members = panel[panel >= 0]
        assert np.all(np.diff(members) > 0)
        assert np.all(panel[len(members) :] == -1)


def test_number_of_bounds_by_algorithm():
    assert n_bounds_of("elkan", 1000, 50) is None
    assert n_bounds_of("yinyang", 1000, 50) == 5
    assert n_bounds_of("yinyang", 1000, 3) == 1
    assert n_bounds_of("yinyang", 1 << 26, 1000) == 8  # of 1 GiB
