"""Profiles of the columns of a table, and the rules that choose features among ids, texts and dates."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.arrays import FloatArray
from coterie.limits.files import shortened
from coterie.rows.cells import (
    CellFormat,
    NumberFormat,
    VectorFormat,
    arrow_kind,
    as_text,
    parsed_numbers,
    suspects,
    value_type,
)
from coterie.rows.checks import MOST_OF_A_NAME, Setting, TableError

# Maximum number of values of a category: a column with more is usually an id or a text.
CATEGORY_LIMIT = 100

# Names of id columns; the last one is pandas' name in files of an index without a name.
ID_NAMES = ("id", "_id", "uuid", "__index_level_0__")

# Fewest rows in which unique values without a name for it are ids.
_FEWEST_IDS = 20

# Hashes: integers too large for a count or a measurement. Above 2**53 floats lose digits.
_HUGE, _EXACT = 2.0**40, 2.0**53

# The words of a name: customerId, customer_id and "customer id" have two.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|#")

# Last words of names of ids (or first ones of two, as in id_client), whatever the values.
_ID_WORDS = frozenset((
    "id", "ids", "uuid", "guid", "phone", "telephone", "tel", "mobile", "fax", "zip", "zipcode",
    "postcode", "postal", "plz", "ssn", "barcode", "ean", "isbn", "issn", "upc", "gtin", "sku", "iban",
    "imei", "vin", "npi", "fips", "naics", "code", "codes",
))  # fmt: skip
# Last words of names of numbers of records, if nearly all values are distinct.
_RECORD_WORDS = frozenset((
    "number", "num", "no", "nr", "nbr", "key", "row", "rownum", "rownumber", "serial", "seq", "seqn",
    "sequence", "record", "account", "acct", "order", "invoice", "ticket", "card", "ref", "reference",
    "instant", "sn", "pk", "respondent", "#",
))  # fmt: skip
_DISTINCT_SHARE = 0.95
# An index that pandas or R has written.
_INDEX_NAME = re.compile(r"^(index|idx|unnamed: ?\d+|level_0|__index_level_\d+__|)$", re.IGNORECASE)
# Names of ranks, which are permutations of 1, 2, ... too.
_RANK_WORDS = frozenset((
    "rank", "ranking", "position", "place", "order", "priority", "score", "count", "total",
))  # fmt: skip

_SERIAL_WORDS = frozenset(["date", "dates", "datetime", "timestamp", "dt", "dob", "birthday", "birthdate"])
_DATE_WORDS = _SERIAL_WORDS | frozenset(["day", "yyyymmdd", "yyyymm", "month", "period"])
_TIME_WORDS = _DATE_WORDS | frozenset((
    "time", "ts", "created", "updated", "modified", "utc", "epoch", "unix", "added", "posted", "t",
    "since",
))  # fmt: skip
# Seconds, milliseconds, microseconds and nanoseconds from 1973 to 2100; days of spreadsheets from 1954 to 2119.
_EPOCHS = tuple((1e8 * unit, 4.2e9 * unit) for unit in (1, 1e3, 1e6, 1e9))
_SERIALS = (20_000, 80_000)

# Longer texts, or more words, are sentences rather than keys.
_KEY_LENGTH, _KEY_WORDS = 40, 3

_DATE = (
    r"^(\d{4}[-/.]\d\d?([-/.]\d\d?)?|\d\d?[./-]\d\d?[./-](\d{4}|\d\d)|\d\d? ?[A-Za-z]{3}[ -]\d{2,4})([T ,].*)?$"
    r"|^\d\d?:\d\d(:\d\d(\.\d+)?)?$"
)

# Short words with digits: 00123, 13e1, 48_048.
_CODE = r"^[\w.#/-]{0,15}\d[\w.#/-]{0,15}$"

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
    remarks : tuple of (str, str)
        Features that are read from texts with other signs, each with what is left out, such as "without 'kg'".
    """

    features: tuple[str | int, ...]
    categories: tuple[str | int, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    scales: tuple[str, str] | None = None
    names: tuple[str, ...] = ()
    remarks: tuple[tuple[str, str], ...] = ()

    @property
    def noted(self) -> tuple[tuple[str, str], ...]:
        """What of `left_out` is worth a note: all but the index of a data frame, which no one expects to be used."""
        return tuple((name, role) for name, role in self.left_out if not name.startswith("__index_level_"))

    def __str__(self) -> str:
        remarks = dict(self.remarks)
        names = [f"{name} {remarks[name]}" if name in remarks else name for name in self.names]
        used = f"{len(self.features)} column{'s' * (len(self.features) != 1)} ({_listed(names)})"
        if self.categories:
            used += f", categories {_listed(self.categories)}"
        if not self.noted:
            return f"Used: {used}."
        by_role: dict[str, list[str]] = {}
        for name, role in self.noted:
            by_role.setdefault(role, []).append(name)
        return f"Used: {used}. Left out: {'; '.join(f'{_listed(names)} ({role})' for role, names in by_role.items())}."


def roles_of(
    columns: Sequence[ColumnProfile],
    positions: Sequence[int],
    names: Sequence[str],
    *,
    encoded: Collection[int] = (),
    all_categories: bool = False,
) -> TableRoles:
    """Return the role of each column that is not excluded, by their profiles; `positions` are theirs in the table.

    A column of vectors is the only feature. Otherwise columns of numbers and booleans are features, without ids, dates,
    constant and empty columns; those in `encoded` are categories, with `all_categories` all of few distinct values. A
    TableError is raised if there are several columns of vectors, no feature, or text that is mostly numbers.
    """
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    keys = [i if names[i].isdecimal() or seen[names[i]] > 1 else names[i] for i in positions]
    looks = [column.looks_like for column in columns]
    categories = [
        i for i, at in enumerate(positions) if at in encoded or (all_categories and looks[i] == "category")
    ]
    among = [i for i in range(len(columns)) if i not in set(categories)]
    vectors = [i for i in among if looks[i] == "vector"]
    numbers = [i for i in among if looks[i] == "number"]
    if len(vectors) > 1:
        raise TableError(
            f"The table has several columns of vectors: {_listed([columns[i].name for i in vectors])}. ",
            advice=[
                "Choose one by ",
                Setting("columns", [shortened(str(keys[vectors[0]]), MOST_OF_A_NAME)]),
                ".",
            ],
        )
    invalid = [i for i in among if looks[i] == "invalid numbers"]
    if invalid and not vectors:
        raise invalid_cells(columns[invalid[0]])
    features = vectors or numbers
    if not features and not categories:
        raise _nothing_to_cluster(columns)
    chosen = {*features, *categories}
    return TableRoles(
        tuple(keys[i] for i in features),
        tuple(keys[i] for i in categories),
        tuple(
            (column.name, "beside the vectors" if column.looks_like == "number" else column.looks_like)
            for i, column in enumerate(columns)
            if i not in chosen
        ),
        None if vectors else unlike_scales([columns[i] for i in numbers]),
        tuple(columns[i].name for i in features),
        tuple(
            (columns[i].name, columns[i].remark) for i in features if columns[i].remark.startswith("without")
        ),
    )


def invalid_cells(column: ColumnProfile) -> TableError:
    """Return the error for a column most of whose cells are numbers, with the words that may stand for missing ones."""
    words, name = suspects(column.remark), shortened(column.name, MOST_OF_A_NAME)
    advice: list[str | Setting] = []
    otherwise = "Correct the cells"
    if words:
        advice = ["If they are missing values: ", Setting("missing_words", words), ". "]
        otherwise = "Otherwise correct the cells"
    advice += [f"{otherwise}, or leave the column out: ", Setting("exclude", [name]), "."]
    return TableError(f"Column {name!r}: {column.remark}. ", advice=advice)


def unlike_scales(columns: Sequence[ColumnProfile]) -> tuple[str, str] | None:
    """Return the columns of the largest and the smallest spread where these differ by much; None elsewhere."""
    spread = np.sqrt([column.variance or 0.0 for column in columns])
    moving = np.flatnonzero(spread > 0)
    if len(moving) < 2:
        return None
    largest, smallest = moving[spread[moving].argmax()], moving[spread[moving].argmin()]
    is_wide = spread[largest] > _SCALES * spread[smallest]
    return (columns[largest].name, columns[smallest].name) if is_wide else None


def _nothing_to_cluster(columns: Sequence[ColumnProfile]) -> TableError:
    """Return the error for a table without numbers, with the options that would give features."""
    texts = [column.name for column in columns if column.looks_like == "text"]
    categories = [column.name for column in columns if column.looks_like == "category"]
    if texts:
        return TableError(
            f"The table has no columns of numbers, but text in {_listed(texts)}. Make vectors of the text first, such "
            "as by SentenceTransformer('all-MiniLM-L6-v2').encode(texts), and cluster these."
        )
    if categories:
        return TableError(
            "The table has no columns of numbers. ",
            advice=[
                f"Encode the categories in {_listed(categories)} by ",
                Setting("categories", "auto", "prepare_rows"),
                ".",
            ],
        )
    looks = (
        f"{shortened(column.name, MOST_OF_A_NAME)} ({column.looks_like})" for column in columns[:_LISTED]
    )
    return TableError(
        f"The table has no columns of numbers or vectors to cluster: {', '.join(looks)}. ",
        advice=["Name the ones to cluster all the same by ", Setting("columns"), "."],
    )


def _listed(names: Sequence[str | int]) -> str:
    shown = ", ".join(shortened(str(name), MOST_OF_A_NAME) for name in names[:_LISTED])
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED} more"


