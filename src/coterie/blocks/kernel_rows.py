"""Blocks of rows in the layout of the kernels, and their size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import scipy.sparse

from coterie import _kernels
from coterie.arrays import Array, IndexArray
from coterie.limits.memory import available_memory
from coterie.rows import Rows, as_rows

T = TypeVar("T")

_END: Any = object()

# Rows that one call of a kernel takes: enough to occupy all threads, few enough that Ctrl-C is answered soon.
_CALL_BYTES = 96 << 20
_STREAM_BYTES = 16 << 20
_BLOCK_MULTIPLY_ADDS = 2e10

# What must be read, parsed or converted, and takes no more than this as floats, is kept in memory.
KEPT_BYTES = 1 << 30


def kernel_rows(block: Any) -> Any:
    """Wrap a block (C-contiguous array or CSR matrix, float32 or float64) for the kernels, without a copy."""
    if scipy.sparse.issparse(block):
        columns = block.indices.astype(np.int32, copy=False)
        starts = block.indptr.astype(np.int32, copy=False)
        return _kernels.sparse_rows(block.data, columns, starts, block.shape[1])
    return _kernels.dense_rows(block)


def dense(block: Any) -> Array:
    """Return a block of rows as an array."""
    return block.toarray() if scipy.sparse.issparse(block) else np.asarray(block)


def rows_per_block(rows: Rows, n_clusters: int) -> int:
    """Return the number of rows of a kernel call: a multiple of the quantum in which partial sums are kept."""
    n_columns = rows.shape[1]
    if rows.is_sparse:
        n_columns = min(n_columns, 1024)
    by_memory = (_CALL_BYTES if rows.in_memory else _STREAM_BYTES) / (n_columns * rows.dtype.itemsize)
    by_work = _BLOCK_MULTIPLY_ADDS / (n_columns * n_clusters)
    quantum = _kernels.ROW_QUANTUM
    return max(quantum, int(min(by_memory, by_work)) // quantum * quantum)


def kept_rows(rows: Rows) -> Rows:
    """Return the rows of a fit: unchanged if reading them is cheap, else a copy if it takes at most 1 GiB as floats."""
    n_bytes = rows.shape[0] * rows.row_bytes()
    if rows.in_memory or n_bytes > KEPT_BYTES:
        return rows
    if n_bytes > _CALL_BYTES and n_bytes > 0.5 * available_memory():
        return rows
    return as_rows(Rows.read(rows))  # at once, without a copy of its blocks


def row_reader(rows: Rows) -> Callable[[IndexArray], Any]:
    """Return what gives rows of given numbers to the kernels, which are ascending unless the rows are in memory."""
    if not rows.in_memory:
        return lambda numbers: kernel_rows(rows.take(numbers))
    in_place = kernel_rows(rows.in_place())
    return lambda numbers: _kernels.select_rows(in_place, numbers)


def kernel_blocks(rows: Rows, block_rows: int) -> Iterator[tuple[slice, Any]]:
    """Yield (slice of the rows, kernel rows) for each block of a source; what must be read is read ahead."""
    blocks = rows.blocks(block_rows)
    if not rows.in_memory and rows.shape[0] > block_rows:
        blocks = read_ahead(blocks)
    for start, block in blocks:
        yield slice(start, start + block.shape[0]), kernel_rows(block)


def read_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the items of an iterator, computing the next one in a thread; three items may exist for a moment."""
    with ThreadPoolExecutor(1, "coterie-read") as pool:
        waiting = pool.submit(next, items, _END)
        while (item := waiting.result()) is not _END:
            waiting = pool.submit(next, items, _END)
            yield item
