"""Rows of data frames and tables: pandas, polars and pyarrow.

The libraries are imported by whoever made the table, never here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from coterie.arrays import Array, IndexArray
from coterie.rows.checks import check_numeric_columns, check_shape, compute_dtype
from coterie.rows.source import RowSource

__all__ = ["ArrowSource", "PandasSource", "PolarsSource", "arrow_block", "check_arrow_schema"]

# Arrow's and polars' names of the types that float32 holds exactly.
_FLOAT32_NAMES = {"float", "halffloat", "int8", "int16", "uint8", "uint16"}
_FLOAT32_NAMES |= {"Float16", "Float32", "Int8", "Int16", "UInt8", "UInt16"}


class PandasSource(RowSource):
    """Rows of a `pandas.DataFrame` whose columns are numbers, or objects that convert to floats."""

    def __init__(self, frame: Any) -> None:
        shape = check_shape(frame.shape)
        frame, dtypes = _numeric_frame(frame)
        names = list(frame.columns)
        super().__init__(
            shape,
            np.result_type(*(compute_dtype(dtype) for dtype in dtypes)),
            column_names=names if all(isinstance(name, str) for name in names) else None,
            is_table=True,
            description="pandas DataFrame",
        )
        self._frame = frame
        # Only extension types can hold pandas' own missing value.
        self._missing = {} if all(isinstance(d, np.dtype) for d in frame.dtypes) else {"na_value": np.nan}

    def _numbers(self, frame: Any) -> Array:
        with np.errstate(all="ignore"):
            return frame.to_numpy(dtype=self.dtype, **self._missing)

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        for low in range(start, stop, rows):
            yield self._numbers(self._frame.iloc[low : min(low + rows, stop)])

    def take_rows(self, indices: IndexArray) -> Any:
        return self._numbers(self._frame.iloc[indices])


class PolarsSource(RowSource):
    """Rows of a `polars.DataFrame` whose columns are numbers or booleans."""

    def __init__(self, frame: Any) -> None:
        shape = check_shape(frame.shape)
        kinds = dict(frame.schema)
        check_numeric_columns(
            {
                name: str(kind)
                for name, kind in kinds.items()
                if not kind.is_numeric() and str(kind) not in ("Boolean", "Null")
            }
        )
        super().__init__(
            shape,
            _dtype_of_names(str(kind) for kind in kinds.values()),
            column_names=list(kinds),
            is_table=True,
            description="polars DataFrame",
        )
        self._frame = frame

    def _numbers(self, frame: Any) -> Array:
        polars = sys.modules["polars"]
        kind = polars.Float32 if self.dtype == np.float32 else polars.Float64
        return frame.select(polars.all().cast(kind)).to_numpy(order="c")

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        for low in range(start, stop, rows):
            yield self._numbers(self._frame.slice(low, min(rows, stop - low)))

    def take_rows(self, indices: IndexArray) -> Any:
        return self._numbers(self._frame[indices])


class ArrowSource(RowSource):
    """Rows of a `pyarrow.Table` whose columns are numbers or booleans."""

    def __init__(self, table: Any) -> None:
        shape = check_shape(table.shape)
        super().__init__(
            shape,
            check_arrow_schema(table.schema),
            column_names=list(table.schema.names),
            is_table=True,
            description="pyarrow Table",
        )
        self._table = table

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        for batch in self._table.slice(start, stop - start).to_batches(max_chunksize=rows):
            yield arrow_block(batch, self.dtype)

    def take_rows(self, indices: IndexArray) -> Any:
        batches = self._table.take(sys.modules["pyarrow"].array(indices)).to_batches()
        return self._join([arrow_block(batch, self.dtype) for batch in batches])


def check_arrow_schema(schema: Any) -> np.dtype[Any]:
    """Return the compute dtype of an Arrow schema; raise where columns are not numbers."""
    types = sys.modules["pyarrow"].types
    accepted = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    check_numeric_columns(
        {field.name: str(field.type) for field in schema if not any(is_a(field.type) for is_a in accepted)}
    )
    return _dtype_of_names(str(field.type) for field in schema)


def arrow_block(batch: Any, dtype: np.dtype[Any]) -> Array:
    """Return a `pyarrow.RecordBatch` as an array of shape (n_rows, n_columns); nulls become NaN."""
    block = np.empty((batch.num_rows, batch.num_columns), dtype=dtype)
    with np.errstate(all="ignore"):
        for position, column in enumerate(batch.columns):
            block[:, position] = _arrow_numbers(column)
    return block


def _arrow_numbers(column: Any) -> Array:
    pyarrow = sys.modules["pyarrow"]
    is_plain = pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type)
    if column.null_count or not is_plain:
        # Integers above 2**53 lose digits in float64, which NumPy's conversion allows as well.
        column = column.cast(pyarrow.float64(), safe=False)
    return column.to_numpy(zero_copy_only=False)


def _dtype_of_names(names: Iterable[str]) -> np.dtype[Any]:
    return np.dtype(np.float32 if set(names) <= _FLOAT32_NAMES else np.float64)


def _numeric_frame(frame: Any) -> tuple[Any, list[np.dtype[Any]]]:
    """Return a frame whose object columns are floats, and the NumPy dtype of each column."""
    dtypes, others, converted = [], {}, {}
    for position, (name, kind) in enumerate(zip(frame.columns, frame.dtypes)):
        dtype = _pandas_dtype(kind)
        if dtype is not None and dtype.kind == "O":
            try:
                converted[position] = np.asarray(frame.iloc[:, position], dtype=np.float64)
                dtype = np.dtype(np.float64)
            except (TypeError, ValueError):
                dtype = None
        if dtype is None or dtype.kind not in "fiubc":
            others[str(name)] = str(kind)
        else:
            dtypes.append(dtype)
    check_numeric_columns(others)
    if converted:
        frame = frame.copy(deep=False)
        for position, numbers in converted.items():
            frame.isetitem(position, numbers)
    return frame, dtypes


def _pandas_dtype(kind: Any) -> np.dtype[Any] | None:
    """Return the NumPy dtype of a column's values, None where they have none."""
    if isinstance(kind, np.dtype):
        return kind
    if isinstance(kind, sys.modules["pandas"].SparseDtype):
        return np.dtype(kind.subtype)
    return getattr(kind, "numpy_dtype", None)  # nullable and Arrow-backed columns
