"""Rows of given numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray
from coterie.blocks.dataset import check_squares, squares_to_point
from coterie.blocks.kernel_rows import kernel_rows
from coterie.cached import cached_property
from coterie.rows import Rows


class RowReader:
    """Rows of given numbers for the kernels: in place if they are in memory, else read.

    `first` is the number of the first row, for errors.
    """

    def __init__(self, rows: Rows, first: int = 0) -> None:
        self._rows, self._first = rows, first

    @cached_property
    def _in_place(self) -> Any:
        return kernel_rows(self._rows.in_place())

    def read(self, numbers: IndexArray) -> tuple[Any, int]:
        """Return kernel rows, and the bytes that were read for them; numbers are ascending unless in memory."""
        if self._rows.in_memory:
            return _kernels.select_rows(self._in_place, numbers), 0
        block = self._rows.take(numbers)
        n_bytes = block.nbytes if isinstance(block, np.ndarray) else block.data.nbytes + block.indices.nbytes
        return kernel_rows(block), n_bytes

    def measure(self, x: Any, numbers: IndexArray, shift: FloatArray, n_threads: int) -> Array:
        """Return the squared distance of each row to the shift; raise a ValueError where it is not finite."""
        with np.errstate(over="ignore"):
            squares = squares_to_point(x, len(numbers), shift, n_threads).astype(self._rows.dtype)
        if not np.isfinite(squares).all():
            self._rows.take(np.sort(numbers))  # raises where a row holds a NaN or an infinity
            check_squares(squares, numbers + self._first)
        return squares
