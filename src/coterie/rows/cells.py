"""Numbers and vectors in text cells: one rule for text files and for text columns of data frames and Arrow tables."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from coterie.arrays import BoolArray, FloatArray, IndexArray
from coterie.limits.files import shortened
from coterie.rows.checks import MOST_OF_A_NAME, Setting, TableError

# Words for missing numbers that programs write; others are given by `missing_words`.
MISSING_WORDS = (
    "", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "1.#QNAN",
    "-1.#QNAN", "1.#IND", "-1.#IND",
)  # fmt: skip

# Words that people write for missing numbers, which an error suggests.
SUSPECTS = (
    "?", "-", "--", "---", ".", "..", "*", "None", "none", "missing", "unknown", "#DIV/0!", "#VALUE!", "#REF!",
    "#NAME?", "#NUM!",
)  # fmt: skip

_EXPONENT = r"(?:[eE][+-]?\d+)?"
_PLAIN = rf"^[+-]?(\d+\.?\d*|\.\d+){_EXPONENT}$"
_EITHER = rf"^[+-]?(\d+[.,]?\d*|[.,]\d+){_EXPONENT}$"
_INFINITE = r"^[+-]?(?i:inf|infinity)$"
_SIMPLE = r"^-?(0|[1-9]\d{0,17})(\.\d+)?$"
_BOOLEAN = r"^(true|false|True|False|TRUE|FALSE)$"
# Texts of digits that are no numbers if a column has no fractions: 00123, 13e1.
_CODE = r"^(0\d+|\d+[eE]\d+)$"
# 1.234 and 1,234: the sign may separate thousands.
_GROUPS_OF_THREE = r"^[+-]?[1-9]\d{0,2}[.,]\d{3}$"

_CURRENCY = r"USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|BRL|CAD|AUD|NZD|MXN|ZAR|TRY|KRW|RUB|Rs\.?|R\$|US\$|kr"
_SPACES = "\u00a0\u202f\u2009"
# A sign, a prefix, digits with separators, and a suffix: -$1,234.50, 12 kg, '5', ="007".
_AFFIXED = (
    rf"""^(?P<before>[+\-−]?)(?P<prefix>\p{{Sc}}|{_CURRENCY}|="|'|)[ {_SPACES}]?(?P<after>[+\-−]?)"""
    rf"""(?P<number>\d[\d.,'’ {_SPACES}]*\d|[.,]?\d+|\d[.,])(?P<exponent>{_EXPONENT})"""
    rf"""[ {_SPACES}]?(?P<suffix>"|'|[^\d\s.,:;/\-−+_'’"()\[\]][^\d\s"'()\[\]]{{0,11}}|)$"""
)
_UNITS = frozenset((
    "%", "‰", "°", "°C", "°F", "C", "F", "K", "k", "M", "B", "T", "bn", "kg", "g", "mg", "µg", "ug",
    "t", "lb", "lbs", "oz", "m", "cm", "mm", "km", "mi", "ft", "in", "yd", "s", "sec", "secs", "ms",
    "min", "mins", "h", "hr", "hrs", "d", "day", "days", "week", "weeks", "month", "months", "year",
    "years", "yrs", "l", "L", "ml", "mL", "cl", "dl", "gal", "W", "kW", "MW", "V", "A", "mA", "Hz",
    "kHz", "MHz", "GHz", "Wh", "kWh", "J", "kJ", "cal", "kcal", "Pa", "hPa", "kPa", "bar", "psi", "mph",
    "km/h", "m/s", "kB", "KB", "MB", "GB", "TB", "px", "pt", "dB", "€", "$", "£", "¥", "USD", "EUR",
    "GBP", "CHF", "JPY", "CNY", "INR", "SEK", "NOK", "DKK", "PLN", "CZK",
))  # fmt: skip

_TIME = r"^\d{1,2}:\d\d(:\d\d(\.\d+)?)?$"
_BRACKETS = r"(?s)^\s*(array\()?[\[(].*[\])]\s*$"
_BARE_VECTOR = r"^\s*[+-]?\d*\.?\d+([eE][+-]?\d+)?([ ,;|]+[+-]?\d*\.?\d+([eE][+-]?\d+)?){2,}\s*$"

# The readings that are tried: decimal sign, and what separates thousands (a space stands for all kinds of it).
_STYLES = tuple(
    (decimal, thousands) for decimal in ".," for thousands in ("", " ", "'", ",", ".") if decimal != thousands
)
_GROUPS = {"": "", " ": f"[ {_SPACES}]", "'": "['’]", ",": ",", ".": r"\."}


