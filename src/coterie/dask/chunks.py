"""Chunks of rows: their description for workers, and the division of data into chunks.

The cuts depend on the data alone, never on the workers, for sums are made chunk by chunk.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from coterie.rows import Rows, as_rows, open_rows
from coterie.rows.checks import check_finite
from coterie.rows.derived import part_of
from coterie.rows.files import paths_of

# Size of a chunk of rows of files: large compared with the sums of a thousand clusters.
_CHUNK_BYTES, _ROW_MULTIPLE = 64 << 20, 4096


@dataclass(frozen=True)
class File:
    """A file of a path, with the options of `coterie.open_rows`. The `token` distinguishes it from a file of the same
    name in another fit.
    """

    path: str
    token: str
    options: Mapping[str, Any] = field(compare=False)


@lru_cache(maxsize=4)
def _opened(file: File) -> Rows:
    return open_rows(file.path, **file.options)


@dataclass(frozen=True)
class FileRange:
    """Rows of a file, which a worker opens itself; `before` are the rows of the files before it."""

    file: File
    start: int
    stop: int
    before: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.stop - self.start

    @property
    def first_row(self) -> int:
        """Number of the first row."""
        return self.before + self.start

    def open(self, _: Any = None) -> Rows:
        """Read the rows into memory; errors name the file and the row."""
        source = _opened(self.file)
        block = source.block(self.start, self.stop)
        check_finite(block, self.first_row, lambda row: source.place_of(row - self.before))
        return part_of(source, block)


@dataclass(frozen=True)
class Partition:
    """A chunk of a Dask array, or a partition of a Dask DataFrame with options of `coterie.as_rows`."""

    number: int
    first_row: int
    n_rows: int
    columns: Mapping[str, Any] = field(default_factory=dict)

    def open(self, data: Any) -> Rows:
        """Return the rows, in memory, of what Dask has computed."""
        rows = as_rows(data, **self.columns)
        if rows.is_sparse:
            raise TypeError("Dask collections of sparse chunks are not supported: pass dense chunks.")
        # What lies in memory is not copied: pages of 256 MB that are written for the first time take half a second.
        block = (
            rows.in_place()
            if rows.in_memory
            else np.concatenate([block for _, block in rows.unchecked_blocks()])
        )
        first = self.first_row
        check_finite(block, first, lambda row: (row - first, f"chunk {self.number} of X"))
        return part_of(rows, block)


Chunk = FileRange | Partition


@dataclass
class Chunks:
    """The chunks of the rows of a fit, in their order: `rows` for columns and type, `lazy` what Dask computes for each
    chunk (None for files). The `collection` is held because Dask drops persisted chunks when it goes.
    """

    chunks: list[Chunk]
    rows: Rows
    lazy: list[Any] | None = None
    collection: Any = None

    def __len__(self) -> int:
        return len(self.chunks)

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        return sum(chunk.n_rows for chunk in self.chunks)


def chunks_of(X: Any, options: Mapping[str, Any], client: Any) -> Chunks:
    """Return the chunks of a Dask array, the partitions of a Dask DataFrame, or pieces of about 64 MiB of files."""
    given = dict(options)
    if isinstance(X, str | os.PathLike):
        return _of_files(os.fspath(X), given, client)
    kind = type(X).__module__.partition(".")[0]
    if kind.startswith("dask") and hasattr(X, "chunks"):
        return _of_array(X, client)
    if kind.startswith("dask") and hasattr(X, "partitions"):
        return _of_frame(X, given, client)
    raise TypeError(
        f"X ({type(X).__name__}) is neither a Dask array, a Dask DataFrame nor a path: estimators take rows of this "
        "process as they are, or pass dask.array.from_array(X, chunks=...)."
    )


def _of_files(path: str, options: Mapping[str, Any], client: Any) -> Chunks:
    names, token = paths_of(path, options.get("storage_options")), uuid.uuid4().hex
    first, at = open_rows(names[0], **options), 0
    chunks: list[Chunk] = []
    if first.is_sparse:
        raise TypeError(f"{path} holds sparse rows, which workers do not take: fit coterie.open_rows(path).")
    if first.chosen is not None:  # of all files alike
        options = {**options, "columns": first.chosen, "exclude": None}
    # Workers may have another working folder.
    files = [File(name if "://" in name else os.path.abspath(name), token, options) for name in names]
    others = client.gather(client.map(_measured, files[1:], pure=False))
    rows = first.with_dtype(np.result_type(first.dtype, *(dtype for _, dtype in others)))
    for file, n_rows in zip(files, [first.shape[0], *(n_rows for n_rows, _ in others)]):
        size = max(1, int(_CHUNK_BYTES / rows.row_bytes()))
        if size > _ROW_MULTIPLE:
            # All of about one size, so that workers of as many chunks have as much to do.
            n_chunks = max(1, -(-n_rows // (size - size % _ROW_MULTIPLE)))
            size = -(-n_rows // (n_chunks * _ROW_MULTIPLE)) * _ROW_MULTIPLE
        chunks += [FileRange(file, low, min(low + size, n_rows), at) for low in range(0, n_rows, size)]
        at += n_rows
    return Chunks(chunks, rows)


def _measured(file: File) -> tuple[int, np.dtype[Any]]:
    """Return the number of rows of a file on a worker, and their type."""
    rows = _opened(file)
    return rows.shape[0], rows.dtype


def _of_array(X: Any, client: Any) -> Chunks:
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: shape {X.shape}.")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    delayed = X.to_delayed()[:, 0]
    sizes = np.asarray(X.chunks[0], dtype=float)
    if np.any(np.isnan(sizes)):
        import dask

        sizes = np.array(client.gather(client.compute([dask.delayed(len)(part) for part in delayed])))
    numbers, starts = np.flatnonzero(sizes), np.concatenate([[0], np.cumsum(sizes)[:-1]])
    if len(numbers) == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
    chunks: list[Chunk] = [Partition(int(i), int(starts[i]), int(sizes[i])) for i in numbers]
    return Chunks(chunks, as_rows(np.ones((1, X.shape[1]), dtype=X.dtype)), [delayed[i] for i in numbers], X)


def _of_frame(X: Any, columns: Mapping[str, Any], client: Any) -> Chunks:
    X = X.optimize()  # which may leave out partitions
    lengths = np.asarray(client.compute(X.map_partitions(len)).result(), dtype=np.intp)
    numbers = np.flatnonzero(lengths)
    if len(numbers) == 0:
        raise ValueError("X has no rows.")
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    delayed = X.to_delayed()
    chunks: list[Chunk] = [Partition(int(i), int(starts[i]), int(lengths[i]), columns) for i in numbers]
    first = client.compute(X.partitions[int(numbers[0])].head(1, compute=False)).result()
    return Chunks(chunks, as_rows(first, **columns), [delayed[i] for i in numbers], X)
