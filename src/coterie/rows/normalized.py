"""`NormalizedRows`: rows scaled to length 1 as they are read, for spherical clustering; and what to do with zeros."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie.arrays import Array, BoolArray, FloatArray, IndexArray
from coterie.rows.checks import first_bad_row
from coterie.rows.source import Block, RowSource

__all__ = ["NormalizedRows", "RowsWithDirection", "SelectedRows", "rows_of_zeros"]

_BATCH_BYTES = 2**20


class NormalizedRows(RowSource):
    """The rows of another source, each divided by its Euclidean length.

    k-means on such rows clusters by the angle between them. Lengths are computed in float64, and the result
    does not depend on how the rows are stored or cut into blocks.

    Parameters
    ----------
    rows : RowSource
        What to scale; it is not changed.
    refuse_zeros : bool
        Whether a row of zeros, which has no direction, raises a ValueError with its number when it is read. If not,
        it stays as it is.
    n_threads : int
        Threads that scale dense rows; they do not change the bits.

    Attributes
    ----------
    source : RowSource
        The rows as they were.

    Examples
    --------
    >>> from coterie.rows import as_rows
    >>> from coterie.rows.normalized import NormalizedRows
    >>> NormalizedRows(as_rows([[3, 4], [0, 0]])).read()
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    def __init__(self, rows: RowSource, *, refuse_zeros: bool = False, n_threads: int = 1) -> None:
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
        self.is_parsed = rows.is_parsed
        self.source = rows
        self._refuse_zeros = refuse_zeros
        self._n_threads = n_threads

    def with_dtype(self, dtype: npt.DTypeLike) -> Self:
        other = super().with_dtype(dtype)
        other.source = self.source.with_dtype(dtype)
        return other

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        at = start
        for piece in self.source.pieces(start, stop, rows):
            self._check_directions(piece, np.arange(at, at + piece.shape[0]))
            yield self._scaled(piece)
            at += piece.shape[0]

    def take_rows(self, indices: IndexArray) -> Block:
        piece = self.source.take_rows(indices)
        self._check_directions(piece, indices)
        return self._scaled(piece)

    def unit_starts(self) -> IndexArray:
        return self.source.unit_starts()

    def row_bytes(self) -> float:
        return self.source.row_bytes()

    def place_of(self, row: int) -> tuple[int, str] | None:
        return self.source.place_of(row)

    def _check_directions(self, piece: Any, numbers: IndexArray) -> None:
        if not self._refuse_zeros:
            return
        zeros = _are_zeros(piece)
        if np.any(zeros):
            row = int(numbers[zeros][0])
            raise ValueError(
                "Input X contains rows of zeros, which have no direction. "
                f"{first_bad_row(row, self.place_of(row))} "
                "Leave them out, or set zero_rows='ignore' (--zero-rows ignore)."
            )

    def _scaled(self, piece: Any) -> Block:
        if self.is_sparse:
            return _scaled_sparse(piece, self.dtype)
        out = np.empty(piece.shape, dtype=self.dtype)
        batch = max(1, _BATCH_BYTES // (8 * piece.shape[1]))

        def scale(start: int) -> None:
            # Numbers too large for float32 become infinities, which the check for finite numbers finds.
            with np.errstate(over="ignore", invalid="ignore"):
                part = np.asarray(piece[start : start + batch], dtype=self.dtype).astype(
                    np.float64, order="C"
                )
                part /= _lengths(part)[:, None]
                out[start : start + batch] = part

        starts = range(0, piece.shape[0], batch)
        if self._n_threads == 1 or len(starts) == 1:
            for start in starts:
                scale(start)
        else:
            with ThreadPoolExecutor(self._n_threads) as pool:
                list(pool.map(scale, starts))
        return out


class SelectedRows(RowSource):
    """Some of the rows of another source.

    Parameters
    ----------
    rows : RowSource
        Where they are; it is not changed.
    numbers : ndarray of shape (n,), intp
        Which of its rows, in ascending order, at least one.

    Attributes
    ----------
    source : RowSource
        All rows.
    numbers : ndarray of shape (n,), intp
        Which of them these are.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.rows import as_rows
    >>> from coterie.rows.normalized import SelectedRows
    >>> rows = SelectedRows(as_rows([[3, 4], [0, 0], [5, 6]]), np.array([0, 2]))
    >>> rows.read()
    array([[3., 4.],
           [5., 6.]])
    """

    def __init__(self, rows: RowSource, numbers: IndexArray) -> None:
        super().__init__(
            (len(numbers), rows.shape[1]),
            rows.dtype,
            is_sparse=rows.is_sparse,
            column_names=rows.column_names,
            is_table=rows.is_table,
            description=f"{rows.description}, {len(numbers)} of {rows.shape[0]} rows",
        )
        self.is_parsed = rows.is_parsed
        self.source = rows
        self.numbers = numbers

    def with_dtype(self, dtype: npt.DTypeLike) -> Self:
        other = super().with_dtype(dtype)
        other.source = self.source.with_dtype(dtype)
        return other

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        at = int(self.numbers[start])
        for piece in self.source.pieces(at, int(self.numbers[stop - 1]) + 1, rows):
            low, high = np.searchsorted(self.numbers[:stop], [at, at + piece.shape[0]])
            if high > low:
                yield piece[self.numbers[low:high] - at]
            at += piece.shape[0]

    def take_rows(self, indices: IndexArray) -> Block:
        return self.source.take_rows(self.numbers[indices])

    def row_bytes(self) -> float:
        return self.source.row_bytes()

    def place_of(self, row: int) -> tuple[int, str] | None:
        return self.source.place_of(int(self.numbers[row]))


class RowsWithDirection(SelectedRows):
    """Those rows of another source that are not all zeros: a fit is of them, and says something of all.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.rows import as_rows
    >>> from coterie.rows.normalized import RowsWithDirection
    >>> rows = RowsWithDirection(as_rows([[3, 4], [0, 0], [5, 6]]), np.array([0, 2]))
    >>> rows.scattered(np.array([7, 8]), missing=-1)
    array([ 7, -1,  8])
    """

    def scattered(self, values: Array, missing: float) -> Array:
        """Return one value for each row of the source: those of these rows, and for the others `missing`."""
        out = np.full(self.source.shape[0], missing, dtype=values.dtype)
        out[self.numbers] = values
        return out


def rows_of_zeros(rows: RowSource) -> IndexArray:
    """Return the numbers of the rows that are all zeros, ascending: one pass over the rows."""
    found = [start + np.flatnonzero(_are_zeros(block)) for start, block in rows.blocks()]
    return np.concatenate(found)


def _are_zeros(piece: Any) -> BoolArray:
    if sp.issparse(piece):
        filled = np.repeat(np.arange(piece.shape[0]), np.diff(piece.indptr))[piece.data != 0]
        return np.bincount(filled, minlength=piece.shape[0]) == 0
    # Few rows begin with a zero as a rule: the others need no second look.
    zeros = np.asarray(piece[:, 0]) == 0
    suspects = np.flatnonzero(zeros)
    batch = max(1, _BATCH_BYTES // (8 * piece.shape[1]))
    for start in range(0, len(suspects), batch):
        part = suspects[start : start + batch]
        zeros[part] = ~np.any(piece[part], axis=1)
    return zeros


def _lengths(part: FloatArray) -> FloatArray:
    """Length of each row; 1 for rows of zeros and for rows that the check for finite numbers will refuse."""
    # Squares of numbers near the ends of the range overflow or vanish; those of numbers near 1 do not.
    scaled = np.abs(part)
    largest = scaled.max(axis=1)
    largest[~np.isfinite(largest) | (largest == 0)] = 1
    np.divide(part, largest[:, None], out=scaled)
    scaled *= scaled
    lengths = largest * np.sqrt(scaled.sum(axis=1))
    lengths[~np.isfinite(lengths) | (lengths == 0)] = 1
    return lengths


def _scaled_sparse(piece: Any, dtype: np.dtype[Any]) -> Any:
    values = np.empty(len(piece.data), dtype=dtype)
    # Rows of about as many entries as fit the batch.
    n_batches = -(-8 * len(values) // _BATCH_BYTES)
    cuts = np.searchsorted(piece.indptr, np.linspace(0, len(values), n_batches + 1)[1:-1])
    for low, high in itertools.pairwise([0, *cuts.tolist(), piece.shape[0]]):
        part = slice(int(piece.indptr[low]), int(piece.indptr[high]))
        values[part] = _scaled_values(piece.data[part], np.diff(piece.indptr[low : high + 1]))
    out = sp.csr_array((values, piece.indices, piece.indptr), shape=piece.shape)
    out.has_canonical_format = True
    return out


def _scaled_values(data: Array, counts: IndexArray) -> FloatArray:
    """Divide the entries of consecutive rows, of so many entries each, by the lengths of the rows."""
    values = data.astype(np.float64)
    row_of = np.repeat(np.arange(len(counts)), counts)
    largest = np.zeros(len(counts))
    with np.errstate(over="ignore", invalid="ignore"):
        np.maximum.at(largest, row_of, np.abs(values))
        largest[~np.isfinite(largest) | (largest == 0)] = 1
        scaled = values / largest[row_of]
        squares = np.bincount(row_of, weights=scaled * scaled, minlength=len(counts))
        lengths = largest * np.sqrt(squares)
        lengths[~np.isfinite(lengths) | (lengths == 0)] = 1
        values /= lengths[row_of]
    return values
