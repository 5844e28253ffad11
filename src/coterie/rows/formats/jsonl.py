"""Files with a JSON object on each line: .jsonl, .ndjson."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coterie.rows.formats.text import open_bytes
from coterie.rows.tables import Table

# Bytes of text that are parsed at a time.
_CHUNK_BYTES = 2**22

# Maximum length of a line: an array of all objects on one line would be parsed as one row.
_LONGEST_LINE = 2**28


def read_json_lines(path: Path) -> Table:
    """Return the table of the fields of the objects, whose types are found in a pass over the file before."""
    import pyarrow

    schema = pyarrow.schema([])
    for table in _parsed(path):
        # Times may be followed by other texts, and are kept as they were written.
        found = [
            field.with_type(pyarrow.string()) if pyarrow.types.is_timestamp(field.type) else field
            for field in table.schema
        ]
        schema = pyarrow.unify_schemas([schema, pyarrow.schema(found)], promote_options="permissive")
    if not schema.names:
        raise ValueError("the file has no rows.")

    def batches() -> Iterator[Any]:
        for table in _parsed(path, schema):
            yield from table.select(schema.names).combine_chunks().to_batches()

    return Table(schema, batches(), "jsonl")


def _parsed(path: Path, schema: Any = None) -> Iterator[Any]:
    """Yield the objects as tables of pyarrow: fields of known types, or all."""
    from pyarrow import json

    options = json.ParseOptions(
        explicit_schema=schema,
        newlines_in_values=False,
        unexpected_field_behavior="infer" if schema is None else "ignore",
    )
    line = 1
    with open_bytes(path) as file:
        while text := file.read(_CHUNK_BYTES) + file.readline(_LONGEST_LINE):
            last = line + text.count(b"\n")
            if len(text) > _LONGEST_LINE and text[-1:] != b"\n":
                raise ValueError(
                    f"line {last} has more than {_LONGEST_LINE >> 20} MiB. Each line is to be one object: jq -c '.[]' "
                    "makes lines of an array."
                )
            try:
                text.decode()  # which pyarrow does not check
                yield json.read_json(io.BytesIO(text), json.ReadOptions(block_size=len(text) + 3), options)
            except ValueError as error:
                raise ValueError(f"in the lines from {line}: {error}.") from None
            line = last
