"""Text files of separated numbers: .csv, .tsv."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from coterie.arrays import BoolArray
from coterie.rows.checks import hint_at_contents
from coterie.rows.formats.format import Format, Table, plain_suffix
from coterie.rows.formats.tabular import is_compressed, open_bytes, open_text

_MISSING = {"", "#N/A", "N/A", "NA", "NULL", "nan", "NaN", "null", "-nan", "-NaN", "n/a"}

# In the order of preference for ties: commas can be decimal signs or occur in text, others rarely do.
_SEPARATORS = "\t;|,"
_SAMPLE_CHARACTERS = 2**18
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_LEADING_ZERO = re.compile(r"0\d+")


@dataclass(frozen=True, slots=True)
class Dialect:
    """Dialect of a text file: the separator of fields, the decimal sign (a point or a comma), and Python's encoding."""

    sep: str
    decimal: str
    encoding: str = "utf-8-sig"

    @classmethod
    def of(cls, path: Path, sep: str | None, decimal: str | None) -> Dialect:
        """Detect the dialect of a file from its beginning; given values are kept.

        A .tsv file has tabs. Otherwise the separator is the one with which all lines have the same number of fields, at
        least two; of several, the one with the most numbers. The decimal sign is a comma if fields have commas between
        digits and none has a point.
        """
        if sep is not None and (len(sep) != 1 or sep in '"\r\n'):
            raise ValueError(f"sep must be one character, such as ';' or a tab, got {sep!r}.")
        if decimal not in (None, ".", ","):
            raise ValueError(f"decimal must be '.' or ',', got {decimal!r}.")
        if sep is not None and sep == decimal:
            raise ValueError(f"sep and decimal must differ, got {sep!r} for both.")
        with open_bytes(path) as file:
            is_utf16 = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        encoding = "utf-16" if is_utf16 else "utf-8-sig"
        lines = _sample(path, encoding)
        if sep is None:
            sep = "\t" if plain_suffix(path.name) == ".tsv" else _separator(lines, decimal)
        return cls(sep, decimal or _decimal(_split(lines, sep), sep), encoding)

    def first_lines(self, path: Path) -> tuple[list[str], list[str], int]:
        """Return the fields of the first two non-empty lines, and the lines up to the first."""
        with open_text(path, self.encoding) as file:
            lines = csv.reader(file, delimiter=self.sep)
            first = next(filter(None, lines), [])
            n_lines = lines.line_num
            return first, next(filter(None, lines), []), n_lines

    def has_header(self, first: list[str], second: list[str]) -> bool:
        """Return whether the first line names the columns.

        It does if a column has text in the first line and a number in the second, if all its fields are text, or if it
        is the header of a pandas frame without names: an empty field, then 0, 1, 2, ...
        """
        texts = [_is_text(field, self.decimal) for field in first]
        if any(text and not _is_text(below, self.decimal) for text, below in zip(texts, second)):
            return True
        if len(first) > 1 and first == ["", *map(str, range(len(first) - 1))]:
            return True
        return bool(texts) and all(texts)

    def columns_of_codes(self, path: Path) -> set[int]:
        """Return the columns with codes such as 00123 at the file's beginning, whose zeros must be kept."""
        rows = _split(_sample(path, self.encoding), self.sep)
        return {i for row in rows for i, field in enumerate(row) if _LEADING_ZERO.fullmatch(field.strip())}


def _sample(path: Path, encoding: str) -> list[str]:
    """Return the first lines, complete unless the first is very long."""
    with open_text(path, encoding) as file:
        text = file.read(_SAMPLE_CHARACTERS)
    lines = text.splitlines(keepends=True)
    return lines[:-1] if len(text) == _SAMPLE_CHARACTERS and len(lines) > 1 else lines


def _split(lines: Iterable[str], sep: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(lines, delimiter=sep) if row]
    except csv.Error:  # a field is too long: not the separator
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
    # Not a complete table; parsing raises the error.
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


