"""Profiles of the columns of a table, and the rules that choose features among ids, texts and dates."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.arrays import Array
from coterie.limits.files import DamagedFileError, shortened
from coterie.rows import checks
from coterie.rows.arrow import arrow_kind
from coterie.rows.checks import MOST_OF_A_NAME
from coterie.rows.columns import column_word, has_id_name
from coterie.rows.files import UnreadTable, open_table

# Maximum number of values of a category: a column with more is usually an id or a text.
CATEGORY_LIMIT = 100

# Maximum number of distinct values of a column that are counted.
DISTINCT_LIMIT = 10_000

# Names of id columns; the last one is pandas' name in files of an index without a name.
ID_NAMES = ("id", "_id", "uuid", "__index_level_0__")

# Rows at the beginning of a table that decide the roles of its columns.
_SEEN_ROWS = 1 << 16
_FEWEST_IDS = 20

# Hashes: integers too large for a count or a measurement.
_HUGE = 2.0**40

# Names of row numbers, if the values are unique.
_INDEX_NAME = re.compile(
    r"^(index|idx|row|row[_ ]?(number|nr|id)|rownum|unnamed: ?\d+|level_0|__index_level_\d+__)?$",
    re.IGNORECASE,
)

# Names of times that are stored as numbers: seconds (or smaller units) since 1970.
_TIME_NAME = re.compile(
    r"(^|[_\-. ])(time|timestamp|datetime|date|ts|created|updated|modified)(_?at)?$", re.IGNORECASE
)
_LEAST_EPOCH = 1e8

# Longer texts, or more words, are sentences rather than keys.
_KEY_LENGTH, _KEY_WORDS = 40, 3

_NUMBER = r"^\s*[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\s*$"
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{4}")

# Features whose standard deviations differ by more than this should be scaled.
_SCALES = 100.0

# Maximum number of names in a sentence.
_LISTED = 6


@dataclass(frozen=True)
class TableRoles:
    """The role of each column of a table.

    Attributes
    ----------
    features : tuple of str or int
        Columns to cluster, as `columns` takes them: names, or positions where names repeat.
    categories : tuple of str or int
        Columns of few distinct values that are encoded, in the same form.
    left_out : tuple of (str, str)
        Names of the other columns, each with its role: "id", "date", "text", "constant", "empty", "category",
        "nested", or "beside the vectors".
    scales : tuple of (str, str), optional
        The features of the largest and the smallest standard deviation, if they differ by more than 100.
    names : tuple of str
        Names of the features.
    """

    features: tuple[str | int, ...]
    categories: tuple[str | int, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    scales: tuple[str, str] | None = None
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        used = f"{len(self.features)} column{'s' * (len(self.features) != 1)} ({_listed(self.names)})"
        if self.categories:
            used += f", categories {_listed(self.categories)}"
        if not self.left_out:
            return f"Used: {used}."
        by_role: dict[str, list[str]] = {}
        for name, role in self.left_out:
            by_role.setdefault(role, []).append(name)
        return f"Used: {used}. Left out: {'; '.join(f'{_listed(names)} ({role})' for role, names in by_role.items())}."


def roles_of(
    table: UnreadTable,
    *,
    exclude: Collection[str | int] = (),
    categories: Collection[str | int] | None = None,
) -> TableRoles:
    """Return the role of each column, by the first 65,536 rows of a table without a column to cluster.

    Columns in `exclude` are ignored, those in `categories` encoded; all of few distinct values if it contains "auto".

    A column of vectors is the only feature. Otherwise columns of numbers and booleans are features, except for

    - ids: integers or short texts in a column with the name of an id ("id", "customer_id", "customerId", "uuid");
    unique integers in a column with the name of a row number ("index", "row"), consecutive from 0 or 1, or huge; unique
    short texts;
    - dates, and seconds since 1970 in a column with the name of a time;
    - constant and empty columns.

    A ValueError is raised if there are several columns of vectors, no column of numbers, or a text column of mostly
    numbers.
    """
    columns = profile_columns(table, _SEEN_ROWS)
    names = [column.name for column in columns]
    words = [column_word(i, name if names.count(name) == 1 else None) for i, name in enumerate(names)]
    keys = [i if name.isdecimal() or names.count(name) > 1 else name for i, name in enumerate(names)]
    looked_at = [i for i in range(len(columns)) if not {i, names[i]} & set(exclude)]
    looks = {i: columns[i].looks_like for i in looked_at}
    wanted = set(categories or ())
    encoded = [
        i for i in looked_at if {i, names[i]} & wanted or ("auto" in wanted and looks[i] == "category")
    ]
    vectors = [i for i in looked_at if looks[i] == "vector" and i not in encoded]
    numbers = [i for i in looked_at if looks[i] == "number" and i not in encoded]
    if len(vectors) > 1:
        raise ValueError(
            f"The table has several columns of vectors: {_listed([names[i] for i in vectors])}. Choose one: "
            f"columns=[{shortened(names[vectors[0]], MOST_OF_A_NAME)!r}] (--columns "
            f"{shlex.quote(shortened(words[vectors[0]], MOST_OF_A_NAME))})."
        )
    invalid = [i for i in looked_at if looks[i] == "invalid numbers" and i not in encoded]
    if invalid and not vectors:
        raise ValueError(_invalid_cells(columns[invalid[0]], words[invalid[0]]))
    features = vectors or numbers
    if not features and not encoded:
        raise ValueError(_nothing_to_cluster([columns[i] for i in looked_at]))
    chosen = {*features, *encoded}
    left_out = [
        (names[i], "beside the vectors" if looks[i] == "number" else looks[i])
        for i in looked_at
        if i not in chosen
    ]
    return TableRoles(
        tuple(keys[i] for i in features),
        tuple(keys[i] for i in encoded),
        tuple(left_out),
        None if vectors else _unlike_scales([columns[i] for i in numbers]),
        tuple(names[i] for i in features),
    )


def check_cells(table: UnreadTable, chosen: Sequence[int]) -> None:
    """Raise a ValueError that names the first cell that is not a number, in chosen columns most of which are numbers.

    The table was opened without a column to cluster.
    """
    columns = profile_columns(table, _SEEN_ROWS)
    for i in chosen:
        if columns[i].looks_like == "invalid numbers":
            raise ValueError(_invalid_cells(columns[i], column_word(i, columns[i].name)))


def _invalid_cells(column: ColumnProfile, word: str) -> str:
    shown = shortened(column.name, MOST_OF_A_NAME)
    return (
        f"Column {shown!r}: {column.remark}. Correct the cells, or leave the column out: "
        f"exclude=[{shown!r}] (--exclude {shlex.quote(shortened(word, MOST_OF_A_NAME))})."
    )


def _unlike_scales(columns: Sequence[ColumnProfile]) -> tuple[str, str] | None:
    spread = np.sqrt([column.variance or 0.0 for column in columns])
    moving = np.flatnonzero(spread > 0)
    if len(moving) < 2:
        return None
    largest, smallest = moving[spread[moving].argmax()], moving[spread[moving].argmin()]
    is_wide = spread[largest] > _SCALES * spread[smallest]
    return (columns[largest].name, columns[smallest].name) if is_wide else None


def _nothing_to_cluster(columns: Sequence[ColumnProfile]) -> str:
    """Return the error for a table without numbers, with the options that would give features."""
    texts = [column.name for column in columns if column.looks_like == "text"]
    categories = [column.name for column in columns if column.looks_like == "category"]
    if texts:
        first = shortened(texts[0], MOST_OF_A_NAME)
        return (
            f"The table has no columns of numbers, but text in {_listed(texts)}. Make vectors of the text first, for "
            "example in Python with sentence-transformers: numpy.save('vectors.npy', "
            f"SentenceTransformer('all-MiniLM-L6-v2').encode(table[{first!r}].tolist())), "
            "and cluster these: coterie fit vectors.npy -k 10."
        )
    if categories:
        return (
            f"The table has no columns of numbers. Encode the categories in {_listed(categories)}: categories='auto' "
            "(--categories auto)."
        )
    looks = (
        f"{shortened(column.name, MOST_OF_A_NAME)} ({column.looks_like})" for column in columns[:_LISTED]
    )
    return f"The table has no columns of numbers or vectors to cluster: {', '.join(looks)}."


def _listed(names: Sequence[str | int]) -> str:
    shown = ", ".join(shortened(str(name), MOST_OF_A_NAME) for name in names[:_LISTED])
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED} more"


@dataclass(slots=True)
class ColumnProfile:
    """Profile of a column.

    `looks_like` is "number", "vector", "category", "id", "date", "text", "constant", "empty", "nested", or "invalid
    numbers": text of mostly numbers. `missing` counts nulls, NaN and empty texts; `distinct` is None for more than
    `DISTINCT_LIMIT` values, and for vectors, which have a `width`. `remark` is the reason why the column cannot be
    clustered, or a peculiarity.
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
    """Describe the columns of a table in a file, in one pass; of vectors only the first rows are read.

    Returns the number of rows and a profile of each column; None if the file is not a table.
    """
    table = open_table(path, **reading)
    if table is None:
        return None
    with checks.reading(path):
        n_rows = table.n_rows
        if n_rows is None and table.metadata_columns is not None:
            n_rows = sum(batch.num_rows for batch in table.metadata_columns.batches([0]))
            table.n_rows = n_rows
        return n_rows or 0, profile_columns(table)