@dataclass(frozen=True, slots=True)
class TextOptions:
    """How texts are read as numbers, as far as it is given: see `open_rows`."""

    decimal: str | None = None
    thousands: str | None = None
    missing_words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value, known in (
            ("decimal", self.decimal, ".,"),
            ("thousands", self.thousands, list(_GROUPS)),
        ):
            if value is not None and value not in [*known]:
                signs = f" must be one of {', '.join(map(repr, known))}, got {value!r}."
                raise TableError("", advice=[Setting(name), signs])
        if self.decimal is not None and self.decimal == self.thousands:
            raise TableError("", advice=[Setting("thousands", self.thousands), " is the decimal sign, too."])
        if isinstance(self.missing_words, str):
            words = f" must be a list of words, got {self.missing_words!r}."
            raise TableError("", advice=[Setting("missing_words"), words])

    @property
    def words(self) -> list[str]:
        """All words for missing numbers."""
        return [*MISSING_WORDS, *self.missing_words]

    @property
    def styles(self) -> list[tuple[str, str]]:
        """The readings that are possible: decimal sign and separator of thousands."""
        return [
            (decimal, thousands)
            for decimal, thousands in _STYLES
            if self.decimal in (None, decimal) and self.thousands in (None, thousands)
        ]


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How the texts of a column are read as numbers; `remark` says what is left out, `is_odd` whether pyarrow
    would refuse some in a text file or lose digits, `is_whole` whether they are integers of at most 18 digits."""

    words: tuple[str, ...]
    decimal: str = "."
    thousands: str = ""
    prefix: str = ""
    suffix: str = ""
    is_whole: bool = False
    is_boolean: bool = False
    is_odd: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether pyarrow parses these numbers from a text file."""
        return self == NumberFormat(self.words, is_whole=self.is_whole)

    @property
    def remark(self) -> str:
        signs = [repr(sign) for sign in (self.prefix, self.suffix) if sign.strip("'\"=")]
        return f"without {' and '.join(signs)}" if signs else ""

    def parse(self, texts: Any, row: int = 0, name: str = "") -> Any:
        """Return texts as an Arrow array of float64 (int64 if they are whole), null where they are missing.

        The error names a bad cell.
        """
        import pyarrow

        texts, compute = _without_missing(texts, self.words), _compute()
        if self.is_plain:
            with suppress(pyarrow.ArrowInvalid):  # all are numbers
                return texts.cast(pyarrow.int64() if self.is_whole else pyarrow.float64())
        bare = compute.replace_substring(texts, "−", "-")
        if self.prefix:
            bare = compute.replace_substring_regex(
                bare, rf"^([+-]?){_escaped(self.prefix)}[ {_SPACES}]?", r"\1"
            )
        if self.suffix:
            bare = compute.replace_substring_regex(bare, rf"[ {_SPACES}]?{_escaped(self.suffix)}$", "")
        shape = f"{_style_pattern(self.decimal, self.thousands)}|{_INFINITE}"
        is_good = compute.match_substring_regex(bare, _BOOLEAN if self.is_boolean else shape)
        if not compute.all(compute.fill_null(is_good, True)).as_py():
            first = int(np.asarray(compute.fill_null(is_good, True)).argmin())
            raise TableError(
                f"the column {shortened(name, MOST_OF_A_NAME)!r} has {texts[first].as_py()[:40]!r} in row "
                f"{row + first}, which is no number. ",
                advice=["Correct the cell, or leave the column out: ", Setting("exclude", [name]), "."],
            )
        if self.is_boolean:
            return bare.cast(pyarrow.bool_()).cast(pyarrow.float64())
        if self.thousands:
            bare = compute.replace_substring_regex(bare, _GROUPS[self.thousands], "")
        return compute.replace_substring(bare, self.decimal, ".").cast(pyarrow.float64())


