"""The choice of the clustered columns of a table, and tables as rows."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from coterie.arrays import Array, IndexArray
from coterie.limits.files import DamagedFileError
from coterie.rows.cells import (
    CellFormat,
    NumberFormat,
    TextOptions,
    VectorFormat,
    arrow_kind,
    as_text,
    cell_formats,
    numbers_of,
    parsed_numbers,
    value_type,
)
from coterie.rows.checks import NotNumbersError, TableError, check_shape, reading
from coterie.rows.columns import (
    NO_COLUMNS,
    ChosenColumns,
    Columns,
    column_positions,
    first_width,
    listed_columns,
    vector_length_error,
)
from coterie.rows.formats.format import Table
from coterie.rows.landing import LandingArray, LandingMetadata
from coterie.rows.roles import ColumnProfile, TableRoles, invalid_cells, profile_columns, roles_of
from coterie.rows.source import DenseRows, no_numbers

# Arrow's names of the types that float32 holds exactly.
_FLOAT32_NAMES = {"float", "halffloat", "int8", "int16", "uint8", "uint16"}


class ArrowColumns:
    """The columns of a table that are clustered (`positions`, in their order), those that are encoded as categories
    (`encoded`), and all but the clustered ones (`metadata`).

    Without `columns` the roles of the columns decide, by the first rows of the table. Texts of numbers and of vectors
    are read as such.
    """

    def __init__(
        self,
        table: Table,
        columns: Columns | None = None,
        exclude: Columns | None = None,
        *,
        categories: Columns | None = None,
        text: TextOptions | None = None,
    ) -> None:
        self._table, self._text = table, text or TextOptions()
        self._names, self._types = table.schema.names, table.schema.types
        self._kinds = [arrow_kind(kind) for kind in self._types]
        names: list[str] = self._names
        shown: list[str | None] = list(names) if table.is_named else [None] * len(names)
        index = (table.schema.pandas_metadata or {}).get("index_columns", [])
        self._index = table.index | {i for i, name in enumerate(names) if name in index}
        self._left = set() if exclude is None else set(column_positions(shown, exclude))
        all_categories = isinstance(categories, str) and categories == "auto" and "auto" not in names
        encoded = [] if categories is None or all_categories else column_positions(shown, categories)
        if encoded and (both := [i for i in encoded if i in self._left]):
            raise TableError(
                f"categories and exclude both name {names[both[0]]!r}: encode the column or leave it out.",
                "categories",
            )
        self.formats: dict[int, CellFormat] = {}
        self._problems: dict[int, str] = {}
        self.roles: TableRoles | None = None
        if columns is NO_COLUMNS and categories is None:
            self.positions: list[int] = []
        elif columns is None:
            self.find_formats(None)
            profiles, at = self._profiles(), self._looked_at()
            self.roles = roles_of(profiles, at, names, encoded=encoded, all_categories=all_categories)
            keys = [*self.roles.features, *self.roles.categories]
            chosen = column_positions(shown, keys) if keys else []
            encoded = chosen[len(self.roles.features) :]
            self.positions = chosen[: len(self.roles.features)]
        else:
            self.positions = self._chosen(columns, shown, encoded, all_categories)
            if all_categories:
                encoded = [
                    i for i in column_positions(shown, columns) if i not in {*self._left, *self.positions}
                ]
        self.encoded = encoded
        is_asked = columns is not None or exclude is not None
        self.is_choice = is_asked or bool(self.roles and (self.roles.left_out or self.encoded))
        taken = set(self.positions)
        self.metadata = [i for i in range(len(names)) if i not in taken]
        fields = [table.schema.field(i) for i in self.positions]
        self.chosen = ChosenColumns([field.name for field in fields], self._widths())
        self.dtype = arrow_dtype(
            [
                sys.modules["pyarrow"].float64() if i in self.formats else self._types[i]
                for i in self.positions
            ]
        )

    @property
    def chosen_keys(self) -> list[str | int]:
        """The clustered columns as `columns` takes them: names, or positions where there are none of their own."""
        names = self._names
        is_known = self._table.is_named and len(set(names)) == len(names)
        return [names[i] for i in self.positions] if is_known else list(self.positions)

    @property
    def encoded_names(self) -> list[str]:
        """The names of the columns that are encoded."""
        return [self._names[i] for i in self.encoded]

    def profiles(self) -> list[ColumnProfile]:
        """Describe all columns that are not excluded, by the first rows of the table."""
        if not self.formats and not self._problems:
            self.find_formats(None)
        return self._profiles()

    def block(self, batch: Any, dtype: np.dtype[Any], rows: int | IndexArray) -> Array:
        """Return a `pyarrow.RecordBatch` of the columns as an array of shape (n_rows, n_columns); nulls become NaN.

        A single column of vectors is neither copied nor converted to `dtype`. `rows` is the number of the first row, or
        of each row, for errors.
        """
        first = rows if isinstance(rows, int) else int(rows[0]) if len(rows) else 0

        texts = {
            position: at
            for at, position in enumerate(
                p
                for p, i in enumerate(self.positions)
                if isinstance(self.formats.get(i), NumberFormat)
                and arrow_kind(batch.column(p).type) == "text"
            )
        }
        if texts:
            cells = [batch.column(position) for position in texts]
            formats = [self.formats[self.positions[position]] for position in texts]
            parsed = parsed_numbers(
                cells, formats, first, [self.chosen.names[position] for position in texts]
            )

        def values(position: int, width: int | None) -> Array:
            if position in texts:
                return parsed[:, texts[position]]
            column, name = batch.column(position), self.chosen.names[position]
            format = self.formats.get(self.positions[position])
            if width is None:
                return numbers_of(column, format, first, name)
            return arrow_vectors(
                column if format is None else format.parse(column, first, name), width, name, rows
            )

        return self.chosen.block(batch.num_rows, dtype, values)

    def _looked_at(self) -> list[int]:
        return [i for i in range(len(self._kinds)) if i not in self._left]

    def find_formats(self, chosen: Collection[int] | None) -> None:
        """Find how text columns are read as numbers or vectors."""
        among = self._looked_at() if chosen is None or self._table.sep is not None else sorted(chosen)
        texts = [i for i in among if self._kinds[i] == "text"]
        if not texts:
            return
        import pyarrow

        sample, _ = self._table.first_rows(texts)
        cells = {i: as_text(sample.column(at)) for at, i in enumerate(texts)}
        if not sample.num_rows:
            return
        self.formats, self._problems = cell_formats(
            cells, self._names, self._text, chosen=chosen, sep=self._table.sep
        )
        for i, format in self.formats.items():
            if isinstance(format, NumberFormat) and format.is_plain:
                self._table.types[i] = pyarrow.int64() if format.is_whole else pyarrow.float64()

    def _profiles(self) -> list[ColumnProfile]:
        at = self._looked_at()
        sample, is_whole = self._table.first_rows(at)
        types = [self._table.types.get(i, self._types[i]) for i in at]
        formats = {number: self.formats[i] for number, i in enumerate(at) if i in self.formats}
        problems = {number: self._problems[i] for number, i in enumerate(at) if i in self._problems}
        profiles = profile_columns(sample, types, formats, problems, is_whole=is_whole)
        for i, profile in zip(at, profiles):
            if i in self._index:
                profile.looks_like = "id"
        return profiles

    def _chosen(
        self, columns: Columns, names: list[str | None], encoded: Sequence[int], all_categories: bool
    ) -> list[int]:
        """Return the positions of named columns, which must be numbers or vectors unless they are encoded."""
        if not isinstance(columns, int) and not len(columns) and columns is not NO_COLUMNS:
            raise TableError(f"columns must be a list of names or positions, got {columns!r}.", "columns")
        chosen = [i for i in column_positions(names, columns) if i not in self._left and i not in encoded]
        self.find_formats(chosen)
        invalid = [i for i in chosen if i in self._problems]
        if invalid:
            raise invalid_cells(ColumnProfile(self._names[invalid[0]], "", remark=self._problems[invalid[0]]))
        others = [i for i in chosen if self._kinds[i] not in ("number", "vector") and i not in self.formats]
        if all_categories:
            chosen = [i for i in chosen if i not in others]
        elif others:
            raise NotNumbersError(
                f"X has columns that are not numbers: {listed_columns(self._names, self._types, others)}. Leave them "
                "out, encode their values by prepare_rows(X, categories='auto'), or choose others."
            )
        if not chosen and not encoded and not all_categories and columns is not NO_COLUMNS:
            raise TableError("exclude leaves no column of numbers.", "exclude")
        return chosen

    def _widths(self) -> list[int | None]:
        """Return the lengths of the vectors, None for numbers; vectors of variable length have that of the first."""
        widths: list[int | None] = []
        for i in self.positions:
            kind, format = value_type(self._types[i]), self.formats.get(i)
            if not isinstance(format, VectorFormat) and self._kinds[i] != "vector":
                widths.append(None)
                continue
            if format is None and hasattr(kind, "list_size"):
                widths.append(kind.list_size)
                continue
            name = self._names[i]
            sample, _ = self._table.first_rows([i])
            cells = sample.column(0).drop_null()[:1].combine_chunks()
            cells = getattr(cells, "storage", cells) if format is None else format.parse(cells, 0, name)
            widths.append(
                1 if not sample.num_rows else first_width(len(cells[0]) if len(cells) else None, name)
            )
        return widths


def text_options(options: Mapping[str, Any]) -> TextOptions:
    """Return how texts are read as numbers, as far as it is given."""
    words = options.get("missing_words") or ()
    words = words if isinstance(words, str) else tuple(words)
    return TextOptions(options.get("decimal"), options.get("thousands"), words)  # type: ignore[arg-type]


def rows_of_tables(
    tables: Sequence[Table], names: Sequence[str], description: str, columns: Sequence[ArrowColumns]
) -> DenseRows:
    """Read tables of equal columns, one after the other: the clustered ones land as numbers, the others as metadata.

    `names` are those of their files in errors, if they have one. The only batch of a column of vectors is not copied.
    """
    first, table = columns[0], tables[0]
    for part, name in zip(columns[1:], names[1:]):
        if part.chosen.column_names != first.chosen.column_names:
            raise ValueError(
                f"Shards must have the same columns in order: those of {names[0]} and {name} differ."
            )
    # Metadata are the columns that all files have; names may be there more than once in a single file.
    beside = [part.metadata for part in columns]
    if len(columns) > 1:
        theirs = [[one.schema.field(i).name for i in part.metadata] for one, part in zip(tables, columns)]
        common = [name for name in theirs[0] if all(name in others for others in theirs)]
        beside = [[one.schema.names.index(name) for name in common] for one in tables]
    counts = [one.n_rows for one in tables]
    dtype = np.result_type(*(part.dtype for part in columns))
    n_rows = None if None in counts else sum(count or 0 for count in counts)
    landing = LandingArray(first.chosen.n_columns, dtype, n_rows)
    held: Any = None
    called = [table.schema.field(i).name for i in beside[0]]
    metadata, files, start = LandingMetadata(), [], 0
    for part, one, name, others in zip(columns, tables, names or ("",) * len(tables), beside):
        one.is_last = True
        files.append((start, name))
        n_chosen = len(part.positions)
        with reading(name) if name else nullcontext():
            for batch in one.batches(part.positions, others):
                if n_chosen:
                    if held is not None:
                        landing.add(held)
                    held = part.block(batch.select(range(n_chosen)), dtype, start - files[-1][0])
                if others:
                    beyond = batch.select(range(n_chosen, batch.num_columns))
                    metadata.add(beyond.rename_columns(called))
                start += batch.num_rows
            n_read = start - files[-1][0]
            if one.n_rows not in (None, n_read):
                raise DamagedFileError(
                    f"the file is damaged: it declares {one.n_rows} rows, and {n_read} are there"
                )
    with reading(names[0]) if names else nullcontext():
        check_shape((start, len(table.schema)))
    if landing.n_rows:
        landing.add(held)
        held = landing.array()
    rows = DenseRows(
        held if first.positions else no_numbers(start, dtype),
        description,
        column_names=first.chosen.column_names if table.is_named else None,
        is_table=True,
        metadata_columns=metadata.columns(),
        chosen=first.chosen_keys,
    )
    rows.files = tuple(files) if names else ()
    rows.roles, rows.encoded = first.roles, first.encoded_names
    if first.is_choice:
        rows.preparation = (*rows.preparation, ("columns", list(rows.chosen or [])))
    return rows


def arrow_dtype(kinds: Iterable[Any]) -> np.dtype[Any]:
    """Return the type to compute in for columns of these Arrow types, of numbers or of vectors."""
    values = [value_type(kind) for kind in kinds]
    names = {str(kind.value_type if arrow_kind(kind) == "vector" else kind) for kind in values}
    return np.dtype(np.float32 if names <= _FLOAT32_NAMES else np.float64)


def arrow_vectors(column: Any, width: int, name: str, rows: int | IndexArray) -> Array:
    """Return an array of lists as an array of shape (n_rows, width), a view if no number is missing.

    A missing vector is one of NaN. `name` and `rows`, the number of the first row or of each row, are for errors.
    """
    column = column.combine_chunks() if hasattr(column, "chunks") else column
    column = getattr(column, "storage", column)
    is_there = ~column.is_null().to_numpy(zero_copy_only=False)
    if not hasattr(column.type, "list_size"):
        lengths = np.diff(column.offsets.to_numpy())
        wrong = (lengths != width) & is_there
        if wrong.any():
            first = int(wrong.argmax())
            raise vector_length_error(name, width, int(lengths[first]), first, rows)
    if is_there.all():
        return numbers_of(column.flatten()).reshape(len(column), width)
    block = np.full((len(column), width), np.nan)
    block[is_there] = numbers_of(column.drop_null().flatten()).reshape(-1, width)
    return block
