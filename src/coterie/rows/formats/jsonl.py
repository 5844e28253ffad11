"""Files with a JSON object on each line: .jsonl, .ndjson."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from coterie.rows.formats.format import Format
from coterie.rows.formats.tabular import open_bytes
from coterie.rows.tables import Table

# Bytes of text that are parsed at a time, in all and by each thread of pyarrow.
_CHUNK_BYTES = 8 * 2**20
_BLOCK_BYTES = 2**20

# Maximum length of a line: an array of all objects on one line would be parsed as one row.
_LONGEST_LINE = 256 * 2**20


def _read(path: Path) -> Table:
    """Return the table of the fields of the objects.

    The file is parsed once before, to find bad lines, count rows and determine the types of all fields.
    """
    import pyarrow

    n_rows, schema = 0, None
    for line, text in _chunks(path):
        try:
            text.decode()
        except UnicodeDecodeError as error:  # pyarrow does not check this
            raise _bad_line(line + text[: error.start].count(b"\n"), "it is not UTF-8") from None
        table = _parsed(line, text)
        n_rows += table.num_rows
        # Times may be followed by other texts, and are kept as they were written.
        more = pyarrow.schema(
            [
                field.with_type(pyarrow.string()) if pyarrow.types.is_timestamp(field.type) else field
                for field in table.schema
            ]
        )
        try:
            schema = pyarrow.unify_schemas([schema or more, more], promote_options="permissive")
        except pyarrow.ArrowException:
            _parsed(line, text, schema)  # names the line with another type
            raise
    if not n_rows:
        raise ValueError("the file has no rows.")
    return Table(schema, partial(_batches, path, schema), "jsonl", n_rows)


def _batches(path: Path, schema: Any, _: Any) -> Iterator[Any]:
    for line, text in _chunks(path):
        yield from _parsed(line, text, schema).select(schema.names).combine_chunks().to_batches()


def _chunks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield chunks of complete lines of any length, with the number of the first line from 1."""
    line, waiting = 1, b""
    with open_bytes(path) as file:
        while more := file.read(_CHUNK_BYTES):
            end = more.rfind(b"\n") + 1
            if end:
                text, waiting = waiting + more[:end], more[end:]
                yield line, text
                line += text.count(b"\n")
            else:
                waiting += more
            if len(waiting) > _LONGEST_LINE:
                raise ValueError(
                    f"line {line} has more than {_LONGEST_LINE >> 20} MiB. Each line is to be one object: jq -c '.[]' "
                    "makes lines of an array."
                )
    if waiting:
        yield line, waiting


def _parsed(line: int, text: bytes, schema: Any = None) -> Any:
    """Return the objects of some lines as a `pyarrow.Table`: fields of known types, or all."""
    from pyarrow import ArrowInvalid, json

    is_empty = not text.strip()
    options = json.ParseOptions(
        explicit_schema=schema,
        newlines_in_values=False,
        unexpected_field_behavior="infer" if schema is None else "ignore",
    )
    for size in (_BLOCK_BYTES, len(text) + 3):  # a line may be longer than a block
        try:
            found = json.read_json(
                io.BytesIO(b"{}\n" if is_empty else text), json.ReadOptions(block_size=size), options
            )
            return found[:0] if is_empty else found
        except ArrowInvalid as error:
            last = error
    message, _, row = str(last).removeprefix("JSON parse error: ").rpartition(" in row ")
    if not row.isdecimal():
        raise last
    filled = [number for number, one in enumerate(text.split(b"\n")) if one.strip()]
    raise _bad_line(line + filled[min(int(row), len(filled) - 1)], _in_words(message)) from None


def _bad_line(line: int, message: str) -> ValueError:
    return ValueError(f"line {line}: {message}.")


def _in_words(message: str) -> str:
    if message.startswith("Column() changed"):
        return 'it is not a JSON object, such as {"embedding": [0.5, 1]}'
    changed = re.fullmatch(r"Column\(/(.*)\) changed from (.*) to (.*)", message)
    if changed:
        field, before, now = changed.groups()
        return f"field {field.replace('/[]', '')!r} is of type {now}, but {before} on the lines before"
    return message.rstrip(".")


JSONL = Format(
    "jsonl", (".jsonl", ".ndjson"), _read, library="pyarrow.json", install="coterie[io]", compressed=True
)
