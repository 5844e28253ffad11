"""`Rows`: the rows of a data set, dense or sparse, in memory or mapped from a file."""

from __future__ import annotations

import copy
import mmap
import operator
from collections.abc import Iterator, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie.arrays import Array, BoolArray, IndexArray
from coterie.limits.memory import check_allocation
from coterie.rows.checks import BadRowError, check_finite, check_shape, compute_dtype, missing_by_column

Block: TypeAlias = Any
"""Rows of floats: a C-contiguous ndarray, or a `scipy.sparse.csr_array` with sorted int32 indices."""

_BLOCK_BYTES = 16 * 2**20
_ROW_MULTIPLE = 4096

# Number of rows in which missing numbers are counted for an error.
_COUNTED_BYTES = 2**30

# Smaller memory maps are held as arrays are.
RESIDENT_BYTES = 256 * 2**20

_INT32_MAX = np.iinfo(np.int32).max


def joined_batches(parts: Sequence[Any]) -> Any:
    """Return batches and tables as one table; they may differ in the type of texts, such as string and large_string."""
    import pyarrow

    tables = [pyarrow.table(part) for part in parts]
    is_one = all(table.schema == tables[0].schema for table in tables)
    return pyarrow.concat_tables(tables, promote_options="none" if is_one else "permissive")


