"""`RangedFile`: a file elsewhere as readers of formats read files, of which only ranges of bytes are fetched."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from coterie.rows.retries import Attempts

__all__ = ["RangedFile", "Span"]

Span = tuple[int, int]
"""The bytes from one place to another, the last not included."""

# Short reads, such as those of headers and footers, take so many bytes along.
_LEAST_BYTES = 2**16

_HELD_BYTES = 48 * 2**20


class RangedFile(io.RawIOBase):
    """A file of which nothing is fetched but the bytes asked for, and few beside them.

    Parameters
    ----------
    handle : file
        fsspec's, without a cache.
    size : int
        Its length in bytes.
    attempts : Attempts
        Tries again.
    spans : sequence of tuple of int
        Bytes that are fetched at a time where some of them are wanted, in ascending order. They are held as long as the
        latest of them take at most 48 MiB; what is read of one later is fetched by itself.
    """

    def __init__(self, handle: Any, size: int, attempts: Attempts, spans: Sequence[Span] = ()) -> None:
        super().__init__()
        self._handle = handle
        self._size = size
        self._attempts = attempts
        self._at = 0
        self._spans = list(spans)
        self._held: dict[Span, bytes] = {}
        self._dropped: set[Span] = set()
        self._ahead: tuple[int, bytes] = (0, b"")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def size(self) -> int:
        return self._size

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        found = self.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def read(self, size: int | None = -1) -> bytes:
        stop = self._size if size is None or size < 0 else min(self._at + size, self._size)
        if stop <= self._at:
            return b""
        span = self._span_of(self._at, stop)
        found = self._by_itself(self._at, stop) if span is None else self._of_span(span, self._at, stop)
        self._at = stop
        return found

    def _span_of(self, start: int, stop: int) -> Span | None:
        at = bisect_right(self._spans, start, key=itemgetter(0)) - 1
        if at < 0 or stop > self._spans[at][1] or self._spans[at] in self._dropped:
            return None
        return self._spans[at]

    def _of_span(self, span: Span, start: int, stop: int) -> bytes:
        held = self._held.pop(span, None) or self._fetch(*span)
        self._held[span] = held  # as the latest
        while sum(map(len, self._held.values())) > _HELD_BYTES and len(self._held) > 1:
            oldest = next(iter(self._held))
            del self._held[oldest]
            self._dropped.add(oldest)
        return held[start - span[0] : stop - span[0]]

    def _by_itself(self, start: int, stop: int) -> bytes:
        low, held = self._ahead
        if not low <= start <= stop <= low + len(held):
            until = min(max(stop, start + _LEAST_BYTES), self._size)
            low, held = start, self._fetch(start, until)
            self._ahead = (low, held) if until > stop else (0, b"")
        return held[start - low : stop - low]

    def _fetch(self, start: int, stop: int) -> bytes:
        return self._attempts.read(partial(self._fetch_once, start, stop))

    def _fetch_once(self, start: int, stop: int) -> bytes:
        self._handle.seek(start)
        found = bytes(self._handle.read(stop - start))
        if len(found) != stop - start:
            raise ConnectionError(f"of {stop - start} bytes {len(found)} came")
        return found
