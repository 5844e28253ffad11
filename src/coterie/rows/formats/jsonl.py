"""Files with a JSON object on each line: .jsonl, .ndjson."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from coterie.rows.formats.format import Format, Table
from coterie.rows.formats.tabular import open_bytes

# Bytes of text that are parsed at a time, in all and by each thread of pyarrow.
_CHUNK_BYTES = 8 * 2**20
_BLOCK_BYTES = 2**20

# Maximum length of a line: an array of all objects on one line would be parsed as one row.
_LONGEST_LINE = 256 * 2**20


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Complete lines of a file, and the number of the first line, from 1."""

    first_line: int


class _JsonLinesFile:
    """A file with one JSON object per line, whose fields are the columns of a table.

    The file is parsed once when it is opened, to find bad lines, count rows and determine the types of all fields.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.n_rows = 0
        self.schema: Any = None
        with open_bytes(path) as file:
            for chunk, text in _chunks(file):
                table = self._parse(chunk, text)
                self.schema = self._together(self.schema, table.schema, chunk, text)
                self.n_rows += table.num_rows
        if not self.n_rows:
            raise ValueError("the file has no rows.")

    def batches(self, features: Sequence[int], others: Sequence[int]) -> Iterator[Any]:
        """Read columns; see `coterie.rows.formats.format.Table`."""
        import pyarrow

        fields = pyarrow.schema([self.schema.field(i) for i in (*features, *others)])
        with open_bytes(self._path) as file:
            for chunk, text in _chunks(file):
                yield from self._parse(chunk, text, fields).select(fields.names).combine_chunks().to_batches()

    def _parse(self, chunk: _Chunk, text: bytes, fields: Any = None) -> Any:
        """Return the objects of a chunk as a `pyarrow.Table`: some fields, of known types, or all."""
        from pyarrow import ArrowInvalid

        if fields is None:
            try:
                text.decode()
            except UnicodeDecodeError as error:  # pyarrow does not check this
                raise _bad_line(chunk, text[: error.start].count(b"\n"), "it is not UTF-8") from None
        if not text.strip():
            return _parsed(b"{}\n", fields, _BLOCK_BYTES)[:0]
        try:
            return _parsed(text, fields, _BLOCK_BYTES)
        except ArrowInvalid:
            pass  # a line may be longer than a block
        try:
            return _parsed(text, fields, len(text) + 1)
        except ArrowInvalid as error:
            message, _, row = str(error).removeprefix("JSON parse error: ").rpartition(" in row ")
            if not row.isdecimal():
                raise
            raise _bad_line(chunk, _line_of_row(text, int(row)), _in_words(message)) from None

    def _together(self, schema: Any, more: Any, chunk: _Chunk, text: bytes) -> Any:
        """Return the fields of two schemas, with types that hold the values of both."""
        import pyarrow

        # Times may be followed by other texts, and are kept as they were written.
        texts = [
            field.with_type(pyarrow.string()) if pyarrow.types.is_timestamp(field.type) else field
            for field in more
        ]
        more = pyarrow.schema(texts)
        if schema is None:
            return more
        try:
            return pyarrow.unify_schemas([schema, more], promote_options="permissive")
        except pyarrow.ArrowException:
            self._parse(chunk, text, schema)  # names the line with another type
            raise


def _chunks(file: IO[bytes]) -> Iterator[tuple[_Chunk, bytes]]:
    """Read a file in chunks of complete lines of any length."""
    line = 1
    waiting = b""
    while True:
        more = file.read(_CHUNK_BYTES)
        end = more.rfind(b"\n") + 1
        if more and not end:
            waiting += more
            if len(waiting) > _LONGEST_LINE:
                raise ValueError(
                    f"line {line} has more than {_LONGEST_LINE >> 20} MiB. Each line is to be "
                    "one object: jq -c '.[]' makes lines of an array."
                )
            continue
        text = waiting + (more[:end] if more else b"")
        if text:
            yield _Chunk(line), text
        if not more:
            return
        line += text.count(b"\n")
        waiting = more[end:]


def _parsed(text: bytes, fields: Any, block_size: int) -> Any:
    from pyarrow import json

    return json.read_json(
        io.BytesIO(text),
        read_options=json.ReadOptions(block_size=block_size),
        parse_options=json.ParseOptions(
            explicit_schema=fields,
            newlines_in_values=False,
            unexpected_field_behavior="infer" if fields is None else "ignore",
        ),
    )


def _bad_line(chunk: _Chunk, line: int, message: str) -> ValueError:
    return ValueError(f"line {chunk.first_line + line}: {message}.")


def _line_of_row(text: bytes, row: int) -> int:
    """Return the line of a row of a chunk; empty lines are skipped."""
    filled = [number for number, line in enumerate(text.split(b"\n")) if line.strip()]
    return filled[min(row, len(filled) - 1)]


def _in_words(message: str) -> str:
    if message.startswith("Column() changed"):
        return 'it is not a JSON object, such as {"embedding": [0.5, 1]}'
    changed = re.fullmatch(r"Column\(/(.*)\) changed from (.*) to (.*)", message)
    if changed:
        field, before, now = changed.groups()
        return f"field {field.replace('/[]', '')!r} is of type {now}, but {before} on the lines before"
    return message.rstrip(".")


def _read(path: Path) -> Table:
    file = _JsonLinesFile(path)
    return Table(file.schema, file.batches, "jsonl", file.n_rows)


JSONL = Format(
    "jsonl", (".jsonl", ".ndjson"), _read, library="pyarrow.json", install="coterie[io]", compressed=True
)
