"""Streams of Arrow tables: whatever has `__arrow_c_stream__` or `__arrow_c_array__`, read once and kept.

DuckDB's relations, pyarrow's readers, nanoarrow's streams and the tables of many other libraries are such things.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from coterie.outputs import TemporaryFolder
from coterie.rows.arrow import ArrowSource
from coterie.rows.columns import Columns
from coterie.rows.formats.arrow import ArrowFileSource
from coterie.rows.source import RowSource
from coterie.rows.spool import has_room, spool_folder

__all__ = ["stream_rows"]

# How much of a stream is kept in memory. A longer one is written to a file.
KEPT_BYTES = 1 << 30


def stream_rows(X: Any, columns: Columns | None, exclude: Columns | None) -> RowSource | None:
    """Return the rows of a stream or an array of Arrow's C interface, None where `X` is no table of either.

    A stream is read to its end. Up to 1 GiB stays in memory; more than that is written to a file in TMPDIR or
    /var/tmp, which is removed with the rows, or when Python ends.

    Parameters
    ----------
    X : object
        Anything.
    columns, exclude : columns, optional
        Which columns to cluster, see `choose_columns`.

    Raises
    ------
    OSError
        If the disk has no room for the stream.
    ValueError
        If it has no rows, or these are not numbers or vectors.
    """
    if not (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")):
        return None
    reader = _opened(X)
    if reader is None:
        return None
    batches: Iterator[Any] = (batch for batch in reader if batch.num_rows)
    held, n_bytes = [], 0
    for batch in batches:
        held.append(batch)
        n_bytes += batch.nbytes
        if n_bytes > KEPT_BYTES:
            folder = _Folder()
            _write(folder.stream, reader.schema, chain(held, batches))
            return _SpooledStream(folder, columns, exclude)
    if not held:
        raise ValueError(
            f"X ({type(X).__name__}) has no rows. A stream can be read only once: coterie.as_rows(X) keeps it."
        )
    import pyarrow

    rows = ArrowSource(pyarrow.Table.from_batches(held, reader.schema), columns, exclude)
    rows.description = "Arrow stream"
    return rows


def _opened(X: Any) -> Any:
    """Return a `pyarrow.RecordBatchReader` of a table, None where `X` is but one column."""
    try:
        import pyarrow
    except ImportError as error:
        if hasattr(X, "__array__"):
            return None
        raise ImportError("Reading Arrow streams needs pyarrow: pip install 'coterie[io]'") from error
    try:
        if hasattr(X, "__arrow_c_stream__"):
            return pyarrow.RecordBatchReader.from_stream(X)
        batch = pyarrow.record_batch(X)
        return pyarrow.RecordBatchReader.from_batches(batch.schema, [batch])
    except (pyarrow.ArrowInvalid, TypeError) as error:
        if hasattr(X, "__array__"):
            return None
        raise ValueError(f"X ({type(X).__name__}) cannot be read as an Arrow table: {error}") from error


class _SpooledStream(ArrowFileSource):
    """Rows of a stream that was written to a file in a temporary folder."""

    is_parsed = False  # to be copied once is enough

    def __init__(self, folder: _Folder, columns: Columns | None, exclude: Columns | None) -> None:
        self._folder = folder
        super().__init__(folder.stream, columns, exclude)
        self.description = "Arrow stream"


class _Folder:
    """A temporary folder that goes with the last source that reads from it, or at the end of Python.

    Where Python was killed, the next stream removes it.
    """

    def __init__(self) -> None:
        folder = TemporaryFolder(spool_folder(), "coterie-stream").__enter__()
        self.stream = folder.path / "stream.arrow"
        weakref.finalize(self, folder.remove)

    def __reduce__(self) -> NoReturn:
        raise TypeError("Rows of a stream in a temporary file cannot be pickled: write them to a file.")


def _write(path: Path, schema: Any, batches: Iterable[Any]) -> None:
    from pyarrow import ipc

    written = 0
    try:
        with ipc.new_file(str(path), schema) as writer:
            for batch in batches:
                if not has_room(batch.nbytes):
                    raise OSError("the disk is full")
                writer.write_batch(batch)
                written += batch.nbytes
    except OSError as error:
        raise OSError(
            f"X is a stream of more than {written / 1e9:.1f} GB, and {path.parent.parent} has no room for it: {error}. "
            "The environment variable TMPDIR names another folder."
        ) from error