MANY_COLUMNS = 2000
"""Fewest columns with which small files are not parsed by pyarrow, whose parser takes long for each column."""

# Numbers that all parsers read alike, and those of them that are whole and fit 64 bits.
_EXPONENT = "[eE][+-]?[12]?[0-9]{1,2}"
_NUMBER = re.compile(rf"-?([0-9]{{1,18}}|[0-9]+\.[0-9]*({_EXPONENT})?|[0-9]+{_EXPONENT})")
_WHOLE = re.compile(r"-?[0-9]+")

_RAGGED = re.compile(r"CSV parse error: Expected (\d+) columns, got (\d+)")
_NO_NUMBER = re.compile(r"CSV conversion error to \w+: invalid value '(.*)'", re.DOTALL)

_ENCODING = "it is not UTF-8 text{}. Save it as UTF-8, such as by: iconv -f windows-1252 -t utf-8 {} > new{}"


@contextmanager
def _faults_by_line(
    path: Path, dialect: Dialect | None = None, names: Sequence[str] = (), positions: Sequence[int] = ()
) -> Iterator[None]:
    """Turn pyarrow's error about a line into one with its number and advice; the file is read again for it."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(_no_text(path, f" (byte 0x{error.object[error.start]:02x})")) from error
    except ValueError as error:
        text = str(error)
        if "invalid UTF8" in text or "Invalid UTF8" in text:
            raise ValueError(_no_text(path, "")) from error
        told = None if dialect is None else _line_error(text, path, dialect, names, positions)
        if told is None:
            raise
        raise ValueError(told) from error


def _no_text(path: Path, where: str) -> str:
    return hint_at_contents(path) or _ENCODING.format(where, path, path.suffix)


def _line_error(
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
    """Yield the number and the fields of each non-empty line after the first."""
    with open_text(path, dialect.encoding) as file:
        reader = csv.reader(file, delimiter=dialect.sep)
        lines = ((reader.line_num, fields) for fields in reader if fields)
        next(lines, None)
        yield from lines


_BLOCK_BYTES = 8 * 2**20

# Numbers of a batch of a table of many columns.
_WIDE_NUMBERS = 2**20


class _CsvFile:
    """A text file of separated numbers: its dialect, its names, and its columns in batches."""

    def __init__(self, path: Path, header: bool | None, sep: str | None, decimal: str | None) -> None:
        self._path = path
        with _faults_by_line(path):
            self._dialect = Dialect.of(path, sep, decimal)
            first, second, n_lines = self._dialect.first_lines(path)
        if not first:
            raise ValueError("the file is empty.")
        self.has_header = self._dialect.has_header(first, second) if header is None else header
        self._skipped = n_lines if self.has_header else 0
        # Columns are named by position for pyarrow, since a header may repeat a name.
        self._keys = [str(i) for i in range(len(first))]
        self._block_bytes = max(_BLOCK_BYTES, 64 * sum(len(field) + 1 for field in first))
        self._names = first if self.has_header else self._keys
        self._is_wide = False
        self._types = self._guessed_types() if not self.has_header or second else {}

    @property
    def schema(self) -> Any:
        """The schema, with the types of the first block."""
        import pyarrow

        kinds = [self._types.get(key, pyarrow.null()) for key in self._keys]
        return pyarrow.schema(list(zip(self._names, kinds)))

    def _open(self, positions: Sequence[int], types: dict[str, Any]) -> Any:
        from pyarrow import csv as text

        return text.open_csv(
            str(self._path),
            read_options=text.ReadOptions(
                column_names=self._keys,
                skip_rows=self._skipped,
                block_size=self._block_bytes,
                encoding="utf-16" if self._dialect.encoding == "utf-16" else "utf8",
            ),
            parse_options=text.ParseOptions(delimiter=self._dialect.sep, newlines_in_values=True),
            convert_options=text.ConvertOptions(
                column_types=types,
                include_columns=[self._keys[i] for i in positions],
                decimal_point=self._dialect.decimal,
            ),
        )

    def _faults(self, positions: Sequence[int] = ()) -> AbstractContextManager[None]:
        return _faults_by_line(self._path, self._dialect, self._names, positions)

    def _guessed_types(self) -> dict[str, Any]:
        is_small = not is_compressed(self._path) and self._path.stat().st_size <= self._block_bytes
        if is_small and len(self._keys) >= MANY_COLUMNS:
            are_whole = self._whole_columns()
            if are_whole is not None:
                import pyarrow

                self._is_wide = True
                kinds = (pyarrow.float64(), pyarrow.int64())
                return {key: kinds[int(is_whole)] for key, is_whole in zip(self._keys, are_whole)}
        with self._faults(), self._open(range(len(self._keys)), {}) as batches:
            return {field.name: field.type for field in batches.schema}

    def _whole_columns(self) -> BoolArray | None:
        """Return for each column whether all of its numbers are whole; None if a field is not a plain number.

        Plain numbers are those that parsers do not read differently: no empty fields and no words.
        """
        whole = np.ones(len(self._keys), dtype=bool)
        try:
            with self._number_lines() as lines:
                for fields in lines:
                    if len(fields) != len(whole) or not all(map(_NUMBER.fullmatch, fields)):
                        return None
                    whole &= [_WHOLE.fullmatch(field) is not None for field in fields]
        except (csv.Error, UnicodeDecodeError):
            return None
        return whole

    @contextmanager
    def _number_lines(self) -> Iterator[Iterator[list[str]]]:
        """Yield the fields of each non-empty line, with points as decimal signs."""
        with open(self._path, encoding=self._dialect.encoding, newline="") as file:
            rows = csv.reader(islice(file, self._skipped, None), delimiter=self._dialect.sep)
            lines: Iterator[list[str]] = filter(None, rows)
            if self._dialect.decimal == ",":
                lines = ([field.replace(",", ".") for field in fields] for fields in lines)
            yield lines

    def _wide_batches(self, positions: Sequence[int]) -> Iterator[Any]:
        import pyarrow

        with self._number_lines() as lines:
            while block := [
                np.array([fields[i] for i in positions], dtype=np.float64)
                for fields in islice(lines, max(1, _WIDE_NUMBERS // len(positions)))
            ]:
                names = [self._names[i] for i in positions]
                columns = [pyarrow.array(column) for column in np.stack(block).T.copy()]
                yield pyarrow.RecordBatch.from_arrays(columns, names=names)

    def batches(self, features: Sequence[int], others: Sequence[int]) -> Iterator[Any]:
        """Read columns: features as numbers, others in their types; see `coterie.rows.formats.format.Table`."""
        import pyarrow

        if not self._types:
            return
        positions = [*features, *others]
        if self._is_wide and not others:
            yield from self._wide_batches(positions)
            return
        # Codes such as 00123 keep their zeros, and empty columns may have any type later.
        codes = self._dialect.columns_of_codes(self._path) if others else set()
        kinds = {}
        for i, key in enumerate(self._keys):
            kind = self._types[key]
            if i in features:
                # Columns of integers in the first block may have floats later.
                kinds[key] = kind if pyarrow.types.is_boolean(kind) else pyarrow.float64()
            else:
                is_text = i in codes or pyarrow.types.is_null(kind)
                kinds[key] = pyarrow.string() if is_text else kind
        with self._faults(positions), self._open(positions, kinds) as batches:
            for batch in batches:
                yield batch.rename_columns([self._names[i] for i in positions])


def _read(path: Path, header: bool | None, sep: str | None, decimal: str | None) -> Table:
    file = _CsvFile(path, header, sep, decimal)
    return Table(
        file.schema, file.batches, plain_suffix(path.name).removeprefix("."), is_named=file.has_header
    )


_record = partial(
    Format,
    read=_read,
    options=("header", "sep", "decimal"),
    library="pyarrow.csv",
    install="coterie[io]",
    compressed=True,
)
CSV = _record("csv", (".csv",))
TSV = _record("tsv", (".tsv",))