@dataclass(slots=True)
class ColumnProfile:
    """Profile of the first cells of a column.

    `looks_like` is "number", "vector", "category", "id", "date", "text", "constant", "empty", "nested", or "invalid
    numbers": text of mostly numbers. `missing` counts nulls, NaN and empty texts. Vectors have a `width`. `remark` is
    the reason why the column cannot be clustered, or a peculiarity.
    """

    name: str
    type: str
    looks_like: str = "text"
    missing: int = 0
    infinite: int = 0
    distinct: int | None = None
    lowest: Any = None
    highest: Any = None
    variance: float | None = None
    width: int | None = None
    remark: str = ""


def profile_columns(
    sample: Any,
    types: Sequence[Any],
    formats: Mapping[int, CellFormat],
    problems: Mapping[int, str],
    *,
    is_whole: bool,
    index: Collection[int] = (),
) -> list[ColumnProfile]:
    """Describe columns by a `pyarrow.Table` of their first cells; formats and problems are those of text columns.

    A column is constant only if the sample is the whole table; those of an index are ids.
    """
    columns = [ColumnProfile(name, str(kind)) for name, kind in zip(sample.column_names, types)]
    numbers = [
        i
        for i, kind in enumerate(types)
        if isinstance(formats.get(i), NumberFormat)
        or (i not in problems and arrow_kind(value_type(kind)) == "number")
    ]
    are_numbers = set(numbers)
    if numbers:
        matrix = parsed_numbers([sample.column(i) for i in numbers], [formats.get(i) for i in numbers])
        _profile_numbers([columns[i] for i in numbers], matrix, is_whole)
        for at, i in enumerate(numbers):
            found = columns[i]
            if isinstance(format := formats.get(i), NumberFormat) and format.remark:
                found.remark = format.remark
            if (
                found.looks_like in ("constant", "number")
                and np.nanmax(np.abs(matrix[:, at]), initial=0) >= _EXACT
            ):
                found.looks_like = _of_large_integers(sample.column(i), found.looks_like)
    for i, found in enumerate(columns):
        kind = value_type(types[i])
        if i in are_numbers:
            continue
        if i in problems:
            found.looks_like, found.remark = "invalid numbers", problems[i]
        elif isinstance(formats.get(i), VectorFormat) or arrow_kind(kind) == "vector":
            _profile_vectors(found, sample.column(i), formats.get(i))
        elif arrow_kind(kind) == "text":
            _profile_text(found, sample.column(i), is_whole)
        elif arrow_kind(kind) == "date":
            _profile_text(found, sample.column(i), is_whole, is_date=True)
        elif arrow_kind(kind) == "other":
            found.looks_like, found.missing = "nested", sample.column(i).null_count
    for i in index:
        columns[i].looks_like = "id"
    return columns


