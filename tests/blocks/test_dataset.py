"""The rows of a fit: distances to their own centroids, against plain ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import _kernels
from coterie.blocks.dataset import check_squares
from coterie.blocks.kernel_rows import kernel_rows
from tests.reference import k_means as oracle
from tests.support.centers import DTYPES, SHAPES, rows_and_centers


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sparse", [False, True])
@settings(max_examples=15)
@given(shape=SHAPES, seed=st.integers(0, 1000))
def test_own_square_distances(dtype, sparse, shape, seed):
    X, block, centers = rows_and_centers(shape, dtype, sparse, seed)
    labels = np.random.default_rng(seed).integers(0, shape[2], size=shape[0]).astype(np.int32)
    centers = centers.astype(np.float64)
    out = np.empty(shape[0])
    squares = np.sum(centers**2, axis=1)
    _kernels.own_square_distances(kernel_rows(block), centers, squares, labels, out, 2)
    expected = oracle.square_distances(X, centers)[np.arange(shape[0]), labels]
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("numbers", "row"), [(0, 1), (10, 11), (np.array([4, 7, 9]), 7)])
def test_rows_whose_squared_distances_overflow_are_named(numbers, row):
    with pytest.raises(ValueError, match=f"First bad row: {row}"):
        check_squares(np.array([1.0, np.inf, np.inf]), numbers)
