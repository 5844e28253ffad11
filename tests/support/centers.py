"""Rows and centers of awkward shapes, and what must hold of the bounds between them."""

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from tests.reference import k_means as oracle

DTYPES = [np.float32, np.float64]

# Rows, columns and centers that are not multiples of any panel, tile or chunk.
SHAPES = st.tuples(
    st.sampled_from([1, 2, 5, 23, 25, 97, 300]),
    st.sampled_from([1, 2, 3, 7, 16, 17, 33, 65]),
    st.sampled_from([1, 2, 7, 15, 16, 17, 33, 50]),
)


def rows_and_centers(shape, dtype, sparse, seed):
    """Return rows as an array, the same as kernels shall have them, and centers."""
    n_rows, n_columns, n_centers = shape
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_columns)).astype(dtype)
    if sparse:
        X *= random.random(size=X.shape) < 0.3
    centers = random.normal(size=(n_centers, n_columns)).astype(dtype)
    return X, (sp.csr_matrix(X) if sparse else X), centers


def tolerance(dtype):
    return 2e-4 if dtype == np.float32 else 1e-10


def check_pass(plain, bounded, data, X, frame, scale=1.0):
    """Check that a pass with bounds labels rows as the plain search does, and that the bounds hold."""
    for assignment in (plain, bounded):
        assignment.start(frame)
        for part, x in data.blocks():
            assignment.assign(part, x)
    np.testing.assert_array_equal(bounded.labels, plain.labels)
    check_bounds(bounded, X, frame, scale)


def lower_bounds(bounded):
    """Return the lower bounds in force; minus infinity for none."""
    dtype = bounded._cumulative.dtype
    bits, dropped = (np.int32, 12) if dtype.itemsize == 4 else (np.int64, 41)
    values = ((bounded._lower.astype(bits) + bounded._bias) << dropped).view(dtype)
    return np.where(bounded._lower == 0, -np.inf, values.astype(float)) - bounded._cumulative


def check_bounds(bounded, X, frame, scale=1.0):
    """No lower bound may exceed a true distance, no upper bound fall below one.

    Where rows and centers have length 1, these are distances to shortened centers, in a unit of their own. `scale` is
    the size of the numbers.
    """
    length = bounded._length
    positions = length * (frame.relative.astype(float) + bounded._data.shift)
    distances = np.sqrt(oracle.square_distances(X, positions) / length)
    rows = np.arange(len(X))
    slack = 1e-12 * scale  # of the oracle's own rounding
    assert np.all(bounded._upper >= distances[rows, bounded.labels] - slack)
    by_slot = np.full((len(X), len(bounded._order)), np.inf)
    filled = bounded._order >= 0
    by_slot[:, filled] = distances[:, bounded._order[filled]]
    by_slot[rows, bounded._slots[bounded.labels]] = np.inf
    in_force = lower_bounds(bounded)
    if bounded._panels_per_group:
        lanes = 64 // bounded._data.dtype.itemsize
        starts = np.arange(0, by_slot.shape[1], lanes * bounded._panels_per_group)
        by_slot = np.minimum.reduceat(by_slot, starts, axis=1)
    assert np.all(in_force[np.isfinite(by_slot)] <= by_slot[np.isfinite(by_slot)] + slack)
