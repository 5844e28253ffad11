"""What is wrong with a text file, said by its line: pyarrow says what it found, and seldom where."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from coterie.rows.contents import hint_at_contents
from coterie.rows.formats.dialect import Dialect
from coterie.rows.formats.tabular import open_text

__all__ = ["faults_by_line"]

_RAGGED = re.compile(r"CSV parse error: Expected (\d+) columns, got (\d+)")
_NO_NUMBER = re.compile(r"CSV conversion error to \w+: invalid value '(.*)'", re.DOTALL)

_ENCODING = "it is not UTF-8 text{}. Save it as UTF-8, such as by: iconv -f windows-1252 -t utf-8 {} > new{}"


@contextmanager
def faults_by_line(
    path: Path, dialect: Dialect | None = None, names: Sequence[str] = (), positions: Sequence[int] = ()
) -> Iterator[None]:
    """Turn what pyarrow raises on a faulty line into an error with its number and a way out.

    Parameters
    ----------
    path : Path
        The file. It is read once more, after an error.
    dialect : Dialect, optional
        How it is written, where that is known.
    names : sequence of str
        What all columns are called.
    positions : sequence of int
        Those that are read.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(_no_text(path, f" (byte 0x{error.object[error.start]:02x})")) from error
    except ValueError as error:
        text = str(error)
        if "invalid UTF8" in text or "Invalid UTF8" in text:
            raise ValueError(_no_text(path, "")) from error
        told = None if dialect is None else _told(text, path, dialect, names, positions)
        if told is None:
            raise
        raise ValueError(told) from error


def _no_text(path: Path, where: str) -> str:
    return hint_at_contents(path) or _ENCODING.format(where, path, path.suffix)


def _told(
    text: str, path: Path, dialect: Dialect, names: Sequence[str], positions: Sequence[int]
) -> str | None:
    ragged, no_number = _RAGGED.search(text), _NO_NUMBER.search(text)
    if ragged:
        n_fields = int(ragged[1])
        for line, fields in _lines(path, dialect):
            if len(fields) != n_fields:
                return (
                    f"line {line} has {len(fields)} field{'s' * (len(fields) != 1)}, but the first has {n_fields}: "
                    f"{dialect.sep.join(fields)[:60]!r}. Mend it, or say what separates fields (sep, --sep)."
                )
    if no_number:
        for line, fields in _lines(path, dialect):
            for i in positions:
                if i < len(fields) and fields[i] == no_number[1]:
                    return (
                        f"the column {names[i]!r} holds {fields[i][:40]!r} in line {line}, which is no number. Mend "
                        f"it, or leave the column out: exclude=[{names[i]!r}] (--exclude)."
                    )
    return None


def _lines(path: Path, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of each line that has any, behind the first."""
    with open_text(path, dialect.encoding) as file:
        reader = csv.reader(file, delimiter=dialect.sep)
        lines = ((reader.line_num, fields) for fields in reader if fields)
        next(lines, None)
        yield from lines
