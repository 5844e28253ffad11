"""Columns of Arrow tables as blocks: numbers, and vectors in lists.

pyarrow is never imported here: the table exists already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from coterie.arrays import Array, IndexArray
from coterie.rows.columns import (
    ChosenColumns,
    Column,
    Columns,
    choose_columns,
    first_width,
    vector_length_error,
)

# Arrow's names of the types that float32 holds exactly.
_FLOAT32_NAMES = {"float", "halffloat", "int8", "int16", "uint8", "uint16"}


class ArrowColumns:
    """The clustered columns (`positions`, in their order) and the metadata columns (`metadata`) of an Arrow table.

    `first_row(positions)` gives a `pyarrow.RecordBatch` of columns that begins with the first row, or None without
    rows; it is called for lists of variable length. `path` is the file, whose pandas index is clustered only if chosen.
    `is_named` tells whether the names of the schema are those of the data.
    """

    def __init__(
        self,
        schema: Any,
        columns: Columns | None,
        exclude: Columns | None,
        first_row: Callable[[list[int]], Any] | None = None,
        path: object = None,
        is_named: bool = True,
    ) -> None:
        fields = list(schema)
        table = [
            Column(field.name if is_named else None, str(field.type), arrow_kind(field.type))
            for field in fields
        ]
        index = (schema.pandas_metadata or {}).get("index_columns", []) if path else []
        unasked = [i for i, field in enumerate(fields) if field.name in index]
        self.positions = choose_columns(table, columns, exclude, unasked=unasked, path=path)
        taken = set(self.positions)
        self.metadata = [i for i in range(len(fields)) if i not in taken]
        chosen = [fields[i] for i in self.positions]
        self.chosen = ChosenColumns(
            [field.name for field in chosen], _widths(chosen, self.positions, first_row)
        )
        self.dtype = arrow_dtype([field.type for field in chosen])

    def block(self, batch: Any, dtype: np.dtype[Any], rows: int | IndexArray) -> Array:
        """Return a `pyarrow.RecordBatch` of the columns as an array of shape (n_rows, n_columns); nulls become NaN.

        A single column of vectors is neither copied nor converted to `dtype`. `rows` is the number of the first row, or
        of each row, for errors.
        """

        def values(position: int, width: int | None) -> Array:
            column = batch.column(position)
            if width is None:
                return _numbers(column)
            return arrow_vectors(column, width, self.chosen.names[position], rows)

        return self.chosen.block(batch.num_rows, dtype, values)


def arrow_kind(kind: Any) -> Any:
    """Return the kind of an Arrow type: "number", "vector" or "other"."""
    types = sys.modules["pyarrow"].types
    if _is_list(kind):
        inner = _storage_type(kind).value_type
        return "vector" if arrow_kind(inner) == "number" and not types.is_null(inner) else "other"
    accepted = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return "number" if any(is_a(kind) for is_a in accepted) else "other"


def arrow_dtype(kinds: Iterable[Any]) -> np.dtype[Any]:
    """Return the type to compute in for columns of these Arrow types, of numbers or of vectors."""
    names = {str(_storage_type(kind).value_type if _is_list(kind) else kind) for kind in kinds}
    return np.dtype(np.float32 if names <= _FLOAT32_NAMES else np.float64)


def arrow_vectors(column: Any, width: int, name: str, rows: int | IndexArray) -> Array:
    """Return an array of lists as an array of shape (n_rows, width), a view if no number is missing.

    `name` and `rows`, the number of the first row or of each row, are for errors.
    """
    if hasattr(column, "chunks"):
        column = column.combine_chunks()
    column = _storage(column)
    first = (
        int(column.is_null().to_numpy(zero_copy_only=False).argmax()) if column.null_count else len(column)
    )
    if not hasattr(column.type, "list_size"):
        wrong = np.diff(column.offsets.to_numpy()[: first + 1]) != width
        first = int(wrong.argmax()) if wrong.any() else first
    if first < len(column):
        length = len(column[first]) if column[first].is_valid else None
        raise vector_length_error(name, width, length, first, rows)
    return _numbers(column.flatten()).reshape(len(column), width)


def first_batch(batches: Iterable[Any]) -> Any:
    """Return the first batch with rows, None if there is none."""
    return next((batch for batch in batches if batch.num_rows), None)


def _is_list(kind: Any) -> bool:
    types, kind = sys.modules["pyarrow"].types, _storage_type(kind)
    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def _storage_type(kind: Any) -> Any:
    """Return the storage type of an extension type, such as tensors of a fixed shape."""
    return getattr(kind, "storage_type", kind)


def _storage(column: Any) -> Any:
    return getattr(column, "storage", column)


def _widths(
    fields: list[Any], positions: list[int], first_row: Callable[[list[int]], Any] | None
) -> list[int | None]:
    widths: list[int | None] = []
    unknown = []
    for i, field in enumerate(fields):
        size = getattr(_storage_type(field.type), "list_size", None) if _is_list(field.type) else None
        if _is_list(field.type) and size is None:
            unknown.append(i)
        widths.append(size)
    if not unknown or first_row is None:
        return widths
    batch = first_row([positions[i] for i in unknown])
    for column, i in enumerate(unknown):
        cell = None if batch is None else _storage(batch.column(column))[0]
        length = None if cell is None or not cell.is_valid else len(cell)
        widths[i] = 1 if batch is None else first_width(length, fields[i].name)
    return widths


def _numbers(column: Any) -> Array:
    pyarrow = sys.modules["pyarrow"]
    is_plain = pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type)
    if column.null_count or not is_plain:
        # Integers above 2**53 lose digits in float64, which NumPy's conversion allows as well.
        column = column.cast(pyarrow.float64(), safe=False)
    return column.to_numpy(zero_copy_only=False)