def profile_columns(table: UnreadTable, most_rows: int | None = None) -> list[ColumnProfile]:
    """Describe the columns of a table that was opened without a column to cluster: all its columns are metadata.

    With `most_rows` only these rows are read, and distinct numbers are not counted.
    """
    if table.metadata_columns is None:
        return []
    first = next(iter(table.metadata_columns.batches()), None)
    if first is None:
        if not table.n_rows:
            checks.check_shape((0, len(table.metadata_columns.names)))
        raise DamagedFileError(f"the file is damaged: it declares {table.n_rows:,} rows, but holds none")
    columns = [_column_of(batch_field) for batch_field in first.schema]
    for column, cells in zip(columns, first.columns):
        if isinstance(column, _Vectors):
            column.look_at(cells, 0)
        elif isinstance(column, _Numbers) and most_rows is not None:
            column.found.distinct = None
    read = [i for i, column in enumerate(columns) if not isinstance(column, _Vectors)]
    start = 0
    is_whole = most_rows is None
    for batch in table.metadata_columns.batches(read) if read else ():
        if most_rows is not None and start >= most_rows:
            break
        for i, cells in zip(read, batch.columns):
            columns[i].look_at(cells, start)
        start += batch.num_rows
    else:
        is_whole = True
    n_seen = start if read else table.n_rows or 0
    return [column.result(n_seen, is_whole=is_whole) for column in columns]


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
        else _Column(found)
    )


