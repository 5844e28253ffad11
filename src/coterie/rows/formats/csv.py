"""Text files of separated fields: .csv, .tsv."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from coterie.limits.files import shortened
from coterie.rows.cells import NumberFormat, TextOptions
from coterie.rows.checks import MOST_OF_A_NAME, Setting, TableError, hint_at_contents
from coterie.rows.dialect import BLANKS, Dialect, dialect_of
from coterie.rows.formats.format import Format, plain_suffix
from coterie.rows.formats.tabular import is_compressed, open_bytes, open_text
from coterie.rows.tables import Table

# Text that decides how the file is written, and bytes that are parsed at a time.
_SAMPLE_CHARACTERS = 2**20
_BLOCK_BYTES = 8 * 2**20

# Lines parsed at a time by pandas, of fields that any number of blanks separates.
_PANDAS_LINES = 2**14

_ENCODING = "it is not UTF-8 text{}. Save it as UTF-8, such as by: iconv -f windows-1252 -t utf-8 {} > new{}"


def read_csv(
    path: Path,
    header: bool | None = None,
    sep: str | None = None,
    skip_lines: int | None = None,
    missing_words: Sequence[str] | None = None,
) -> Table:
    """Return the table in a text file, whose cells are text until the types of its columns are known."""
    import pyarrow

    missing_words = missing_words or ()
    with open_bytes(path) as file:
        is_utf16 = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    encoding = "utf-16" if is_utf16 else "utf-8-sig"
    lines = _first_lines(path, encoding)
    suffix = plain_suffix(path.name)
    dialect = dialect_of(
        lines, sep=sep, header=header, skip_lines=skip_lines, missing_words=missing_words, suffix=suffix
    )
    names = list(dialect.names or map(str, range(dialect.n_columns)))
    schema = pyarrow.schema([(name, pyarrow.large_string()) for name in names])
    if dialect.names and len(lines) <= dialect.skip_lines:
        raise ValueError("the file has a header, but no rows.")
    words = TextOptions(missing_words=tuple(missing_words)).words
    read = partial(_batches, path, dialect, encoding, names, words)
    return Table(schema, read, suffix.removeprefix("."), is_named=dialect.names is not None, sep=dialect.sep)


def _first_lines(path: Path, encoding: str) -> list[str]:
    """Return the first lines, complete unless the first is very long."""
    with open_text(path, encoding) as file:
        try:
            text = file.read(_SAMPLE_CHARACTERS)
            while (
                len(text) >= _SAMPLE_CHARACTERS
                and text.count("\n") < 3
                and (more := file.read(_SAMPLE_CHARACTERS))
            ):
                text += more
        except UnicodeDecodeError as error:
            raise _no_text(path, f" (byte 0x{error.object[error.start]:02x})") from error
    lines = list(io.StringIO(text, newline=""))
    return lines[:-1] if len(text) >= _SAMPLE_CHARACTERS and len(lines) > 1 else lines


def _no_text(path: Path, where: str) -> ValueError:
    return ValueError(hint_at_contents(path) or _ENCODING.format(where, path, path.suffix))


def _batches(
    path: Path, dialect: Dialect, encoding: str, names: list[str], words: list[str], types: Mapping[int, Any]
) -> Iterator[Any]:
    import pyarrow

    kinds = [types.get(i, pyarrow.large_string()) for i in range(dialect.n_columns)]
    read = partial(_by_pandas if dialect.sep == BLANKS else _by_pyarrow, path, dialect, encoding)
    n_rows = 0
    try:
        for batch in read(kinds, words):
            yield batch.rename_columns(names)
            n_rows += batch.num_rows
    except pyarrow.ArrowInvalid as error:
        if "invalid utf8" in str(error).lower():
            raise _no_text(path, "") from error
        # A cell is not what the first ones are: parsed here, which names it unless it is a number that pyarrow refuses.
        row = 0
        for batch in read([pyarrow.large_string()] * len(kinds), words):
            cells = [
                column
                if pyarrow.types.is_large_string(kind)
                else NumberFormat(tuple(words), is_boolean=pyarrow.types.is_boolean(kind))
                .parse(column, row, name)
                .cast(kind)
                for column, kind, name in zip(batch.columns, kinds, names)
            ]
            yield pyarrow.record_batch(cells, names=names).slice(n_rows)
            row += batch.num_rows
            n_rows = max(0, n_rows - batch.num_rows)


def _by_pyarrow(
    path: Path, dialect: Dialect, encoding: str, kinds: Sequence[Any], words: Sequence[str]
) -> Iterator[Any]:
    from pyarrow import ArrowInvalid
    from pyarrow import csv as text

    # Columns are named by position, since a header may repeat a name.
    keys = [str(i) for i in range(dialect.n_columns)]
    ragged: list[Any] = []

    def skipped(row: Any) -> str:
        """Leave out comments; the first other line that has too few or too many fields is an error."""
        if row.text.lstrip()[:1] in ("#", "%"):
            return "skip"
        ragged.append(row)
        return "error"

    source: Any = str(path) if _opens(path) else open_bytes(path)
    try:
        with text.open_csv(
            source,
            read_options=text.ReadOptions(
                column_names=keys,
                skip_rows=dialect.skip_lines,
                block_size=max(_BLOCK_BYTES, 1024 * dialect.n_columns),
                encoding="utf-16" if encoding == "utf-16" else "utf8",
            ),
            parse_options=text.ParseOptions(
                delimiter=dialect.sep, newlines_in_values=True, invalid_row_handler=skipped
            ),
            convert_options=text.ConvertOptions(column_types=dict(zip(keys, kinds)), null_values=words),
        ) as batches:
            yield from batches
    except ArrowInvalid as error:
        if ragged:
            raise _ragged(path, dialect, encoding, ragged[0].text) from error
        if "Empty CSV file" in str(error):
            raise ValueError("the file has a header, but no rows.") from error
        raise


def _opens(path: Path) -> bool:
    return not is_compressed(path) or path.suffix.lower() in (".gz", ".bz2", ".zst")


def _ragged(path: Path, dialect: Dialect, encoding: str, found: str) -> TableError:
    """Return the error for the first line of another number of fields, with its number."""
    line, fields = 0, []
    with open_text(path, encoding) as file:
        for _ in range(dialect.skip_lines):
            next(file)
        reader = csv.reader(file, delimiter=dialect.sep)
        for fields in reader:
            line = dialect.skip_lines + reader.line_num
            if fields and len(fields) != dialect.n_columns and not fields[0].lstrip().startswith(("#", "%")):
                break
    return TableError(
        f"line {line} has {len(fields)} field{'s' * (len(fields) != 1)}, but the first has {dialect.n_columns}: "
        f"{shortened(found, MOST_OF_A_NAME)!r}. ",
        advice=[
            "Correct it, say what separates fields: ",
            Setting("sep"),
            ", or leave out the lines before the table: ",
            Setting("skip_lines"),
            ".",
        ],
    )


def _by_pandas(
    path: Path, dialect: Dialect, encoding: str, kinds: Sequence[Any], words: Sequence[str]
) -> Iterator[Any]:
    """Read fields that any number of blanks separates."""
    import pandas
    import pyarrow
    from pyarrow import compute

    with (
        open_text(path, encoding) as file,
        pandas.read_csv(
            file, sep=r"\s+", header=None, names=list(range(dialect.n_columns)), skiprows=dialect.skip_lines, dtype=str,
            keep_default_na=False, comment="#", chunksize=_PANDAS_LINES, engine="c", index_col=False,
            on_bad_lines="error",
        ) as frames,
    ):  # fmt: skip
        for frame in frames:
            cells = []
            for i, kind in enumerate(kinds):
                column = pyarrow.array(frame[i], pyarrow.large_string(), from_pandas=True)
                if not pyarrow.types.is_large_string(kind):
                    missing = compute.is_in(column, pyarrow.array(words, column.type))
                    column = compute.if_else(missing, None, column).cast(kind)
                cells.append(column)
            yield pyarrow.record_batch(cells, names=[str(i) for i in range(len(kinds))])


_record = partial(
    Format,
    read=read_csv,
    options=("header", "sep", "skip_lines", "missing_words"),
    library="pyarrow.csv",
    install="coterie[io]",
    compressed=True,
)
CSV = _record("csv", (".csv",))
TSV = _record("tsv", (".tsv",))
