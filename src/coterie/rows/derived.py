"""Rows made of others: of length 1, or some of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import BoolArray, FloatArray, IndexArray
from coterie.rows.adapt import as_rows
from coterie.rows.checks import BadRowError, Setting, TableError
from coterie.rows.landing import LandingArray, LandingMetadata
from coterie.rows.source import Block, DenseRows, MetadataColumns, Rows, SparseRows

_BATCH_BYTES = 2**20

_OF_TABLE = (
    "column_names", "is_table", "metadata_columns", "all_columns", "chosen", "roles", "encoded", "files", "kept",
    "dialect",
)  # fmt: skip


def derived(rows: Any, source: Rows, *step: Any, **changes: Any) -> Any:
    """Give rows the columns of the source that a step has made them of, and note the step in their preparation."""
    for name in _OF_TABLE:
        setattr(rows, name, changes.get(name, getattr(source, name)))
    rows.preparation = (*source.preparation, step) if step else source.preparation
    rows.source = source
    return rows


def landed(parts: Iterable[Any], dtype: np.dtype[Any], n_rows: int, description: str) -> DenseRows:
    """Return rows that come in parts as an array, which is mapped from a temporary file if it is large."""
    landing: LandingArray | None = None
    for part in parts:
        landing = landing or LandingArray(part.shape[1], dtype, n_rows)
        landing.add(part.toarray() if sp.issparse(part) else np.asarray(part))
    assert landing is not None
    return DenseRows(landing.array(), description)


def selected_rows(rows: Rows, numbers: IndexArray) -> Rows:
    """Return a copy of the rows of some ascending numbers, at least one."""
    if rows.is_sparse:
        return SparseRows(rows.take(numbers), rows.description)
    size = rows.rows_per_block
    parts = (rows.take(numbers[low : low + size]) for low in range(0, len(numbers), size))
    return landed(parts, rows.dtype, len(numbers), rows.description)


def selected_columns(rows: Rows, positions: Sequence[int]) -> Rows:
    """Return a copy of some columns, in any order."""
    found: Rows
    if rows.is_sparse:
        found = SparseRows(rows.read()[:, positions], rows.description)
    else:
        parts = (block[:, positions] for _, block in rows.unchecked_blocks())
        found = landed(parts, rows.dtype, rows.shape[0], rows.description)
    names = None if rows.column_names is None else [rows.column_names[i] for i in positions]
    changes = {"column_names": names, "chosen": None}
    return derived(found, rows, "columns", names or list(positions), **changes)  # type: ignore[no-any-return]


def complete_rows(rows: Rows) -> Rows:
    """Return the dense rows without a missing or infinite number; a ValueError if there is none."""
    kept = np.concatenate([np.isfinite(block).all(axis=1) for _, block in rows.unchecked_blocks()])
    if not kept.any():
        raise TableError(
            "Every row has missing numbers. ",
            advice=[
                "Leave columns out: ",
                Setting("exclude"),
                ", or fill them in: ",
                Setting("missing", "median"),
                ".",
            ],
        )
    metadata = rows.metadata_columns
    if metadata is not None:
        landing, start = LandingMetadata(), 0
        for batch in metadata.batches():
            landing.add(batch.filter(kept[start : start + batch.num_rows]))
            start += batch.num_rows
        metadata = MetadataColumns(landing.table())
    complete, changes = selected_rows(rows, np.flatnonzero(kept)), {"metadata_columns": metadata, "files": ()}
    return derived(complete, rows, "drop_missing", kept=kept, **changes)  # type: ignore[no-any-return]


class NormalizedRows(Rows):
    """The rows of another source, each divided by its Euclidean length as it is read, for spherical k-means.

    Lengths are computed in float64, and the bits do not depend on storage, blocks or threads. A row of zeros, which
    has no direction, is kept, or raises a ValueError with `refuse_zeros`.
    """

    is_derived = True
    source: Rows

    def __init__(self, rows: Rows, *, refuse_zeros: bool = False) -> None:
        super().__init__(
            rows.shape,
            rows.dtype,
            is_sparse=rows.is_sparse,
            description=f"{rows.description}, rows of length 1",
        )
        derived(self, rows, "normalize")
        self._refuse_zeros = refuse_zeros

    def block(self, start: int, stop: int) -> Block:
        return self._normalized(self.source.block(start, stop), start)

    def unchecked_blocks(self, size: int | None = None) -> Iterator[tuple[int, Block]]:
        for start, block in self.source.unchecked_blocks(size or self.rows_per_block):
            yield start, self._normalized(block, start)

    def take_rows(self, indices: IndexArray) -> Block:
        return self._normalized(self.source.take_rows(indices), indices)

    def row_bytes(self) -> float:
        return self.source.row_bytes() if self.is_sparse else super().row_bytes()

    def _normalized(self, block: Any, rows: int | IndexArray) -> Block:
        """Return rows at length 1; `rows` is the number of the first one, or of each."""
        if self._refuse_zeros and len(zeros := np.flatnonzero(_are_zeros(block))):
            row = int(rows + zeros[0] if isinstance(rows, int) else rows[zeros[0]])
            problem = "Input X contains rows of zeros, which have no direction."
            error = BadRowError.of(problem, row, self.place_of(row))
            raise error.advised("Leave them out, or set zero_rows='ignore'.")
        if self.is_sparse:
            return _scaled_sparse(block, self.dtype)
        out = np.empty(block.shape, dtype=self.dtype)
        batch = max(1, _BATCH_BYTES // (8 * block.shape[1]))  # which stays in the cache
        # Numbers too large for float32 become infinities, which the check for finite numbers finds.
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, block.shape[0], batch):
                part = np.asarray(block[start : start + batch], dtype=self.dtype)
                part = part.astype(np.float64, order="C")
                part /= _lengths(np.abs(part))[:, None]
                out[start : start + batch] = part
        return out


def normalized(rows: Rows, *, refuse_zeros: bool = False) -> Rows:
    """Return `NormalizedRows`, or their equivalent for rows on workers."""
    if hasattr(rows, "normalized"):
        return rows.normalized(refuse_zeros=refuse_zeros)  # type: ignore[no-any-return]
    return NormalizedRows(rows, refuse_zeros=refuse_zeros)


def part_of(rows: Rows, block: Block) -> Rows:
    """Return a block of a source, from `blocks` or `take`, as a source with the same columns and preparation.

    A model would prepare a plain block once more.
    """
    beside = {"metadata_columns": None, "all_columns": None, "files": (), "kept": None}
    part: Rows = derived(as_rows(block), rows, **beside)
    part.source = None
    return part


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
