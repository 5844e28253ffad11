"""Rows in memory or in a memory map: dense arrays, sparse matrices, and arrays that are read in slices."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie.arrays import Array, IndexArray
from coterie.limits.memory import Need, check_memory
from coterie.rows.checks import check_shape, compute_dtype
from coterie.rows.source import Block, RowSource, is_block

# Pages of memory maps larger than this are released after each block; smaller maps may remain resident.
_RESIDENT_BYTES = 256 * 2**20

# Rows taken from a sliced store are read in units of about this size.
_UNIT_BYTES = 2**20

_INT32_MAX = np.iinfo(np.int32).max


class ArraySource(RowSource):
    """Rows of an array or memory map of any real dtype, memory order and byte order; blocks are views if possible."""

    def __init__(self, array: Array, description: str = "array") -> None:
        super().__init__(array.shape, array.dtype, description=description)
        self._array = array

    @property
    def in_memory(self) -> bool:
        return is_block(self._array, self.dtype) and _large_map(self._array) is None

    @property
    def is_compact(self) -> bool:
        return self._array.dtype.itemsize < self.dtype.itemsize and self._array.flags.c_contiguous

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        pages = _large_map(self._array)
        for low in range(start, stop, rows):
            high = min(low + rows, stop)
            yield self._array[low:high]
            if pages is not None:
                _release(pages, self._array, low, high)

    def take_rows(self, indices: IndexArray) -> Any:
        array, pages = self._array, _large_map(self._array)
        if pages is None:
            return array[indices]
        # Scattered rows may touch every page, so pages are released regularly.
        rows = max(1, _RESIDENT_BYTES // 4 // (array.shape[1] * array.itemsize))
        found = []
        for low in range(int(indices[0]), int(indices[-1]) + 1, rows):
            first, last = np.searchsorted(indices, [low, low + rows])
            if last > first:
                found.append(array[indices[first:last]])
                _release(pages, array, low, low + rows)
        return self._join(found)


class BFloat16Source(ArraySource):
    """Rows of bfloat16, stored as int16: the upper half of a float32."""

    def __init__(self, bits: Array) -> None:
        super().__init__(bits, "bfloat16 array")

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        return map(_of_bfloat16, super().pieces(start, stop, rows))

    def take_rows(self, indices: IndexArray) -> Any:
        return _of_bfloat16(super().take_rows(indices))


def _of_bfloat16(bits: Array) -> Array:
    return (bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


class SparseSource(RowSource):
    """Rows of a sparse matrix or array of real numbers; blocks share its memory where no conversion is needed.

    A format other than CSR is converted once. Indices that are out of range, or do not fit int32, are a ValueError.
    """

    def __init__(self, matrix: Any, description: str = "sparse matrix") -> None:
        shape = check_shape(matrix.shape)
        dtype = compute_dtype(matrix.dtype)
        if shape[1] > _INT32_MAX:
            raise ValueError(f"Sparse X has {shape[1]} columns, but column indices must fit int32.")
        if matrix.format in ("csr", "csc"):
            _check_compressed(matrix)  # SciPy's own conversions trust the indices
        matrix = matrix.tocsr()
        super().__init__(shape, dtype, is_sparse=True, description=description)
        self._data, self._indices, self._indptr = matrix.data, matrix.indices, matrix.indptr
        self._is_canonical = bool(matrix.has_canonical_format)

    @property
    def in_memory(self) -> bool:
        int32 = self._indices.dtype == self._indptr.dtype == np.int32
        return int32 and self._is_canonical and self._data.dtype == self.dtype

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        for low in range(start, stop, rows):
            high = min(low + rows, stop)
            first, last = int(self._indptr[low]), int(self._indptr[high])
            if last - first > _INT32_MAX:
                raise ValueError(
                    f"Rows {low} to {high} of sparse X have {last - first} values, but their count must fit "
                    "int32: read fewer rows at once."
                )
            # The first block of a canonical matrix needs no new row pointers.
            indptr = self._indptr[low : high + 1] - first if first else self._indptr[low : high + 1]
            yield self._block(self._data[first:last], self._indices[first:last], indptr)

    def take_rows(self, indices: IndexArray) -> Any:
        firsts = self._indptr[indices]
        counts = self._indptr[indices + 1] - firsts
        indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        places = np.arange(indptr[-1]) + np.repeat(firsts - indptr[:-1], counts)
        return self._block(self._data[places], self._indices[places], indptr)

    def _block(self, data: Array, indices: Array, indptr: Array) -> Block:
        # Summing duplicates works in place, so arrays are copied first.
        fresh = not self._is_canonical
        with np.errstate(all="ignore"):
            data = data.astype(self.dtype, copy=fresh)
        indices = indices.astype(np.int32, copy=fresh)
        indptr = indptr.astype(np.int32, copy=fresh)
        # The constructor that takes the three arrays would copy views of larger ones.
        block = sp.csr_array((indptr.size - 1, self.shape[1]), dtype=self.dtype)
        block.data, block.indices, block.indptr = data, indices, indptr
        if self._is_canonical:
            block.has_canonical_format = True
        else:
            block.sum_duplicates()
        return block

    def row_bytes(self) -> float:
        mean_values = int(self._indptr[-1]) / self.shape[0]
        return 4 + mean_values * (4 + self.dtype.itemsize)


class SlicedSource(RowSource):
    """Rows of a store that is read in slices: a Dask array, an HDF5 dataset, a Zarr array.

    `open_store` returns a context manager of the store, entered once for each pass; `read` turns ``store[low:high]``
    into an array. `unit_rows` are the rows of each chunk, or the first rows of all chunks: slices end at chunk
    boundaries, so that a pass decodes each chunk once.
    """

    is_parsed = True

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: npt.DTypeLike,
        open_store: Callable[[], AbstractContextManager[Any]],
        unit_rows: int | IndexArray,
        *,
        read: Callable[[Any], Array] = np.asarray,
        description: str = "array",
    ) -> None:
        super().__init__(shape, dtype, description=description)
        self._open_store = open_store
        self._read = read
        if isinstance(unit_rows, int):
            enough = _UNIT_BYTES // (self.shape[1] * np.dtype(dtype).itemsize) // unit_rows
            unit_rows = np.arange(0, self.shape[0], unit_rows * max(1, enough))
        self._starts = unit_rows
        self._stored_bytes = self.shape[1] * np.dtype(dtype).itemsize

    def unit_starts(self) -> IndexArray:
        return self._starts

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        ends = np.append(self._starts[1:], self.shape[0])
        largest = Need(
            int((ends - self._starts).max()) * self._stored_bytes,
            "the rows of a single chunk, which are read together",
            "write the file in smaller chunks",
        )
        check_memory([largest], f"{self}")
        with self._open_store() as store:
            low = start
            while low < stop:
                # The last chunk's end that `rows` rows reach, else the end of the chunk begun.
                unit = int(np.searchsorted(ends, low + rows, side="right")) - 1
                if unit < 0 or ends[unit] <= low:
                    unit = int(np.searchsorted(ends, low, side="right"))
                high = min(int(ends[unit]), stop)
                yield self._read(store[low:high])
                low = high


def sliced(
    store: Any, open_store: Callable[[], AbstractContextManager[Any]], description: str
) -> SlicedSource:
    """Return the rows of an HDF5 dataset or Zarr array, read by chunks, or by shards if it has them."""
    chunks = getattr(store, "shards", None) or store.chunks
    unit_rows = int(chunks[0]) if chunks else 1
    rows = SlicedSource(store.shape, store.dtype, open_store, unit_rows, description=description)
    rows.is_parsed = bool(chunks)  # without chunks HDF5 stores plain contiguous numbers
    return rows


def _check_compressed(matrix: Any) -> None:
    """Check the index arrays of a CSR or CSC matrix, which native code trusts."""
    n_minor = matrix.shape[1] if matrix.format == "csr" else matrix.shape[0]
    n_major = matrix.shape[0] if matrix.format == "csr" else matrix.shape[1]
    indptr, indices = matrix.indptr, matrix.indices
    if indptr.size != n_major + 1 or indptr[0] != 0 or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("Sparse X is damaged: indptr must begin with 0 and never decrease.")
    n_values = int(indptr[-1])
    if n_values > min(indices.size, matrix.data.size):
        raise ValueError("Sparse X is damaged: indptr points behind the last value.")
    used = indices[:n_values]
    if n_values and (used.min() < 0 or used.max() >= n_minor):
        raise ValueError(f"Sparse X is damaged: an index is out of range for shape {matrix.shape}.")


def _large_map(array: Array) -> mmap.mmap | None:
    """Return the memory map of `array` if its pages should be released after use."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if not isinstance(base, mmap.mmap) or len(base) <= _RESIDENT_BYTES or not hasattr(base, "madvise"):
        return None
    # Private writable maps (mode "c") would lose their changes.
    with memoryview(base) as view:
        return base if view.readonly else None


def _release(pages: mmap.mmap, array: Array, low: int, high: int) -> None:
    """Drop the pages of rows `low` to `high` from this process; the file's cache still has them."""
    row_stride, column_stride = array.strides
    low_byte, high_byte = 0, len(pages)
    if 0 <= column_stride * array.shape[1] <= row_stride:
        offset = array.ctypes.data - np.frombuffer(pages, dtype=np.uint8).ctypes.data
        low_byte, high_byte = offset + low * row_stride, min(high_byte, offset + high * row_stride)
    # The page shared with the next block is kept.
    low_byte -= low_byte % mmap.PAGESIZE
    high_byte -= high_byte % mmap.PAGESIZE
    if high_byte > low_byte:
        pages.madvise(mmap.MADV_DONTNEED, low_byte, high_byte - low_byte)
