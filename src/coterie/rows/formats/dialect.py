"""How a text file writes its numbers: what separates fields, the decimal sign, the encoding."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from coterie.rows.formats.format import plain_suffix
from coterie.rows.formats.tabular import open_bytes, open_text

__all__ = ["Dialect"]

_MISSING = {"", "#N/A", "N/A", "NA", "NULL", "nan", "NaN", "null", "-nan", "-NaN", "n/a"}

# Of two that are as likely, the earlier: commas may be decimal commas or stand in text, others seldom do.
_SEPARATORS = "\t;|,"
_SAMPLE_CHARACTERS = 2**18
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_LEADING_ZERO = re.compile(r"0\d+")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text file writes its numbers.

    Parameters
    ----------
    sep : str
        What separates fields, one character.
    decimal : {".", ","}
        The decimal sign.
    encoding : str
        As Python calls it.
    """

    sep: str
    decimal: str
    encoding: str = "utf-8-sig"

    @classmethod
    def of(cls, path: Path, sep: str | None, decimal: str | None) -> Dialect:
        """Tell the dialect of a file by its beginning; what is given holds.

        A .tsv file has tabs. Else that separator is taken with which all lines have as many fields, at least two,
        and of several such the one with the most numbers. The decimal sign is a comma where fields have commas
        between digits and none has a point.
        """
        _check(sep, decimal)
        encoding = _encoding(path)
        lines = _sample(path, encoding)
        if sep is None:
            sep = "\t" if plain_suffix(path.name) == ".tsv" else _separator(lines, decimal)
        return cls(sep, decimal or _decimal(_split(lines, sep), sep), encoding)

    def first_lines(self, path: Path) -> tuple[list[str], list[str], int]:
        """Return the fields of the first two lines that have any, and the lines up to the first of them."""
        with open_text(path, self.encoding) as file:
            lines = csv.reader(file, delimiter=self.sep)
            first = next(filter(None, lines), [])
            n_lines = lines.line_num
            return first, next(filter(None, lines), []), n_lines

    def has_header(self, first: list[str], second: list[str]) -> bool:
        """Tell whether the first line names the columns.

        It does where a column begins with text and goes on with a number, where all its fields are text, and
        where it is the header of a pandas frame without names: an empty field, then 0, 1, 2, ...
        """
        texts = [self._is_text(field) for field in first]
        if any(text and not self._is_text(below) for text, below in zip(texts, second)):
            return True
        if len(first) > 1 and first == ["", *map(str, range(len(first) - 1))]:
            return True
        return bool(texts) and all(texts)

    def columns_of_codes(self, path: Path) -> set[int]:
        """Return the columns with numbers such as 00123 in the file's beginning, whose zeros are to be kept."""
        rows = _split(_sample(path, self.encoding), self.sep)
        return {i for row in rows for i, field in enumerate(row) if _LEADING_ZERO.fullmatch(field.strip())}

    def _is_text(self, field: str) -> bool:
        return _is_text(field, self.decimal)


def _check(sep: str | None, decimal: str | None) -> None:
    if sep is not None and (len(sep) != 1 or sep in '"\r\n'):
        raise ValueError(f"sep must be one character, such as ';' or a tab, got {sep!r}.")
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal must be '.' or ',', got {decimal!r}.")
    if sep is not None and sep == decimal:
        raise ValueError(f"sep and decimal must differ, got {sep!r} for both.")


def _encoding(path: Path) -> str:
    with open_bytes(path) as file:
        mark = file.read(2)
    return "utf-16" if mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"


def _sample(path: Path, encoding: str) -> list[str]:
    """Return the first lines, whole but where the first is very long."""
    with open_text(path, encoding) as file:
        text = file.read(_SAMPLE_CHARACTERS)
    lines = text.splitlines(keepends=True)
    return lines[:-1] if len(text) == _SAMPLE_CHARACTERS and len(lines) > 1 else lines


def _split(lines: Iterable[str], sep: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(lines, delimiter=sep) if row]
    except csv.Error:  # a field that is too long, so this does not separate fields
        return []


def _separator(lines: list[str], decimal: str | None) -> str:
    texts: dict[str, float] = {}
    fields = {}
    for sep in _SEPARATORS:
        rows = _split(lines, sep)
        if sep == decimal or not rows:
            continue
        fields[sep] = len(rows[0])
        if fields[sep] > 1 and len({len(row) for row in rows}) == 1:
            sign = decimal or _decimal(rows, sep)
            texts[sep] = sum(_is_text(field, sign) for row in rows for field in row) / (
                len(rows) * len(rows[0])
            )
    if texts:
        return min(texts, key=lambda sep: texts[sep])
    # No table, or not a whole one; what is wrong with it, is said when it is parsed.
    return max(reversed(fields), key=lambda sep: fields[sep], default=",")


def _decimal(rows: list[list[str]], sep: str) -> str:
    if sep == ",":
        return "."
    fields = [field.strip() for row in rows for field in row]
    has_commas = any(_DECIMAL_COMMA.fullmatch(field) for field in fields)
    return "," if has_commas and not any(_DECIMAL_POINT.fullmatch(field) for field in fields) else "."


def _is_text(field: str, decimal: str) -> bool:
    if field.strip() in _MISSING:
        return False
    try:
        float(field.replace(",", ".") if decimal == "," else field)
    except ValueError:
        return True
    return False
