"""Rows of data frames: pandas, Dask and polars.

The libraries are never imported here: the frame exists already.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
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
    dtype_of_names,
    first_width,
    unlike_vector,
)
from coterie.rows.source import Carried, RowSource

__all__ = ["DaskFrameSource", "PandasSource", "PolarsSource", "carried_of_pandas"]


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
        cells = [_PandasColumn(frame.iloc[:, i]) for i in range(frame.shape[1])]
        if columns is not None or not any(column.is_vector for column in cells):
            for column in cells:
                column.convert()
        names = [name if isinstance(name, str) else None for name in frame.columns]
        table = [Column(name, column.type, column.kind) for name, column in zip(names, cells)]
        positions = choose_columns(table, columns, exclude)
        called = [str(frame.columns[i]) for i in positions]
        is_named = all(names[i] is not None for i in positions)
        widths = [cells[i].width(name) for i, name in zip(positions, called)]
        self._chosen = ChosenColumns(called, widths)
        self._first_row = first_row
        carried = carried_of_pandas(frame, positions)
        super().__init__(
            (n_rows, self._chosen.n_columns),
            np.result_type(np.float32, *(compute_dtype(cells[i].dtype) for i in positions)),
            column_names=self._chosen.column_names if is_named else None,
            is_table=True,
            description="pandas DataFrame",
            carried=carried,
            chosen=called if is_named else positions,
        )
        self._frame = _converted_frame(frame, cells, positions)
        # Only extension types can hold pandas' own missing value.
        is_plain = all(isinstance(kind, np.dtype) for kind in self._frame.dtypes)
        self._missing = {} if is_plain else {"na_value": np.nan}

    def _block(self, frame: Any, rows: int | IndexArray) -> Array:
        if not self._chosen.has_vectors:
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


class PolarsSource(RowSource):
    """Rows of a `polars.DataFrame` whose columns are numbers, booleans or vectors of these."""

    def __init__(self, frame: Any, columns: Columns | None = None, exclude: Columns | None = None) -> None:
        n_rows, _ = check_shape(frame.shape)
        kinds = list(frame.schema.items())
        table = [Column(name, str(kind), _polars_kind(kind)) for name, kind in kinds]
        positions = choose_columns(table, columns, exclude)
        names = [kinds[i][0] for i in positions]
        self._frame = frame.select(names)
        self._chosen = ChosenColumns(names, [_polars_width(self._frame[name]) for name in names])
        others = [name for name in frame.columns if name not in names]
        super().__init__(
            (n_rows, self._chosen.n_columns),
            dtype_of_names(str(getattr(kinds[i][1], "inner", kinds[i][1])) for i in positions),
            column_names=self._chosen.column_names,
            is_table=True,
            description="polars DataFrame",
            carried=Carried(others, _PolarsBatches(frame.select(others))) if others else None,
            chosen=names,
        )

    def _block(self, frame: Any, rows: int | IndexArray) -> Array:
        polars = sys.modules["polars"]
        kind = polars.Float32 if self.dtype == np.float32 else polars.Float64
        if not self._chosen.has_vectors:
            return frame.select(polars.all().cast(kind)).to_numpy(order="c")

        def values(position: int, width: int | None) -> Array:
            column = frame.to_series(position)
            return column.cast(kind).to_numpy() if width is None else _polars_vectors(column, width, rows)

        return self._chosen.block(frame.height, self.dtype, values)

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        for low in range(start, stop, rows):
            yield self._block(self._frame.slice(low, min(rows, stop - low)), low)

    def take_rows(self, indices: IndexArray) -> Any:
        return self._block(self._frame[indices], indices)


class _PandasColumn:
    """A column of a frame: its kind, and its numbers if they were converted from objects."""

    def __init__(self, series: Any) -> None:
        self._series = series
        self.type = str(series.dtype)
        self.dtype: Any = _vector_dtype(series)
        self.is_vector = self.dtype is not None
        self.numbers: Array | None = None
        if self.is_vector:
            self.type = self.type if _is_arrow(series.dtype) else f"vectors of {self.dtype}"
        else:
            self.dtype = _pandas_dtype(series.dtype)

    @property
    def kind(self) -> Any:
        if self.is_vector:
            return "vector"
        return "number" if self.dtype is not None and self.dtype.kind in "fiubc" else "other"

    def convert(self) -> None:
        """Convert objects to numbers if they are."""
        if self.is_vector or self.dtype is None or self.dtype.kind != "O":
            return
        try:
            self.numbers = np.asarray(self._series, dtype=np.float64)
            self.dtype = np.dtype(np.float64)
        except (TypeError, ValueError):
            self.dtype = None

    def width(self, name: str) -> int | None:
        """Return the length of the vectors, None for numbers."""
        if not self.is_vector:
            return None
        first = self._series.iloc[0]
        return first_width(len(first) if isinstance(first, (np.ndarray, list, tuple)) else None, name)


def _converted_frame(frame: Any, cells: Sequence[_PandasColumn], positions: Sequence[int]) -> Any:
    """Return the chosen columns, with objects converted to numbers."""
    if list(positions) != list(range(frame.shape[1])):
        frame = frame.iloc[:, list(positions)]
    converted = {at: cells[i].numbers for at, i in enumerate(positions) if cells[i].numbers is not None}
    if converted:
        frame = frame.copy(deep=False)
        for at, numbers in converted.items():
            frame.isetitem(at, numbers)
    return frame


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
    """Return a column of vectors as an array of shape (n_rows, width)."""
    if _is_arrow(column.dtype):
        return arrow_vectors(sys.modules["pyarrow"].array(column), width, name, rows)
    cells = column.to_numpy()
    for position, cell in enumerate(cells):
        if not isinstance(cell, (np.ndarray, list, tuple)) or len(cell) != width:
            length = len(cell) if isinstance(cell, (np.ndarray, list, tuple)) else None
            raise unlike_vector(name, width, length, position, rows)
    numbers = np.concatenate(cells)
    return (numbers.astype(np.float64) if numbers.dtype.kind == "O" else numbers).reshape(len(cells), width)


def carried_of_pandas(frame: Any, positions: Collection[int]) -> Carried | None:
    """Return the columns that are not clustered, and the index unless it is the row number."""
    taken = set(positions)
    left = [i for i in range(frame.shape[1]) if i not in taken]
    names = [str(frame.columns[i]) for i in left]
    if not isinstance(frame.index, sys.modules["pandas"].RangeIndex):
        names += [
            f"__index_level_{level}__" if name is None else str(name)
            for level, name in enumerate(frame.index.names)
        ]
    return Carried(names, _PandasBatches(frame.iloc[:, left])) if names else None


class _PandasBatches:
    """Reads columns of a frame, and its index after them. A class, so that sources can be pickled."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __call__(self, positions: list[int]) -> Iterator[Any]:
        import pyarrow

        n_columns = self._frame.shape[1]
        arrays = [
            self._frame.iloc[:, i] if i < n_columns else self._frame.index.get_level_values(i - n_columns)
            for i in positions
        ]
        table = pyarrow.table(
            [pyarrow.array(values, from_pandas=True) for values in arrays], list(map(str, positions))
        )
        yield from table.to_batches()


