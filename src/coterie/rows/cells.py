"""Numbers and vectors in text cells: one rule for text files and for text columns of data frames and Arrow tables."""

from __future__ import annotations

import re
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
_PLAIN = rf"^[+-]?(\d+[.,]?\d*|[.,]\d+){_EXPONENT}$"
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
    rf"""(?P<number>[.,]?\d(?:[\d.,'’ {_SPACES}]*[\d.,])?{_EXPONENT})"""
    rf"""[ {_SPACES}]?(?P<suffix>"|'|[^\d\s.,:;/\-−+_'’"()\[\]][^\d\s"'()\[\]]{{0,11}}|)$"""
)
# A column of more kinds of signs has codes: 12A, 7F.
_MOST_SIGNS = 3

_VECTOR = r"(?s)^\s*(array\()?[\[(].*[\])]\s*$"
_BARE_VECTOR = r"^\s*[+-]?\d*\.?\d+([eE][+-]?\d+)?([ ,;|]+[+-]?\d*\.?\d+([eE][+-]?\d+)?){2,}\s*$"

# The readings that are tried: decimal sign, and what separates thousands (a space stands for all kinds of it).
_STYLES = tuple(
    (decimal, thousands) for decimal in ".," for thousands in ("", " ", "'", ",", ".") if decimal != thousands
)
_GROUPS = {"": "", " ": f"[ {_SPACES}]", "'": "['’]", ",": ",", ".": r"\."}


