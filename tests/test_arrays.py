"""Memory that begins at cache lines."""

import numpy as np
import pytest

from coterie import _kernels
from coterie.arrays import LINE_BYTES, aligned_zeros, lanes_of, padded_rows

DTYPES = [np.float32, np.float64, np.uint8, np.int32]


def test_a_line_is_that_of_the_kernels():
    assert LINE_BYTES == _kernels.LINE_BYTES


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 1000])
def test_zeros_begin_at_a_line(dtype, size):
    found = [aligned_zeros(size, dtype) for _ in range(20)]
    for array in found:
        assert array.shape == (size,)
        assert array.dtype == dtype
        assert array.flags.c_contiguous
        assert size == 0 or array.ctypes.data % LINE_BYTES == 0
        assert not array.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 7, 8, 9, 16, 17, 33])
def test_padded_rows_are_whole_lines(dtype, n_columns):
    found = padded_rows(5, n_columns, dtype)
    lanes = lanes_of(dtype)
    assert found.shape[0] == 5
    assert n_columns <= found.shape[1] < n_columns + lanes
    assert found.shape[1] % lanes == 0
    for row in found:
        assert row.ctypes.data % LINE_BYTES == 0
    assert not found.any()
