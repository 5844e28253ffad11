"""Tables: their first rows decide which columns are clustered and how texts are read; then all rows land at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from coterie.arrays import Array
from coterie.rows.cells import (
    CellFormat,
    NumberFormat,
    Style,
    VectorFormat,
    arrow_kind,
    cell_formats,
    numbers_of,
    reading_of,
    typed_texts,
    value_type,
)
from coterie.rows.checks import BadRowError, Setting, TableError, check_shape, reading
from coterie.rows.columns import NO_COLUMNS, Columns, column_positions, listed_columns
from coterie.rows.landing import LandingArray, LandingMetadata
from coterie.rows.roles import ColumnProfile, TableRoles, invalid_cells, profile_columns, roles_of
from coterie.rows.source import DenseRows, joined_batches

# What decides the roles of columns: rows at the beginning of a table, of at most this many cells and bytes.
_SEEN_ROWS, _SEEN_CELLS, _SEEN_BYTES = 1 << 16, 1 << 20, 1 << 26
_FEWEST_SEEN = 1000

# Rows of a batch that become numbers at a time.
_BATCH_ROWS = 1 << 16

# Arrow's names of the types that float32 holds exactly.
_FLOAT32_NAMES = {"float", "halffloat", "int8", "int16", "uint8", "uint16"}

# Options that only tables have, and those among them that choose columns.
CHOICES = ("columns", "exclude", "categories")
TABLE_OPTIONS = (*CHOICES, "decimal", "thousands", "missing_words")


@dataclass
class Table:
    """A table, as its reader returns it: record batches of all columns, which are read once; of text files (with a
    separator `sep`) all cells are text. Without `is_named` names are positions; columns of `index` are clustered
    only by name.
    """

    schema: Any
    rest: Iterator[Any]
    description: str
    n_rows: int | None = None
    is_named: bool = True
    sep: str | None = None
    index: Collection[int] = ()
    name: str = ""
    _held: list[Any] = field(default_factory=list)

    @cached_property
    def head(self) -> tuple[Any, bool]:
        """The first rows as a `pyarrow.Table`, and whether these are all rows."""
        most = max(_FEWEST_SEEN, min(_SEEN_ROWS, _SEEN_CELLS // max(1, len(self.schema))))
        n_rows = n_bytes = 0
        for batch in self.rest:
            self._held.append(batch)
            n_rows, n_bytes = n_rows + batch.num_rows, n_bytes + batch.nbytes
            if n_rows > most or (n_bytes > _SEEN_BYTES and n_rows > _FEWEST_SEEN):
                return joined_batches(self._held).slice(0, most), False
        return joined_batches(self._held) if self._held else self.schema.empty_table(), True

    def batches(self) -> Iterator[Any]:
        """Yield all rows, once; the first ones are not held any longer."""
        vars(self).pop("head", None)
        while self._held:
            yield self._held.pop(0)
        yield from self.rest


def table_of_arrow(table: Any, description: str = "pyarrow Table", index: Collection[int] = ()) -> Table:
    """Return a `pyarrow.Table` as a table."""
    return Table(table.schema, iter(table.to_batches()), description, table.num_rows, index=index)


class TableColumns:
    """The columns of a table that are clustered (`widths` of vectors, None for numbers, by position), and encoded
    as categories (`encoded`); without `columns` by their roles. `formats` are those of texts of numbers and
    vectors.
    """

    def __init__(
        self,
        table: Table,
        columns: Columns | None = None,
        exclude: Columns | None = None,
        categories: Columns | None = None,
        *,
        texts: tuple[list[Style], tuple[str, ...]],
    ) -> None:
        import pyarrow

        self._table, self._readings = table, texts
        self._names, self._types = table.schema.names, table.schema.types
        self._kinds = [arrow_kind(kind) for kind in self._types]
        names: list[str] = self._names
        shown: list[str | None] = list(names) if table.is_named else [None] * len(names)
        left = set() if exclude is None else set(column_positions(shown, exclude))
        self._among = [i for i in range(len(names)) if i not in left]
        is_auto = isinstance(categories, str) and categories == "auto" and "auto" not in names
        encoded = [] if categories is None or is_auto else column_positions(shown, categories)
        if both := [names[i] for i in encoded if i in left]:
            way = "{} and {} both name {!r}: encode the column or leave it out."
            raise TableError("", way, Setting("categories"), Setting("exclude"), both[0])
        self.formats: dict[int, CellFormat] = {}
        self._problems: dict[int, str] = {}
        self.roles: TableRoles | None = None
        if columns is None:
            self.roles, positions, encoded = roles_of(
                self.profiles(), self._among, encoded=encoded, all_categories=is_auto
            )
        else:
            is_none = columns is NO_COLUMNS
            if not isinstance(columns, int) and not len(columns) and not is_none:
                text_of = "{} must be a list of names or positions, got {!r}."
                raise TableError("", text_of, Setting("columns"), columns)
            chosen = [i for i in column_positions(shown, columns) if i not in left and i not in encoded]
            positions = self._numbers_among(chosen, is_auto)
            encoded = [i for i in chosen if i not in set(positions)] if is_auto else encoded
            if not positions and not encoded and not is_auto and not is_none:
                raise TableError("", "{} leaves no column of numbers.", Setting("exclude"))
        self.encoded = [names[i] for i in encoded]
        is_asked = columns is not None or exclude is not None
        self.is_choice = is_asked or bool(self.roles and (self.roles.left_out or self.encoded))
        self.widths = {i: self._width(i) for i in positions}
        self.vectors = {i for i, width in self.widths.items() if width is not None}
        self.column_names: list[str] = []
        for i, width in self.widths.items():
            self.column_names += [names[i]] if width is None else [f"{names[i]}[{at}]" for at in range(width)]
        kinds = {pyarrow.float64() if i in self.formats else value_type(self._types[i]) for i in positions}
        inner = {str(kind.value_type if arrow_kind(kind) == "vector" else kind) for kind in kinds}
        self.dtype = np.dtype(np.float32 if inner <= _FLOAT32_NAMES else np.float64)

    @property
    def keys(self) -> list[str | int]:
        """The clustered columns as `columns` takes them: names, or positions where there are none of their own."""
        names = self._names
        is_known = self._table.is_named and len(set(names)) == len(names)
        return [names[i] for i in self.widths] if is_known else list(self.widths)

    def profiles(self) -> list[ColumnProfile]:
        """Describe all columns that are not excluded, by the first rows of the table."""
        self._find_formats(None)
        head, is_whole = self._table.head
        named = (self._table.schema.pandas_metadata or {}).get("index_columns", [])
        index = [i for i, name in enumerate(self._names) if i in self._table.index or name in named]
        found = profile_columns(head, self.formats, self._problems, is_whole=is_whole, index=index)
        return [found[i] for i in self._among]

    def _find_formats(self, chosen: Collection[int] | None) -> None:
        """Find how text columns are read as numbers or vectors; all columns of a file are written alike."""
        among = self._among if chosen is None or self._table.sep is not None else sorted(chosen)
        texts = [i for i in among if self._kinds[i] == "text"]
        if texts and self._table.head[0].num_rows:
            cells = {i: self._table.head[0].column(i) for i in texts}
            self.formats, self._problems = cell_formats(
                cells, self._names, *self._readings, chosen=chosen, sep=self._table.sep
            )

    def block(self, batch: Any, row: int) -> Array:
        """Return the clustered columns of a batch as an array (n_rows, n_columns); nulls become NaN, and a single
        column of vectors is neither copied nor converted. `row` is the number of the first row, for errors.
        """
        parts: list[Array] = []
        for i, width in self.widths.items():
            cells, format = batch.column(i), self.formats.get(i)
            cells = cells if format is None else format.parse(cells, row, self._names[i])
            parts.append(numbers_of(cells) if width is None else self._vectors(cells, i, width, row))
        return parts[0] if len(parts) == 1 and parts[0].ndim == 2 else np.column_stack(parts)

    def _vectors(self, column: Any, i: int, width: int, row: int) -> Array:
        """Return lists as an array of shape (n_rows, width), a view if no number is missing; missing ones are NaN."""
        column = getattr(column, "storage", column)
        is_there = ~column.is_null().to_numpy(zero_copy_only=False)
        if not hasattr(column.type, "list_size"):
            lengths = np.diff(column.offsets.to_numpy())
            wrong = (lengths != width) & is_there
            if wrong.any():
                first = int(wrong.argmax())
                raise vector_length_error(self._names[i], width, int(lengths[first]), row + first)
        if is_there.all():
            return numbers_of(column.flatten()).reshape(len(column), width)
        block = np.full((len(column), width), np.nan)
        block[is_there] = numbers_of(column.drop_null().flatten()).reshape(-1, width)
        return block

    def _numbers_among(self, chosen: list[int], is_auto: bool) -> list[int]:
        """Return the columns of numbers or vectors among named ones; others are an error, unless they are encoded."""
        if chosen:
            self._find_formats(chosen)
        for i in chosen:
            if i in self._problems:
                raise invalid_cells(self._names[i], self._problems[i])
        others = [i for i in chosen if self._kinds[i] not in ("number", "vector") and i not in self.formats]
        if others and not is_auto:
            raise TableError(
                f"The table has columns that are not numbers: {listed_columns(self._names, self._types, others)}. ",
                "Leave them out, encode their values by {}, or choose others.",
                Setting("categories", "auto", "prepare_rows"),
            )
        return [i for i in chosen if i not in others]

    def _width(self, i: int) -> int | None:
        """Return the length of the vectors of a column, that of the first if it may vary; None for numbers."""
        kind, format = value_type(self._types[i]), self.formats.get(i)
        if not isinstance(format, VectorFormat) and self._kinds[i] != "vector":
            return None
        if hasattr(kind, "list_size"):
            return int(kind.list_size)
        cells = self._table.head[0].column(i).drop_null()[:1]
        cells = cells if format is None else format.parse(cells, name=self._names[i])
        return max(1, len(cells[0])) if len(cells) else 1


def columns_of_tables(tables: Sequence[Table], options: Mapping[str, Any]) -> list[TableColumns]:
    """Return the choice of columns of each table with the options of `open_rows`: the first one decides."""
    readings = reading_of(options)
    chosen = {name: options.get(name) for name in CHOICES}
    if "fitted" in options:
        chosen["columns"] = _columns_of_fit(tables[0], *options["fitted"])
    found: list[TableColumns] = []
    for table in tables:
        with reading(table.name):
            found.append(TableColumns(table, **chosen, texts=readings))
            if found[-1].column_names != found[0].column_names:
                raise ValueError(f"its columns are not those of {tables[0].name}, in their order.")
        if chosen["columns"] is not NO_COLUMNS or found[0].roles is not None:
            chosen = {"columns": found[0].keys or NO_COLUMNS, "categories": found[0].encoded or None}
    return found


def _columns_of_fit(table: Table, chosen: Columns | None, names: Sequence[str] | None) -> Columns | None:
    """Return the columns that a fit has chosen, or else those of its names; else all numbers, if there is no text."""
    known = table.schema.names
    if chosen is not None:
        return chosen or NO_COLUMNS
    if names is not None and set(names) <= set(known) and len(set(known)) == len(known):
        return list(names)
    are_numbers = all(arrow_kind(kind) in ("number", "vector") for kind in table.schema.types)
    return [i for i in range(len(known)) if i not in table.index] if are_numbers else None


def land_tables(tables: Sequence[Table], options: Mapping[str, Any], description: str) -> DenseRows:
    """Read tables of equal columns, one after the other: the clustered ones as numbers, the others as metadata, with
    `keep_columns` all except vectors.
    """
    import pyarrow

    columns, table = columns_of_tables(tables, options), tables[0]
    first, n_rows = columns[0], sum(one.n_rows or 0 for one in tables)
    dtype = np.result_type(*(part.dtype for part in columns))
    landing, metadata = LandingArray(len(first.column_names), dtype, n_rows), LandingMetadata()
    files, start = [], 0
    for part, one in zip(columns, tables):
        left_out = part.vectors if options.get("keep_columns") else part.widths
        kept = [i for i in range(len(one.schema)) if i not in left_out]
        files.append((start, one.name))
        with reading(one.name):
            for batch in one.batches():
                is_view = len(part.widths) == len(part.vectors) == 1
                size = max(1, batch.num_rows) if is_view else _BATCH_ROWS
                for low in range(0, batch.num_rows if part.widths else 0, size):
                    landing.add(part.block(batch.slice(low, size), start - files[-1][0] + low))
                metadata.add(batch.select(kept))
                start += batch.num_rows
    with reading(table.name):
        check_shape((start, len(table.schema)))
        beside = metadata.table()
    # Without a column to cluster there is one, which is never read.
    empty = np.broadcast_to(np.zeros((1, 1), dtype=dtype), (start, 1))
    rows = DenseRows(landing.array() if first.widths else empty, description)
    rows.column_names, rows.is_table = first.column_names if table.is_named else None, True
    rows.chosen, rows.roles, rows.encoded = first.keys, first.roles, first.encoded
    rows.files = tuple(files) if table.name else ()
    if table.sep is not None:
        styles = {one.style for one in first.formats.values() if isinstance(one, NumberFormat)}
        rows.dialect = table.sep, next(iter(styles), ".")[0]
        words = reading_of(options)[1]
        beside = pyarrow.table([typed_texts(cells, words) for cells in beside.columns], beside.column_names)
    if first.is_choice:
        rows.preparation = (("columns", list(rows.chosen)),)
    names = table.schema.names
    clustered = {names[i] for i in first.widths} if options.get("keep_columns") else set()
    others = [at for at, name in enumerate(beside.column_names) if name not in clustered]
    rows.metadata_columns = beside.select(others) if others else None
    kinds = enumerate(beside.schema.types)
    rows.all_columns = beside.select([at for at, kind in kinds if arrow_kind(kind) != "vector"])
    return rows


def vector_length_error(name: str, width: int, length: int | None, row: int) -> BadRowError:
    """Return the error for a vector of another length than the first (None for a missing vector)."""
    found = "is missing" if length is None else f"has {length} numbers"
    problem = f"The vectors of {name!r} must have the same length, {width} as in row 0, but one {found}."
    return BadRowError.of(problem, row, None)
