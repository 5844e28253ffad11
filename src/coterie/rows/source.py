"""`RowSource`, the interface of sources of rows, derived and sharded sources, and metadata columns."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie.arrays import Array, IndexArray
from coterie.limits.memory import check_allocation
from coterie.rows.checks import BadRowError, check_finite, check_shape, compute_dtype, missing_by_column
from coterie.rows.columns import Columns, column_positions


class MetadataColumns:
    """Columns of a table that are not clustered, read on demand.

    The value of `RowSource.metadata_columns` if there are such columns: texts, numbers or the index of pandas.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    open_batches : callable
        ``open_batches(positions)`` reads these columns, in this order, as `pyarrow.RecordBatch`\\ es of all rows in
        order.

    Attributes
    ----------
    names : list of str
        Names of the columns.

    Examples
    --------
    >>> import pyarrow
    >>> from coterie.rows import as_rows
    >>> table = pyarrow.table({"id": ["a", "b"], "x": [1.5, 2.5], "place": ["Rome", "Oslo"]})
    >>> rows = as_rows(table, columns="x")
    >>> rows.metadata_columns.names
    ['id', 'place']
    >>> rows.metadata_columns.read("place")["place"].to_pylist()
    ['Rome', 'Oslo']
    """

    def __init__(self, names: Sequence[str], open_batches: Callable[[list[int]], Iterable[Any]]) -> None:
        self.names = list(names)
        self._open_batches = open_batches

    def __repr__(self) -> str:
        return f"<MetadataColumns: {', '.join(self.names)}>"

    def batches(self, columns: Columns | None = None) -> Iterator[Any]:
        """Read columns among `names`, selected as in `coterie.open_rows`, by default all, as record batches of pyarrow.

        Only one batch of a file is in memory at a time.
        """
        import pyarrow

        chosen = range(len(self.names)) if columns is None else column_positions(self.names, columns)
        names = [self.names[i] for i in chosen]
        for batch in self._open_batches(list(chosen)):
            arrays = []
            for i, name in enumerate(names):
                try:
                    arrays.append(batch.column(i))
                except KeyError:  # some types of Arrow have no class in pyarrow
                    kind = batch.schema.field(i).type
                    raise ValueError(
                        f"column {name!r} is of type {kind}, which pyarrow cannot read"
                    ) from None
            yield pyarrow.RecordBatch.from_arrays(arrays, names=names)

    def read(self, columns: Columns | None = None) -> Any:
        """Return the same columns as one `pyarrow.Table`, with a row for each row that is clustered."""
        return joined_batches(list(self.batches(columns)))


def joined_batches(batches: Sequence[Any]) -> Any:
    """Return batches as one table; those of shards may differ in the type of texts, such as string and large_string."""
    import pyarrow

    tables = [pyarrow.Table.from_batches([batch]) for batch in batches]
    return tables[0] if len(tables) == 1 else pyarrow.concat_tables(tables, promote_options="permissive")


def selected_rows(
    pieces: Iterable[Any], indices: IndexArray, start: int = 0
) -> Iterator[tuple[Any, IndexArray]]:
    """Yield the consecutive pieces or batches, the first from row `start` on, that have rows of ascending numbers.

    With each piece come the positions of the rows in it.
    """
    for piece in pieces:
        low, high = np.searchsorted(indices, [start, start + piece.shape[0]])
        if high > low:
            yield piece, indices[low:high] - start
        start += piece.shape[0]


Block: TypeAlias = Any
"""Rows of floats: a C-contiguous ndarray, or a `scipy.sparse.csr_array` with sorted int32 indices."""

_BLOCK_BYTES = 16 * 2**20
_ROW_MULTIPLE = 4096

# Number of rows in which missing numbers are counted for an error.
_COUNTED_BYTES = 2**30


def is_block(rows: Array, dtype: npt.DTypeLike) -> bool:
    """Return whether rows of an array are a block without conversion."""
    return rows.dtype == dtype and rows.flags.c_contiguous and rows.flags.aligned


class RowSource:
    """A table of numbers that is read in blocks of rows, always in the same order.

    Made by `as_rows` and `open_rows`. A subclass implements `pieces`, and others of `take_rows`, `unit_starts`,
    `row_bytes`, `in_memory` and `with_dtype` if it can do better; see the contract in `coterie.rows`.

    Parameters
    ----------
    shape : tuple of int
        Number of rows and of columns.
    dtype : dtype
        Type of the stored numbers, or to compute in.
    is_sparse, column_names, is_table, description, metadata_columns, chosen
        See the attributes.

    Attributes
    ----------
    shape : tuple of int
        Number of rows and of columns, both at least 1.
    dtype : numpy.dtype
        float32 or float64, the type of every block.
    is_sparse : bool
        Whether blocks are `scipy.sparse.csr_array` (sorted int32 indices, no duplicates) instead of
        C-contiguous arrays.
    column_names : list of str or None
        Names of the clustered columns, if the data have them. The numbers of a column of vectors are
        called ``embedding[0]``, ``embedding[1]``, ...
    is_table : bool
        Whether the data are a table: a data frame or a file of one.
    description : str
        Description of the data, such as ``"parquet, 3 shards"``.
    metadata_columns : MetadataColumns or None
        The columns of the table that are not clustered, with one value per row, read by `read` or `batches`. None if
        there are none, or they cannot be read.
    chosen : list of str or int, or None
        The clustered columns of the table, in the form of ``columns=`` of `open_rows`.
    preparation : tuple of tuple
        Steps applied to the stored rows, as plain values: ``("columns", ["a", "c"])`` (or positions, if columns have no
        names), ``("normalize",)``. A fit stores it, and applies it to other rows.
    is_parsed : bool
        Whether rows are parsed, decompressed or computed in every pass, so that fits with many passes should copy them:
        see `coterie.blocks.kernel_rows.kept_rows`. `pieces` may then be read by several threads at a time.

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

    preparation: tuple[tuple[Any, ...], ...] = ()
    is_parsed: bool = False

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: npt.DTypeLike,
        *,
        is_sparse: bool = False,
        column_names: list[str] | None = None,
        is_table: bool = False,
        description: str = "rows",
        metadata_columns: MetadataColumns | None = None,
        chosen: Sequence[str | int] | None = None,
    ) -> None:
        self.shape = check_shape(shape)
        self.dtype = compute_dtype(dtype)
        self.is_sparse = is_sparse
        self.column_names = column_names
        self.is_table = is_table
        self.description = description
        self.metadata_columns = metadata_columns
        self.chosen = chosen
        self._n_checked = 0

    def __repr__(self) -> str:
        n_rows, n_columns = self.shape
        return f"<{type(self).__name__}: {self.description}, {n_rows} x {n_columns} {self.dtype}>"

    @property
    def in_memory(self) -> bool:
        """Whether `read` returns the caller's memory, without a copy."""
        return False

    @property
    def is_compact(self) -> bool:
        """Whether the rows are stored in a smaller type, in memory or a file, and blocks are cheap to make."""
        return False

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
            Rows of each block but the last, `rows_per_block` of the source by default. Blocks do not depend on the
            storage.

        Yields
        ------
        start : int
            Number of the block's first row.
        block : ndarray or csr_array of shape (n, n_columns)
            Its rows in `dtype`. It may be a view of the data, and must not be written to.

        Raises
        ------
        ValueError
            If a row holds a NaN or an infinity (rows are checked when they are first read), or a file cannot be read.
        """
        rows = self.rows_per_block if rows_per_block is None else operator.index(rows_per_block)
        if rows < 1:
            raise ValueError(f"rows_per_block must be at least 1, got {rows}.")
        return self._checked_blocks(rows)

    def unchecked_blocks(self) -> Iterator[tuple[int, Block]]:
        """Read all rows in order as `blocks` does, without a check for NaN and infinities, to count or replace them."""
        rows = self.rows_per_block
        return self._regroup(self.pieces(0, self.shape[0], rows), rows)

    def take(self, sorted_indices: npt.ArrayLike) -> Block:
        """Read the rows of given numbers, shape (n, n_columns), in `dtype`.

        Files are read in ascending order, in runs of whole pages, row groups or chunks that hold the rows; text files
        from the beginning to the last of the rows.

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
        indices = self._check_indices(sorted_indices)
        if indices.size == 0:
            empty = sp.csr_array if self.is_sparse else np.empty
            return empty((0, self.shape[1]), dtype=self.dtype)
        block = self._join([self.take_rows(indices)])
        if indices[-1] >= self._n_checked:
            self._check_finite(block, indices)
        return block

    def read(self) -> Block:
        """Return all rows as one block; data in memory that need no conversion are not copied."""
        if not self.in_memory:
            check_allocation(
                float(self.shape[0]) * self.row_bytes(),
                "rows, all at once,",
                "fit a sample of them, or use k-means, which reads them in blocks",
            )
        ((_, block),) = self.blocks(self.shape[0])  # to the end, where a file is checked for changes
        return block

    def in_place(self) -> Block:
        """Return all rows in memory, without a check for NaN; only if `in_memory`."""
        return self._join(list(self.pieces(0, self.shape[0], self.shape[0])))

    def with_dtype(self, dtype: npt.DTypeLike) -> Self:
        """Return the same rows computed in another float type, without reading them."""
        other = copy.copy(self)
        other.dtype = np.dtype(dtype)
        other._n_checked = 0  # values in the range of float64 may overflow float32
        return other

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        """Yield consecutive pieces of the rows from `start` to `stop`, at least one; a subclass implements this.

        A piece should not have many more than `rows` rows, those of the block that is needed, to limit memory; a piece
        of exactly this size becomes a block without a copy. Dense pieces may have any real dtype and memory order.
        Sparse ones have the source's `dtype`, sorted int32 indices and no duplicates. Pieces must not be changed after
        they are yielded.
        """
        raise NotImplementedError

    def take_rows(self, indices: IndexArray) -> Any:
        """Read rows of ascending numbers that are in range, at least one, in a form that `pieces` may have.

        By default runs of consecutive units of the storage that hold them are read, see `unit_starts`.
        """
        found = []
        for start, stop in _runs(indices, self.unit_starts()):
            at = start
            for piece in self.pieces(start, stop, self.rows_per_block):
                low, high = np.searchsorted(indices, [at, at + piece.shape[0]])
                if high > low:
                    found.append(piece[indices[low:high] - at])
                at += piece.shape[0]
            if at != stop:
                raise ValueError(f"The {self.description} ends at row {at} instead of {stop}.")
        return self._join(found)

    def unit_starts(self) -> IndexArray:
        """Return the first rows of the storage's units, which are read as a whole: row groups, chunks, pages."""
        return np.zeros(1, dtype=np.intp)

    def row_bytes(self) -> float:
        """Return the mean size of a row in a block, for `rows_per_block`."""
        return self.shape[1] * self.dtype.itemsize

    def place_of(self, row: int) -> tuple[int, str] | None:
        """Return the number of a row in its file and the file's name, for errors; None without a file."""
        return None

    def _checked_blocks(self, rows: int) -> Iterator[tuple[int, Block]]:
        n_rows = self.shape[0]
        for start, block in self._regroup(self.pieces(0, n_rows, rows), rows):
            stop = start + block.shape[0]
            if stop > self._n_checked:
                self._check_finite(block, start)
                if start <= self._n_checked:
                    self._n_checked = stop
            yield start, block

    def _check_finite(self, block: Block, rows: int | IndexArray) -> None:
        try:
            check_finite(block, rows, self.place_of)
        except BadRowError as error:
            if not self.is_table or self.is_sparse:
                raise
            # For a table the columns, and the number of such rows, are more helpful than the first row.
            names = self.column_names or [str(i) for i in range(self.shape[1])]
            n_rows = min(self.shape[0], max(block.shape[0], int(_COUNTED_BYTES / self.row_bytes())))
            try:
                pieces = self.pieces(0, n_rows, self.rows_per_block)
                found = missing_by_column(pieces, names, self.dtype, self.chosen)
            except ValueError:  # other damage, after this row
                raise error from None
            raise error.advised(found) from None

    def _regroup(self, pieces: Iterable[Any], rows: int) -> Iterator[tuple[int, Block]]:
        """Cut and join pieces into blocks of exactly `rows` rows; only the last may be shorter."""
        start, stop = 0, self.shape[0]
        waiting: list[Any] = []
        held = 0
        for piece in pieces:
            done, size = 0, piece.shape[0]
            if start + held + size > stop:
                raise ValueError(f"The {self.description} has more rows than the {stop} of its shape.")
            while done < size:
                wanted = min(rows, stop - start)
                until = min(size, done + wanted - held)
                part = piece if until - done == size else piece[done:until]
                if self.is_sparse or until - done == wanted:
                    waiting.append(part)
                else:  # copied piece by piece, so that a large block is not held twice
                    if not held:
                        waiting = [np.empty((wanted, self.shape[1]), dtype=self.dtype)]
                    self._write(part, waiting[0][held : held + until - done])
                held += until - done
                done = until
                if held == wanted:
                    block = self._join(waiting)
                    waiting = []
                    yield start, block
                    start += held
                    held = 0
        if start != stop:
            raise ValueError(f"The {self.description} ends at row {start + held} instead of {stop}.")

    def _write(self, piece: Any, out: Block) -> None:
        self._check_columns(piece)
        with np.errstate(all="ignore"):  # as in `_join`
            out[:] = piece

    def _check_columns(self, piece: Any) -> None:
        if piece.shape[1] != self.shape[1]:
            raise ValueError(
                f"The {self.description} has a row of {piece.shape[1]} columns instead of {self.shape[1]}."
            )

    def _join(self, pieces: Sequence[Any]) -> Block:
        for piece in pieces:
            self._check_columns(piece)
        if self.is_sparse:
            return pieces[0] if len(pieces) == 1 else sparse_block(sp.vstack(pieces, format="csr"))
        if len(pieces) == 1 and type(pieces[0]) is np.ndarray and is_block(pieces[0], self.dtype):
            return pieces[0]
        # Numbers too large for float32 become infinities here, which the check for finite numbers finds.
        with np.errstate(all="ignore"):
            if len(pieces) == 1:
                return np.require(pieces[0], self.dtype, ["C", "A", "E"])
            # Without `out`, pieces in Fortran order would give such a block.
            block = np.empty((sum(piece.shape[0] for piece in pieces), self.shape[1]), dtype=self.dtype)
            return np.concatenate(pieces, out=block, casting="unsafe")

    def _check_indices(self, sorted_indices: npt.ArrayLike) -> IndexArray:
        indices = np.asarray(sorted_indices)
        if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
            raise ValueError(
                f"Row numbers must be a list of integers, got {indices.dtype} of shape {indices.shape}."
            )
        indices = indices.astype(np.intp, copy=False)
        if indices.size:
            if (indices[1:] < indices[:-1]).any():
                raise ValueError("Row numbers must be in ascending order.")
            low, high = int(indices[0]), int(indices[-1])
            if low < 0 or high >= self.shape[0]:
                wrong = low if low < 0 else high
                raise IndexError(f"Row {wrong} is out of range: there are {self.shape[0]} rows.")
        return indices