def _profile_numbers(columns: Sequence[ColumnProfile], cells: FloatArray, is_whole: bool) -> None:
    """Fill in the profiles of columns of numbers, one column of `cells` each; NaN is missing."""
    n = len(cells)
    is_missing, is_infinite = np.isnan(cells), np.isinf(cells)
    finite = np.where(is_missing | is_infinite, np.nan, cells)
    count = n - is_missing.sum(axis=0) - is_infinite.sum(axis=0)
    ordered = np.sort(finite, axis=0)  # NaN last
    with np.errstate(all="ignore"):
        distinct = (np.diff(ordered, axis=0) > 0).sum(axis=0) + (count > 0)
        center = np.where(is_missing | is_infinite, 0, cells).sum(axis=0) / count
        variance = np.nansum((finite - center) ** 2, axis=0) / count
        are_whole = (np.isnan(finite) | (finite == np.floor(finite))).all(axis=0)
        are_steps = (np.diff(finite, axis=0) == 1).all(axis=0)
    for i, found in enumerate(columns):
        found.missing, found.infinite = int(is_missing[:, i].sum()), int(is_infinite[:, i].sum())
        if not count[i]:
            found.distinct = 0
            found.looks_like = "number" if found.infinite or not is_whole else "empty"
            continue
        if found.infinite:
            found.remark = f"{found.infinite:,} infinite"
        low, high = float(ordered[0, i]), float(ordered[count[i] - 1, i])
        found.lowest, found.highest, found.distinct = low, high, int(distinct[i])
        found.variance = float(variance[i])
        found.looks_like = "number"
        if low == high and is_whole and n > 1 and not found.missing:
            found.looks_like = "constant"
        elif _is_date(found.name, low, high, ordered[: count[i], i], bool(are_whole[i])):
            found.looks_like = "date"
        elif are_whole[i] and _is_id(found, int(count[i]), ordered[: count[i], i], bool(are_steps[i])):
            found.looks_like = "id"


