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
from coterie.rows.landing import LandingArray, LandingMetadata
from coterie.rows.source import DenseRows, MetadataColumns, no_numbers


class FrameColumns:
    """The clustered columns of a `pandas.DataFrame`: numbers, objects that convert to floats, or vectors.

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
        check_shape(frame.shape)
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
        self.chosen = ChosenColumns(called, widths)
        self.dtype = np.result_type(np.float32, *(compute_dtype(dtypes[i]) for i in positions))
        self.attributes = {
            "column_names": self.chosen.column_names if is_named else None,
            "is_table": True,
            "chosen": called if is_named else positions,
        }
        self.metadata_columns = metadata_of_pandas(frame, positions)
        self._first_row = first_row
        self._frame = frame if positions == list(range(frame.shape[1])) else frame.iloc[:, positions]
        if converted.keys() & set(positions):
            self._frame = self._frame.copy(deep=False)
            for at, i in enumerate(positions):
                if i in converted:
                    self._frame.isetitem(at, converted[i])
        # Only extension types can hold pandas' own missing value.
        is_plain = all(isinstance(kind, np.dtype) for kind in self._frame.dtypes)
        self._missing = {} if is_plain else {"na_value": np.nan}

    def block(self) -> Array:
        """Return all rows as an array, a view of the frame if possible."""
        if not self.chosen.names:
            return no_numbers(len(self._frame), self.dtype)
        if not any(self.chosen.widths):
            return self._numbers(self._frame)

        def values(position: int, width: int | None) -> Array:
            column = self._frame.iloc[:, position]
            if width is None:
                return self._numbers(column)
            return _pandas_vectors(column, width, self.chosen.names[position], self._first_row)

        return self.chosen.block(len(self._frame), self.dtype, values)

    def _numbers(self, frame: Any) -> Array:
        with np.errstate(all="ignore"):
            return frame.to_numpy(dtype=self.dtype, **self._missing)


def rows_of_frame(frame: Any, columns: Columns | None = None, exclude: Columns | None = None) -> DenseRows:
    """Return the rows of a `pandas.DataFrame`."""
    found = FrameColumns(frame, columns, exclude)
    return DenseRows(
        found.block(), "pandas DataFrame", metadata_columns=found.metadata_columns, **found.attributes
    )


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


def rows_of_dask_frame(
    frame: Any, columns: Columns | None = None, exclude: Columns | None = None
) -> DenseRows:
    """Return the rows of a `dask.dataframe.DataFrame`, whose partitions are computed one after the other.

    Properties of the first rows, such as the length of vectors, must hold for all.
    """
    landing = first = None
    metadata, start = LandingMetadata(), 0
    frame = frame.optimize()  # which may drop partitions
    for partition in map(frame.partitions.__getitem__, range(frame.npartitions)):
        part = partition.compute()
        if not len(part):  # the columns of empty partitions have no kind
            continue
        chosen: Any = columns if first is None else first.attributes["chosen"] or NO_COLUMNS
        found = FrameColumns(part, chosen, exclude if first is None else None, first_row=start)
        if first is None or landing is None:
            first, landing = found, LandingArray(found.chosen.n_columns, found.dtype)
        landing.add(found.block())
        for batch in found.metadata_columns.batches() if found.metadata_columns else ():
            metadata.add(batch)
        start += len(part)
    check_shape((start, len(frame.columns)))
    assert first is not None
    assert landing is not None
    beside = metadata.columns()
    return DenseRows(landing.array(), "Dask DataFrame", metadata_columns=beside, **first.attributes)