class DerivedRows(RowSource):
    """Rows derived from another source while reading; a subclass implements `changed`, or `pieces`.

    `step` is added to `RowSource.preparation`; `changes` are attributes that differ from those of the source.
    """

    def __init__(
        self,
        rows: RowSource,
        step: tuple[Any, ...] | None = None,
        *,
        shape: tuple[int, ...] | None = None,
        **changes: Any,
    ) -> None:
        names = ("is_sparse", "column_names", "is_table", "description", "metadata_columns", "chosen")
        super().__init__(
            rows.shape if shape is None else shape,
            rows.dtype,
            **{**{name: getattr(rows, name) for name in names}, **changes},
        )
        self.preparation = rows.preparation if step is None else (*rows.preparation, step)
        self.is_parsed = rows.is_parsed
        self.source = rows

    def with_dtype(self, dtype: npt.DTypeLike) -> Self:
        other = super().with_dtype(dtype)
        other.source = self.source.with_dtype(dtype)
        return other

    def changed(self, piece: Any, rows: int | IndexArray) -> Any:
        """Return the derived rows of a piece of the source; `rows` is the number of the first row, or of each row."""
        raise NotImplementedError

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        for piece in self.source.pieces(start, stop, rows):
            yield self.changed(piece, start)
            start += piece.shape[0]

    def take_rows(self, indices: IndexArray) -> Any:
        return self.changed(self.source.take_rows(indices), indices)

    def unit_starts(self) -> IndexArray:
        return self.source.unit_starts()

    def row_bytes(self) -> float:
        # The size of sparse rows depends on their values; at most that of the source.
        return self.source.row_bytes() if self.is_sparse else super().row_bytes()

    def place_of(self, row: int) -> tuple[int, str] | None:
        return self.source.place_of(row)


