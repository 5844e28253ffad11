"""`profile_table`: what is in each column of a table, whether it can be clustered yet or not."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coterie.arrays import Array
from coterie.rows import checks
from coterie.rows.arrow import arrow_kind
from coterie.rows.categories import CATEGORY_LIMIT
from coterie.rows.columns import NO_COLUMNS, NotATableError
from coterie.rows.files import open_rows
from coterie.rows.source import RowSource

__all__ = [
    "DISTINCT_LIMIT",
    "ID_NAMES",
    "ColumnProfile",
    "looks_like_ids",
    "profile_columns",
    "profile_table",
    "shares_of_variance",
]

# So many different values of a column are counted.
DISTINCT_LIMIT = 10_000

# What columns of ids are called; the last is what pandas calls an index without a name in a file.
ID_NAMES = ("id", "_id", "uuid", "__index_level_0__")

# Rows at the beginning of a column of numbers by which ids are told from measurements.
_SEEN_ROWS = 1 << 16
_FEWEST_IDS = 20

# Hashes and such: whole numbers too large for a count or a measurement.
_HUGE = 2.0**40

# Names of ids, whatever their values; names of row numbers, where the values are unique.
_ID_NAME = re.compile(r"(?i:(^|[_\-. ])(id|ids|uuid|guid)$)|[a-z0-9](Id|ID)$")
_INDEX_NAME = re.compile(
    r"^(index|idx|row|row[_ ]?(number|nr|id)|rownum|unnamed: ?\d+|level_0|__index_level_\d+__)?$",
    re.IGNORECASE,
)

# Names of times that are stored as numbers: seconds (or smaller units) since 1970.
_TIME_NAME = re.compile(
    r"(^|[_\-. ])(time|timestamp|datetime|date|ts|created|updated|modified)(_?at)?$", re.IGNORECASE
)
_LEAST_EPOCH = 1e8

# Longer texts are sentences rather than keys.
_KEY_LENGTH = 40

_NUMBER = r"^\s*[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\s*$"
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{4}")


@dataclass(slots=True)
class ColumnProfile:
    """What is known of a column.

    Attributes
    ----------
    name, type : str
        What the table calls it, and its type.
    looks_like : str
        "number", "vector", "category", "id", "date", "text", "constant", "empty", "nested", or "invalid numbers": text
        most of which is numbers.
    missing : int
        Cells without a value: null, NaN, or an empty text.
    infinite : int
        Cells with an infinity.
    distinct : int or None
        Different values; None where they are more than `DISTINCT_LIMIT`, or of vectors.
    lowest, highest : float or str or None
        The range of numbers, dates and texts.
    variance : float or None
        Of numbers.
    width : int or None
        How many numbers a vector has, of those that were looked at.
    remark : str
        What keeps it from being clustered, or is worth a look.
    """

    name: str
    type: str
    looks_like: str = "text"
    missing: int = 0
    infinite: int = 0
    distinct: int | None = 0
    lowest: Any = None
    highest: Any = None
    variance: float | None = None
    width: int | None = None
    remark: str = ""


def profile_table(path: str, **reading: Any) -> tuple[int, list[ColumnProfile]] | None:
    """Describe the columns of a table in a file, in one pass; of vectors only the first rows are looked at.

    Parameters
    ----------
    path : str
        What `open_rows` takes.
    reading
        Options of `open_rows`.

    Returns
    -------
    n_rows : int
    columns : list of ColumnProfile
        In the order of the table. None instead of both, where the file is no table.
    """
    try:
        table = open_rows(path, NO_COLUMNS, **reading)
    except NotATableError:
        return None
    with checks.reading(path):
        return table.shape[0], profile_columns(table)


def profile_columns(table: RowSource, most_rows: int | None = None) -> list[ColumnProfile]:
    """Describe the columns of a table that was opened without a column to cluster.

    Parameters
    ----------
    table : RowSource
        Opened with `NO_COLUMNS`: all its columns are carried.
    most_rows : int, optional
        Rows to look at; all by default.
    """
    if table.carried is None:
        return []
    columns, n_seen = _profiled(table, table.shape[0] if most_rows is None else most_rows)
    return [column.result(n_seen, is_whole=n_seen == table.shape[0]) for column in columns]


def looks_like_ids(column: Array) -> bool:
    """Return whether numbers are row numbers (0, 1, 2, ... or 1, 2, 3, ...) or hashes (unique, whole and huge)."""
    if not len(column) or np.any(column != np.floor(column)):
        return False
    if column[0] in (0, 1) and np.all(np.diff(column) == 1):
        return True
    return bool(np.median(np.abs(column)) >= _HUGE and len(np.unique(column)) == len(column))


def has_id_name(name: str) -> bool:
    """Return whether a column is called like an id: "id", "customer_id", "customerId", "uuid"."""
    return bool(_ID_NAME.search(name))


def _profiled(table: RowSource, most_rows: int) -> tuple[Sequence[_Column], int]:
    """Return the columns of the first rows, and how many rows were read."""
    assert table.carried is not None
    first = next(iter(table.carried.batches()), None)
    if first is None:
        raise ValueError(f"the file is damaged: it says that it has {table.shape[0]:,} rows, and holds none")
    columns = [_column_of(batch_field) for batch_field in first.schema]
    for column, cells in zip(columns, first.columns):
        if isinstance(column, _Vectors):
            column.look_at(cells, 0)
    read = [i for i, column in enumerate(columns) if not isinstance(column, _Vectors)]
    start = 0
    for batch in table.carried.batches(read) if read else ():
        if start >= most_rows:
            break
        for i, cells in zip(read, batch.columns):
            columns[i].look_at(cells, start)
        start += batch.num_rows
    return columns, start if read else table.shape[0]


def _column_of(batch_field: Any) -> _Column:
    from pyarrow import types

    kind = batch_field.type
    value = kind.value_type if types.is_dictionary(kind) else kind
    found = ColumnProfile(batch_field.name, str(kind))
    if arrow_kind(kind) == "vector":
        return _Vectors(found)
    if arrow_kind(kind) == "number":
        return _Numbers(found)
    is_plain = types.is_string(value) or types.is_large_string(value) or types.is_temporal(value)
    return (
        _Texts(found, is_date=types.is_temporal(value))
        if is_plain or arrow_kind(value) == "number"
        else _Nested(found)
    )


@dataclass(slots=True)
class _Column:
    """A column while it is read; a subclass knows what its cells are."""

    found: ColumnProfile

    def look_at(self, cells: Any, start: int) -> None:
        """Take the next cells, of which the first is in row `start`."""
        self.found.missing += cells.null_count

    def result(self, n_rows: int, *, is_whole: bool) -> ColumnProfile:
        """Return what was found once all cells were seen."""
        return self.found


@dataclass(slots=True)
class _Nested(_Column):
    def result(self, n_rows: int, *, is_whole: bool) -> ColumnProfile:
        self.found.looks_like, self.found.distinct = "nested", None
        return self.found


@dataclass(slots=True)
class _Vectors(_Column):
    def look_at(self, cells: Any, start: int) -> None:
        from pyarrow import compute

        self.found.missing += cells.null_count
        lengths = compute.list_value_length(getattr(cells, "storage", cells)).drop_null().to_numpy()
        self.found.width = int(lengths[0]) if len(lengths) else None
        if len(lengths) and np.any(lengths != lengths[0]):
            first = int(np.argmax(lengths != lengths[0]))
            self.found.remark = f"lengths differ: {lengths[0]} and {lengths[first]}"

    def result(self, n_rows: int, *, is_whole: bool) -> ColumnProfile:
        self.found.looks_like, self.found.distinct = "vector", None
        if self.found.missing:
            self.found.remark = "vectors are missing"
        return self.found


@dataclass(slots=True)
class _Counted(_Column):
    """A column whose different values are counted."""

    values: set[Any] = field(default_factory=set)

    def count(self, cells: Any) -> None:
        from pyarrow import compute

        if self.found.distinct is not None:
            self.values.update(compute.unique(cells).to_pylist())
            self.values.discard(None)
            self.found.distinct = len(self.values) if len(self.values) <= DISTINCT_LIMIT else None

    def are_all_different(self, n_rows: int) -> bool:
        return self.found.distinct is None or self.found.distinct == n_rows - self.found.missing


@dataclass(slots=True)
class _Numbers(_Counted):
    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    seen: list[Array] = field(default_factory=list)

    def look_at(self, cells: Any, start: int) -> None:
        import pyarrow

        numbers = cells.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        numbers = numbers[~np.isnan(numbers)]
        self.found.missing += len(cells) - len(numbers)
        is_finite = np.isfinite(numbers)
        self.found.infinite += len(numbers) - int(is_finite.sum())
        numbers = numbers[is_finite]
        if not len(numbers):
            return
        self.count(pyarrow.array(numbers))
        if sum(map(len, self.seen)) < _SEEN_ROWS:
            self.seen.append(numbers[:_SEEN_ROWS])
        low, high = float(numbers.min()), float(numbers.max())
        self.found.lowest = low if self.n == 0 else min(low, self.found.lowest)
        self.found.highest = high if self.n == 0 else max(high, self.found.highest)
        with np.errstate(over="ignore", invalid="ignore"):
            self._add_moments(numbers)

    def _add_moments(self, numbers: Array) -> None:
        """Merge the moments of a batch with those so far (Chan, Golub & LeVeque 1979)."""
        mean = float(numbers.mean())
        n = self.n + len(numbers)
        step = mean - self.mean
        # Products, not powers, which raise where Python's floats overflow.
        self.squares += float(((numbers - mean) ** 2).sum()) + step * step * (self.n * len(numbers) / n)
        self.mean += step * len(numbers) / n
        self.n = n

    def result(self, n_rows: int, *, is_whole: bool) -> ColumnProfile:
        found = self.found
        if not self.n:
            found.looks_like = "number" if found.infinite or not is_whole else "empty"
            return found
        found.variance = self.squares / self.n
        if found.infinite:
            found.remark = f"{found.infinite:,} infinite"
        seen = np.concatenate(self.seen)
        is_unique = self.are_all_different(n_rows) and bool(np.all(seen == np.floor(seen)))
        found.looks_like = "number"
        if found.distinct == 1 and is_whole and not found.missing:
            found.looks_like = "constant"
        elif _TIME_NAME.search(found.name) and found.lowest >= _LEAST_EPOCH:
            found.looks_like = "date"
        elif (
            (has_id_name(found.name) and bool(np.all(seen == np.floor(seen))))
            or (is_unique and _INDEX_NAME.search(found.name))
            or (self.n >= _FEWEST_IDS and is_unique and looks_like_ids(seen))
        ):
            found.looks_like = "id"
        return found


@dataclass(slots=True)
class _Texts(_Counted):
    is_date: bool = False
    length: int = 0
    n_numbers: int = 0
    n_dates: int = 0
    odd: tuple[int, str] | None = None

    def look_at(self, cells: Any, start: int) -> None:
        import pyarrow
        from pyarrow import compute

        if hasattr(cells, "dictionary_decode"):
            cells = cells.dictionary_decode()
        texts = cells.cast(pyarrow.string())
        is_there = compute.fill_null(compute.not_equal(texts, ""), False)
        there = texts.filter(is_there)
        self.found.missing += len(texts) - len(there)
        if not len(there):
            return
        self.count(there)
        self.length += compute.sum(compute.utf8_length(there)).as_py()
        span = compute.min_max(there).as_py()
        self.found.lowest = min(filter(None, (self.found.lowest, span["min"])))
        self.found.highest = max(filter(None, (self.found.highest, span["max"])))
        is_number = compute.match_substring_regex(there, _NUMBER).to_numpy(zero_copy_only=False)
        self.n_numbers += int(is_number.sum())
        self.n_dates += bool(_DATE.match(there[0].as_py())) * len(there)
        if self.odd is None and not is_number.all():
            first = int(is_number.argmin())
            self.odd = (
                start + int(np.flatnonzero(is_there.to_numpy(zero_copy_only=False))[first]),
                there[first].as_py(),
            )

    def result(self, n_rows: int, *, is_whole: bool) -> ColumnProfile:
        found = self.found
        n_there = n_rows - found.missing
        distinct = math.inf if found.distinct is None else found.distinct
        if not n_there:
            found.looks_like = "empty"
        elif self.is_date or 2 * self.n_dates > n_there:
            found.looks_like = "date"
        elif self.odd is not None and 2 * self.n_numbers > n_there:
            row, text = self.odd
            found.looks_like = "invalid numbers"
            found.remark = (
                f"numbers but for {n_there - self.n_numbers:,} cells, the first {text[:20]!r} in row {row}"
            )
        elif distinct == 1 and is_whole and not found.missing:
            found.looks_like = "constant"
        elif (
            self.are_all_different(n_rows) and self.length <= _KEY_LENGTH * n_there and n_there >= _FEWEST_IDS
        ) or has_id_name(found.name):
            found.looks_like = "id"
        elif distinct <= CATEGORY_LIMIT and 2 * distinct <= n_there:
            found.looks_like = "category"
        return found


def shares_of_variance(columns: Sequence[ColumnProfile]) -> Iterator[float | None]:
    """Yield the share of each column of numbers in the variance of all of them; None for others."""
    total = sum(column.variance or 0.0 for column in columns if column.looks_like == "number")
    for column in columns:
        is_one = column.looks_like == "number" and column.variance is not None and total > 0
        yield column.variance / total if is_one and column.variance is not None else None
