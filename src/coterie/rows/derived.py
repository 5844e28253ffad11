"""Rows made of others, once: of length 1, or some of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, BoolArray, FloatArray, IndexArray
from coterie.rows.adapt import as_rows
from coterie.rows.checks import BadRowError, Setting, TableError
from coterie.rows.landing import LandingArray
from coterie.rows.source import Block, DenseRows, Rows, SparseRows

# Numbers that are divided at a time, which stay in the cache.
_BATCH_BYTES = 2**19

_OF_TABLE = (
    "column_names", "is_table", "metadata_columns", "all_columns", "chosen", "roles", "encoded", "files", "kept",
    "dialect", "description",
)  # fmt: skip


def derived(rows: Rows, source: Rows, *step: Any, **changes: Any) -> Rows:
    """Give rows the columns of the source that a step has made them of, and note the step in their preparation."""
    for name in _OF_TABLE:
        setattr(rows, name, changes.get(name, getattr(source, name)))
    rows.preparation = (*source.preparation, step) if step else source.preparation
    rows.source = source
    return rows


def landed(parts: Iterable[Any], dtype: np.dtype[Any], n_rows: int) -> Rows:
    """Return rows that come in parts as an array, which is mapped from a temporary file if it is large."""
    landing: LandingArray | None = None
    for part in parts:
        landing = landing or LandingArray(part.shape[1], dtype, n_rows)
        landing.add(part.toarray() if sp.issparse(part) else np.asarray(part))
    assert landing is not None
    return DenseRows(landing.array())


def selected_rows(rows: Rows, numbers: IndexArray) -> Rows:
    """Return a copy of the rows of some ascending numbers, at least one."""
    if rows.is_sparse:
        return SparseRows(rows.take(numbers))
    size = rows.rows_per_block
    parts = (rows.take(numbers[low : low + size]) for low in range(0, len(numbers), size))
    return landed(parts, rows.dtype, len(numbers))


def selected_columns(rows: Rows, positions: Sequence[int]) -> Rows:
    """Return a copy of some columns, in any order."""
    if rows.is_sparse:
        found: Rows = SparseRows(rows.read()[:, positions])
    else:
        parts = (block[:, positions] for _, block in rows.unchecked_blocks())
        found = landed(parts, rows.dtype, rows.shape[0])
    names = None if rows.column_names is None else [rows.column_names[i] for i in positions]
    return derived(found, rows, "columns", names or list(positions), column_names=names, chosen=None)


def complete_rows(rows: Rows) -> Rows:
    """Return the dense rows without a missing or infinite number; a ValueError if there is none."""
    kept = np.concatenate([np.isfinite(block).all(axis=1) for _, block in rows.unchecked_blocks()])
    if not kept.any():
        way = "Leave columns out: {}, or fill them in: {}."
        raise TableError(
            "Every row has missing numbers. ", way, Setting("exclude"), Setting("missing", "median")
        )
    metadata = rows.metadata_columns
    metadata = None if metadata is None else metadata.filter(kept)
    complete, changes = selected_rows(rows, np.flatnonzero(kept)), {"metadata_columns": metadata, "files": ()}
    return derived(complete, rows, "drop_missing", kept=kept, **changes)


def normalized(rows: Rows, *, refuse_zeros: bool = False) -> Rows:
    """Return rows divided by their Euclidean lengths (in float64; reproducible); zeros stay, or are a ValueError."""
    if hasattr(rows, "normalized"):  # on workers
        return rows.normalized(refuse_zeros=refuse_zeros)  # type: ignore[no-any-return]
    whole = SparseRows(rows.read()) if rows.is_sparse else rows

    def parts() -> Iterator[Any]:
        for start, block in whole.unchecked_blocks(max(1, int(_BATCH_BYTES / whole.row_bytes()))):
            if refuse_zeros and (zeros := are_zeros(block)).any():
                row = start + int(zeros.argmax())
                problem = "Input X contains rows of zeros, which have no direction."
                error = BadRowError.of(problem, row, rows.place_of(row))
                raise error.advised("Leave them out, or set zero_rows='ignore'.")
            yield _unit_values(block) if rows.is_sparse else _unit_rows(block)

    found: Rows
    if rows.is_sparse:
        matrix = whole.read()
        values = np.concatenate([part.astype(rows.dtype) for part in parts()])
        found = SparseRows(sp.csr_array((values, matrix.indices, matrix.indptr), shape=rows.shape))
    else:
        found = landed(parts(), rows.dtype, rows.shape[0])
    return derived(found, rows, "normalize", description=f"{rows.description}, rows of length 1")


def part_of(rows: Rows, block: Block) -> Rows:
    """Return a block of a source, from `blocks` or `take`, as a source with the same columns and preparation; a model
    would prepare a plain block once more.
    """
    beside = {"metadata_columns": None, "all_columns": None, "files": (), "kept": None}
    part = derived(as_rows(block), rows, **beside)
    part.source = None
    return part


def rows_of_zeros(rows: Rows) -> IndexArray:
    """Return the numbers of the rows that are all zeros, ascending, in one pass over the rows."""
    return np.concatenate([start + np.flatnonzero(are_zeros(block)) for start, block in rows.blocks()])


def are_zeros(block: Block) -> BoolArray:
    """Return a mask of the rows that are all zeros."""
    if sp.issparse(block):
        return block.count_nonzero(axis=1) == 0
    return np.asarray(~block.any(axis=1))


def _unit_rows(block: Array) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):  # infinities are found when the rows are read
        numbers = block.astype(np.float64)
        # Squares of numbers near the ends of the range overflow or underflow, so rows are scaled first.
        largest = _or_one(np.abs(numbers).max(axis=1))
        scaled = np.abs(numbers) / largest[:, None]
        return numbers / _or_one(largest * np.sqrt((scaled * scaled).sum(axis=1)))[:, None]


def _unit_values(block: Any) -> FloatArray:
    """Return the values of sparse rows of length 1."""
    numbers, row_of = (
        block.data.astype(np.float64),
        np.repeat(np.arange(block.shape[0]), np.diff(block.indptr)),
    )
    largest = np.zeros(block.shape[0])
    with np.errstate(over="ignore", invalid="ignore"):
        np.maximum.at(largest, row_of, np.abs(numbers))
        scaled = numbers / _or_one(largest)[row_of]
        squares = np.bincount(row_of, weights=scaled * scaled, minlength=len(largest))
        return numbers / _or_one(largest * np.sqrt(squares))[row_of]


def _or_one(lengths: FloatArray) -> FloatArray:
    """Set the lengths of zeros and of non-finite rows to 1."""
    lengths[~np.isfinite(lengths) | (lengths == 0)] = 1
    return lengths
