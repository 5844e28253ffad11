"""Bounds in 16 bits hold for rows of any size."""

import numpy as np
import pytest

from coterie.centers.bounded import BoundedAssignment
from coterie.centers.frame import CenterFrame
from coterie.passes import measure_rows
from coterie.rows import as_rows
from tests.centers.plain import PlainLabels
from tests.support.centers import DTYPES, check_pass


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