class Rows:
    """A table of numbers that is read in blocks of rows, always in the same order.

    Made by `as_rows` and `open_rows`.

    Attributes
    ----------
    shape : tuple of int
        Number of rows and of columns, both at least 1.
    dtype : numpy.dtype
        float32 (for float32, float16 and integers of up to 16 bits) or float64 (for all else), the type of every block.
    is_sparse : bool
        Whether blocks are `scipy.sparse.csr_array` (sorted int32 indices, no duplicates) instead of
        C-contiguous arrays.
    column_names : list of str or None
        Names of the clustered columns, if the data have them. The numbers of a column of vectors are
        called ``embedding[0]``, ``embedding[1]``, ...
    description : str
        Description of the data, such as ``"parquet, 3 shards"``.
    metadata_columns : pyarrow.Table or None
        The columns of a table that are not clustered, with a value for each row.
    chosen : list of str or int, or None
        The clustered columns of a table, in the form of ``columns=`` of `open_rows`.
    roles : TableRoles or None
        The roles of the columns of a table, where they decided which are clustered.
    preparation : tuple of tuple
        Steps applied to the stored rows: ``("columns", ["a", "c"])``, ``("normalize",)``. A fit stores it, and applies
        it to other rows.
    kept : ndarray of bool or None
        Which rows of the input these are, where rows with missing numbers were dropped.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.rows import as_rows
    >>> rows = as_rows(np.arange(10, dtype=np.uint8).reshape(5, 2))
    >>> rows.shape, rows.dtype
    ((5, 2), dtype('float32'))
    >>> [(start, block.shape) for start, block in rows.blocks(2)]
    [(0, (2, 2)), (2, (2, 2)), (4, (1, 2))]
    >>> rows.take([0, 4])
    array([[0., 1.],
           [8., 9.]], dtype=float32)
    """

    column_names: list[str] | None = None
    is_table = False
    preparation: tuple[tuple[Any, ...], ...] = ()
    roles: Any = None
    kept: BoolArray | None = None
    metadata_columns: Any = None
    all_columns: Any = None  # of a table, without vectors
    chosen: Sequence[str | int] | None = None
    encoded: Sequence[str] = ()  # metadata columns that `prepare_rows` encodes
    dialect: tuple[str, str] | None = None  # the separator and the decimal sign of a text file
    files: tuple[tuple[int, str], ...] = ()  # the number of the first row of each, and its name
    source: Rows | None = None  # the rows before the last step of `preparation`
    numbers: IndexArray | None = None  # those in `source` of the rows of a fit that ignores others

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: npt.DTypeLike,
        *,
        is_sparse: bool = False,
        description: str = "rows",
    ) -> None:
        self.shape, self.dtype = check_shape(shape), compute_dtype(dtype)
        self.is_sparse, self.description = is_sparse, description
        self._n_checked = 0

    def __repr__(self) -> str:
        n_rows, n_columns = self.shape
        return f"<{type(self).__name__}: {self.description}, {n_rows} x {n_columns} {self.dtype}>"

    in_memory = False
    """Whether all rows are in memory as one block, without a conversion."""

    @property
    def rows_per_block(self) -> int:
        """Default rows of a block: about 16 MiB, a multiple of 4096 rows if possible."""
        rows = max(1, int(_BLOCK_BYTES / self.row_bytes()))
        return rows - rows % _ROW_MULTIPLE if rows > _ROW_MULTIPLE else rows

    def blocks(self, rows_per_block: int | None = None) -> Iterator[tuple[int, Block]]:
        """Read all rows in order.

        Parameters
        ----------
        rows_per_block : int, optional
            Rows of each block but the last, `rows_per_block` of the source by default.

        Yields
        ------
        start : int
            Number of the block's first row.
        block : ndarray or csr_array of shape (n, n_columns)
            Its rows in `dtype`. It may be a view of the data, and must not be written to.

        Raises
        ------
        ValueError
            If a row holds a NaN or an infinity; rows are checked when they are first read.
        """
        size = self.rows_per_block if rows_per_block is None else operator.index(rows_per_block)
        if size < 1:
            raise ValueError(f"rows_per_block must be at least 1, got {size}.")
        return self._checked_blocks(size)

    def _checked_blocks(self, size: int) -> Iterator[tuple[int, Block]]:
        for start, block in self.unchecked_blocks(size):
            stop = start + block.shape[0]
            if stop > self._n_checked:
                self._check_finite(block, start)
                if start <= self._n_checked:
                    self._n_checked = stop
            yield start, block

    def unchecked_blocks(self, size: int | None = None) -> Iterator[tuple[int, Block]]:
        """Read all rows in order as `blocks` does, without a check for NaN and infinities, to count or replace them."""
        size = size or self.rows_per_block
        for start in range(0, self.shape[0], size):
            yield start, self.block(start, min(start + size, self.shape[0]))

    def block(self, start: int, stop: int) -> Block:
        """Return consecutive rows in `dtype`, unchecked; a subclass implements this and `take_rows`."""
        raise NotImplementedError

    def take(self, sorted_indices: npt.ArrayLike) -> Block:
        """Return the rows of given numbers, shape (n, n_columns), in `dtype`.

        Parameters
        ----------
        sorted_indices : array-like of int, shape (n,)
            Row numbers in ascending order; a number may occur more than once.

        Raises
        ------
        IndexError
            If a number is not that of a row.
        ValueError
            If numbers are not ascending, or a row holds a NaN or an infinity.
        """
        indices = np.asarray(sorted_indices)
        if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
            raise ValueError(
                f"Row numbers must be a list of integers, got {indices.dtype} of shape {indices.shape}."
            )
        if (indices[1:] < indices[:-1]).any():
            raise ValueError("Row numbers must be in ascending order.")
        if indices.size and not 0 <= indices[0] <= indices[-1] < self.shape[0]:
            row = indices[0] if indices[0] < 0 else indices[-1]
            raise IndexError(f"Row {row} is out of range: there are {self.shape[0]} rows.")
        indices = indices.astype(np.intp, copy=False)
        if indices.size == 0:
            empty = sp.csr_array if self.is_sparse else np.empty
            return empty((0, self.shape[1]), dtype=self.dtype)
        block = self.take_rows(indices)
        if indices[-1] >= self._n_checked:
            self._check_finite(block, indices)
        return block

    def take_rows(self, indices: IndexArray) -> Block:
        """Return the rows of ascending numbers that are in range, at least one, unchecked."""
        raise NotImplementedError

    def read(self) -> Block:
        """Return all rows as one block; data in memory that need no conversion are not copied."""
        if not self.in_memory:
            check_allocation(
                float(self.shape[0]) * self.row_bytes(),
                "rows, all at once,",
                "fit a sample of them, or use k-means, which reads them in blocks",
            )
        ((_, block),) = self.blocks(self.shape[0])
        return block

    def in_place(self) -> Block:
        """Return all rows as one block, without a check for NaN; only if `in_memory`."""
        return self.block(0, self.shape[0])

    def with_dtype(self, dtype: npt.DTypeLike) -> Self:
        """Return the same rows computed in another float type, without reading them."""
        other = copy.copy(self)
        other.dtype = np.dtype(dtype)
        other._n_checked = 0  # values in the range of float64 may overflow float32
        return other

    def row_bytes(self) -> float:
        """Return the mean size of a row in a block."""
        return self.shape[1] * self.dtype.itemsize

    def place_of(self, row: int) -> tuple[int, str] | None:
        """Return the number of a row in its file and the file's name, for errors; None without a file."""
        if not self.files:
            return None
        first, name = next(file for file in reversed(self.files) if file[0] <= row)
        return row - first, name

    def _check_finite(self, block: Block, rows: int | IndexArray) -> None:
        try:
            check_finite(block, rows, self.place_of)
        except BadRowError as error:
            if not self.is_table or self.is_sparse:
                raise
            # For a table the columns, and the number of such rows, are more helpful than the first row.
            names = self.column_names or [str(i) for i in range(self.shape[1])]
            n_rows = min(self.shape[0], max(block.shape[0], int(_COUNTED_BYTES / self.row_bytes())))
            size = self.rows_per_block
            blocks = (self.block(low, min(low + size, n_rows)) for low in range(0, n_rows, size))
            raise error.advised(*missing_by_column(blocks, names)) from None


