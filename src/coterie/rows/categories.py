"""Columns of categories as columns of zeros and ones, as scikit-learn's `OneHotEncoder` has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.rows.arrow import arrow_kind
from coterie.rows.carried import Carried
from coterie.rows.source import RowSource
from coterie.rows.transformed import TransformedRows

__all__ = [
    "CATEGORY_LIMIT",
    "Category",
    "HandleUnknown",
    "OneHotRows",
    "learned_categories",
    "names_of_categories",
]

Category: TypeAlias = str | int | float | bool | None
HandleUnknown: TypeAlias = Literal["error", "ignore"]


# A column of more values is an id or a text more often than not.
CATEGORY_LIMIT = 100


class OneHotRows(TransformedRows):
    """The rows of another source with a column more for each category that they carry: 1 where it is the row's, else 0.

    A number for each row and column of categories is held in memory, read when the first rows are.

    Parameters
    ----------
    rows : RowSource
        Dense rows of a table; its `carried` has the columns of categories.
    categories : dict of str to list
        The values of each, in the order of their columns. None is what is missing.
    handle_unknown : {"error", "ignore"}
        What becomes of other values: a ValueError that names the first row, or zeros in all columns.

    Examples
    --------
    >>> import pyarrow
    >>> from coterie.rows import as_rows
    >>> from coterie.rows.categories import OneHotRows
    >>> table = pyarrow.table({"size": [1.5, 2.5], "place": ["Rome", "Oslo"]})
    >>> rows = OneHotRows(as_rows(table, columns="size"), {"place": ["Oslo", "Rome"]})
    >>> rows.column_names
    ['size', 'place_Oslo', 'place_Rome']
    >>> rows.read()
    array([[1.5, 0. , 1. ],
           [2.5, 1. , 0. ]])
    """

    def __init__(
        self,
        rows: RowSource,
        categories: Mapping[str, Sequence[Category]],
        handle_unknown: HandleUnknown = "error",
    ) -> None:
        # Of a table without numbers there is nothing to read but its categories.
        self._has_numbers = rows.chosen is None or len(rows.chosen) > 0
        added = names_of_categories(categories)
        names = rows.column_names if self._has_numbers else []
        n_numbers = rows.shape[1] if self._has_numbers else 0
        super().__init__(
            rows,
            ("one_hot", {name: list(values) for name, values in categories.items()}, handle_unknown),
            n_columns=n_numbers + len(added),
            column_names=None if names is None else [*names, *added],
            chosen=[*(rows.chosen or rows.column_names or []), *categories]
            if self._has_numbers
            else list(categories),
        )
        self._n_numbers = n_numbers
        self._categories = categories
        self._handle_unknown = handle_unknown
        self._codes: Array | None = None

    def pieces(self, start: int, stop: int, rows: int) -> Any:
        if self._has_numbers:
            yield from super().pieces(start, stop, rows)
            return
        for low in range(start, stop, rows):
            part = slice(low, min(low + rows, stop))
            yield self.changed(np.empty((part.stop - low, 0)), part)

    def take_rows(self, indices: IndexArray) -> Any:
        if self._has_numbers:
            return super().take_rows(indices)
        return self.changed(np.empty((len(indices), 0)), indices)

    def changed(self, piece: Any, numbers: slice | IndexArray) -> FloatArray:
        if self._codes is None:
            self._codes = self._read_codes()
        block = np.zeros((piece.shape[0], self.shape[1]))
        block[:, : self._n_numbers] = piece
        first = self._n_numbers
        for codes, values in zip(self._codes, self._categories.values()):
            found = codes[numbers]
            known = np.flatnonzero(found < len(values))
            block[known, first + found[known].astype(np.intp)] = 1
            first += len(values)
        return block

    def _read_codes(self) -> Array:
        """Return the number of each row's category, a line for each column; one too large where it is unknown."""
        names = list(self._categories)
        carried = _carried(self.source, names)
        most = max(map(len, self._categories.values()))
        codes = np.empty((len(names), self.shape[0]), dtype=np.min_scalar_type(most))
        start = 0
        for batch in carried.batches(names):
            for line, name, column in zip(codes, names, batch.columns):
                line[start : start + batch.num_rows] = self._encoded(column, name, start)
            start += batch.num_rows
        if start != self.shape[0]:
            raise ValueError(
                f"The {self.description} has {start} rows of {names[0]!r}, not {self.shape[0]} as it said."
            )
        return codes

    def _encoded(self, column: Any, name: str, start: int) -> Array:
        import pyarrow
        from pyarrow import compute

        values = list(self._categories[name])
        known = pyarrow.array(values)
        cells = _plain_cells(column, name)
        try:
            cells = cells.cast(known.type)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
            # Other numbers, or texts where numbers were: none of the categories then.
            are_numbers = arrow_kind(cells.type) == arrow_kind(known.type) == "number"
            both = pyarrow.float64() if are_numbers else pyarrow.string()
            known, cells = known.cast(both), cells.cast(both)
        codes = compute.index_in(cells, value_set=known, skip_nulls=False)
        if codes.null_count and self._handle_unknown == "error":
            first = int(codes.is_null().to_numpy(zero_copy_only=False).argmax())
            raise ValueError(
                f"The column {name!r} has a category that the fit did not see: {cells[first].as_py()!r}. First bad "
                f"row: {start + first}. Leave such rows out, or fit with handle_unknown='ignore' (--handle-unknown "
                "ignore), which gives them zeros."
            )
        return codes.fill_null(len(values)).to_numpy(zero_copy_only=False)


