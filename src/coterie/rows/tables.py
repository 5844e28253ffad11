"""Rows of data frames of pandas and Dask.

The libraries are never imported here: the frame exists already.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from coterie.arrays import Array, IndexArray
from coterie.rows.arrow import arrow_dtype, arrow_kind, arrow_vectors
from coterie.rows.checks import check_shape, compute_dtype
from coterie.rows.columns import (
    NO_COLUMNS,
    ChosenColumns,
    Column,
    Columns,
    choose_columns,
    first_width,
    vector_length_error,
)
from coterie.rows.source import MetadataColumns, RowSource


class PandasSource(RowSource):
    """Rows of a `pandas.DataFrame` whose columns are numbers, objects that convert to floats, or vectors.

    Vectors are arrays or lists in cells, or lists of Arrow. `first_row` is the number of the first row, for errors.
    """

    def __init__(
        self,
        frame: Any,
        columns: Columns | None = None,
        exclude: Columns | None = None,
        *,
        first_row: int = 0,
    ) -> None:
        n_rows, _ = check_shape(frame.shape)
        cells = [frame.iloc[:, i] for i in range(frame.shape[1])]
        vectors = [_vector_dtype(series) for series in cells]
        dtypes: list[Any] = [known or _pandas_dtype(series.dtype) for known, series in zip(vectors, cells)]
        converted: dict[int, Array] = {}
        if columns is not None or not any(vectors):
            for i, series in enumerate(cells):
                if not vectors[i] and dtypes[i] is not None and dtypes[i].kind == "O":
                    with suppress(TypeError, ValueError):  # objects that are numbers
                        converted[i] = np.asarray(series, dtype=np.float64)
                        dtypes[i] = converted[i].dtype
        table = [
            Column(
                name if isinstance(name, str) else None,
                f"vectors of {known}" if known and not _is_arrow(series.dtype) else str(series.dtype),
                "vector" if known else "number" if dtype is not None and dtype.kind in "fiubc" else "other",
            )
            for name, series, known, dtype in zip(frame.columns, cells, vectors, dtypes)
        ]
        positions = choose_columns(table, columns, exclude)
        called = [str(frame.columns[i]) for i in positions]
        is_named = all(table[i].name is not None for i in positions)
        firsts = {i: cells[i].iloc[0] for i in positions if vectors[i]}
        widths = [
            first_width(len(firsts[i]) if isinstance(firsts[i], (np.ndarray, list, tuple)) else None, name)
            if i in firsts
            else None
            for i, name in zip(positions, called)
        ]
        self._chosen = ChosenColumns(called, widths)
        self._first_row = first_row
        super().__init__(
            (n_rows, self._chosen.n_columns),
            np.result_type(np.float32, *(compute_dtype(dtypes[i]) for i in positions)),
            column_names=self._chosen.column_names if is_named else None,
            is_table=True,
            description="pandas DataFrame",
            metadata_columns=metadata_of_pandas(frame, positions),
            chosen=called if is_named else positions,
        )
        self._frame = frame if positions == list(range(frame.shape[1])) else frame.iloc[:, positions]
        if converted.keys() & set(positions):
            self._frame = self._frame.copy(deep=False)
            for at, i in enumerate(positions):
                if i in converted:
                    self._frame.isetitem(at, converted[i])
        # Only extension types can hold pandas' own missing value.
        is_plain = all(isinstance(kind, np.dtype) for kind in self._frame.dtypes)
        self._missing = {} if is_plain else {"na_value": np.nan}

    def _block(self, frame: Any, rows: int | IndexArray) -> Array:
        if not any(self._chosen.widths):
            return self._numbers(frame)

        def values(position: int, width: int | None) -> Array:
            column = frame.iloc[:, position]
            if width is None:
                return self._numbers(column)
            return _pandas_vectors(column, width, self._chosen.names[position], rows)

        return self._chosen.block(len(frame), self.dtype, values)

    def _numbers(self, frame: Any) -> Array:
        with np.errstate(all="ignore"):
            return frame.to_numpy(dtype=self.dtype, **self._missing)

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        for low in range(start, stop, rows):
            yield self._block(self._frame.iloc[low : min(low + rows, stop)], self._first_row + low)

    def take_rows(self, indices: IndexArray) -> Any:
        return self._block(self._frame.iloc[indices], self._first_row + indices)


def _pandas_dtype(kind: Any) -> np.dtype[Any] | None:
    """Return the NumPy dtype of a column's values, None if there is none."""
    if isinstance(kind, np.dtype):
        return kind
    if isinstance(kind, sys.modules["pandas"].SparseDtype):
        return np.dtype(kind.subtype)
    return getattr(kind, "numpy_dtype", None)  # nullable and Arrow-backed columns


def _is_arrow(kind: Any) -> bool:
    return getattr(kind, "pyarrow_dtype", None) is not None


