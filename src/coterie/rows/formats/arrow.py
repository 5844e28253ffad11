"""Arrow and Feather files: .arrow, .feather."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coterie.rows.formats.format import Format
from coterie.rows.formats.tabular import check_unique
from coterie.rows.tables import Table


def _read(path: Path) -> Table:
    """Return the table of a file of either Arrow IPC format.

    The file is not memory-mapped: if a mapped file is cut short, the process is killed (SIGBUS).
    """
    import pyarrow
    from pyarrow import ipc

    with open(path, "rb") as start:
        is_stream = start.read(6) != b"ARROW1"  # files begin with this word, streams do not
    opened = ipc.open_stream if is_stream else ipc.open_file

    def batches(_: Any) -> Iterator[Any]:
        with pyarrow.OSFile(str(path)) as file:
            found = opened(file)
            for batch in found if is_stream else map(found.get_batch, range(found.num_record_batches)):
                # pyarrow trusts the number of rows and offsets of texts, and could read beyond the end of a buffer.
                batch.validate(full=True)
                yield batch

    with pyarrow.OSFile(str(path)) as file:
        schema = opened(file).schema
    check_unique(schema.names)
    return Table(schema, batches, "arrow" if path.suffix.lower() == ".arrow" else "feather")


ARROW = Format("arrow", (".feather", ".arrow"), _read, library="pyarrow.ipc", install="coterie[io]")
