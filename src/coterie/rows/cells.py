"""Numbers and vectors in text cells: one rule for text files and for text columns of data frames and Arrow tables."""

from __future__ import annotations

import re
import sys
from collections import Counter
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
_INFINITE = r"^[+-]?(?i:inf|infinity)$"
_SIMPLE = r"^-?(0|[1-9]\d{0,17})(\.\d+)?$"
_BOOLEAN = r"^(true|false|True|False|TRUE|FALSE)$"
# Texts of digits that are no numbers if a column has no fractions: 00123, 13e1.
_CODE = r"^(0\d+|\d+[eE]\d+)$"
# What numbers would lose of a text: leading zeros, digits of long integers.
_INEXACT = rf"{_CODE}|^[+-]?(0[xX]|\d{{19}})"
# 1.234 and 1,234: the sign may separate thousands.
_GROUPS_OF_THREE = r"^[+-]?[1-9]\d{0,2}[.,]\d{3}$"

_CURRENCY = r"USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|BRL|CAD|AUD|NZD|MXN|ZAR|TRY|KRW|RUB|Rs\.?|R\$|US\$|kr"
# A sign, a prefix, digits with separators, and a suffix: -$1,234.50, 12 kg, '5', ="007".
_AFFIXED = (
    rf"""^[+-]?(?P<prefix>\p{{Sc}}|{_CURRENCY}|="|'|) ?[+-]?(?P<number>[.,]?\d(?:[\d.,' ]*[\d.,])?{_EXPONENT})"""
    r""" ?(?P<suffix>"|'|[^\d\s.,:;/\-+_'"()\[\]][^\d\s"'()\[\]]{0,11}|)$"""
)
# A column of more kinds of signs has codes: 12A, 7F.
_MOST_SIGNS = 3

_VECTOR = r"(?s)^\s*(array\()?[\[(].*[\])]\s*$"
_BARE_VECTOR = r"^\s*[+-]?\d*\.?\d+([eE][+-]?\d+)?([ ,;|]+[+-]?\d*\.?\d+([eE][+-]?\d+)?){2,}\s*$"
_COMPONENT = rf"^[+-]?(\d+\.?\d*|\.\d+){_EXPONENT}$|^[+-]?(?i:nan|inf|infinity)$"

Style = tuple[str, str]
"""A decimal sign, and what separates thousands; a space stands for all kinds of it."""

_GROUPS = ("", " ", "'", ",", ".")
_STYLES = tuple((decimal, groups) for decimal in ".," for groups in _GROUPS if decimal != groups)


def reading_of(options: Mapping[str, Any]) -> tuple[list[Style], tuple[str, ...]]:
    """Return the styles of numbers that options of `open_rows` leave possible, and the words for missing ones."""
    decimal, thousands, words = (options.get(name) for name in ("decimal", "thousands", "missing_words"))
    for name, value, signs in (("decimal", decimal, (".", ",")), ("thousands", thousands, _GROUPS)):
        if value not in (None, *signs):
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
    """How the texts of a column are read as numbers: without `prefix` and `suffix`."""

    words: tuple[str, ...]
    style: Style = (".", "")
    prefix: str = ""
    suffix: str = ""
    is_boolean: bool = False

    @property
    def remark(self) -> str:
        """What is left out of the texts, in words."""
        signs = [repr(sign) for sign in (self.prefix, self.suffix) if sign.strip("'\"=")]
        return f"without {' and '.join(signs)}" if signs else ""

    def parse(self, texts: Any, row: int = 0, name: str = "") -> Any:
        """Return texts as an Arrow array of float64, null where missing; an error names a bad cell."""
        import pyarrow

        texts, compute = as_text(texts), _compute()
        is_plain = not (self.prefix or self.suffix or self.is_boolean)
        is_plain = is_plain and (self.style[0] == "." or not _count(texts, r"\."))
        if is_plain and self.words == MISSING_WORDS:
            with suppress(pyarrow.ArrowInvalid):  # all are numbers
                return self._cast(texts)
        texts = _without_missing(texts, self.words)
        if is_plain:
            with suppress(pyarrow.ArrowInvalid):
                return self._cast(texts)
        before, after = re.escape(self.prefix), re.escape(self.suffix)
        shape = rf"^([+-]?){before} ?([+-]?)({_pattern_of(self.style)}) ?{after}$"
        bare = _normal(texts)
        is_good = compute.match_substring_regex(bare, _BOOLEAN if self.is_boolean else f"{shape}|{_INFINITE}")
        if (first := _first_bad(is_good)) is not None:
            raise _bad_cell(name, texts[first].as_py(), row + first)
        if self.is_boolean:
            return bare.cast(pyarrow.bool_()).cast(pyarrow.float64())
        bare = compute.replace_substring_regex(bare, shape, r"\1\2\3")
        return self._cast(compute.replace_substring(bare, self.style[1], "") if self.style[1] else bare)

    def _cast(self, texts: Any) -> Any:
        texts = texts if self.style[0] == "." else _compute().replace_substring(texts, self.style[0], ".")
        return texts.cast(sys.modules["pyarrow"].float64())


