"""Sources derived from another source while reading: selected columns, selected rows, rows of length 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, BoolArray, FloatArray, IndexArray
from coterie.rows.adapt import as_rows
from coterie.rows.checks import BadRowError
from coterie.rows.landing import LandingArray, LandingMetadata
from coterie.rows.source import (
    Block,
    DenseRows,
    DerivedRows,
    MetadataColumns,
    Rows,
    sparse_block,
)

_BATCH_BYTES = 2**20


class SelectedColumns(DerivedRows):
    """Columns of another source, by position, in any order."""

    def __init__(self, rows: Rows, positions: Sequence[int]) -> None:
        names = None if rows.column_names is None else [rows.column_names[i] for i in positions]
        super().__init__(
            rows,
            ("columns", list(names or positions)),
            shape=(rows.shape[0], len(positions)),
            column_names=names,
            chosen=None,
        )
        self._positions = np.asarray(positions, dtype=np.intp)

    def changed(self, piece: Any, rows: int | IndexArray) -> Any:
        # Unlike indexing, `take` keeps the C order.
        return (
            sparse_block(piece[:, self._positions])
            if self.is_sparse
            else np.take(piece, self._positions, axis=1)
        )


class SelectedRows(DerivedRows):
    """Rows of another source, by ascending number, at least one; `step` is the reason, for `Rows.preparation`."""

    def __init__(self, rows: Rows, numbers: IndexArray, step: tuple[Any, ...] | None = None) -> None:
        n_rows = rows.shape[0]
        super().__init__(
            rows, step, shape=(len(numbers), rows.shape[1]),
            description=f"{rows.description}, {len(numbers)} of {n_rows} rows",
            metadata_columns=None, all_columns=None,
        )  # fmt: skip
        self.numbers = numbers

    def unchecked_blocks(self, size: int | None = None) -> Iterator[tuple[int, Block]]:
        return Rows.unchecked_blocks(self, size)

    def block(self, start: int, stop: int) -> Block:
        return self.take_rows(np.arange(start, stop))

    def take_rows(self, indices: IndexArray) -> Block:
        return self._as_block(self.source.take_rows(self.numbers[indices]))

    def place_of(self, row: int) -> tuple[int, str] | None:
        return self.source.place_of(int(self.numbers[row]))


class RowsWithDirection(SelectedRows):
    """The rows of another source that are not all zeros: the rows of a fit, which labels all."""

    def scattered(self, values: Array, missing: float) -> Array:
        """Return values of these rows for each row of the source, with `missing` for the others."""
        out = np.full(self.source.shape[0], missing, dtype=values.dtype)
        out[self.numbers] = values
        return out


class NormalizedRows(DerivedRows):
    """The rows of another source, each divided by its Euclidean length.

    k-means on such rows is spherical k-means. Lengths are computed in float64, and the result does not depend on
    storage, blocks or threads. A row of zeros, which has no direction, is kept, or raises a ValueError with
    `refuse_zeros`.

    Examples
    --------
    >>> from coterie.rows import as_rows
    >>> from coterie.rows.derived import NormalizedRows
    >>> NormalizedRows(as_rows([[3, 4], [0, 0]])).read()
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    def __init__(self, rows: Rows, *, refuse_zeros: bool = False) -> None:
        super().__init__(rows, ("normalize",), description=f"{rows.description}, rows of length 1")
        self._refuse_zeros = refuse_zeros

    def changed(self, piece: Any, rows: int | IndexArray) -> Block:
        if self._refuse_zeros:
            zeros = np.flatnonzero(_are_zeros(piece))
            if len(zeros):
                row = int(rows + zeros[0] if isinstance(rows, int) else rows[zeros[0]])
                error = BadRowError.of(
                    "Input X contains rows of zeros, which have no direction.", row, self.place_of(row)
                )
                raise error.advised("Leave them out, or set zero_rows='ignore'.")
        if self.is_sparse:
            return _scaled_sparse(piece, self.dtype)
        out = np.empty(piece.shape, dtype=self.dtype)
        batch = max(1, _BATCH_BYTES // (8 * piece.shape[1]))  # which stays in the cache
        # Numbers too large for float32 become infinities, which the check for finite numbers finds.
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, piece.shape[0], batch):
                part = np.asarray(piece[start : start + batch], dtype=self.dtype).astype(
                    np.float64, order="C"
                )
                part /= _lengths(np.abs(part))[:, None]
                out[start : start + batch] = part
        return out


def landed_rows(rows: Rows) -> Rows:
    """Return a copy of dense rows that are derived from others, with their columns."""
    landing = LandingArray(rows.shape[1], rows.dtype, rows.shape[0])
    for _, block in rows.unchecked_blocks():
        landing.add(block)
    return _with_columns_of(rows, DenseRows(landing.array(), rows.description))


