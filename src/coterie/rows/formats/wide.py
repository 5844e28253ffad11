"""Text files of few rows and thousands of columns, all of numbers: pyarrow takes 65 microseconds and 9 kB a column."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np

from coterie.arrays import BoolArray, FloatArray
from coterie.rows.formats.dialect import Dialect

__all__ = ["MANY_COLUMNS", "are_whole_numbers", "rows_of_numbers"]

MANY_COLUMNS = 2000
"""From so many columns on this is less work, where the file is small."""

# Numbers that all parsers take for the same, and those of them that are whole and fit 64 bits for sure.
_EXPONENT = "[eE][+-]?[12]?[0-9]{1,2}"
_NUMBER = re.compile(rf"-?([0-9]{{1,18}}|[0-9]+\.[0-9]*({_EXPONENT})?|[0-9]+{_EXPONENT})")
_WHOLE = re.compile(r"-?[0-9]+")


def are_whole_numbers(path: Path, dialect: Dialect, n_skipped: int) -> BoolArray | None:
    """Tell of each column whether all of its numbers are whole.

    Parameters
    ----------
    path : Path
        The file; all of its lines have as many fields.
    dialect : Dialect
        How it is written.
    n_skipped : int
        Lines up to the first row.

    Returns
    -------
    ndarray of bool, or None
        None where a field is no plain number: empty, a word, or anything that parsers may not agree about.
    """
    whole: BoolArray | None = None
    try:
        with _lines(path, dialect, n_skipped) as lines:
            for fields in lines:
                if not all(map(_NUMBER.fullmatch, fields)):
                    return None
                found = np.array([_WHOLE.fullmatch(field) is not None for field in fields])
                whole = found if whole is None else whole & found
    except (csv.Error, UnicodeDecodeError):
        return None
    return whole


def rows_of_numbers(
    path: Path, dialect: Dialect, n_skipped: int, positions: Sequence[int], part: slice, rows: int
) -> Iterator[FloatArray]:
    """Yield some columns of some rows of a file for which `are_whole_numbers` has an answer.

    Parameters
    ----------
    path, dialect, n_skipped
        See there.
    positions : sequence of int
        Columns.
    part : slice
        Rows, from a start to a stop.
    rows : int
        Rows at a time.

    Yields
    ------
    ndarray of shape (rows or fewer, len(positions)), float64
    """
    with _lines(path, dialect, n_skipped) as lines:
        wanted = islice(lines, part.start, part.stop)
        while block := [
            np.array([fields[i] for i in positions], dtype=np.float64) for fields in islice(wanted, rows)
        ]:
            yield np.stack(block)


@contextmanager
def _lines(path: Path, dialect: Dialect, n_skipped: int) -> Iterator[Iterator[list[str]]]:
    """Give the fields of each line that has any, with points as decimal signs."""
    with open(path, encoding=dialect.encoding, newline="") as file:
        lines: Iterator[list[str]] = filter(
            None, csv.reader(islice(file, n_skipped, None), delimiter=dialect.sep)
        )
        if dialect.decimal == ",":
            lines = ([field.replace(",", ".") for field in fields] for fields in lines)
        yield lines
