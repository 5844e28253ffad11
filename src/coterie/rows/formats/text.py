"""Text files of separated fields: .csv, .tsv, .txt."""

from __future__ import annotations

import codecs
import io
import lzma
import zipfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path, PurePath
from typing import IO, Any, cast

from coterie.limits.files import shortened
from coterie.rows.cells import MISSING_WORDS, NumberFormat
from coterie.rows.checks import MOST_OF_A_NAME, Setting, TableError
from coterie.rows.dialect import BLANKS, Dialect, dialect_of
from coterie.rows.tables import Table

COMPRESSIONS = (".gz", ".zst", ".bz2", ".xz", ".zip")
"""What the names of compressed files end in."""

# Text that decides how the file is written, and bytes that are parsed at a time.
_SAMPLE_CHARACTERS = 2**20
_BLOCK_BYTES = 8 * 2**20


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

    return io.BufferedReader(pyarrow.input_stream(str(path), compression="detect"), _BLOCK_BYTES)


def _lines(path: Path, encoding: str) -> Iterator[str]:
    """Yield the lines of a text file with their ends."""
    try:
        with io.TextIOWrapper(open_bytes(path), encoding=encoding, newline="") as file:
            yield from file
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
    """Return the table in a text file, whose cells are text until the types of its columns are known."""
    import pyarrow

    with open_bytes(path) as file:
        is_utf16 = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    encoding = "utf-16" if is_utf16 else "utf-8-sig"
    lines: list[str] = []
    n_characters = 0
    for line in _lines(path, encoding):
        lines.append(line)
        n_characters += len(line)
        if n_characters > _SAMPLE_CHARACTERS and len(lines) > 2:
            break
    suffix, words = plain_suffix(path.name), missing_words or ()
    dialect = dialect_of(
        lines, sep=sep, header=header, skip_lines=skip_lines, missing_words=words, suffix=suffix
    )
    names = list(dialect.names or map(str, range(dialect.n_columns)))
    schema = pyarrow.schema([(name, pyarrow.large_string()) for name in names])
    read = partial(_batches, path, dialect, encoding, names, [*MISSING_WORDS, *words])
    return Table(schema, read, suffix[1:], is_named=dialect.names is not None, sep=dialect.sep)


def _batches(
    path: Path, dialect: Dialect, encoding: str, names: list[str], words: list[str], types: Mapping[int, Any]
) -> Iterator[Any]:
    import pyarrow

    text = pyarrow.large_string()
    kinds = [types.get(i, text) for i in range(dialect.n_columns)]
    n_rows = 0
    try:
        for batch in _parsed(path, dialect, encoding, kinds, words):
            yield batch.rename_columns(names)
            n_rows += batch.num_rows
    except pyarrow.ArrowInvalid:
        if not types:
            raise
        # A cell is not what the first ones are: parsed here, which names it unless it is a number that pyarrow refuses.
        row = 0
        for batch in _parsed(path, dialect, encoding, [text] * len(kinds), words):
            cells = [
                column
                if kind == text
                else NumberFormat(tuple(words), is_whole=pyarrow.types.is_integer(kind)).parse(
                    column, row, name
                )
                for column, kind, name in zip(batch.columns, kinds, names)
            ]
            yield pyarrow.record_batch(cells, names=names).slice(n_rows)
            row += batch.num_rows
            n_rows = max(0, n_rows - batch.num_rows)


def _parsed(
    path: Path, dialect: Dialect, encoding: str, kinds: Sequence[Any], words: Sequence[str]
) -> Iterator[Any]:
    """Parse a text file by pyarrow. Columns are named by position, since a header may repeat a name."""
    from pyarrow import ArrowInvalid, csv, large_string

    keys = [str(i) for i in range(dialect.n_columns)]
    ragged: list[str] = []

    def skipped(row: Any) -> str:
        """Leave out comments; the first other line that has too few or too many fields is an error."""
        if row.text.lstrip()[:1] in ("#", "%"):
            return "skip"
        ragged.append(row.text)
        return "error"

    is_blank = dialect.sep == BLANKS
    source: Any = open_bytes(path) if path.suffix.lower() in (".xz", ".zip") else str(path)
    if is_blank:
        source = _WithTabs(islice(_lines(path, encoding), dialect.skip_lines, None))
    try:
        with csv.open_csv(
            source,
            read_options=csv.ReadOptions(
                column_names=keys,
                skip_rows=0 if is_blank else dialect.skip_lines,
                block_size=max(_BLOCK_BYTES, 1024 * dialect.n_columns),
                encoding="utf-16" if encoding == "utf-16" and not is_blank else "utf8",
            ),
            parse_options=csv.ParseOptions(
                delimiter="\t" if is_blank else dialect.sep,
                quote_char=False if is_blank else '"',
                newlines_in_values=True,
                invalid_row_handler=skipped,
            ),
            convert_options=csv.ConvertOptions(column_types=dict(zip(keys, kinds)), null_values=words),
        ) as batches:
            yield from batches
    except ArrowInvalid as error:
        if not ragged:
            if set(kinds) == {large_string()}:  # one may be no text
                deque(_lines(path, encoding), maxlen=0)
            raise
        lines = (
            "\t".join(line.split()) if is_blank else line.rstrip("\r\n") for line in _lines(path, encoding)
        )
        first = ragged[0].splitlines()[0]
        line = next((number for number, text in enumerate(lines, 1) if text == first), 0)
        raise TableError(
            f"line {line} does not have {dialect.n_columns} fields as the first has: "
            f"{shortened(ragged[0], MOST_OF_A_NAME)!r}. ",
            advice=[
                "Correct it, say what separates fields: ",
                Setting("sep"),
                ", or leave out the lines before the table: ",
                Setting("skip_lines"),
                ".",
            ],
        ) from error


class _WithTabs(io.RawIOBase):
    """Lines whose fields any number of blanks separates, as a file of fields with tabs between them."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self._rest = lines, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest and (lines := list(islice(self._lines, 10_000))):
            fields = [line.split() for line in lines if line.lstrip()[:1] not in ("#", "%", "")]
            self._rest = "".join("\t".join(line) + "\n" for line in fields).encode()
        n = min(len(buffer), len(self._rest))
        buffer[:n], self._rest = self._rest[:n], self._rest[n:]
        return n
