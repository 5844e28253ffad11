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
    r"""|[+-]?[.,]\d+([eE][+-]?\d+)?|[+-]?(?i:inf|infinity)|(?i:true|false)"""
)
_PLAIN = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d+")
_DATED = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{2,4}|\d\d?:\d\d|\s*[\[(]")
_WORDS = frozenset((*MISSING_WORDS, *SUSPECTS))

# Lines that are looked at for the header.
_SEEN_LINES = 1000

# A first row of integers above numbers that are so with a chance of less than this is a header.
_CHANCE = 0.01


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text file is written: `sep` may be `BLANKS`, and `skip_lines` counts the header, which has the `names` if
    it `is_named`; else these are positions."""

    sep: str
    skip_lines: int
    names: list[str]
    is_named: bool


def dialect_of(
    lines: Sequence[str],
    *,
    sep: str | None = None,
    header: bool | None = None,
    skip_lines: int | None = None,
    missing_words: Sequence[str] = (),
) -> Dialect:
    """Return the dialect of a text file with these first lines, but for what is given; what can be read in two ways
    is a TableError. The separator is the one with which most lines have equally many fields, then the most numbers.
    """
    if sep is not None and (len(sep) != 1 or sep in '"\r\n'):
        raise TableError("", "{} must be one character, such as ';' or a tab, got {!r}.", Setting("sep"), sep)
    if skip_lines is not None and skip_lines < 0:
        raise TableError("", "{} must be at least 0, got {}.", Setting("skip_lines"), skip_lines)
    start = skip_lines or 0
    if skip_lines is None and lines and (found := _SEP_LINE.fullmatch(lines[0])):
        start, sep = 1, sep or found[1]
    lines = lines[start:]
    top = next((i for i, line in enumerate(lines) if line.strip() and not _COMMENT.match(line)), None)
    if top is None:
        are_blank = not start and not any(map(str.strip, lines))
        raise ValueError(
            f"the file {'is empty' if are_blank else 'has no rows besides lines that are skipped'}."
        )
    sep = sep or _separator(lines[top:])
    rows = _split(lines, sep, top)
    n_columns = Counter(len(row) for _, row in rows).most_common(1)[0][0]
    if skip_lines is None and (n := len(rows[0][1])) != n_columns:
        table = next(line for line, fields in rows if len(fields) == n_columns)
        raise TableError(
            f"line {start + top + 1} has {n} field{'s' * (n != 1)}, but others have {n_columns}: "
            f"{shortened(lines[top].strip(), 60)!r}. ",
            "If the table begins after it, leave out the lines before: {}. Otherwise correct it, or say what "
            "separates fields: {}.",
            Setting("skip_lines", start + table),
            Setting("sep"),
        )
    # A comment of as many words as there are columns may have their names, if the next line has not.
    above = next((i for i in range(top - 1, -1, -1) if lines[i].strip()), None)
    if above is not None and header is not False:
        words = _split([lines[above].lstrip("#% \t")], sep)
        if (
            words
            and len(words[0][1]) == n_columns
            and not has_header(rows, lines, missing_words, is_sure=True)
        ):
            rows.insert(0, (above, words[0][1]))
    if header is None:
        header = has_header(rows, lines, missing_words)
    if header and len(rows) < 2:
        raise ValueError("the file has a header, but no rows.")
    names = rows[0][1] if header else list(map(str, range(n_columns)))
    return Dialect(sep, start + rows[int(header)][0], names, header)


def has_header(
    rows: Sequence[tuple[int, list[str]]],
    lines: Sequence[str],
    missing_words: Sequence[str] = (),
    *,
    is_sure: bool = False,
) -> bool:
    """Return whether the first row names the columns: text above numbers, dates or vectors, or distinct numbers unlike
    those below (quoted, integers above fractions, ascending beyond their range). In doubt a TableError, or False with
    `is_sure`.
    """
    words = _WORDS | set(missing_words)
    first = [field.strip() for field in rows[0][1]]
    below = [[f.strip() for f in row] for _, row in rows[1 : 1 + _SEEN_LINES] if len(row) == len(first)]
    columns = [[cell for cell in column if cell not in words] for column in zip(*below)] or [
        [] for _ in first
    ]
    numeric = {i for i, column in enumerate(columns) if column and all(map(_NUMBER.fullmatch, column))}
    dated = {i for i, column in enumerate(columns) if column and all(map(_DATED.match, column))}
    texts = {i for i, cell in enumerate(first) if cell not in words and not _NUMBER.fullmatch(cell)}
    dates = {i for i in texts if _DATED.match(first[i])}
    if (texts - dates) & (numeric | dated) or dates & numeric:
        return True
    if len(texts) == len(first):
        return True
    if first[0] == "" and len(first) == len(set(first)):
        counted = [list(map(str, range(k, k + len(columns[0])))) for k in (0, 1)]
        if columns[0] and columns[0] in counted:
            return True  # the index of pandas, or the row names of R
    numbered = [i for i in sorted(numeric) if _PLAIN.fullmatch(first[i])]
    others = set(range(len(first))).difference(numbered)
    if not numbered or any(first[i] and (i in numeric or first[i] in words) for i in others):
        return False
    if len({first[i] for i in numbered}) < len(numbered):
        return False
    quotes = [lines[line].count('"') - 2 * len(row) for line, row in rows[:2]]
    if quotes[0] == 0 > quotes[1]:
        return True  # only the first row is quoted
    found = _numbers_are_names([first[i] for i in numbered], [[row[i] for i in numbered] for row in below])
    if found is None and not is_sure:
        shown = ", ".join(first[:6]) + ", ..." * (len(first) > 6)
        raise TableError(
            f"the first line may be the names of the columns or a row of numbers: {shown}. ",
            "Say which: {} or {}.",
            Setting("header", True),
            Setting("header", False),
        )
    return bool(found)


def _numbers_are_names(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool | None:
    """Return whether distinct numbers name the columns of numbers below them; None if it may be."""
    n, is_whole = len(first), all(map(_WHOLE.fullmatch, first))
    numbers, cells = (np.array([list(map(_value, row)) for row in some]) for some in ([first], below))
    steps, rows = np.diff(numbers[0]), cells[~np.isnan(cells).any(axis=1)]
    is_counted = is_whole and numbers[0, 0] in (0, 1) and np.all(steps == 1)
    if is_whole and (n_cells := np.count_nonzero(~np.isnan(cells))):
        n_whole = sum(_WHOLE.fullmatch(cell) is not None for row in below for cell in row)
        # The chance of a row of integers, if integers are as frequent as below.
        chance = ((n_whole / n + 1) / (n_cells / n + 1)) ** n
        if chance < (5 * _CHANCE if is_counted and not n_whole else _CHANCE):
            return True
        if is_counted and not n_whole:
            return None
    if n == 1 or np.any(steps <= 0) or not len(rows):
        return False
    if np.any(np.all(rows == numbers, axis=1)):
        return False  # the same row of data again
    steps_below = np.diff(rows)
    is_even_below = np.any(np.all(np.isclose(steps_below, steps_below[:, :1]), axis=1))
    are_ascending = np.mean(np.all(steps_below > 0, axis=1)) > 0.5
    if are_ascending and is_even_below:
        return False  # the rows below continue the sequence
    low, high = rows.min(axis=0), rows.max(axis=0)
    is_beyond = (
        (n > 2 or len(rows) > 9)
        and np.all((numbers < 2 * low - high) | (numbers > 2 * high - low))
        and not are_ascending
    )
    is_even = n > 3 and np.allclose(steps, steps[0]) and not is_even_below
    if n > 2 and not are_ascending and (is_beyond or is_even):
        return True
    return None if is_counted or is_even or is_beyond else False


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
        fields = [field.strip() for row in rows if len(row) == width for field in row]
        numbers = sum(not field or _NUMBER.fullmatch(field) is not None for field in fields) / len(fields)
        share = count / len(rows)
        if sep == BLANKS and ((share < 1 and count < len(rows) - 2) or numbers < 0.5):
            continue
        # Texts with commas have lines of other lengths.
        if (share >= 0.9, numbers, share) > (best[0] >= 0.9, best[1], best[0]):
            best = (share, numbers, sep)
    return best[2] or ","


def _split(lines: Sequence[str], sep: str, top: int = 0) -> list[tuple[int, list[str]]]:
    """Return the fields of each line from `top` on that is not empty, with the number of its first line."""
    if sep == BLANKS:
        return [(i, line.split()) for i, line in enumerate(lines) if i >= top and line.strip()]
    found, line = [], top
    reader, limit = csv.reader(lines[top:], delimiter=sep), csv.field_size_limit(2**31 - 1)
    try:
        for row in reader:
            if row:
                found.append((line, row))
            line = top + reader.line_num
    finally:
        csv.field_size_limit(limit)
    return found


def _value(cell: str) -> float:
    return float(cell.replace(",", ".")) if _PLAIN.fullmatch(cell) else np.nan
