"""`SelectedColumns`: some columns of other rows, or all in another order, chosen as they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie.arrays import IndexArray
from coterie.rows.source import Block, RowSource

__all__ = ["SelectedColumns"]


class SelectedColumns(RowSource):
    """Columns of another source, by position; blocks are cut as they are read, so that no whole is copied.

    Parameters
    ----------
    rows : RowSource
        What to read; it is not changed.
    positions : sequence of int
        Which columns, in which order.

    Examples
    --------
    >>> from coterie.rows import as_rows
    >>> from coterie.rows.selected import SelectedColumns
    >>> SelectedColumns(as_rows([[1, 2, 3], [4, 5, 6]]), [2, 0]).read()
    array([[3., 1.],
           [6., 4.]])
    """

    def __init__(self, rows: RowSource, positions: Sequence[int]) -> None:
        names = None if rows.column_names is None else [rows.column_names[i] for i in positions]
        super().__init__(
            (rows.shape[0], len(positions)),
            rows.dtype,
            is_sparse=rows.is_sparse,
            column_names=names,
            is_table=rows.is_table,
            description=rows.description,
            carried=rows.carried,
        )
        self.preparation = (*rows.preparation, ("columns", list(names or positions)))
        self.is_parsed = rows.is_parsed
        self._rows = rows
        self._positions = np.asarray(positions, dtype=np.intp)

    def with_dtype(self, dtype: npt.DTypeLike) -> Self:
        other = super().with_dtype(dtype)
        other._rows = self._rows.with_dtype(dtype)
        return other

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        for piece in self._rows.pieces(start, stop, rows):
            yield self._selected(piece)

    def take_rows(self, indices: IndexArray) -> Block:
        return self._selected(self._rows.take_rows(indices))

    def unit_starts(self) -> IndexArray:
        return self._rows.unit_starts()

    def place_of(self, row: int) -> tuple[int, str] | None:
        return self._rows.place_of(row)

    def row_bytes(self) -> float:
        # Of sparse rows, whose size depends on their values, no more than those of all columns.
        return self._rows.row_bytes() if self.is_sparse else super().row_bytes()

    def _selected(self, piece: Any) -> Any:
        if not self.is_sparse:
            # Other than indexing, `take` keeps the C order.
            return np.take(piece, self._positions, axis=1)
        block = sp.csr_array(piece[:, self._positions])
        block.sort_indices()
        block.indices = block.indices.astype(np.int32, copy=False)
        block.indptr = block.indptr.astype(np.int32, copy=False)
        block.has_canonical_format = True
        return block
