"""Short names of array types, and arrays in the memory layout of the kernels."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
"""Of the float type that is computed in, or of any type."""

FloatArray: TypeAlias = npt.NDArray[np.float64]
"""Sums and objectives, which are kept in double precision whatever the rows are."""

IntArray: TypeAlias = npt.NDArray[np.int32]
"""Labels and numbers of clusters, neighbors, vertices."""

IndexArray: TypeAlias = npt.NDArray[np.intp]
"""Numbers of rows."""

BoolArray: TypeAlias = npt.NDArray[np.bool_]

# A cache line, and so the unit in which kernels read centers and duals: `coterie._kernels.LINE_BYTES`.
LINE_BYTES = 64


def lanes_of(dtype: npt.DTypeLike) -> int:
    """Return the numbers of a type per cache line, the width of a panel of centers."""
    return LINE_BYTES // np.dtype(dtype).itemsize


def aligned_zeros(size: int, dtype: npt.DTypeLike) -> Array:
    """Return zeros, whose size divides a cache line, from the start of one; unwritten pages take no memory."""
    lanes = lanes_of(dtype)
    buffer = np.zeros(size + lanes, dtype=dtype)
    first = -buffer.ctypes.data % LINE_BYTES // buffer.itemsize
    return buffer[first : first + size]


def padded_rows(n_rows: int, n_columns: int, dtype: npt.DTypeLike) -> Array:
    """Return rows of zeros, each padded to whole cache lines; see `aligned_zeros`."""
    lanes = lanes_of(dtype)
    width = -(-n_columns // lanes) * lanes
    return aligned_zeros(n_rows * width, dtype).reshape(n_rows, width)