class ShardedSource(RowSource):
    """The rows of sources of equal columns, one source after the other; `names` are those of the parts in errors."""

    def __init__(self, parts: Sequence[RowSource], names: Sequence[str], description: str) -> None:
        first = parts[0]
        for part, name in zip(parts, names):
            if part.shape[1] != first.shape[1]:
                raise ValueError(
                    f"Shards must have the same columns: {names[0]} has {first.shape[1]}, {name} has "
                    f"{part.shape[1]}."
                )
            if part.column_names != first.column_names:
                raise ValueError(
                    f"Shards must have the same column names in order: {names[0]} and {name} differ."
                )
            if part.is_sparse != first.is_sparse:
                raise ValueError(f"Shards must be all dense or all sparse: {names[0]} and {name} differ.")
        dtype = np.result_type(*(part.dtype for part in parts))
        sizes = [part.shape[0] for part in parts]
        columns = [[] if part.metadata_columns is None else part.metadata_columns.names for part in parts]
        common = [name for name in columns[0] if all(name in names for names in columns)]
        super().__init__(
            (sum(sizes), first.shape[1]),
            dtype,
            is_sparse=first.is_sparse,
            column_names=first.column_names,
            is_table=first.is_table,
            description=description,
            metadata_columns=MetadataColumns(common, self._metadata_batches) if common else None,
            chosen=first.chosen,
        )
        self.is_parsed = any(part.is_parsed for part in parts)
        self.ragged_columns = sorted(set().union(*columns) - set(common))
        """Metadata columns that some shards have and others lack."""
        self._parts = [part.with_dtype(dtype) for part in parts]
        self._starts = np.concatenate([[0], np.cumsum(sizes)])

    def _metadata_batches(self, positions: list[int]) -> Iterator[Any]:
        assert self.metadata_columns is not None
        names = [self.metadata_columns.names[i] for i in positions]
        for part in self._parts:
            assert part.metadata_columns is not None
            yield from part.metadata_columns.batches(names)

    def with_dtype(self, dtype: npt.DTypeLike) -> Self:
        other = super().with_dtype(dtype)
        other._parts = [part.with_dtype(dtype) for part in self._parts]
        return other

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        for part, first in zip(self._parts, self._starts):
            low, high = max(start - first, 0), min(stop - first, part.shape[0])
            if low < high:
                yield from part.pieces(int(low), int(high), rows)

    def unit_starts(self) -> IndexArray:
        return np.concatenate([part.unit_starts() + first for part, first in zip(self._parts, self._starts)])

    def take_rows(self, indices: IndexArray) -> Block:
        cuts = np.searchsorted(indices, self._starts)
        found = [
            part.take_rows(indices[low:high] - first)
            for part, first, low, high in zip(self._parts, self._starts, cuts[:-1], cuts[1:])
            if high > low
        ]
        return self._join(found)

    def row_bytes(self) -> float:
        return sum(part.row_bytes() * part.shape[0] for part in self._parts) / self.shape[0]

    def place_of(self, row: int) -> tuple[int, str] | None:
        number = int(np.searchsorted(self._starts, row, side="right")) - 1
        return self._parts[number].place_of(row - int(self._starts[number]))


def _runs(indices: IndexArray, unit_starts: IndexArray) -> Iterator[tuple[int, int]]:
    """Yield the row ranges to read for `indices`: runs of consecutive units, cut to these rows."""
    units = np.searchsorted(unit_starts, indices, side="right") - 1
    cuts = np.flatnonzero(np.diff(units) > 1) + 1
    for low, high in zip([0, *cuts], [*cuts, indices.size]):
        yield int(indices[low]), int(indices[high - 1]) + 1


def sparse_block(matrix: Any) -> Block:
    """Return a CSR matrix as a block."""
    block = sp.csr_array(matrix)
    block.sum_duplicates()  # also sorts
    block.indices = block.indices.astype(np.int32, copy=False)
    block.indptr = block.indptr.astype(np.int32, copy=False)
    return block
