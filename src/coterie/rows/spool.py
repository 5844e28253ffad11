"""Copies on disk: rows that are expensive to read, written once as plain floats for a fit with many passes."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import IO, NoReturn

from coterie.rows.flat import FlatSource
from coterie.rows.source import RowSource

# Bytes that a thread decodes and writes at a time, so that they stay in the processor's cache.
_PIECE_BYTES = 4 * 2**20

# Bytes of a disk that a copy leaves free.
_LEFT_BYTES = 2**30


class SpooledRows(FlatSource):
    """The dense rows of another source, copied to a temporary file as floats of its `dtype`, and read like a .npy file.

    The file has no name if the system permits it, so that it is removed with the process in any case. Several threads
    read `pieces` of the source at a time, each of other units of the storage; of several errors that of the first rows
    is raised.
    """

    def __init__(self, rows: RowSource, n_threads: int = 1) -> None:
        super().__init__(
            rows.shape,
            rows.dtype,
            column_names=rows.column_names,
            is_table=rows.is_table,
            description=rows.description,
            metadata_columns=rows.metadata_columns,
            chosen=rows.chosen,
        )
        self.preparation = rows.preparation
        self._source = rows
        self._copy_file = _CopyFile()
        self._is_stopped = False
        try:
            with ThreadPoolExecutor(n_threads, "coterie-spool") as pool:
                futures = [pool.submit(self._copy, rows, start, stop) for start, stop in _portions(rows)]
                try:
                    for future in futures:
                        future.result()
                except BaseException:  # including Ctrl-C: threads end after their current piece
                    self._is_stopped = True
                    pool.shutdown(cancel_futures=True)
                    raise
        except BaseException:
            self._copy_file.file.close()
            raise
        pyarrow = sys.modules.get("pyarrow")
        if pyarrow is not None:  # it keeps decoded memory for reuse
            pyarrow.default_memory_pool().release_unused()

    def place_of(self, row: int) -> tuple[int, str] | None:
        return self._source.place_of(row)

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        yield self._copy_file.file

    def _copy(self, rows: RowSource, start: int, stop: int) -> None:
        row_bytes = self.shape[1] * self.dtype.itemsize
        for piece in rows.pieces(start, stop, max(1, _PIECE_BYTES // row_bytes)):
            if self._is_stopped:
                return
            block = self._join([piece])
            if start + len(block) > stop:
                raise ValueError(f"The {self.description} has more rows than the {stop} of its shape.")
            self._copy_file.write(start * row_bytes, memoryview(block).cast("B"))
            start += len(block)
        if start != stop:
            raise ValueError(f"The {self.description} ends at row {start} instead of {stop}.")


class _CopyFile:
    """A temporary file that several threads write to at different offsets; removed with the rows that read it."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile(dir=spool_folder(), buffering=0)  # noqa: SIM115
        self._lock = threading.Lock()

    def __reduce__(self) -> NoReturn:
        raise TypeError("Rows in a temporary file of this process cannot be pickled: write them to a file.")

    def write(self, start: int, buffer: memoryview) -> None:
        while len(buffer):  # a single call of the system may write less
            if hasattr(os, "pwrite"):  # with a lock, writing takes twice as long
                n_written = os.pwrite(self.file.fileno(), buffer, start)
            else:
                with self._lock:
                    self.file.seek(start)
                    n_written = self.file.write(buffer)
            start, buffer = start + n_written, buffer[n_written:]


def spool_folder() -> str:
    """Return the folder of large temporary files: TMPDIR if writable, else /var/tmp, as /tmp is often in memory."""
    for folder in (os.environ.get("TMPDIR"), "/var/tmp"):
        if folder and os.access(folder, os.W_OK | os.X_OK):
            return folder
    return tempfile.gettempdir()


def has_space(n_bytes: float) -> bool:
    """Return whether the disk of `spool_folder` has space for this number of bytes, and some more."""
    return shutil.disk_usage(spool_folder()).free >= n_bytes + _LEFT_BYTES


def _portions(rows: RowSource) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows: whole units of the storage, at least a piece."""
    least = _PIECE_BYTES // (rows.shape[1] * rows.dtype.itemsize)
    cuts = [0]
    for start in rows.unit_starts().tolist():
        if start - cuts[-1] > least:
            cuts.append(start)
    return pairwise([*cuts, rows.shape[0]])