class DenseRows(Rows):
    """Rows of an array or memory map of any real dtype, memory order and byte order; blocks are views if possible."""

    def __init__(self, array: Array, description: str = "array") -> None:
        super().__init__(array.shape, array.dtype, description=description)
        self._array = array

    @property
    def in_memory(self) -> bool:  # type: ignore[override]
        return self._is_block(self._array) and _large_map(self._array) is None

    def block(self, start: int, stop: int) -> Block:
        self._check_length()
        return self._converted(self._array[start:stop])

    def take_rows(self, indices: IndexArray) -> Block:
        self._check_length()
        return self._converted(self._array[indices])

    def _check_length(self) -> None:
        """Raise an error if a mapped file was cut short; to read behind its end would kill the process."""
        pages = _large_map(self._array)
        if pages is not None and pages.size() < len(pages):
            raise ValueError(
                f"The file of the {self.description} was cut short while it was read: copy or write it again."
            )

    def _converted(self, rows: Array) -> Block:
        if self._is_block(rows) and type(rows) is np.ndarray:
            return rows
        # Numbers too large for float32 become infinities here, which the check for finite numbers finds.
        with np.errstate(all="ignore"):
            return np.require(np.asarray(rows), self.dtype, ["C", "A", "E"])

    def _is_block(self, rows: Array) -> bool:
        return rows.dtype == self.dtype and rows.flags.c_contiguous and rows.flags.aligned


class SparseRows(Rows):
    """Rows of a sparse matrix of real numbers, converted to CSR if needed. Indices that are out of range, or do not fit
    int32, are a ValueError.
    """

    def __init__(self, matrix: Any, description: str = "sparse matrix") -> None:
        shape = check_shape(matrix.shape)
        dtype = compute_dtype(matrix.dtype)
        if shape[1] > _INT32_MAX:
            raise ValueError(f"Sparse X has {shape[1]} columns, but column indices must fit int32.")
        if matrix.format in ("csr", "csc"):
            try:  # SciPy's own conversions trust the indices
                copy.copy(matrix).check_format(full_check=True)
            except ValueError as error:
                raise ValueError(f"Sparse X is damaged: {error}.") from None
        matrix = matrix.tocsr()
        if not matrix.has_canonical_format:
            matrix = matrix.astype(dtype, copy=True)
            matrix.sum_duplicates()
        super().__init__(shape, dtype, is_sparse=True, description=description)
        self._data, self._indptr = matrix.data, matrix.indptr
        self._indices = matrix.indices.astype(np.int32, copy=False)

    @property
    def in_memory(self) -> bool:  # type: ignore[override]
        return self._indptr.dtype == np.int32 and self._data.dtype == self.dtype

    def block(self, start: int, stop: int) -> Block:
        first, last = int(self._indptr[start]), int(self._indptr[stop])
        if last - first > _INT32_MAX:
            raise ValueError(
                f"Rows {start} to {stop} of sparse X have {last - first} values, but their count must fit "
                "int32: read fewer rows at once."
            )
        # The first block needs no new row pointers.
        indptr = self._indptr[start : stop + 1] - first if first else self._indptr[start : stop + 1]
        return self._block(self._data[first:last], self._indices[first:last], indptr)

    def take_rows(self, indices: IndexArray) -> Block:
        firsts = self._indptr[indices]
        counts = self._indptr[indices + 1] - firsts
        indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        places = np.arange(indptr[-1]) + np.repeat(firsts - indptr[:-1], counts)
        return self._block(self._data[places], self._indices[places], indptr)

    def _block(self, data: Array, indices: Array, indptr: Array) -> Block:
        # The constructor that takes the three arrays would copy views of larger ones.
        block = sp.csr_array((indptr.size - 1, self.shape[1]), dtype=self.dtype)
        with np.errstate(all="ignore"):
            block.data = data.astype(self.dtype, copy=False)
        block.indices, block.indptr = indices, indptr.astype(np.int32, copy=False)
        block.has_canonical_format = True
        return block

    def row_bytes(self) -> float:
        mean_values = int(self._indptr[-1]) / self.shape[0]
        return 4 + mean_values * (4 + self.dtype.itemsize)


def _large_map(array: Array) -> mmap.mmap | None:
    """Return the memory map of an array that is too large to be held as one in memory."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, mmap.mmap) and len(base) > RESIDENT_BYTES else None
