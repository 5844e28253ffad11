"""`RangedFile`: the bytes of a file, and which of them are fetched."""

import io
import os

import numpy as np
import pytest

from coterie.rows.remote import Attempts, RangedFile

CONTENT = np.random.default_rng(0).bytes(1_000_000)


class Handle(io.BytesIO):
    """Notes what is read, and may give less."""

    def __init__(self, content=CONTENT, short=0):
        super().__init__(content)
        self.fetched = []
        self.short = short

    def read(self, size):
        self.fetched.append((self.tell(), self.tell() + size))
        if self.short:
            self.short -= 1
            size //= 2
        return super().read(size)


def ranged_file(handle):
    return RangedFile(handle, len(CONTENT), Attempts("memory://x", {}))


def read_at(file, start, stop):
    file.seek(start)
    return file.read(stop - start)


def test_ranged_file_has_the_interface_of_a_file(quick_attempts):
    file = ranged_file(Handle())
    assert (file.readable(), file.seekable(), file.writable(), file.size()) == (
        True,
        True,
        False,
        len(CONTENT),
    )
    assert file.read(10) == CONTENT[:10]
    assert file.tell() == 10
    assert file.seek(-5, os.SEEK_END) == len(CONTENT) - 5
    assert file.read(100) == CONTENT[-5:]
    assert file.read(1) == b""
    assert file.seek(-3, os.SEEK_CUR) == len(CONTENT) - 3
    assert file.seek(5 + len(CONTENT)) == 5 + len(CONTENT)
    assert file.read() == b""
    file.seek(400_000)
    buffer = bytearray(100_000)
    assert file.readinto(buffer) == 100_000
    assert buffer == CONTENT[400_000:500_000]
    file.seek(1)
    assert file.read() == CONTENT[1:]


def test_short_reads_take_some_bytes_along():
    handle = Handle()
    file = ranged_file(handle)
    for start in range(0, 1000, 10):
        assert read_at(file, start, start + 10) == CONTENT[start : start + 10]
    assert handle.fetched == [(0, 2**16)]
    assert read_at(file, 100_000, 300_000) == CONTENT[100_000:300_000]
    assert handle.fetched[1:] == [(100_000, 300_000)]


def test_short_responses_are_an_error(quick_attempts):
    handle = Handle(short=2)
    assert read_at(ranged_file(handle), 500, 100_000) == CONTENT[500:100_000]
    assert len(handle.fetched) == 3
    with pytest.raises(ConnectionError, match=r"failed 4 times, at last by: of 99500 bytes 49750 came$"):
        read_at(ranged_file(Handle(short=99)), 500, 100_000)