def normalized(rows: Rows, *, refuse_zeros: bool = False) -> Rows:
    """Return `NormalizedRows`, or their equivalent for rows on workers."""
    if hasattr(rows, "normalized"):
        return rows.normalized(refuse_zeros=refuse_zeros)  # type: ignore[no-any-return]
    return NormalizedRows(rows, refuse_zeros=refuse_zeros)


def part_of(rows: Rows, block: Block) -> Rows:
    """Return a block of a source, from `blocks` or `take`, as a source with the same columns and preparation.

    A model would prepare a plain block once more.
    """
    return _with_columns_of(rows, as_rows(block), is_part=True)


def _with_columns_of(rows: Rows, other: Rows, *, is_part: bool = False) -> Rows:
    other.column_names, other.chosen, other.is_table = rows.column_names, rows.chosen, rows.is_table
    other.preparation = rows.preparation
    if not is_part:
        other.metadata_columns, other.files, other.kept = rows.metadata_columns, rows.files, rows.kept
    return other


def complete_rows(rows: Rows) -> Rows:
    """Return the dense rows without a missing or infinite number, in one pass; a ValueError if there is none."""
    found = [
        start + np.flatnonzero(np.isfinite(block).all(axis=1)) for start, block in rows.unchecked_blocks()
    ]
    numbers = np.concatenate(found)
    if not len(numbers):
        raise ValueError("Every row has missing numbers: leave columns out (exclude), or fill them in.")
    complete = SelectedRows(rows, numbers, ("drop_missing",))
    complete.kept = np.isin(np.arange(rows.shape[0]), numbers)
    complete.metadata_columns = _filtered(rows.metadata_columns, complete.kept)
    complete.all_columns = rows.all_columns
    return complete


def _filtered(columns: MetadataColumns | None, kept: BoolArray) -> MetadataColumns | None:
    """Return the metadata of the rows that are kept."""
    if columns is None:
        return None
    landing, start = LandingMetadata(), 0
    for batch in columns.batches():
        landing.add(batch.filter(kept[start : start + batch.num_rows]))
        start += batch.num_rows
    return MetadataColumns(landing.table())


def rows_of_zeros(rows: Rows) -> IndexArray:
    """Return the numbers of the rows that are all zeros, ascending, in one pass over the rows."""
    return np.concatenate([start + np.flatnonzero(_are_zeros(block)) for start, block in rows.blocks()])


def _are_zeros(piece: Any) -> BoolArray:
    if sp.issparse(piece):
        filled = np.repeat(np.arange(piece.shape[0]), np.diff(piece.indptr))[piece.data != 0]
        return np.bincount(filled, minlength=piece.shape[0]) == 0
    # Usually few rows begin with a zero; only these are checked in full.
    zeros = np.asarray(piece[:, 0]) == 0
    suspects = np.flatnonzero(zeros)
    batch = max(1, _BATCH_BYTES // (8 * piece.shape[1]))
    for start in range(0, len(suspects), batch):
        part = suspects[start : start + batch]
        zeros[part] = ~np.any(piece[part], axis=1)
    return zeros


def _lengths(part: FloatArray) -> FloatArray:
    """Return the lengths of rows of absolute values; 1 for zeros or non-finite numbers, which a later check reports."""
    # Squares of numbers near the ends of the range overflow or underflow, so rows are scaled first.
    largest = _or_one(part.max(axis=1))
    part /= largest[:, None]
    part *= part
    return _or_one(largest * np.sqrt(part.sum(axis=1)))


def _or_one(lengths: FloatArray) -> FloatArray:
    lengths[~np.isfinite(lengths) | (lengths == 0)] = 1
    return lengths


def _scaled_sparse(piece: Any, dtype: np.dtype[Any]) -> Any:
    values = np.empty(len(piece.data), dtype=dtype)
    batch = max(1, _BATCH_BYTES * piece.shape[0] // (8 * len(values) or 1))  # rows of about as many entries
    for low in range(0, piece.shape[0], batch):
        starts = piece.indptr[low : low + batch + 1].astype(np.intp)
        data = piece.data[starts[0] : starts[-1]].astype(np.float64)
        row_of = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        largest = np.zeros(len(starts) - 1)
        with np.errstate(over="ignore", invalid="ignore"):
            np.maximum.at(largest, row_of, np.abs(data))
            scaled = data / _or_one(largest)[row_of]
            squares = np.bincount(row_of, weights=scaled * scaled, minlength=len(largest))
            values[starts[0] : starts[-1]] = data / _or_one(largest * np.sqrt(squares))[row_of]
    out = sp.csr_array((values, piece.indices, piece.indptr), shape=piece.shape)
    out.has_canonical_format = True
    return out