def name_words(name: str) -> list[str]:
    """Return the words of a name in lower case: customerId, customer_id and "customer id" have two."""
    return [word.lower() for word in _WORD.findall(name)]


def has_id_name(name: str) -> bool:
    """Return whether a column is named like an id, whatever its values: "customer_id", "customerId", "zip"."""
    words = name_words(name)
    if not words:
        return False
    is_pair = len(words) > 1 and words[-2] in _ID_WORDS and words[-1] in ("number", "no", "num", "nr", "code")
    return words[-1] in _ID_WORDS or is_pair or (len(words) > 1 and words[0] in ("id", "uuid"))


def _is_id(found: ColumnProfile, n: int, ordered: FloatArray, is_count: bool) -> bool:
    words, distinct = name_words(found.name), found.distinct or 0
    if has_id_name(found.name):
        return True
    is_unique = distinct == n
    if is_unique and _INDEX_NAME.search(found.name):
        return True
    if words and words[-1] in _RECORD_WORDS and n > 1 and distinct >= _DISTINCT_SHARE * n:
        return True
    if n < _FEWEST_IDS or not is_unique:
        return False
    is_permutation = ordered[0] in (0, 1) and ordered[-1] - ordered[0] == n - 1
    is_ranking = bool(_RANK_WORDS.intersection(words))
    return (is_permutation and (is_count or not is_ranking)) or bool(np.median(np.abs(ordered)) >= _HUGE)


