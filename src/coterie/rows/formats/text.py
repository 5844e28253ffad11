"""Text files of separated fields: .csv, .tsv, .txt."""

from __future__ import annotations

import codecs
import io
import lzma
import zipfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path, PurePath
from typing import IO, Any, cast

from coterie.limits.files import shortened
from coterie.rows.cells import MISSING_WORDS
from coterie.rows.checks import MOST_OF_A_NAME, Setting, TableError
from coterie.rows.dialect import BLANKS, Dialect, dialect_of
from coterie.rows.tables import Table

COMPRESSIONS = (".gz", ".zst", ".bz2", ".xz", ".zip")
"""What the names of compressed files end in."""

# Text that decides how the file is written, and bytes and lines that are parsed at a time.
_SAMPLE_CHARACTERS = 2**20
_PARSED_BYTES, _LINES = 2**23, 2**16


def plain_suffix(name: str) -> str:
    """Return the extension of a file in lower case, without that of its compression: .csv of ``x.CSV.gz``."""
    path = PurePath(name)
    return PurePath(path.stem if path.suffix.lower() in COMPRESSIONS else name).suffix.lower()


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading from its beginning, decompressed if necessary."""
    suffix = path.suffix.lower()
    if suffix not in COMPRESSIONS:
        return open(path, "rb")
    if suffix == ".xz":
        return cast(IO[bytes], lzma.open(path))
    if suffix == ".zip":
        archive = zipfile.ZipFile(path)
        names = [name for name in archive.namelist() if name[-1] != "/" and not name.startswith("__MACOSX/")]
        if len(names) != 1:
            raise ValueError(f"the archive has {len(names)} files: unpack it, and give the one to read.")
        return archive.open(names[0])
    import pyarrow

    return io.BufferedReader(pyarrow.input_stream(str(path), compression="detect"), _PARSED_BYTES)


@contextmanager
def _opened(path: Path, encoding: str) -> Iterator[Any]:
    """Open a text file; its lines keep their ends."""
    try:
        with io.TextIOWrapper(open_bytes(path), encoding=encoding, newline="") as file:
            yield file
    except UnicodeDecodeError as error:
        raise ValueError(
            f"it is not UTF-8 text (byte 0x{error.object[error.start]:02x}). Save it as UTF-8, such as by: "
            f"iconv -f windows-1252 -t utf-8 {path} > new{path.suffix}"
        ) from error


def read_text(
    path: Path,
    header: bool | None = None,
    sep: str | None = None,
    skip_lines: int | None = None,
    missing_words: Sequence[str] | None = None,
) -> Table:
    """Return the table in a text file, whose cells are text."""
    import pyarrow

    with open_bytes(path) as file:
        is_utf16 = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    encoding = "utf-16" if is_utf16 else "utf-8-sig"
    with _opened(path, encoding) as file:
        lines = [*file.readlines(_SAMPLE_CHARACTERS), *islice(file, 2)]
    suffix = plain_suffix(path.name)
    sep = "\t" if sep is None and suffix == ".tsv" else sep
    words = [*MISSING_WORDS, *(missing_words or ())]
    dialect = dialect_of(lines, sep=sep, header=header, skip_lines=skip_lines, missing_words=words)
    schema = pyarrow.schema([(name, pyarrow.large_string()) for name in dialect.names])
    batches = _parsed(path, dialect, encoding)
    return Table(schema, batches, suffix[1:], is_named=dialect.is_named, sep=dialect.sep)


def _parsed(path: Path, dialect: Dialect, encoding: str) -> Iterator[Any]:
    """Parse a text file by pyarrow."""
    from pyarrow import ArrowInvalid, csv, large_string

    ragged: list[str] = []

    def skipped(row: Any) -> str:
        """Leave out comments; the first other line that has too few or too many fields is an error."""
        if row.text.lstrip()[:1] in ("#", "%"):
            return "skip"
        ragged.append(row.text)
        return "error"

    is_blank, n_columns = dialect.sep == BLANKS, len(dialect.names)
    options = (
        csv.ReadOptions(
            column_names=dialect.names,
            skip_rows=0 if is_blank else dialect.skip_lines,
            block_size=max(_PARSED_BYTES, 1024 * n_columns),
            encoding="utf-16" if encoding == "utf-16" and not is_blank else "utf8",
        ),
        csv.ParseOptions(
            delimiter="\t" if is_blank else dialect.sep,
            quote_char=False if is_blank else '"',
            newlines_in_values=True,
            invalid_row_handler=skipped,
        ),
        csv.ConvertOptions(column_types=dict.fromkeys(dialect.names, large_string())),
    )
    try:
        for source in _with_tabs(path, dialect, encoding) if is_blank else [open_bytes(path)]:
            with source:
                yield from csv.open_csv(source, *options)
    except ArrowInvalid as error:
        with _opened(path, encoding) as file:
            if not ragged:  # it may be no text
                deque(file, maxlen=0)
                raise
            lines = ("\t".join(line.split()) if is_blank else line.rstrip("\r\n") for line in file)
            first = ragged[0].splitlines()[0]
            line = next((number for number, text in enumerate(lines, 1) if text == first), 0)
        raise TableError(
            f"line {line} does not have {n_columns} fields as the first has: "
            f"{shortened(ragged[0], MOST_OF_A_NAME)!r}. ",
            "Correct it, say what separates fields: {}, or leave out the lines before the table: {}.",
            Setting("sep"),
            Setting("skip_lines"),
        ) from error


def _with_tabs(path: Path, dialect: Dialect, encoding: str) -> Iterator[Any]:
    """Yield parts of a text file with tabs in the place of blanks between fields, as pyarrow has no such separator."""
    with _opened(path, encoding) as file:
        lines = (line.split() for line in islice(file, dialect.skip_lines, None))
        lines = (fields for fields in lines if fields and fields[0][0] not in "#%")
        while part := "\n".join(map("\t".join, islice(lines, _LINES))):
            yield io.BytesIO(part.encode())