class _Column:
    """A column during reading, of nested cells; subclasses are other kinds of cells."""

    looks_like = "nested"

    def __init__(self, found: ColumnProfile) -> None:
        self.found = found
        self._values: set[Any] = set()

    def look_at(self, cells: Any, start: int) -> None:
        """Add the next cells, from row `start` on."""
        self.found.missing += cells.null_count

    def result(self, n_rows: int, *, is_whole: bool) -> ColumnProfile:
        """Return the profile after all cells."""
        self.found.looks_like, self.found.distinct = self.looks_like, None
        return self.found

    def _count(self, cells: Any) -> None:
        """Count distinct values."""
        from pyarrow import compute

        if self.found.distinct is not None:
            self._values.update(compute.unique(cells).to_pylist())
            self._values.discard(None)
            self.found.distinct = len(self._values) if len(self._values) <= DISTINCT_LIMIT else None


class _Vectors(_Column):
    looks_like = "vector"

    def look_at(self, cells: Any, start: int) -> None:
        from pyarrow import compute

        self.found.missing += cells.null_count
        lengths = compute.list_value_length(getattr(cells, "storage", cells)).drop_null().to_numpy()
        self.found.width = int(lengths[0]) if len(lengths) else None
        if self.found.missing:
            self.found.remark = "vectors are missing"
        elif len(lengths) and np.any(lengths != lengths[0]):
            first = int(np.argmax(lengths != lengths[0]))
            self.found.remark = f"lengths differ: {lengths[0]} and {lengths[first]}"