@dataclass(frozen=True, slots=True)
class VectorFormat:
    """How the texts of a column are read as vectors."""

    words: tuple[str, ...]

    def parse(self, texts: Any, row: int = 0, name: str = "") -> Any:
        """Return texts such as [0.1, 0.2] and [0.1 0.2] as an Arrow array of lists of float64."""
        import pyarrow

        texts, compute = _without_missing(texts, self.words), _compute()
        bare = compute.replace_substring_regex(texts, r"array\(|dtype=\w+|np\.float\d+|[\[\](),;|\s]+", " ")
        lists = compute.ascii_split_whitespace(compute.ascii_trim_whitespace(bare))
        numbers = lists.flatten()
        is_good = compute.match_substring_regex(numbers, rf"{_PLAIN}|{_INFINITE}|^[+-]?(?i:nan)$")
        if not compute.all(is_good).as_py():
            bad = numbers[int(np.asarray(is_good).argmin())].as_py()
            cut = " NumPy leaves out the middle of long vectors: write them again, such as by tolist()." * (
                bad == "..."
            )
            position = int(np.asarray(compute.list_parent_indices(lists))[int(np.asarray(is_good).argmin())])
            raise TableError(
                f"the vectors of {shortened(name, MOST_OF_A_NAME)!r} have {bad[:40]!r} in row {row + position}, which "
                f"is no number.{cut} ",
                advice=["Correct the cell, or leave the column out: ", Setting("exclude", [name]), "."],
            )
        offsets = pyarrow.array(np.asarray(lists.offsets), mask=None, type=lists.offsets.type)
        kind = pyarrow.ListArray if pyarrow.types.is_list(lists.type) else pyarrow.LargeListArray
        values = lists.values.slice(0)
        parsed = kind.from_arrays(offsets, values.cast(pyarrow.float64()))
        return compute.if_else(compute.is_null(texts), None, parsed) if texts.null_count else parsed


CellFormat = NumberFormat | VectorFormat