def _is_date(name: str, low: float, high: float, ordered: FloatArray, is_whole: bool) -> bool:
    words = set(name_words(name))
    if words & _TIME_WORDS and any(least <= low and high <= most for least, most in _EPOCHS):
        return True
    if words & {"year", "years"} or not words & _DATE_WORDS:
        return False
    if words & _SERIAL_WORDS and _SERIALS[0] <= low and high <= _SERIALS[1]:
        return True
    if not is_whole:
        return False
    if low >= 19_000_101 and high <= 21_001_231:
        return _are_days(ordered // 100, ordered % 100)
    return low >= 190_001 and high <= 210_012 and _are_days(ordered, np.ones_like(ordered))


def _are_days(months: FloatArray, days: FloatArray) -> bool:
    return bool(np.all((months % 100 >= 1) & (months % 100 <= 12) & (days >= 1) & (days <= 31)))


def _of_large_integers(cells: Any, looks_like: str) -> str:
    """Return the role of integers that floats do not hold exactly: ids if they are distinct."""
    from pyarrow import compute, types

    kind = value_type(cells.type)
    if not types.is_integer(kind) and not (
        arrow_kind(kind) == "text"
        and compute.all(compute.match_substring_regex(as_text(cells), r"^\d*$")).as_py()
    ):
        return looks_like
    distinct = len(compute.unique(cells.drop_null()))
    return "constant" if distinct == 1 and not cells.null_count else "id"


def _profile_vectors(found: ColumnProfile, cells: Any, format: CellFormat | None) -> None:
    from pyarrow import compute

    found.looks_like = "vector"
    cells = cells.combine_chunks() if hasattr(cells, "chunks") else cells
    cells = getattr(cells, "storage", cells) if format is None else format.parse(cells, name=found.name)
    found.missing = cells.null_count
    lengths = compute.list_value_length(cells).drop_null().to_numpy()
    found.width = int(lengths[0]) if len(lengths) else None
    if found.missing:
        found.remark = "vectors are missing"
    elif len(lengths) and np.any(lengths != lengths[0]):
        first = int(np.argmax(lengths != lengths[0]))
        found.remark = f"lengths differ: {lengths[0]} and {lengths[first]}"


def _profile_text(found: ColumnProfile, cells: Any, is_whole: bool, is_date: bool = False) -> None:
    import pyarrow
    from pyarrow import compute

    texts = cells.cast(pyarrow.string()) if is_date else as_text(cells)
    there = texts.filter(compute.fill_null(compute.not_equal(compute.utf8_trim_whitespace(texts), ""), False))
    found.missing = len(texts) - len(there)
    n = len(there)
    if not n:
        found.looks_like, found.distinct = "empty", 0
        return
    found.distinct = len(compute.unique(there))
    span = compute.min_max(there).as_py()
    found.lowest, found.highest = span["min"], span["max"]
    length = compute.sum(compute.utf8_length(there)).as_py()
    n_words = n + compute.sum(compute.count_substring_regex(there, r"\S\s+\S")).as_py()
    if is_date or 2 * compute.sum(compute.match_substring_regex(there, _DATE)).as_py() > n:
        found.looks_like = "date"
    elif found.distinct == 1 and is_whole and n > 1 and not found.missing:
        found.looks_like = "constant"
    elif has_id_name(found.name) or (
        found.distinct == n and n >= _FEWEST_IDS and length <= _KEY_LENGTH * n and n_words <= _KEY_WORDS * n
    ):
        found.looks_like = "id"
    elif found.distinct <= CATEGORY_LIMIT and 2 * found.distinct <= n:
        found.looks_like = "category"
    elif n >= _FEWEST_IDS and compute.all(compute.match_substring_regex(there, _CODE)).as_py():
        found.looks_like = "id"


def shares_of_variance(columns: Sequence[ColumnProfile]) -> Iterator[float | None]:
    """Yield the share of each column of numbers in the variance of all of them; None for others."""
    total = math.fsum(column.variance or 0.0 for column in columns if column.looks_like == "number")
    for column in columns:
        is_one = column.looks_like == "number" and column.variance is not None and total > 0
        yield column.variance / total if is_one and column.variance is not None else None