def learned_categories(rows: RowSource, names: Sequence[str], limit: int) -> dict[str, list[Category]]:
    """Return the values of columns that rows carry, sorted; None, for missing ones, is the last.

    Raises
    ------
    ValueError
        If a column has more than `limit` of them, or no value at all.
    """
    from pyarrow import compute

    found: dict[str, set[Category]] = {name: set() for name in names}
    for batch in _carried(rows, names).batches(list(names)):
        for name, column in zip(names, batch.columns):
            found[name].update(compute.unique(_plain_cells(column, name)).to_pylist())
            if len(found[name]) > limit:
                raise ValueError(
                    f"The column {name!r} has more than {limit} different values, and one_hot makes a column of each. "
                    f"Leave it out: exclude=[{name!r}] (--exclude), or raise category_limit (--category-limit)."
                )
    empty = [name for name, values in found.items() if values <= {None}]
    if empty:
        raise ValueError(
            f"Columns of categories have no value at all: {', '.join(map(repr, empty))}. "
            f"Leave them out: exclude={empty!r} (--exclude)."
        )
    return {name: _sorted(values) for name, values in found.items()}


def names_of_categories(categories: Mapping[str, Sequence[Category]]) -> list[str]:
    """Return what the columns of zeros and ones are called: ``place_Rome``."""
    return [f"{name}_{value}" for name, values in categories.items() for value in values]


def _carried(rows: RowSource, names: Sequence[str]) -> Carried:
    known = [] if rows.carried is None else rows.carried.names
    missing = [name for name in names if name not in known]
    if rows.carried is None or missing:
        raise ValueError(
            f"X has no column {', '.join(map(repr, missing))} whose categories are clustered: it must be a table that "
            "has it beside the columns of numbers."
        )
    return rows.carried


def _sorted(values: set[Category]) -> list[Category]:
    there: list[Any] = [value for value in values if value is not None]
    return [*sorted(there), *([None] if None in values else [])]


def _plain_cells(column: Any, name: str) -> Any:
    """Return cells as texts, integers, floats or booleans; NaN and empty texts, as in text files, are missing."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if types.is_floating(kind):
        column = column.cast(pyarrow.float64())
        return compute.if_else(compute.is_nan(column), None, column)
    if types.is_integer(kind) or types.is_boolean(kind):
        return column.cast(pyarrow.int64()) if types.is_integer(kind) else column
    if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        raise ValueError(
            f"The column {name!r} ({kind}) has no categories. Leave it out: exclude=[{name!r}] (--exclude)."
        )
    column = column.cast(pyarrow.string())
    return compute.if_else(compute.equal(column, ""), None, column)
