"""Profiles of the columns of a table, and the rules that choose features among ids, texts and dates."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.arrays import FloatArray
from coterie.limits.files import shortened
from coterie.rows.cells import (
    SUSPECTS,
    CellFormat,
    NumberFormat,
    VectorFormat,
    arrow_kind,
    as_text,
    parsed_numbers,
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
# The same as ends of a word: ordernumber, Kundennr.
_RECORD_ENDS = ("number", "nummer", "nr")
# Numbers that count from above this one are no years.
_LAST_YEAR = 2100
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
    features : tuple of str
        Names of the columns to cluster; their numbers where columns have no names.
    categories : tuple of str
        Names of the columns that are encoded.
    left_out : tuple of (str, str)
        Names of the other columns, each with its role: "id", "date", "text", "constant", "empty", "category",
        "nested", or "beside the vectors".
    scales : tuple of (str, str), optional
        The features of the largest and the smallest standard deviation, if they differ by more than 100.
    remarks : tuple of (str, str)
        Features that are read from texts with other signs, each with what is left out, such as "without 'kg'".
    """

    features: tuple[str, ...]
    categories: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    scales: tuple[str, str] | None = None
    remarks: tuple[tuple[str, str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.features

    @property
    def noted(self) -> tuple[tuple[str, str], ...]:
        """What of `left_out` is worth a note: all but the index of a data frame."""
        return tuple((name, role) for name, role in self.left_out if not name.startswith("__index_level_"))

    def __str__(self) -> str:
        remarks = dict(self.remarks)
        used = _listed([" ".join(filter(None, (name, remarks.get(name)))) for name in self.features])
        text = f"Used: {len(self.features)} column{'s' * (len(self.features) != 1)} ({used})"
        if self.categories:
            text += f", categories {_listed(self.categories)}"
        by_role: dict[str, list[str]] = {}
        for name, role in self.noted:
            by_role.setdefault(role, []).append(name)
        left = "; ".join(f"{_listed(names)} ({role})" for role, names in by_role.items())
        return f"{text}. Left out: {left}." if left else f"{text}."


@dataclass(slots=True)
class ColumnProfile:
    """Profile of the first cells of a column. `looks_like` is "number", "vector" (of `width`), "category", "id",
    "date", "text", "constant", "empty", "nested" or "invalid numbers" (text of mostly numbers); `missing` counts nulls,
    NaN and empty texts.
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


def roles_of(
    columns: Sequence[ColumnProfile],
    positions: Sequence[int],
    *,
    encoded: Collection[int] = (),
    all_categories: bool = False,
) -> tuple[TableRoles, list[int], list[int]]:
    """Return the role of each column that is not excluded, by its profile, and the positions in the table of the
    features and categories. A column of vectors is the only feature, else all numbers are. Without a single choice a
    TableError is raised.
    """
    found: dict[str, list[int]] = {}
    for i, (column, at) in enumerate(zip(columns, positions)):
        is_category = at in encoded or (all_categories and column.looks_like == "category")
        found.setdefault("encoded" if is_category else column.looks_like, []).append(i)
    vectors, categories = found.get("vector", []), found.get("encoded", [])
    if len(vectors) > 1:
        shown = _listed([columns[i].name for i in vectors])
        one = shortened(columns[vectors[0]].name, MOST_OF_A_NAME)
        problem = f"The table has several columns of vectors: {shown}. "
        raise TableError(problem, "Choose one by {}.", Setting("columns", [one]))
    if "invalid numbers" in found and not vectors:
        first = columns[found["invalid numbers"][0]]
        raise invalid_cells(first.name, first.remark)
    features = vectors or found.get("number", [])
    if not features and not categories:
        raise _nothing_to_cluster(columns)
    chosen, used = {*features, *categories}, [columns[i] for i in features]
    others = [one for i, one in enumerate(columns) if i not in chosen]
    roles = ["beside the vectors" if one.looks_like == "number" else one.looks_like for one in others]
    found_roles = TableRoles(
        tuple(one.name for one in used),
        tuple(columns[i].name for i in categories),
        tuple((one.name, role) for one, role in zip(others, roles)),
        None if vectors else unlike_scales(used),
        tuple((one.name, one.remark) for one in used if one.remark.startswith("without")),
    )
    return found_roles, [positions[i] for i in features], [positions[i] for i in categories]


def invalid_cells(name: str, problem: str) -> TableError:
    """Return the error for a column most of whose cells are numbers, with the words that may stand for missing ones."""
    name, words = shortened(name, MOST_OF_A_NAME), [word for word in SUSPECTS if repr(word) in problem]
    way = "If they are missing values: {}. Otherwise correct" if words else "Correct"
    settings = [Setting("missing_words", words)] * bool(words) + [Setting("exclude", [name])]
    return TableError(
        f"Column {name!r}: {problem}. ", f"{way} the cells, or leave the column out: {{}}.", *settings
    )


def unlike_scales(columns: Sequence[ColumnProfile]) -> tuple[str, str] | None:
    """Return the columns of the largest and the smallest spread where these differ by much; None elsewhere."""
    moving = sorted((column.variance, column.name) for column in columns if column.variance)
    is_wide = len(moving) > 1 and moving[-1][0] > _SCALES**2 * moving[0][0]
    return (moving[-1][1], moving[0][1]) if is_wide else None


def _nothing_to_cluster(columns: Sequence[ColumnProfile]) -> TableError:
    looks = _listed([f"{one.name} ({one.looks_like})" for one in columns])
    return TableError(
        f"The table has no columns of numbers or vectors to cluster: {looks}. ",
        "Encode categories by {}. Cluster vectors of texts, such as SentenceTransformer('all-MiniLM-L6-v2')."
        "encode(texts). Name columns to cluster all the same by {}.",
        Setting("categories", "auto", "prepare_rows"),
        Setting("columns"),
    )


def _listed(names: Sequence[str | int]) -> str:
    shown = ", ".join(shortened(str(name), MOST_OF_A_NAME) for name in names[:_LISTED])
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED} more"


def profile_columns(
    sample: Any,
    formats: Mapping[int, CellFormat] = {},
    problems: Mapping[int, str] = {},
    *,
    is_whole: bool,
    index: Collection[int] = (),
) -> list[ColumnProfile]:
    """Describe columns by a `pyarrow.Table` of their first cells; `formats` and `problems` are those of text columns,
    `index` columns are ids, and only a whole table has constant ones.
    """
    columns = [ColumnProfile(field.name, str(field.type).removeprefix("large_")) for field in sample.schema]
    numbers = []
    for i, found in enumerate(columns):
        cells, format = sample.column(i), formats.get(i)
        kind = arrow_kind(cells.type)
        if i in problems:
            found.looks_like, found.remark = "invalid numbers", problems[i]
        elif isinstance(format, NumberFormat) or kind == "number":
            numbers.append(i)
            found.type = found.type if format is None else "double"
        elif isinstance(format, VectorFormat) or kind == "vector":
            _profile_vectors(found, cells, format)
        elif kind == "other":
            found.looks_like, found.missing = "nested", cells.null_count
        else:
            _profile_text(found, cells, is_whole, is_date=kind == "date")
    if numbers:
        cells = parsed_numbers([sample.column(i) for i in numbers], [formats.get(i) for i in numbers])
        _profile_numbers([columns[i] for i in numbers], cells, is_whole)
        for i, column in zip(numbers, cells.T):
            if i in formats and np.array_equal(column, np.floor(column)):
                columns[i].type = "int64"
    for i in numbers:
        found = columns[i]
        if found.looks_like in ("constant", "number") and _are_large_ids(found, sample.column(i)):
            found.looks_like = "id"
        found.remark = getattr(formats.get(i), "remark", "") or found.remark
    for i in index:
        columns[i].looks_like = "id"
    return columns


def _profile_numbers(columns: Sequence[ColumnProfile], cells: FloatArray, is_whole: bool) -> None:
    """Fill in the profiles of columns of numbers, one column of `cells` each; NaN is missing."""
    is_missing, is_infinite = np.isnan(cells), np.isinf(cells)
    finite = np.where(is_infinite, np.nan, cells)
    count = np.isfinite(cells).sum(axis=0)
    ordered = np.sort(finite, axis=0)  # NaN last
    with np.errstate(all="ignore"):
        distinct = (np.diff(ordered, axis=0) > 0).sum(axis=0) + (count > 0)
        variance = np.nansum((finite - np.nansum(finite, axis=0) / count) ** 2, axis=0) / count
        are_whole = (np.isnan(finite) | (finite == np.floor(finite))).all(axis=0)
        are_steps = (np.diff(finite, axis=0) == 1).all(axis=0)
    for i, found in enumerate(columns):
        found.missing, found.infinite = int(is_missing[:, i].sum()), int(is_infinite[:, i].sum())
        found.distinct, found.looks_like = int(distinct[i]), "number"
        if found.infinite:
            found.remark = f"{found.infinite:,} infinite"
        if not count[i]:
            found.looks_like = "number" if found.infinite or not is_whole else "empty"
            continue
        values = ordered[: count[i], i]
        found.lowest, found.highest, found.variance = float(values[0]), float(values[-1]), float(variance[i])
        if found.distinct == 1 and is_whole and len(cells) > 1 and not found.missing:
            found.looks_like = "constant"
        else:
            found.looks_like = _role_of_numbers(found, values, bool(are_whole[i]), bool(are_steps[i]))


def _role_of_numbers(found: ColumnProfile, values: FloatArray, are_whole: bool, is_count: bool) -> str:
    """Return the role of ascending numbers by the first rule that holds; `is_count` if they count the rows."""
    low, high, n, names = values[0], values[-1], len(values), name_words(found.name)
    words = set(names)
    is_date_name = bool(_DATE_WORDS & words) and not {"year", "years"} & words
    is_unique = found.distinct == n
    are_many = is_unique and n >= _FEWEST_IDS
    is_day = are_whole and low >= 19_000_101 and high <= 21_001_231 and _are_days(values // 100, values % 100)
    is_month = are_whole and low >= 190_001 and high <= 210_012 and _are_days(values, np.ones(n))
    is_epoch = any(least <= low and high <= most for least, most in _EPOCHS)
    is_serial = _SERIALS[0] <= low and high <= _SERIALS[1]
    is_record = bool(_RECORD_WORDS.intersection(names[-1:])) or found.name.lower().endswith(_RECORD_ENDS)
    is_record &= (found.distinct or 0) >= _DISTINCT_SHARE * n
    is_permutation = are_many and high - low == n - 1 and (low in (0, 1) or (is_count and low > _LAST_YEAR))
    rules = (
        ("date", bool(_TIME_WORDS & words) and is_epoch),
        ("date", is_date_name and (is_day or is_month)),
        ("date", is_date_name and bool(_SERIAL_WORDS & words) and is_serial),
        ("number", not are_whole),
        ("id", has_id_name(found.name)),
        ("id", is_unique and bool(_INDEX_NAME.search(found.name))),
        ("id", is_record and n > 1),
        ("id", is_permutation and (is_count or not _RANK_WORDS & words)),
        ("id", are_many and are_whole and bool(np.median(np.abs(values)) >= _HUGE)),
        ("number", True),
    )
    return next(role for role, holds in rules if holds)


def _are_days(months: FloatArray, days: FloatArray) -> bool:
    return bool(np.all((months % 100 >= 1) & (months % 100 <= 12) & (days >= 1) & (days <= 31)))


def name_words(name: str) -> list[str]:
    """Return the words of a name in lower case: customerId, customer_id and "customer id" have two."""
    return [word.lower() for word in _WORD.findall(name)]


def has_id_name(name: str) -> bool:
    """Return whether a column is named like an id, whatever its values: "customer_id", "customerId", "zip"."""
    *before, last = name_words(name) or [""]
    is_pair = bool(before) and before[-1] in _ID_WORDS and last in ("number", "no", "num", "nr", "code")
    return last in _ID_WORDS or is_pair or (bool(before) and before[0] in ("id", "uuid"))


def id_among(names: Sequence[str], id: str | None = None) -> str | None:
    """Return the column of ids: the given one, or else the first that is named like one, if there is one."""
    if id is not None and id not in names:
        raise ValueError(f"There is no column {id!r}: {', '.join(map(repr, names[:12])) or 'no columns'}.")
    known = [name for name in names if name.lower() in ID_NAMES or has_id_name(name)]
    return id or min(known, key=lambda name: name.lower() not in ID_NAMES, default=None)


def _are_large_ids(found: ColumnProfile, cells: Any) -> bool:
    """Return whether these are integers that floats do not hold exactly, and not all the same."""
    from pyarrow import compute, types

    if max(abs(found.lowest or 0), abs(found.highest or 0)) < _EXACT:
        return False
    kind = value_type(cells.type)
    is_text = arrow_kind(kind) == "text"
    if not types.is_integer(kind) and not (is_text and _count(as_text(cells), r"^\d*$") == len(cells)):
        return False
    return len(compute.unique(cells.drop_null())) > 1 or cells.null_count > 0


def _profile_vectors(found: ColumnProfile, cells: Any, format: CellFormat | None) -> None:
    from pyarrow import compute

    cells = cells.combine_chunks() if hasattr(cells, "chunks") else cells
    cells = getattr(cells, "storage", cells) if format is None else format.parse(cells, name=found.name)
    found.looks_like, found.missing = "vector", cells.null_count
    lengths = compute.unique(compute.list_value_length(cells).drop_null()).to_pylist()
    found.width = lengths[0] if lengths else None
    if found.missing:
        found.remark = "vectors are missing"
    elif len(lengths) > 1:
        found.remark = f"lengths differ: {lengths[0]} and {lengths[1]}"


def _count(texts: Any, pattern: str) -> int:
    from pyarrow import compute

    return int(compute.sum(compute.match_substring_regex(texts, pattern)).as_py() or 0)


def _profile_text(found: ColumnProfile, cells: Any, is_whole: bool, is_date: bool) -> None:
    import pyarrow
    from pyarrow import compute

    texts = cells.cast(pyarrow.string()) if is_date else as_text(cells)
    texts = texts.filter(compute.fill_null(compute.not_equal(compute.utf8_trim_whitespace(texts), ""), False))
    n, found.missing = len(texts), len(cells) - len(texts)
    found.distinct = distinct = len(compute.unique(texts))
    found.lowest, found.highest = compute.min_max(texts).as_py().values()
    n_words = n + (compute.sum(compute.count_substring_regex(texts, r"\S\s+\S")).as_py() or 0)
    are_short = (
        compute.sum(compute.utf8_length(texts)).as_py() or 0
    ) <= _KEY_LENGTH * n and n_words <= _KEY_WORDS * n
    rules = (
        ("empty", not n),
        ("date", is_date or 2 * _count(texts, _DATE) > n),
        ("constant", distinct == 1 and is_whole and n > 1 and not found.missing),
        ("id", has_id_name(found.name) or (distinct == n >= _FEWEST_IDS and are_short)),
        ("category", distinct <= CATEGORY_LIMIT and 2 * distinct <= n),
        ("id", n >= _FEWEST_IDS and _count(texts, _CODE) == n),
        ("text", True),
    )
    found.looks_like = next(role for role, holds in rules if holds)


def shares_of_variance(columns: Sequence[ColumnProfile]) -> list[float | None]:
    """Return the share of each column of numbers in the variance of all of them; None for others."""
    variances = [column.variance if column.looks_like == "number" else None for column in columns]
    total = math.fsum(variance or 0.0 for variance in variances)
    return [None if variance is None or not total else variance / total for variance in variances]
