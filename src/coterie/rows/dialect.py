"""How a text file of a table is written: separator, header, lines before the table. Decided on its first lines."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coterie.limits.files import shortened
from coterie.rows.cells import MISSING_WORDS, SUSPECTS
from coterie.rows.checks import Setting, TableError

BLANKS = " "
"""The separator of fields that any number of blanks separates."""

# In the order of preference for ties: commas can be decimal signs or occur in text, others rarely do.
_SEPARATORS = "\t;|,"
_COMMENT = re.compile(r"\s*[#%]")
_SEP_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
_NUMBER = re.compile(
    r"""=?["']?[^\w\s]{0,2}\d[\d.,'’ \u00a0\u202f]*([eE][+-]?\d+)?\s?[^\d\s]{0,3}["']?"""
    r"""|[+-]?[.,]\d+([eE][+-]?\d+)?|[+-]?(?i:inf|infinity)"""
)
_PLAIN = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_DATED = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{2,4}|\d\d?:\d\d|\s*[\[(]")
_BOOLEAN = frozenset(("true", "false"))
_WORDS = frozenset((*MISSING_WORDS, *SUSPECTS))

# Lines that are looked at for the header.
_SEEN_LINES = 1000

# A first row of integers above a chance of less than this of a row of integers is a header.
_CHANCE = 0.01


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text file is written: what separates fields (`BLANKS`: any number of blanks), the lines before the first
    row, with the header, and the names in this header, None without one.
    """

    sep: str
    skip_lines: int
    names: tuple[str, ...] | None
    n_columns: int


def dialect_of(
    lines: Sequence[str],
    *,
    sep: str | None = None,
    header: bool | None = None,
    skip_lines: int | None = None,
    missing_words: Sequence[str] = (),
    suffix: str = ".csv",
) -> Dialect:
    """Return the dialect of a text file with these first lines; what is given is kept.

    The separator is the one with which most lines have the same number of fields, of several the one with the most
    numbers; comment lines before the table are skipped. A TableError names what can be read in two ways.
    """
    if sep is not None and (len(sep) != 1 or sep in '"\r\n'):
        told = f" must be one character, such as ';' or a tab, got {sep!r}."
        raise TableError("", advice=[Setting("sep"), told])
    if skip_lines is not None and skip_lines < 0:
        raise TableError("", advice=[Setting("skip_lines"), f" must be at least 0, got {skip_lines}."])
    start = skip_lines or 0
    if skip_lines is None and lines and (found := _SEP_LINE.fullmatch(lines[0])):
        start, sep = 1, sep or found[1]
    lines = lines[start:]
    if not any(line.strip() for line in lines):
        raise ValueError("the file is empty." if not start else f"the file has no rows after {start} lines.")
    sep = sep or ("\t" if suffix == ".tsv" else _separator(lines))
    rows = _split(lines, sep)
    n_columns = Counter(len(row) for _, row in rows).most_common(1)[0][0]
    skipped = 0
    if skip_lines is None:
        while len(rows[skipped][1]) != n_columns:
            line, fields = rows[skipped]
            if not _COMMENT.match(lines[line]):
                table = next(line for line, fields in rows if len(fields) == n_columns)
                raise TableError(
                    f"line {start + line + 1} has {len(fields)} field{'s' * (len(fields) != 1)}, but others have "
                    f"{n_columns}: {shortened(lines[line].strip(), 60)!r}. ",
                    advice=[
                        "If the table begins after it, leave out the lines before: ",
                        Setting("skip_lines", start + table),
                        ". Otherwise correct it, or say what separates fields: ",
                        Setting("sep"),
                        ".",
                    ],
                )
            skipped += 1
        while skipped + 2 < len(rows) and _COMMENT.match(rows[skipped][1][0]):
            fields = rows[skipped + 1][1]
            if not _COMMENT.match(fields[0]) and not _names_columns(fields, rows[skipped + 2 :]):
                break
            skipped += 1
        rows = rows[skipped:]
    first = [field.strip() for field in rows[0][1]]
    below = [row for _, row in rows[1 : 1 + _SEEN_LINES] if len(row) == len(first)]
    if header is None:
        header = has_header(first, below, _is_quoted(lines, rows), missing_words)
    if header and _COMMENT.match(first[0]):
        rows[0][1][0] = rows[0][1][0].lstrip("#% ")
    if header and len(rows) < 2:
        raise ValueError("the file has a header, but no rows.")
    line = rows[1 if header else 0][0]
    return Dialect(sep, start + line, tuple(rows[0][1]) if header else None, len(first))


def _names_columns(first: Sequence[str], rows: Sequence[tuple[int, list[str]]]) -> bool:
    try:
        return has_header(first, [row for _, row in rows[:_SEEN_LINES] if len(row) == len(first)])
    except TableError:
        return False


def has_header(
    first: Sequence[str],
    below: Sequence[Sequence[str]],
    is_quoted: bool = False,
    missing_words: Sequence[str] = (),
) -> bool:
    """Return whether the first row names the columns; a TableError if it may be names as well as numbers.

    It does if it has text above numbers, dates or vectors. A row of numbers names the columns if they are distinct and
    unlike the numbers below: quoted, integers above fractions, or an ascending sequence beyond their range.
    """
    words = _WORDS | set(missing_words)
    columns = [[row[i].strip() for row in below] for i in range(len(first))]
    columns = [[cell for cell in column if cell not in words] for column in columns]
    numeric = [i for i, column in enumerate(columns) if column and all(map(_is_number, column))]
    dated = [i for i, column in enumerate(columns) if column and all(map(_DATED.match, column))]
    texts = {i for i, cell in enumerate(first) if cell not in words and not _is_number(cell)}
    if any(i in texts and not _DATED.match(first[i]) for i in (*numeric, *dated)):
        return True
    if any(first[i] not in words and _DATED.match(first[i]) for i in texts.intersection(numeric)):
        return True
    if len(texts) == len(first):
        return bool(texts)
    if first[0] == "" and len(first) == len(set(first)) and _are_row_numbers(columns[0]):
        return True  # the index of pandas, or the row names of R
    numbered = [i for i in numeric if _PLAIN.fullmatch(first[i])]
    others = set(range(len(first))).difference(numbered)
    if not numbered or not below or any(first[i] in words and first[i] for i in others):
        return False
    if any(first[i] for i in others.intersection(numeric)):
        return False
    return _numbers_are_names(
        [first[i] for i in numbered], [columns[i] for i in numbered], below, numbered, is_quoted
    )


def _are_row_numbers(cells: Sequence[str]) -> bool:
    return bool(cells) and any(list(cells) == list(map(str, range(k, k + len(cells)))) for k in (0, 1))


def _numbers_are_names(
    first: Sequence[str],
    columns: Sequence[Sequence[str]],
    below: Sequence[Sequence[str]],
    positions: Sequence[int],
    is_quoted: bool,
) -> bool:
    """Return whether a row of numbers names the columns of numbers below it."""
    if len(set(first)) < len(first):
        return False
    if is_quoted:
        return True
    numbers = np.array([_value(cell) for cell in first], dtype=float)
    n, steps = len(numbers), np.diff(numbers)
    are_whole = all(cell.lstrip("+-").isdecimal() for cell in first)
    is_default = are_whole and any(np.array_equal(numbers, np.arange(n) + k) for k in (0, 1))
    if are_whole:
        shares = [sum(cell.lstrip("+-").isdecimal() for cell in column) / len(column) for column in columns]
        # The chance of a row of integers, if integers are as frequent as below.
        chance = np.prod(
            [
                min(share + 1 / len(column), 1) if share else 1 / (1 + len(column))
                for share, column in zip(shares, columns)
            ]
        )
        is_apart = is_default and not any(shares)
        if chance < _CHANCE * (5 if is_apart else 1):
            return True
        if is_apart:
            raise _two_ways(first)
    is_ascending = n > 2 and bool(np.all(steps > 0))
    if not (is_default and n > 1) and not is_ascending:
        return False
    rows = [[_value(row[i]) for i in positions] for row in below]
    others = np.array([row for row in rows if None not in row], dtype=float).reshape(-1, n)
    if not len(others) or np.any(np.all(others == numbers, axis=1)):
        return False  # the same row of data again
    steps_below = np.diff(others, axis=1)
    are_ascending = float(np.mean(np.all(steps_below > 0, axis=1))) > 0.5
    are_even_below = bool(np.all(np.isclose(steps_below, steps_below[:, :1]), axis=1).any())
    if are_ascending and are_even_below:
        return False  # the rows below continue the sequence
    low, high = others.min(axis=0), others.max(axis=0)
    is_beyond = bool(np.all((numbers < 2 * low - high) | (numbers > 2 * high - low))) and not are_ascending
    is_even = n > 3 and bool(np.allclose(steps, steps[0])) and not are_even_below
    if is_ascending and not are_ascending and (is_beyond or is_even):
        return True
    if is_default or is_even or is_beyond:
        raise _two_ways(first)
    return False


def _two_ways(first: Sequence[str]) -> TableError:
    shown = ", ".join(first[:6]) + ", ..." * (len(first) > 6)
    return TableError(
        f"the first line may be the names of the columns or a row of numbers: {shown}. ",
        advice=["Say which: ", Setting("header", True), " or ", Setting("header", False), "."],
    )


def _separator(lines: Sequence[str]) -> str:
    """Return what separates the fields of most lines."""
    best: tuple[float, float, str] = (0.0, 0.0, "")
    for sep in (*_SEPARATORS, BLANKS):
        rows = [row for _, row in _split(lines, sep)]
        if not rows or (sep == BLANKS and (best[2] or any('"' in line or "[" in line for line in lines))):
            continue
        width, count = Counter(map(len, rows)).most_common(1)[0]
        if width < 2:
            continue
        fields = [field for row in rows if len(row) == width for field in row]
        numbers = sum(_is_number(field.strip()) or not field.strip() for field in fields) / len(fields)
        share = count / len(rows)
        if sep == BLANKS and ((share < 1 and count < len(rows) - 2) or numbers < 0.5):
            continue
        # Texts with commas have lines of other lengths.
        if (share >= 0.9, numbers, share) > (best[0] >= 0.9, best[1], best[0]):
            best = (share, numbers, sep)
    return best[2] or ","


def _split(lines: Sequence[str], sep: str) -> list[tuple[int, list[str]]]:
    """Return the fields of each line that is not empty, with the number of its first line from 0."""
    if sep == BLANKS:
        return [(i, line.split()) for i, line in enumerate(lines) if line.strip()]
    found, start = [], 0
    reader, limit = csv.reader(lines, delimiter=sep), csv.field_size_limit(2**31 - 1)
    try:
        for row in reader:
            if row:
                found.append((start, row))
            start = reader.line_num
    finally:
        csv.field_size_limit(limit)
    return found


def _is_quoted(lines: Sequence[str], rows: Sequence[tuple[int, list[str]]]) -> bool:
    """Return whether the fields of the first row are quoted, and the numbers below are not."""
    if len(rows) < 2:
        return False
    first, second = lines[rows[0][0]].strip(), lines[rows[1][0]].strip()
    return first.count('"') == 2 * len(rows[0][1]) and second.count('"') < 2 * len(rows[1][1])


def _is_number(field: str) -> bool:
    return _NUMBER.fullmatch(field) is not None or field.lower() in _BOOLEAN


def _value(cell: str) -> float | None:
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return None
