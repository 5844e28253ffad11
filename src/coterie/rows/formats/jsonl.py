"""Files with a JSON object on each line: .jsonl, .ndjson."""

from __future__ import annotations

import io
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coterie.rows.formats.text import open_bytes
from coterie.rows.tables import Table

# Bytes of text that are parsed at a time, in all and by each thread of pyarrow.
_CHUNK_BYTES = 8 * 2**20
_BLOCK_BYTES = 2**20

# Maximum length of a line: an array of all objects on one line would be parsed as one row.
_LONGEST_LINE = 256 * 2**20


def read_json_lines(path: Path) -> Table:
    """Return the table of the fields of the objects, whose types are found in a pass over the file before."""
    import pyarrow

    schema = pyarrow.schema([])
    for line, text in _chunks(path):
        # Times may be followed by other texts, and are kept as they were written.
        found = [
            field.with_type(pyarrow.string()) if pyarrow.types.is_timestamp(field.type) else field
            for field in _parsed(line, text).schema
        ]
        try:
            schema = pyarrow.unify_schemas([schema, pyarrow.schema(found)], promote_options="permissive")
        except pyarrow.ArrowException:
            _parsed(line, text, schema)  # names the line with another type
            raise
    if not schema.names:
        raise ValueError("the file has no rows.")

    def batches(_: Any) -> Iterator[Any]:
        for line, text in _chunks(path):
            yield from _parsed(line, text, schema).select(schema.names).combine_chunks().to_batches()

    return Table(schema, batches, "jsonl")


def _chunks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield chunks of complete lines, with the number of the first line from 1."""
    line = 1
    with open_bytes(path) as file:
        while text := file.read(_CHUNK_BYTES):
            text += file.readline(_LONGEST_LINE)
            before, line = line, line + text.count(b"\n")
            if len(text) > _LONGEST_LINE and text[-1:] != b"\n":
                raise ValueError(
                    f"line {line} has more than {_LONGEST_LINE >> 20} MiB. Each line is to be one object: jq -c '.[]' "
                    "makes lines of an array."
                )
            yield before, text


def _parsed(line: int, text: bytes, schema: Any = None) -> Any:
    """Return the objects of some lines as a `pyarrow.Table`: fields of known types, or all."""
    from pyarrow import json

    options = json.ParseOptions(
        explicit_schema=schema,
        newlines_in_values=False,
        unexpected_field_behavior="infer" if schema is None else "ignore",
    )
    lines = text.splitlines(keepends=True)

    def problem(n_lines: int) -> ValueError | None:
        try:
            parsed(b"".join(lines[:n_lines]))
        except ValueError as error:
            return error
        return None

    def parsed(text: bytes) -> Any:
        text.decode()  # which pyarrow does not check
        size = max(_BLOCK_BYTES, max(map(len, lines)) + 3)
        return json.read_json(io.BytesIO(text), json.ReadOptions(block_size=size), options)

    try:
        return parsed(text)
    except ValueError:
        first = bisect_left(range(len(lines)), True, key=lambda i: problem(i + 1) is not None)
        raise ValueError(f"line {line + first}: {problem(first + 1)}.") from None
