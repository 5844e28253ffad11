"""Archives with wrong directories and headers."""

import io
import zipfile

import numpy as np
import pytest

from coterie.limits.files import check_archive, read_array_header, shortened
from tests.support.memory import limited_memory


def archive_of(**members):
    """An archive of texts and arrays, compressed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            with archive.open(name.replace("_", "."), "w") as member:
                member.write(content)
    return zipfile.ZipFile(buffer)


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_a_text_that_was_blown_up():
    archive = archive_of(schema_json=b"[" + b"0," * (40 * 2**20) + b"0]")
    with pytest.raises(ValueError, match=r"'schema\.json' declares 84 MB"):
        check_archive(archive, "x.zip")


def test_archive_larger_than_memory_is_refused():
    archive = archive_of(a_npy=npy(np.zeros(10**6)))
    with limited_memory(10**6), pytest.raises(MemoryError, match=r"x\.zip take about 16 MB"):
        check_archive(archive, "x.zip")


def test_archives_in_archives():
    with archive_of(X_npy=npy(np.zeros(10**6))) as inner:
        assert inner.fp is not None
        content = inner.fp.getvalue()
    archive = archive_of(inner_npz=content)
    with limited_memory(10**6), pytest.raises(MemoryError, match="take about 16 MB"):
        check_archive(archive, "x.zip")
    check_archive(archive, "x.zip")


def test_array_declares_more_than_the_file_has():
    archive = archive_of(a_npy=npy(np.zeros((10, 4))).replace(b"(10, 4)", b"(99, 4)"))
    with pytest.raises(ValueError, match=r"'a\.npy' declares an array of 3\.2 kB, but has 320 bytes"):
        check_archive(archive, "x.zip")


def test_members_that_overlap():
    archive = archive_of(a_npy=npy(np.random.default_rng(0).normal(size=100)))
    archive.filelist *= 2
    with pytest.raises(ValueError, match="overlap"):
        check_archive(archive, "x.zip")


def test_invalid_header():
    content = npy(np.zeros(3))
    broken = content.replace(b"{'descr'", b"{'descr*")
    with pytest.raises(ValueError, match="Cannot parse header"):
        read_array_header(io.BytesIO(broken))
    file = io.BytesIO(content)
    assert read_array_header(file) == ((3,), False, np.dtype(np.float64))
    assert file.tell() == len(content) - 24


def test_headers_are_not_repeated_in_errors():
    text = b"{" + b"1" * 8000 + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    with pytest.raises(ValueError) as caught:
        read_array_header(io.BytesIO(content))
    assert len(str(caught.value)) < 150


def test_long_texts_are_shortened_in_the_middle():
    assert shortened("a b\n c") == "a b c"
    assert shortened("begin" + "x" * 500 + "end", 40) == "begin" + "x" * 12 + " ... " + "x" * 14 + "end"
