"""Blocks that a thread reads while the kernels work on the one before."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["read_ahead"]

T = TypeVar("T")

_END: Any = object()


def read_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield what an iterator yields, the next of which is made in a thread meanwhile.

    Three items may exist for a moment: who asks for the next one still holds the last, and the thread goes on at once.
    More threads gain nothing where rows are read in many short runs: they wait for the interpreter's lock.
    """
    with ThreadPoolExecutor(1, "coterie-read") as pool:
        waiting = pool.submit(next, items, _END)
        while (item := waiting.result()) is not _END:
            waiting = pool.submit(next, items, _END)
            yield item