def _vector_dtype(series: Any) -> np.dtype[Any] | None:
    """Return the type of the numbers in a column of vectors, None for other columns."""
    if _is_arrow(series.dtype):
        kind = series.dtype.pyarrow_dtype
        return arrow_dtype([kind]) if arrow_kind(kind) == "vector" else None
    if series.dtype != object:
        return None
    cells = series.to_numpy()
    first = next((cell for cell in cells if cell is not None and not isinstance(cell, float)), None)
    if not _is_vector(first):
        return None
    # Lists hold Python's numbers.
    kinds = {cell.dtype if isinstance(cell, np.ndarray) else np.dtype(np.float64) for cell in cells}
    return np.result_type(*(kind for kind in kinds if kind.kind in "fiub"))


def _is_vector(cell: Any) -> bool:
    if isinstance(cell, np.ndarray):
        return cell.ndim == 1 and cell.dtype.kind in "fiub"
    is_list = isinstance(cell, (list, tuple)) and len(cell) > 0
    return is_list and all(isinstance(number, (int, float, np.number, type(None))) for number in cell)


def _pandas_vectors(column: Any, width: int, name: str, rows: int | IndexArray) -> Array:
    if _is_arrow(column.dtype):
        return arrow_vectors(sys.modules["pyarrow"].array(column), width, name, rows)
    cells = column.to_numpy()
    for position, cell in enumerate(cells):
        if not isinstance(cell, (np.ndarray, list, tuple)) or len(cell) != width:
            length = len(cell) if isinstance(cell, (np.ndarray, list, tuple)) else None
            raise vector_length_error(name, width, length, position, rows)
    numbers = np.concatenate(cells)
    return (numbers.astype(np.float64) if numbers.dtype.kind == "O" else numbers).reshape(len(cells), width)


def metadata_of_pandas(frame: Any, positions: Collection[int]) -> MetadataColumns | None:
    """Return the columns that are not clustered, and the index unless it is the row number."""
    taken = set(positions)
    left = [i for i in range(frame.shape[1]) if i not in taken]
    names = [str(frame.columns[i]) for i in left]
    if not isinstance(frame.index, sys.modules["pandas"].RangeIndex):
        names += [
            f"__index_level_{level}__" if name is None else str(name)
            for level, name in enumerate(frame.index.names)
        ]
    return MetadataColumns(names, partial(_pandas_batches, frame.iloc[:, left])) if names else None


def _pandas_batches(frame: Any, positions: list[int]) -> Iterator[Any]:
    """Read columns of a frame; the levels of its index follow after them."""
    import pyarrow

    n_columns = frame.shape[1]
    arrays = [
        pyarrow.array(
            frame.iloc[:, i] if i < n_columns else frame.index.get_level_values(i - n_columns),
            from_pandas=True,
        )
        for i in positions
    ]
    yield from pyarrow.table(arrays, list(map(str, positions))).to_batches()


class DaskFrameSource(RowSource):
    """Rows of a `dask.dataframe.DataFrame`; its partitions are counted immediately, and computed in each pass.

    Properties of the first rows, such as the length of vectors, must hold for all.
    """

    is_parsed = True

    def __init__(self, frame: Any, columns: Columns | None = None, exclude: Columns | None = None) -> None:
        frame = frame.optimize()  # may drop partitions, so they are counted after it
        lengths = np.asarray(frame.map_partitions(len).compute(), dtype=np.intp)
        check_shape((int(lengths.sum()), len(frame.columns)))
        # The columns of empty partitions have no kind.
        self._partitions = [frame.partitions[int(i)] for i in np.flatnonzero(lengths)]
        self._starts = np.concatenate([[0], np.cumsum(lengths[lengths > 0])])
        first = PandasSource(self._partitions[0].compute(), columns, exclude)
        super().__init__(
            (int(lengths.sum()), first.shape[1]),
            first.dtype,
            column_names=first.column_names,
            is_table=True,
            description="Dask DataFrame",
            metadata_columns=MetadataColumns(first.metadata_columns.names, self._metadata_batches)
            if first.metadata_columns
            else None,
            chosen=first.chosen,
        )

    def unit_starts(self) -> IndexArray:
        return self._starts[:-1]

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        for number, first in enumerate(self._starts[:-1].tolist()):
            low, high = max(start - first, 0), min(stop, int(self._starts[number + 1])) - first
            if low < high:
                yield from self._partition(number).pieces(low, high, rows)

    def _partition(self, number: int) -> PandasSource:
        frame = self._partitions[number].compute()
        return PandasSource(frame, self.chosen or NO_COLUMNS, first_row=int(self._starts[number]))

    def _metadata_batches(self, positions: list[int]) -> Iterator[Any]:
        for number in range(len(self._partitions)):
            metadata = self._partition(number).metadata_columns
            if metadata is not None:
                yield from metadata.batches(positions)
