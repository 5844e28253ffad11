"""Bounds in 16 bits are never more than they were, in order, and hardly less."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.centers.bounded import BoundedAssignment, StoredBounds
from coterie.centers.frame import CenterFrame
from coterie.passes import measure_rows
from coterie.rows import as_rows
from tests.centers.plain import PlainLabels
from tests.support.centers import DTYPES, check_pass


@pytest.mark.parametrize("dtype", DTYPES)
@given(typical=st.floats(1e-18, 1e18), ratios=st.lists(st.floats(1e-12, 1e6), min_size=1, max_size=20))
def test_stored_bounds_are_rounded_down(dtype, typical, ratios):
    stored_bounds = StoredBounds.around(typical, np.dtype(dtype))
    bounds = np.sort(np.array(ratios) * typical).astype(dtype)
    stored = stored_bounds.store(bounds)
    values = stored_bounds.values(stored)
    assert stored.dtype == np.uint16
    assert np.all(values <= bounds)
    assert np.all(np.diff(stored.astype(int)) >= 0)
    near = (bounds > 1e-7 * typical) & (bounds < 60 * typical)
    assert np.all(values[near] >= bounds[near] * (1 - 1 / 2000))


@pytest.mark.parametrize("dtype", DTYPES)
def test_bounds_out_of_range_are_dropped(dtype):
    stored_bounds = StoredBounds.around(1.0, np.dtype(dtype))
    stored = stored_bounds.store(np.array([-1.0, 0.0, 1e-12, 1e12, np.inf], dtype=dtype))
    assert stored.tolist() == [0, 0, 0, 65535, 65535]
    assert np.all(np.isneginf(stored_bounds.values(stored)[:3]))
    for typical in (0.0, float(np.finfo(dtype).tiny), float(np.finfo(dtype).max)):
        extreme = StoredBounds.around(typical, np.dtype(dtype))
        assert np.isfinite(extreme.values(np.array([65535], dtype=np.uint16)))[0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_groups", [None, 2])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_rows_far_out_and_rows_close_together(dtype, n_groups, scale):
    """Bounds beyond what 16 bits hold, above and below, hold all the same."""
    random = np.random.default_rng(3)
    tight = 1e-6 * random.normal(size=(200, 5)) + np.repeat(random.normal(size=(4, 5)), 50, axis=0)
    X = (np.vstack([tight, 1e4 * random.normal(size=(20, 5))]) * scale).astype(dtype)
    data = measure_rows(as_rows(X), n_clusters=40, n_threads=1).in_this_process()
    frame = CenterFrame(X[random.choice(len(X), 40, replace=False)], data.shift)
    plain, bounded = PlainLabels(data), BoundedAssignment(data, frame, n_groups)
    for _ in range(5):
        check_pass(plain, bounded, data, X, frame, scale)
        moved = frame.centers.astype(float)
        for label in np.unique(plain.labels):
            moved[label] = X[plain.labels == label].mean(axis=0)
        frame = CenterFrame(moved.astype(dtype), data.shift)


@pytest.mark.parametrize("k", [1, 4, 8, 9, 18, 24, 25])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_last_panel_may_be_half_empty(k, dtype):
    random = np.random.default_rng(k)
    X = random.normal(size=(70, 13)).astype(dtype)
    data = measure_rows(as_rows(X), n_clusters=k, n_threads=1).in_this_process()
    frame = CenterFrame(X[:k], data.shift)
    ((part, x),) = data.blocks()
    squares = np.sum((X[:, None].astype(float) - X[None, :k]) ** 2, axis=2)
    bounded = BoundedAssignment(data, frame, None)
    bounded.start(frame)
    bounded.assign(part, x)
    labels = np.empty(70, np.int32)
    frame.nearest(x, labels)
    np.testing.assert_array_equal(labels, squares.argmin(axis=1))
    np.testing.assert_array_equal(bounded.labels, labels)