class _Numbers(_Column):
    def __init__(self, found: ColumnProfile) -> None:
        super().__init__(found)
        self._n = 0
        self._mean = self._squares = 0.0
        self._seen: list[Array] = []

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
        if self.found.distinct is not None:
            self._count(pyarrow.array(numbers))
        if sum(map(len, self._seen)) < _SEEN_ROWS:
            self._seen.append(numbers[:_SEEN_ROWS])
        low, high = float(numbers.min()), float(numbers.max())
        self.found.lowest = low if self._n == 0 else min(low, self.found.lowest)
        self.found.highest = high if self._n == 0 else max(high, self.found.highest)
        with np.errstate(over="ignore", invalid="ignore"):
            # The moments of a batch are merged with those so far (Chan, Golub & LeVeque 1979). Products, since powers
            # of Python floats raise an error on overflow.
            mean, n = float(numbers.mean()), self._n + len(numbers)
            step = mean - self._mean
            self._squares += float(((numbers - mean) ** 2).sum()) + step * step * (self._n * len(numbers) / n)
            self._mean += step * len(numbers) / n
            self._n = n

    def result(self, n_rows: int, *, is_whole: bool) -> ColumnProfile:
        found = self.found
        if not self._n:
            found.looks_like = "number" if found.infinite or not is_whole else "empty"
            return found
        found.variance = self._squares / self._n
        if found.infinite:
            found.remark = f"{found.infinite:,} infinite"
        seen = np.concatenate(self._seen)
        is_whole_number = bool(np.all(seen == np.floor(seen)))
        is_unique = is_whole_number and len(np.unique(seen)) == len(seen)
        is_count = seen[0] in (0, 1) and bool(np.all(np.diff(seen) == 1))
        found.looks_like = "number"
        if found.lowest == found.highest and is_whole and not found.missing:
            found.looks_like = "constant"
        elif _TIME_NAME.search(found.name) and found.lowest >= _LEAST_EPOCH:
            found.looks_like = "date"
        elif (
            (has_id_name(found.name) and is_whole_number)
            or (is_unique and _INDEX_NAME.search(found.name))
            or (self._n >= _FEWEST_IDS and is_unique and (is_count or np.median(np.abs(seen)) >= _HUGE))
        ):
            found.looks_like = "id"
        return found


class _Texts(_Column):
    def __init__(self, found: ColumnProfile, is_date: bool) -> None:
        super().__init__(found)
        self._is_date = is_date
        self._length = self._n_words = self._n_numbers = self._n_dates = 0
        self._odd: tuple[int, str] | None = None

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
        self._count(there)
        self._length += compute.sum(compute.utf8_length(there)).as_py()
        self._n_words += len(there) + compute.sum(compute.count_substring_regex(there, r"\S\s+\S")).as_py()
        span = compute.min_max(there).as_py()
        self.found.lowest = min(filter(None, (self.found.lowest, span["min"])))
        self.found.highest = max(filter(None, (self.found.highest, span["max"])))
        is_number = compute.match_substring_regex(there, _NUMBER).to_numpy(zero_copy_only=False)
        self._n_numbers += int(is_number.sum())
        self._n_dates += bool(_DATE.match(there[0].as_py())) * len(there)
        if self._odd is None and not is_number.all():
            first = int(is_number.argmin())
            self._odd = (
                start + int(np.flatnonzero(is_there.to_numpy(zero_copy_only=False))[first]),
                there[first].as_py(),
            )

    def result(self, n_rows: int, *, is_whole: bool) -> ColumnProfile:
        found = self.found
        n_there = n_rows - found.missing
        distinct = math.inf if found.distinct is None else found.distinct
        if not n_there:
            found.looks_like = "empty"
        elif self._is_date or 2 * self._n_dates > n_there:
            found.looks_like = "date"
        elif self._odd is not None and 2 * self._n_numbers > n_there:
            row, text = self._odd
            found.looks_like = "invalid numbers"
            n_invalid = n_there - self._n_numbers
            found.remark = (
                f"{n_invalid:,} of {n_there:,} cells {'is not a number' if n_invalid == 1 else 'are not numbers'}, the "
                f"first is {text[:20]!r} in row {row}"
            )
        elif distinct == 1 and is_whole and not found.missing:
            found.looks_like = "constant"
        elif (
            distinct in (math.inf, n_there)
            and self._length <= _KEY_LENGTH * n_there
            and self._n_words <= _KEY_WORDS * n_there
            and n_there >= _FEWEST_IDS
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
