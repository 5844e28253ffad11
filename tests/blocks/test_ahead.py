"""Blocks that a thread reads ahead."""

import threading

import numpy as np
import pytest

from coterie.blocks.kernel_rows import kernel_blocks, read_ahead
from coterie.rows import Rows


def test_items_come_in_order_from_another_thread():
    threads = set()

    def items():
        for number in range(20):
            threads.add(threading.current_thread())
            yield number

    assert list(read_ahead(items())) == list(range(20))
    assert list(read_ahead(iter([]))) == []
    assert threads.isdisjoint({threading.current_thread()})


def test_a_reader_that_stops_leaves_no_thread_and_no_open_file():
    is_closed = []

    def items():
        try:
            yield from range(100)
        finally:
            is_closed.append(True)

    before = threading.active_count()
    found = read_ahead(items())
    next(found)
    found.close()
    del found
    assert threading.active_count() == before
    assert is_closed


@pytest.mark.parametrize("in_memory", [True, False])
def test_only_rows_outside_memory_are_read_ahead(in_memory, tmp_path):
    """A source of its own whose rows are elsewhere is asked in one other thread; one in memory in ours."""
    threads = set()

    class Source(Rows):
        def block(self, start, stop):
            threads.add(threading.current_thread().name.split("_")[0])
            return X[start:stop]

    Source.in_memory = in_memory
    X = np.arange(12.0).reshape(6, 2)
    parts = [part for part, _ in kernel_blocks(Source(X.shape, X.dtype), 2)]
    assert parts == [slice(0, 2), slice(2, 4), slice(4, 6)]
    assert threads == {"MainThread" if in_memory else "coterie-read"}
