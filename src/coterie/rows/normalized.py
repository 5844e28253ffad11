"""`NormalizedRows`: rows scaled to length 1 as they are read, for spherical clustering."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie.arrays import FloatArray, IndexArray
from coterie.rows.source import Block, RowSource

__all__ = ["NormalizedRows"]

_BATCH_BYTES = 4 * 2**20


class NormalizedRows(RowSource):
    """The rows of another source, each divided by its Euclidean length; rows of zeros stay as they are.

    k-means on such rows clusters by the angle between them. Lengths are computed in float64, and the result
    does not depend on how the rows are stored or cut into blocks.

    Parameters
    ----------
    rows : RowSource
        What to scale; it is not changed.

    Examples
    --------
    >>> from coterie.rows import as_rows
    >>> from coterie.rows.normalized import NormalizedRows
    >>> NormalizedRows(as_rows([[3, 4], [0, 0]])).read()
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    def __init__(self, rows: RowSource) -> None:
        super().__init__(
            rows.shape,
            rows.dtype,
            is_sparse=rows.is_sparse,
            column_names=rows.column_names,
            is_table=rows.is_table,
            description=f"{rows.description}, rows of length 1",
            carried=rows.carried,
            chosen=rows.chosen,
        )
        self.preparation = (*rows.preparation, ("normalize",))
        self._rows = rows

    def with_dtype(self, dtype: npt.DTypeLike) -> Self:
        other = super().with_dtype(dtype)
        other._rows = self._rows.with_dtype(dtype)
        return other

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        for piece in self._rows.pieces(start, stop, rows):
            yield self._scaled(piece)

    def take_rows(self, indices: IndexArray) -> Block:
        return self._scaled(self._rows.take_rows(indices))

    def row_bytes(self) -> float:
        return self._rows.row_bytes()

    def _scaled(self, piece: Any) -> Block:
        if self.is_sparse:
            return _scaled_sparse(piece, self.dtype)
        out = np.empty(piece.shape, dtype=self.dtype)
        batch = max(1, _BATCH_BYTES // (8 * piece.shape[1]))
        for start in range(0, piece.shape[0], batch):
            # Numbers too large for float32 become infinities, which the check for finite numbers finds.
            with np.errstate(over="ignore", invalid="ignore"):
                part = np.asarray(piece[start : start + batch], dtype=self.dtype).astype(
                    np.float64, order="C"
                )
                out[start : start + batch] = part / _lengths(part)[:, None]
        return out


def _lengths(part: FloatArray) -> FloatArray:
    """Length of each row; 1 for rows of zeros and for rows that the check for finite numbers will refuse."""
    # Squares of numbers near the ends of the range overflow or vanish; those of numbers near 1 do not.
    largest = np.abs(part).max(axis=1)
    largest[~np.isfinite(largest) | (largest == 0)] = 1
    scaled = part / largest[:, None]
    lengths = largest * np.sqrt((scaled * scaled).sum(axis=1))
    lengths[~np.isfinite(lengths) | (lengths == 0)] = 1
    return lengths


def _scaled_sparse(piece: Any, dtype: np.dtype[Any]) -> Any:
    values = piece.data.astype(np.float64)
    row_of = np.repeat(np.arange(piece.shape[0]), np.diff(piece.indptr))
    largest = np.zeros(piece.shape[0])
    with np.errstate(over="ignore", invalid="ignore"):
        np.maximum.at(largest, row_of, np.abs(values))
        largest[~np.isfinite(largest) | (largest == 0)] = 1
        scaled = values / largest[row_of]
        squares = np.bincount(row_of, weights=scaled * scaled, minlength=piece.shape[0])
        lengths = largest * np.sqrt(squares)
        lengths[~np.isfinite(lengths) | (lengths == 0)] = 1
        values /= lengths[row_of]
    out = sp.csr_array((values.astype(dtype), piece.indices, piece.indptr), shape=piece.shape)
    out.has_canonical_format = True
    return out