@dataclass(frozen=True, slots=True)
class VectorFormat:
    """How the texts of a column are read as vectors."""

    words: tuple[str, ...]

    def parse(self, texts: Any, row: int = 0, name: str = "") -> Any:
        """Return texts such as [0.1, 0.2] and [0.1 0.2] as an Arrow array of lists of float64."""
        import pyarrow

        texts, compute = _without_missing(as_text(texts), self.words), _compute()
        bare = compute.replace_substring_regex(texts, r"array\(|dtype=\w+|np\.float\d+|[\[\](),;|\s]+", " ")
        lists = compute.ascii_split_whitespace(compute.ascii_trim_whitespace(bare))
        if (first := _first_bad(compute.match_substring_regex(lists.flatten(), _COMPONENT))) is not None:
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
    styles: Sequence[Style],
    words: tuple[str, ...],
    *,
    chosen: Collection[int] | None = None,
    sep: str | None = None,
) -> tuple[dict[int, CellFormat], dict[int, str]]:
    """Return how text columns of numbers or vectors are read, and what is wrong with others, by position. All numbers
    have the same style: the only one of `styles` that fits, else a TableError names the columns. `texts` are the first
    cells, as Arrow arrays; `chosen` the columns to cluster, if known.
    """
    cells = sys.modules["pyarrow"].concat_arrays([as_text(column) for column in texts.values()])
    cells = _compute().utf8_trim_whitespace(cells)
    shape = (len(texts), len(cells) // len(texts))
    is_missing, is_simple, has_point, in_groups = (
        np.asarray(found).reshape(shape)
        for found in (
            _are_missing(cells, words),
            _matches(cells, _SIMPLE),
            _matches(cells, r"\."),
            _matches(cells, _GROUPS_OF_THREE),
        )
    )
    # Nearly all columns of wide tables are like this, and need no look at each.
    is_fraction = is_simple & has_point & ~in_groups
    are_simple = np.all(is_simple | is_missing, axis=1) & np.any(is_simple, axis=1)
    are_simple &= np.any(is_fraction, axis=1) | ~np.any(is_simple & has_point, axis=1)
    # One such number tells as much about the decimal sign as all.
    witness = next(iter(np.flatnonzero(are_simple & is_fraction.any(axis=1))), None)
    formats: dict[int, CellFormat] = {}
    problems: dict[int, str] = {}
    # The digits of columns of numbers, with the signs between them.
    digits: dict[int, list[str]] = {}
    for at, i in enumerate(texts):
        if are_simple[at]:
            formats[i] = NumberFormat(words)
            if at == witness:
                text = cells[at * shape[1] + int(is_fraction[at].argmax())].as_py()
                digits[i] = [text.lstrip("-")]
            continue
        column, there = cells.slice(at * shape[1], shape[1]), ~is_missing[at]
        is_chosen = chosen is not None and i in chosen
        format, found, problem = _format_of(
            column.filter(_array(there)), np.flatnonzero(there), words, is_chosen
        )
        if problem:
            problems[i] = problem
        elif format is not None:
            formats[i], digits[i] = format, found
    style = _style(digits, names, styles, sep, chosen)
    for i, format in formats.items():
        if isinstance(format, NumberFormat):
            formats[i] = replace(format, style=style)
    return formats, problems


def _format_of(
    cells: Any, rows: IndexArray, words: tuple[str, ...], is_chosen: bool
) -> tuple[CellFormat | None, list[str], str]:
    """Return the format of cells that are not missing, of these rows, None for other texts; of numbers the digits with
    the signs between them, and the problem that keeps the column from being read."""
    compute, n = _compute(), len(cells)
    if n and _count(cells, _BOOLEAN) == n:
        return NumberFormat(words, is_boolean=True), [], ""
    normal = _normal(cells)
    parts = compute.extract_regex(normal, pattern=_AFFIXED)
    prefixes, digits, suffixes = (
        compute.struct_field(parts, name) for name in ("prefix", "number", "suffix")
    )
    is_number = _matches(digits, f"^({'|'.join(map(_pattern_of, _STYLES))})$")
    is_good = is_number | _matches(cells, _INFINITE)
    if 2 * is_good.sum() <= n:  # texts, dates, addresses of machines, versions
        are_bare = _count(cells, _BARE_VECTOR) == n and _count(cells, r"\.") == n
        are_vectors = n > 0 and (2 * _count(cells, _VECTOR) > n or are_bare)
        return VectorFormat(words) if are_vectors else None, [], ""
    signs = compute.binary_join_element_wise(prefixes, suffixes, _array(["\0"], cells.type)[0])
    digits = digits.filter(_array(is_number))
    kinds = Counter(signs.filter(_array(is_number)).to_pylist())
    usual = kinds.most_common(1)[0][0] if kinds else "\0"
    is_usual = is_good & (~is_number | np.asarray(compute.fill_null(compute.equal(signs, usual), False)))
    prefix, suffix = usual.split("\0")
    if is_usual.all():
        has_sign = _count(digits, r"[.,]|[eE][+-]") or _count(normal, r"^[+-]")
        if _count(digits, _CODE) and not has_sign and not is_chosen:
            return None, [], ""
        return NumberFormat(words, prefix=prefix, suffix=suffix), _shapes(digits), ""
    if 2 * kinds["\0"] <= n and len(kinds) > _MOST_SIGNS:
        return None, [], ""
    odd = compute.unique(cells.filter(_array(~is_usual))).to_pylist()
    n_odd, others = int(n - is_usual.sum()), ", ".join(repr(text[:20]) for text in odd[1:4])
    problem = f"{n_odd:,} of {n:,} cells {'is not a number' if n_odd == 1 else 'are not numbers'}"
    problem += f" with {(prefix + suffix)!r}" * bool(prefix + suffix)
    problem += f", the first is {odd[0][:20]!r} in row {rows[~is_usual][0]}"
    return None, [], problem + f"; others are {others}" * bool(others) + ", ..." * (len(odd) > 4)


def _style(
    digits: Mapping[int, Sequence[str]],
    names: Sequence[str],
    styles: Sequence[Style],
    sep: str | None,
    chosen: Collection[int] | None,
) -> Style:
    """Return the style in which all digits of all columns are numbers."""
    signed = {i: texts for i, texts in digits.items() if _signs(texts)}
    possible = {
        i: [style for style in styles if all(re.fullmatch(_pattern_of(style), text) for text in texts)]
        for i, texts in signed.items()
    }
    common = [style for style in styles if all(style in some for some in possible.values())]
    if not common and chosen is not None and set(chosen) < set(signed):
        return _style({i: signed[i] for i in chosen if i in signed}, names, styles, sep, None)
    # Styles that differ only in signs that no cell has are the same.
    used = _signs([text for texts in signed.values() for text in texts])
    readings: dict[tuple[str, ...], Style] = {}
    for style in common:
        readings.setdefault(tuple(sign if sign in used else "" for sign in style), style)
    # A file that has commas between fields has points in fractions.
    is_usual = (
        bool(common) and common[0][0] == "." and sep == "," and all(map(_are_fractions, digits.values()))
    )
    if len(readings) == 1 or is_usual:
        return common[0]
    shown = [
        f"{shortened(names[i], MOST_OF_A_NAME)!r} has {', '.join(map(repr, signed[i][:3]))}"
        for i in sorted(signed, key=lambda i: len(possible[i]))[:3]
    ]
    if common:
        i, text = next((i, text) for i, texts in signed.items() for text in texts if _signs([text]))
        ways = (
            f"{text.replace(groups, '').replace(point, '.')} with the decimal sign {point!r}"
            for point, groups in readings.values()
        )
        shown = [f"{text!r} of {shortened(names[i], MOST_OF_A_NAME)!r} is {', and '.join(ways)}"]
    raise TableError(
        f"the numbers can be read in {'two ways' if common else 'no single way'}: {'; '.join(shown)}. ",
        "Say which: {} or {}; what separates thousands: {}; or leave columns out: {}.",
        Setting("decimal", "."),
        Setting("decimal", ","),
        Setting("thousands"),
        Setting("exclude"),
    )


def _shapes(digits: Any) -> list[str]:
    """Return one text of each kind of digits: only zeros at the ends of digits make a difference."""
    kinds = _compute().replace_substring_regex(digits, "[1-9]", "1")
    kinds = _compute().replace_substring_regex(kinds, r"\B0\B", "1")
    firsts = np.unique(np.asarray(kinds.dictionary_encode().indices), return_index=True)[1]
    return digits.take(_array(firsts)).to_pylist()  # type: ignore[no-any-return]


def _are_fractions(texts: Sequence[str]) -> bool:
    """Whether digits such as 1.234 are likely fractions: written without trailing zeros, or all with three digits."""
    return not any(re.search(r"\.\d*0$", text) for text in texts) or all(
        re.search(r"\.\d{3}$", text) for text in texts
    )


def _signs(texts: Sequence[str]) -> set[str]:
    """Return the signs between digits."""
    return set("".join(texts)) & set(".,' ")


def _pattern_of(style: Style) -> str:
    """Return the pattern of digits in a style."""
    point, group = re.escape(style[0]), re.escape(style[1])
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

    cells = _one_array(cells)
    is_plain = pyarrow.types.is_integer(cells.type) or pyarrow.types.is_floating(cells.type)
    if cells.null_count or not is_plain:
        # Integers above 2**53 lose digits in float64, which NumPy's conversion allows as well.
        cells = cells.cast(pyarrow.float64(), safe=False)
    return cells.to_numpy(zero_copy_only=False)


def parsed_numbers(
    columns: Sequence[Any], formats: Sequence[CellFormat | None], row: int = 0, names: Sequence[str] = ()
) -> FloatArray:
    """Return columns of equal length as a matrix of float64; `row` and `names` are for the error that names a cell."""
    matrix = np.empty((len(columns[0]), len(columns)))
    for i, (cells, format) in enumerate(zip(columns, formats)):
        if format is not None:
            cells = format.parse(cells, row, names[i] if names else "")
        matrix[:, i] = numbers_of(cells)
    return matrix


def typed_texts(texts: Any, words: Sequence[str]) -> Any:
    """Return texts of a file as integers or floats if all are numbers in any style, and lose nothing; else as they
    are."""
    import pyarrow

    for is_trimmed in (words != MISSING_WORDS, True):
        there = _without_missing(texts, words) if is_trimmed else texts
        for kind in (pyarrow.int64(), pyarrow.float64()) if there.null_count < len(there) else ():
            with suppress(pyarrow.ArrowInvalid):
                numbers = there.cast(kind)
                n_groups = _count(there, rf"{_INEXACT}|{_GROUPS_OF_THREE}")
                if n_groups and (_count(there, _INEXACT) or n_groups == _count(there, r"\.")):
                    return texts
                return numbers
    return texts


def as_text(cells: Any) -> Any:
    """Return text cells, also of dictionaries, as one array of large_string."""
    import pyarrow

    cells = _one_array(cells)
    return cells if cells.type == pyarrow.large_string() else cells.cast(pyarrow.large_string())


def _one_array(cells: Any) -> Any:
    """Return cells as one array without a dictionary."""
    import pyarrow

    cells = cells.combine_chunks() if isinstance(cells, pyarrow.ChunkedArray) else cells
    return cells.dictionary_decode() if pyarrow.types.is_dictionary(cells.type) else cells


def _compute() -> Any:
    from pyarrow import compute

    return compute


def _array(values: Any, kind: Any = None) -> Any:
    return sys.modules["pyarrow"].array(values, kind)


def _normal(texts: Any) -> Any:
    """Return texts with one kind of blank, apostrophe and minus sign."""
    for found, sign in (("[\u00a0\u202f\u2009]", " "), ("’", "'"), ("−", "-")):
        texts = _compute().replace_substring_regex(texts, found, sign)
    return texts


def _without_missing(texts: Any, words: Sequence[str]) -> Any:
    """Return texts without blanks around them, null where they are one of the words."""
    texts = _compute().utf8_trim_whitespace(texts)
    return _compute().if_else(_are_missing(texts, words), None, texts)


def _are_missing(texts: Any, words: Sequence[str]) -> Any:
    return _compute().is_in(texts, _array([*words, None], texts.type))


def _matches(texts: Any, pattern: str) -> BoolArray:
    return np.array(_compute().fill_null(_compute().match_substring_regex(texts, pattern), False))


def _count(texts: Any, pattern: str) -> int:
    return int(_compute().sum(_compute().match_substring_regex(texts, pattern)).as_py() or 0)