def _polars_kind(kind: Any) -> Any:
    polars = sys.modules["polars"]
    if isinstance(kind, (polars.List, polars.Array)):
        return "vector" if _polars_kind(kind.inner) == "number" and str(kind.inner) != "Null" else "other"
    return "number" if kind.is_numeric() or str(kind) in ("Boolean", "Null") else "other"


def _polars_width(column: Any) -> int | None:
    polars, kind = sys.modules["polars"], column.dtype
    if isinstance(kind, polars.Array):
        return first_width(kind.size, column.name)
    return first_width(column.list.len()[0], column.name) if isinstance(kind, polars.List) else None


def _polars_vectors(column: Any, width: int, rows: int | IndexArray) -> Array:
    """Return a column of vectors as an array of shape (n_rows, width), a view if possible."""
    if isinstance(column.dtype, sys.modules["polars"].List):
        lengths = column.list.len()
        wrong = (lengths != width).fill_null(True)
    else:
        lengths = column.is_null().replace_strict({True: None, False: width})
        wrong = lengths.is_null()
    if wrong.any():
        first = wrong.arg_true()[0]
        raise unlike_vector(column.name, width, lengths[first], first, rows)
    return column.explode().to_numpy().reshape(column.len(), width)


class _PolarsBatches:
    """Reads columns of a frame. A class, so that sources can be pickled."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __call__(self, positions: list[int]) -> Iterator[Any]:
        names = [self._frame.columns[i] for i in positions]
        yield from self._frame.select(names).to_arrow().to_batches()


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
            carried=Carried(first.carried.names, self._carried_batches) if first.carried else None,
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

    def _carried_batches(self, positions: list[int]) -> Iterator[Any]:
        for number in range(len(self._partitions)):
            carried = self._partition(number).carried
            if carried is not None:
                yield from carried.batches(positions)