def reading_of(options: Mapping[str, Any]) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Return the readings of numbers that options of `open_rows` leave possible, and the words for missing ones."""
    decimal, thousands, words = (options.get(name) for name in ("decimal", "thousands", "missing_words"))
    for name, value, signs in (("decimal", decimal, [".", ","]), ("thousands", thousands, list(_GROUPS))):
        if value not in [None, *signs]:
            shown = ", ".join(map(repr, signs))
            raise TableError("", "{} must be one of {}, got {!r}.", Setting(name), shown, value)
    if decimal is not None and decimal == thousands:
        raise TableError("", "{} is the decimal sign, too.", Setting("thousands", thousands))
    if isinstance(words, str):
        raise TableError("", "{} must be a list of words, got {!r}.", Setting("missing_words"), words)
    styles = [style for style in _STYLES if decimal in (None, style[0]) and thousands in (None, style[1])]
    return styles, (*MISSING_WORDS, *(words or ()))


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How the texts of a column are read as numbers; `remark` says what is left out, `is_whole` whether they are
    integers of at most 18 digits, `is_long` whether some have more, which floats would lose."""

    words: tuple[str, ...]
    decimal: str = "."
    thousands: str = ""
    prefix: str = ""
    suffix: str = ""
    is_whole: bool = False
    is_boolean: bool = False
    is_long: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether pyarrow parses these numbers from a text file."""
        return self == NumberFormat(self.words, is_whole=self.is_whole)

    @property
    def remark(self) -> str:
        signs = [repr(sign) for sign in (self.prefix, self.suffix) if sign.strip("'\"=")]
        return f"without {' and '.join(signs)}" if signs else ""

    def parse(self, texts: Any, row: int = 0, name: str = "") -> Any:
        """Return texts as an Arrow array of float64 or int64, null where missing; an error names a bad cell."""
        import pyarrow

        compute, kind = _compute(), pyarrow.int64() if self.is_whole else pyarrow.float64()
        if self.is_plain and self.words == MISSING_WORDS:
            with suppress(pyarrow.ArrowInvalid):  # all are numbers
                return as_text(texts).cast(kind)
        texts = _without_missing(texts, self.words)
        if self.is_plain:
            with suppress(pyarrow.ArrowInvalid):  # or missing
                return texts.cast(kind)
        before, after = re.escape(self.prefix), re.escape(self.suffix)
        body = _body_of((self.decimal, self.thousands))
        shape = rf"^([+\-−]?){before}[ {_SPACES}]?([+\-−]?)({body})[ {_SPACES}]?{after}$"
        is_good = compute.match_substring_regex(
            texts, _BOOLEAN if self.is_boolean else f"{shape}|{_INFINITE}"
        )
        if (first := _first_bad(is_good)) is not None:
            raise _bad_cell(name, texts[first].as_py(), row + first)
        if self.is_boolean:
            return texts.cast(pyarrow.bool_()).cast(pyarrow.float64())
        bare = compute.replace_substring_regex(texts, shape, r"\1\2\3")
        bare = compute.replace_substring(bare, "−", "-")
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
        is_good = compute.match_substring_regex(lists.flatten(), rf"{_PLAIN}|{_INFINITE}|^[+-]?(?i:nan)$")
        if (first := _first_bad(is_good)) is not None:
            bad, at = lists.flatten()[first].as_py(), compute.list_parent_indices(lists)[first].as_py()
            raise _bad_cell(name, bad, row + at)
        return lists.cast(pyarrow.list_(pyarrow.float64()))


CellFormat = NumberFormat | VectorFormat


def _first_bad(is_good: Any) -> int | None:
    good = np.asarray(_compute().fill_null(is_good, True))
    return None if good.all() else int(good.argmin())


def _bad_cell(name: str, text: str, row: int) -> TableError:
    cut = " NumPy leaves out the middle of long vectors: write them again, such as by tolist()." * (
        text == "..."
    )
    return TableError(
        f"the column {shortened(name, MOST_OF_A_NAME)!r} has {text[:40]!r} in row {row}, which is no number.{cut} ",
        "Correct the cell, or leave the column out: {}.",
        Setting("exclude", [name]),
    )


def cell_formats(
    texts: Mapping[int, Any],
    names: Sequence[str],
    styles: Sequence[tuple[str, str]],
    words: tuple[str, ...],
    *,
    chosen: Collection[int] | None = None,
    sep: str | None = None,
) -> tuple[dict[int, CellFormat], dict[int, str]]:
    """Return how text columns of numbers or vectors are read, and what is wrong with others, by position. All numbers
    have the same decimal sign and separator of thousands: the only one of `styles` that fits, else a TableError names
    the columns. `texts` are the first cells, as Arrow arrays; `chosen` the columns to cluster, if known.
    """
    compute = _compute()
    cells = sys.modules["pyarrow"].concat_arrays([as_text(column) for column in texts.values()])
    cells = compute.utf8_trim_whitespace(cells)
    shape = (len(texts), len(cells) // len(texts))
    is_missing = np.asarray(_are_missing(cells, words)).reshape(shape)
    is_simple, has_point, in_groups = (
        np.asarray(compute.fill_null(found, False)).reshape(shape)
        for found in (
            compute.match_substring_regex(cells, _SIMPLE),
            compute.match_substring(cells, "."),
            compute.match_substring_regex(cells, _GROUPS_OF_THREE),
        )
    )
    # Nearly all columns of wide tables are like this, and need no look at each.
    has_fraction = np.any(is_fraction := is_simple & has_point & ~in_groups, axis=1)
    are_simple: BoolArray = np.all(is_simple | is_missing, axis=1) & np.any(is_simple, axis=1)
    are_simple &= has_fraction | ~np.any(is_simple & has_point, axis=1)
    # One such number tells as much about the decimal sign as all.
    witness = next(iter(np.flatnonzero(are_simple & has_fraction)), None)
    found: dict[int, CellFormat] = {}
    problems: dict[int, str] = {}
    # Digits with their signs, from which the decimal sign of the table is found.
    cores: dict[int, list[str]] = {}
    for at, i in enumerate(texts):
        column = cells.slice(at * shape[1], shape[1])
        if are_simple[at]:
            found[i] = NumberFormat(words, is_whole=not has_fraction[at])
            if at == witness:
                cores[i] = [column[int(is_fraction[at].argmax())].as_py().lstrip("-")]
            continue
        there, is_chosen = ~is_missing[at], chosen is not None and i in chosen
        format, digits, problem = _format_of(
            column.filter(_array(there)), np.flatnonzero(there), words, is_chosen
        )
        if format is not None:
            found[i] = format
        if isinstance(format, NumberFormat):
            cores[i] = _shapes(digits)
        if problem:
            problems[i] = problem
    decimal, thousands = _style(cores, names, styles, sep, chosen)
    for i, digits in cores.items():
        signs, format = _signs(digits), found[i]
        assert isinstance(format, NumberFormat)
        own = decimal if decimal in signs else ".", thousands if thousands in signs else ""
        found[i] = replace(format, decimal=own[0], thousands=own[1])
    return {i: one for i, one in sorted(found.items()) if i not in problems}, problems


def _format_of(
    cells: Any, rows: IndexArray, words: tuple[str, ...], is_chosen: bool
) -> tuple[CellFormat | None, Any, str]:
    """Return the format of cells that are not missing, of these rows, None for other texts; of numbers the digits with
    their separators, and the problem that keeps the column from being read."""
    compute, n, none = _compute(), len(cells), cells.slice(0, 0)
    if _all(cells, _BOOLEAN):
        return NumberFormat(words, is_boolean=True), none, ""
    parts = compute.extract_regex(cells, pattern=_AFFIXED)
    is_good = np.array(compute.is_valid(parts))
    prefixes, suffixes, digits = (
        compute.struct_field(parts.drop_null(), name) for name in ("prefix", "suffix", "number")
    )
    is_shape = np.asarray(compute.match_substring_regex(digits, f"^({'|'.join(map(_body_of, _STYLES))})$"))
    is_good[is_good] = is_shape
    is_good |= np.asarray(compute.match_substring_regex(cells, _INFINITE))
    if 2 * is_good.sum() <= n:  # texts, dates, addresses of machines, versions
        are_vectors = 2 * _count(cells, _VECTOR) > n or (_all(cells, _BARE_VECTOR) and _all(cells, r"\."))
        return VectorFormat(words) if are_vectors else None, none, ""
    pairs = compute.binary_join_element_wise(prefixes, suffixes, _array(["\0"], cells.type)[0])
    kinds = [pair.split("\0") for pair in compute.unique(pairs).to_pylist()] or [["", ""]]
    digits = digits.filter(_array(is_shape))
    if is_good.all() and len(kinds) == 1:
        has_sign = _count(digits, r"[.,]|[eE][+-]") or _count(cells, r"^[+-]")
        if _count(digits, _CODE) and not has_sign and not is_chosen:
            return None, none, ""
        format = NumberFormat(
            words,
            prefix=kinds[0][0],
            suffix=kinds[0][1],
            is_whole=_all(cells, r"^-?\d{1,18}$"),
            is_long=_count(cells, r"^[+-]?\d{19}") > 0,
        )
        return format, digits, ""
    is_plain = np.asarray(compute.match_substring_regex(cells, f"{_PLAIN}|{_INFINITE}"))
    has_signs = 2 * is_plain.sum() <= n
    if has_signs and len(kinds) > _MOST_SIGNS:
        return None, none, ""
    if has_signs and is_good.all():
        shown = ", ".join(map(repr, sorted({sign for kind in kinds for sign in kind if sign})))
        some = " and numbers without one" * (["", ""] in kinds)
        problem = f"has numbers with different signs or units: {shown}{some}. Convert them to one"
    else:
        is_odd = is_plain if is_good.all() else is_good
        odd = compute.unique(cells.filter(_array(~is_odd))).to_pylist()
        n_odd, more = n - is_odd.sum(), ", ".join(repr(text[:20]) for text in odd[1:4])
        problem = (
            f"{n_odd:,} of {n:,} cells {'is not a number' if n_odd == 1 else 'are not numbers'}, the first is "
            f"{odd[0][:20]!r} in row {rows[~is_odd][0]}{f'; others are {more}' * bool(more)}{', ...' * (len(odd) > 4)}"
        )
    return NumberFormat(words), digits, problem


def _style(
    cores: Mapping[int, Sequence[str]],
    names: Sequence[str],
    styles: Sequence[tuple[str, str]],
    sep: str | None,
    chosen: Collection[int] | None,
) -> tuple[str, str]:
    """Return the decimal sign and the separator of thousands with which all digits of all columns are numbers."""
    possible = {
        i: {style for style in styles if all(re.fullmatch(_body_of(style), text) for text in texts)}
        for i, texts in cores.items()
        if _signs(texts)
    }
    if not possible:
        return styles[0]
    common = set.intersection(*possible.values())
    if not common and chosen is not None and set(chosen) < set(possible):
        return _style({i: cores[i] for i in chosen if i in cores}, names, styles, sep, None)
    if not common:
        shown = [
            f"{shortened(names[i], MOST_OF_A_NAME)!r} has {', '.join(map(repr, cores[i][:3]))}"
            for i in sorted(possible, key=lambda i: len(possible[i]))
        ]
        raise TableError(
            f"the numbers cannot be read with one decimal sign: {'; '.join(shown[:3])}. ",
            "Write them alike, say how they are written: {} or {}, or leave columns out: {}.",
            Setting("decimal"),
            Setting("thousands"),
            Setting("exclude"),
        )
    # Readings that differ only in signs that no cell has are the same.
    used = set.union(*(_signs(cores[i]) for i in possible))
    readings: dict[tuple[str, ...], tuple[str, str]] = {}
    for style in (style for style in styles if style in common):
        readings.setdefault(tuple(sign if sign in used else "" for sign in style), style)
    points = [style for reading, style in readings.items() if reading[0] == "."]
    if points and sep == "," and all(map(_are_fractions, cores.values())):
        return points[0]  # as in files that have commas between fields
    first, *others = readings.values()
    if not others:
        return first
    i = next(iter(possible))
    text, second = next(text for text in cores[i] if _signs([text])), others[0]
    raise TableError(
        f"the numbers can be read in two ways: {text!r} of {shortened(names[i], MOST_OF_A_NAME)!r} is "
        f"{_value(text, first)} with the decimal sign {first[0]!r}, and {_value(text, second)} with {second[0]!r}. ",
        "Say which: {} or {}.",
        Setting("decimal", first[0]),
        Setting("decimal", second[0]),
    )


def _shapes(digits: Any) -> list[str]:
    """Return one text of each kind of digits that differ in other digits than 0."""
    codes = _compute().replace_substring_regex(digits, "[1-9]", "1").dictionary_encode().indices
    firsts = np.unique(np.asarray(codes), return_index=True)[1]
    return digits.take(_array(firsts)).to_pylist()  # type: ignore[no-any-return]


def _value(text: str, style: tuple[str, str]) -> str:
    text = "".join(sign for sign in text if _kind_of(sign) != style[1])
    return text.replace(style[0], ".")


def _are_fractions(texts: Sequence[str]) -> bool:
    """Whether digits such as 1.234 are likely fractions: written without trailing zeros, or all with three digits."""
    return not any(re.search(r"\.\d*0$", text) for text in texts) or all(
        re.search(r"\.\d{3}$", text) for text in texts
    )


def _signs(texts: Sequence[str]) -> set[str]:
    """Return the kinds of signs between digits."""
    return {_kind_of(sign) for text in texts for sign in text if sign in f".,'’ {_SPACES}"}


def _kind_of(sign: str) -> str:
    return " " if sign in _SPACES + " " else "'" if sign in "'’" else sign


def _body_of(style: tuple[str, str]) -> str:
    """Return the pattern of digits in a style."""
    point, group = _GROUPS.get(style[0], ""), _GROUPS[style[1]]
    whole = rf"\d+|[1-9]\d{{0,2}}({group}\d{{2,3}})*{group}\d{{3}}" if group else r"\d+"
    return rf"(({whole})({point}\d*)?|{point}\d+){_EXPONENT}"


# --- Arrow arrays ----------------------------------------------------------------------------------------------------


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
    """Return columns of equal length as a matrix of float64; `row` and `names` are for the error that names a cell."""
    matrix = np.empty((len(columns[0]), len(columns)), order="F")
    for i, (cells, format) in enumerate(zip(columns, formats)):
        if isinstance(format, NumberFormat) and arrow_kind(cells.type) == "text":
            cells = format.parse(cells, row, names[i] if names else "")
        matrix[:, i] = numbers_of(cells)
    return matrix


def as_text(cells: Any) -> Any:
    """Return text cells, also of dictionaries, as one array of large_string."""
    import pyarrow

    cells = cells.combine_chunks() if hasattr(cells, "chunks") else cells
    cells = cells.dictionary_decode() if pyarrow.types.is_dictionary(cells.type) else cells
    return cells if cells.type == pyarrow.large_string() else cells.cast(pyarrow.large_string())


def _compute() -> Any:
    from pyarrow import compute

    return compute


def _array(values: Any, kind: Any = None) -> Any:
    return sys.modules["pyarrow"].array(values, kind)


def _without_missing(texts: Any, words: Sequence[str]) -> Any:
    """Return texts without blanks around them, null where they are one of the words."""
    texts = _compute().utf8_trim_whitespace(as_text(texts))
    return _compute().if_else(_are_missing(texts, words), None, texts)


def _are_missing(texts: Any, words: Sequence[str]) -> Any:
    return _compute().is_in(texts, _array([*words, None], texts.type))


def _count(texts: Any, pattern: str) -> int:
    return int(_compute().sum(_compute().match_substring_regex(texts, pattern)).as_py() or 0)


def _all(texts: Any, pattern: str) -> bool:
    return len(texts) > 0 and _count(texts, pattern) == len(texts)