def cell_formats(
    texts: Mapping[int, Any],
    names: Sequence[str],
    options: TextOptions,
    *,
    chosen: Collection[int] | None = None,
    sep: str | None = None,
) -> tuple[dict[int, CellFormat], dict[int, str]]:
    """Return how the columns of numbers or vectors among text columns are read, and what is wrong with others.

    `texts` are the first cells of columns by position, as Arrow arrays of text of equal length. All numbers of a table
    have the same decimal sign and separator of thousands: the only ones under which all of them are numbers, otherwise
    a TableError names the columns. `sep` is the separator of a text file, `chosen` the columns to cluster, if known.
    """
    compute, words = _compute(), tuple(options.words)
    if not texts:
        return {}, {}
    raw = _joined(list(texts.values()))
    cells = _trimmed(raw)
    shape = (len(texts), len(cells) // len(texts))
    is_missing = _mask(_are_missing(cells, words), shape)
    is_blank = is_missing & ~_mask(_are_missing(raw, words), shape)
    is_simple = _mask(compute.match_substring_regex(cells, _SIMPLE), shape)
    has_point = is_simple & _mask(compute.match_substring(cells, "."), shape)
    is_decisive = has_point & ~_mask(compute.match_substring_regex(cells, _GROUPS_OF_THREE), shape)
    # Nearly all columns of wide tables are like this, and need no look at each.
    are_simple: BoolArray = np.all(is_simple | (is_missing & ~is_blank), axis=1) & np.any(is_simple, axis=1)
    are_simple &= np.any(is_decisive, axis=1) | ~np.any(has_point, axis=1)
    numbers: dict[int, NumberFormat] = {}
    found: dict[int, CellFormat] = {}
    problems: dict[int, str] = {}
    has_witness = False
    cores: dict[int, Any] = {}  # digits with their signs, from which the decimal sign of the table is found
    for at, i in enumerate(texts):
        column = cells.slice(at * shape[1], shape[1])
        if are_simple[at]:
            found[i] = NumberFormat(words, is_whole=not has_point[at].any())
            if not has_witness and is_decisive[at].any():  # one such number tells as much as all
                has_witness = True
                cores[i] = column.slice(int(is_decisive[at].argmax()), 1)
            continue
        there = column.filter(_array(~is_missing[at]))
        if not len(there):
            continue
        if not _all(there, f"{_EITHER}|{_INFINITE}"):
            other = _other_format(there, np.flatnonzero(~is_missing[at]), words)
            if isinstance(other, tuple):
                numbers[i], cores[i], problem = other
                if problem:
                    problems[i] = problem
            elif other is not None:
                found[i] = other
            continue
        is_code = _count(there, _CODE) and not _count(there, r"[.,]|^[+-]|[eE][+-]")
        if is_code and (chosen is None or i not in chosen):
            continue
        is_odd = bool(is_blank[at].any()) or _count(there, r"^[+-]?\d{19}") > 0
        numbers[i] = NumberFormat(words, is_whole=_all(there, r"^-?\d{1,18}$"), is_odd=is_odd)
        signed = there.filter(compute.match_substring_regex(there, "[.,]"))
        decisive = signed.filter(compute.invert(compute.match_substring_regex(signed, _GROUPS_OF_THREE)))
        cores[i] = decisive.slice(0, 1) if len(decisive) and len(_signs(signed)) == 1 else signed
    decimal, thousands = _style(cores, names, options, sep, chosen)
    for i, number in numbers.items():
        signs = _signs(cores[i])
        found[i] = replace(
            number,
            decimal=decimal if decimal in signs else ".",
            thousands=thousands if thousands in signs else "",
        )
    return {i: one for i, one in sorted(found.items()) if i not in problems}, problems


def _other_format(there: Any, rows: IndexArray, words: tuple[str, ...]) -> Any:
    """Return the format of cells that are not all plain numbers, of these rows; None for other texts.

    Of numbers: the format, the digits with their separators, and the problem that keeps the column from being read.
    """
    compute, n = _compute(), len(there)
    if _all(there, _BOOLEAN):
        return NumberFormat(words, is_boolean=True), there.slice(0, 0), ""
    if 2 * _count(there, _TIME) > n:
        return None
    parts = compute.extract_regex(there, pattern=_AFFIXED)
    is_number = compute.or_(
        compute.is_valid(parts), compute.match_substring_regex(there, f"{_PLAIN}|{_INFINITE}")
    )
    fields = parts.filter(compute.is_valid(parts))
    if 2 * compute.sum(is_number).as_py() <= n:
        if 2 * _count(there, _BRACKETS) > n or (_all(there, _BARE_VECTOR) and _all(there, r"\.")):
            return VectorFormat(words)
        return None
    cores = compute.struct_field(fields, "number")
    affixes = compute.binary_join_element_wise(
        compute.struct_field(fields, "prefix"),
        compute.struct_field(fields, "suffix"),
        _array(["\x00"], there.type)[0],
    )
    is_shape = _number_like(cores)
    if 2 * is_shape.sum() + 2 * (compute.sum(is_number).as_py() - len(cores)) <= n:
        return None  # dates, addresses of machines, versions
    kinds = [pair.split("\x00") for pair in _text_of(compute.unique(affixes))]
    signs = sorted({sign for pair in kinds for sign in pair if sign})
    is_odd = ~np.asarray(is_number)
    is_odd[np.flatnonzero(~is_odd & np.asarray(compute.is_valid(parts)))[~is_shape]] = True
    if len(kinds) == 1 and not is_odd.any():
        prefix, suffix = kinds[0]
        if _count(cores, r"^0\d") and not _count(cores, r"[.,]"):
            return None  # texts of digits with signs around them
        return NumberFormat(words, prefix=prefix, suffix=suffix, is_odd=_count(there, "−") > 0), cores, ""
    known = [sign for sign in signs if sign in _UNITS]
    is_plain = np.asarray(compute.match_substring_regex(there, f"{_PLAIN}|{_INFINITE}"))
    if len(kinds) > 1 and len(known) < len(signs) and 2 * _count(there, _PLAIN) <= n:
        return None  # 5 Main Road, 12A, 7 Dwarfs
    some = " and numbers without one" * (["", ""] in kinds)
    problem = f"has numbers with different signs or units: {', '.join(map(repr, signs[:6]))}{some}. Convert them to one"
    if is_odd.any() or (some and not known):
        is_odd = is_odd if is_odd.any() else ~is_plain
        odd = there.filter(_array(is_odd))
        distinct = _text_of(compute.unique(odd))
        more = f"; others are {', '.join(repr(text[:20]) for text in distinct[1:4])}" * (len(distinct) > 1)
        problem = (
            f"{len(odd):,} of {n:,} cells {'is not a number' if len(odd) == 1 else 'are not numbers'}, the first is "
            f"{distinct[0][:20]!r} in row {rows[is_odd][0]}{more}{', ...' * (len(distinct) > 4)}"
        )
    return NumberFormat(words), cores.filter(_array(is_shape)), problem


@cache
def arrow_kind(kind: Any) -> str:
    """Return the kind of an Arrow type: "number", "vector", "text", "date" or "other"; of a dictionary its values'."""
    types, kind = sys.modules["pyarrow"].types, value_type(kind)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = value_type(kind.value_type)
        return "vector" if arrow_kind(inner) == "number" and not types.is_null(inner) else "other"
    numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    if any(is_a(kind) for is_a in numbers):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    return "date" if types.is_temporal(kind) else "other"


def value_type(kind: Any) -> Any:
    """Return the type of the values of a dictionary, and the storage of an extension type such as a tensor."""
    kind = getattr(kind, "storage_type", kind)
    return kind.value_type if sys.modules["pyarrow"].types.is_dictionary(kind) else kind


def numbers_of(cells: Any) -> Any:
    """Return cells of numbers as NumPy numbers; missing ones become NaN."""
    import pyarrow

    cells = cells.combine_chunks() if hasattr(cells, "chunks") else cells
    if pyarrow.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    is_plain = pyarrow.types.is_integer(cells.type) or pyarrow.types.is_floating(cells.type)
    if cells.null_count or not is_plain:
        # Integers above 2**53 lose digits in float64, which NumPy's conversion allows as well.
        cells = cells.cast(pyarrow.float64(), safe=False)
    return cells.to_numpy(zero_copy_only=False)


def parsed_numbers(
    columns: Sequence[Any], formats: Sequence[CellFormat | None], row: int = 0, names: Sequence[str] = ()
) -> FloatArray:
    """Return columns of equal length as a matrix of float64; texts of one format are parsed together.

    `row` and `names` are for the error that names a cell.
    """
    n_rows = len(columns[0])
    matrix = np.empty((n_rows, len(columns)), order="F")
    alike: dict[CellFormat, list[int]] = {}
    for i, (cells, format) in enumerate(zip(columns, formats)):
        if isinstance(format, NumberFormat) and arrow_kind(cells.type) == "text":
            alike.setdefault(replace(format, is_whole=False, is_odd=False), []).append(i)
        else:
            matrix[:, i] = numbers_of(cells)
    for format, some in alike.items():
        try:
            cells = format.parse(_joined([columns[i] for i in some]))
        except TableError:
            for i in some:
                format.parse(columns[i], row, names[i] if names else "")
            raise
        matrix[:, some] = cells.to_numpy(zero_copy_only=False).reshape(len(some), n_rows).T
    return matrix


def suspects(problem: str) -> list[str]:
    """Return the words of a problem that may stand for missing numbers."""
    return [word for word in SUSPECTS if repr(word) in problem]


def _style(
    cores: Mapping[int, Any],
    names: Sequence[str],
    options: TextOptions,
    sep: str | None,
    chosen: Collection[int] | None,
) -> tuple[str, str]:
    """Return the decimal sign and the separator of thousands with which all digits of all columns are numbers."""
    compute = _compute()
    possible: dict[int, set[tuple[str, str]]] = {}
    distinct: dict[int, Any] = {}
    for i, column in cores.items():
        texts = compute.unique(column)
        texts = texts.filter(compute.match_substring_regex(texts, "[^0-9]"))
        if len(texts):
            distinct[i] = texts
            possible[i] = {style for style in options.styles if _all(texts, _style_pattern(*style))}
    if not possible:
        return options.decimal or ".", options.thousands or ""
    common = set.intersection(*possible.values())
    if not common and chosen is not None and set(chosen) < set(possible):
        return _style({i: cores[i] for i in chosen if i in cores}, names, options, sep, None)
    if not common:
        how: list[str | Setting] = [
            "Write them alike, say how they are written: ",
            Setting("decimal"),
            " or ",
            Setting("thousands"),
        ]
        raise TableError(
            f"the numbers cannot be read with one decimal sign: {_conflict(names, distinct, possible)}. ",
            advice=[*how, ", or leave columns out: ", Setting("exclude"), "."],
        )
    # Readings that differ only in signs that no cell has are the same.
    used = set.union(*map(_signs, distinct.values()))
    readings: dict[tuple[str, ...], tuple[str, str]] = {}
    for style in sorted(common, key=lambda style: (style[0] == ",", style[1] != "")):
        readings.setdefault(tuple(sign if sign in used else "" for sign in style), style)
    points = [style for reading, style in readings.items() if reading[0] == "."]
    if points and sep == "," and all(_are_fractions(texts) for texts in distinct.values()):
        return points[0]  # as in files that have commas between fields
    first, *others = readings.values()
    if not others:
        return first
    i, texts = next(iter(distinct.items()))
    text, second = texts[0].as_py(), others[0]
    raise TableError(
        f"the numbers can be read in two ways: {text!r} of {shortened(names[i], MOST_OF_A_NAME)!r} is "
        f"{_value(text, first)} with the decimal sign {first[0]!r}, and {_value(text, second)} with {second[0]!r}. ",
        advice=["Say which: ", Setting("decimal", first[0]), " or ", Setting("decimal", second[0]), "."],
    )


def _conflict(
    names: Sequence[str], distinct: Mapping[int, Any], possible: Mapping[int, set[tuple[str, str]]]
) -> str:
    """Say which columns have numbers that no reading has in common."""
    shown, left = [], set(_STYLES)
    for i, styles in sorted(possible.items(), key=lambda item: len(item[1])):
        if left and not left <= styles:
            cells = ", ".join(map(repr, _text_of(distinct[i])[:3]))
            shown.append(f"{shortened(names[i], MOST_OF_A_NAME)!r} has {cells}")
            left &= styles
    return "; ".join(shown)


def _value(text: str, style: tuple[str, str]) -> str:
    for sign in text:
        if not sign.isdigit() and _kind_of(sign) == style[1]:
            text = text.replace(sign, "")
    return text.replace(style[0], ".")


def _are_fractions(texts: Any) -> bool:
    """Whether digits such as 1.234 are likely fractions: written without trailing zeros, or all with three digits."""
    return not _count(texts, r"\.\d*0$") or _all(texts, r"\.\d{3}$")


def _signs(texts: Any) -> set[str]:
    """Return the kinds of signs between digits."""
    compute = _compute()
    left = compute.unique(compute.replace_substring_regex(texts, rf"[^.,'’ {_SPACES}]", ""))
    return {_kind_of(sign) for text in _text_of(left) for sign in text}


def _kind_of(sign: str) -> str:
    return " " if sign in _SPACES + " " else "'" if sign in "'’" else sign


def _style_pattern(decimal: str, thousands: str) -> str:
    point, group = _GROUPS.get(decimal, ""), _GROUPS[thousands]
    whole = rf"\d+|[1-9]\d{{0,2}}({group}\d{{2,3}})*{group}\d{{3}}" if group else r"\d+"
    return rf"^[+-]?(({whole})({point}\d*)?|{point}\d+){_EXPONENT}$"


def _number_like(cores: Any) -> BoolArray:
    """Return which digits with separators are a number in some style."""
    found = np.zeros(len(cores), dtype=bool)
    for style in _STYLES:
        found |= np.asarray(_compute().match_substring_regex(cores, _style_pattern(*style)))
    return found


# --- Arrow arrays of text --------------------------------------------------------------------------------------------


def _compute() -> Any:
    from pyarrow import compute

    return compute


def _array(values: Any, kind: Any = None) -> Any:
    return sys.modules["pyarrow"].array(values, kind)


def as_text(cells: Any) -> Any:
    """Return text cells, also of dictionaries, as one array of large_string."""
    import pyarrow

    cells = cells.combine_chunks() if hasattr(cells, "chunks") else cells
    cells = cells.dictionary_decode() if pyarrow.types.is_dictionary(cells.type) else cells
    return cells if cells.type == pyarrow.large_string() else cells.cast(pyarrow.large_string())


def _joined(columns: Sequence[Any]) -> Any:
    import pyarrow

    return pyarrow.concat_arrays([as_text(column) for column in columns])


def _trimmed(texts: Any) -> Any:
    return _compute().utf8_trim_whitespace(as_text(texts))


def _without_missing(texts: Any, words: Sequence[str]) -> Any:
    """Return texts without blanks around them, null where they are one of the words."""
    texts = _trimmed(texts)
    return _compute().if_else(_are_missing(texts, words), None, texts)


def _are_missing(texts: Any, words: Sequence[str]) -> Any:
    return _compute().is_in(texts, _array([*words, None], texts.type))


def _mask(values: Any, shape: tuple[int, int]) -> BoolArray:
    filled = _compute().fill_null(values, False)
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=bool).reshape(shape)


def _count(texts: Any, pattern: str) -> int:
    return int(_compute().sum(_compute().match_substring_regex(texts, pattern)).as_py() or 0)


def _all(texts: Any, pattern: str) -> bool:
    return len(texts) > 0 and _count(texts, pattern) == len(texts)


def _text_of(texts: Any) -> list[str]:
    return [text for text in texts.to_pylist() if text is not None]


def _escaped(text: str) -> str:
    return "".join(f"\\{sign}" if not sign.isalnum() and ord(sign) < 128 else sign for sign in text)
