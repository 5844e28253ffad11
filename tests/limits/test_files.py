"""Archives that hold less than they declare, or more than fits into memory."""

import io
import zipfile

import numpy as np
import pytest

from coterie.limits.files import check_archive, shortened
from tests.support.memory import limited_memory


def archive_of(array, **replaced):
    """A compressed archive of an array, in whose header texts are replaced."""
    content = io.BytesIO()
    np.save(content, array)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", content.getvalue().replace(*replaced.get("header", (b"", b""))))
    return zipfile.ZipFile(buffer)


def test_archive_larger_than_memory_is_refused():
    archive = archive_of(np.zeros(10**6))
    with limited_memory(10**6), pytest.raises(MemoryError, match=r"x\.zip take about 16 MB"):
        check_archive(archive, "x.zip")
    check_archive(archive, "x.zip")


def test_array_declares_more_than_the_file_has():
    archive = archive_of(np.zeros((10, 4)), header=(b"(10, 4)", b"(99, 4)"))
    with pytest.raises(ValueError, match=r"'a\.npy' declares an array of 3\.2 kB, but has 320 bytes"):
        check_archive(archive, "x.zip")


def test_long_texts_are_shortened_in_the_middle():
    assert shortened("a b\n c") == "a b c"
    assert shortened("begin" + "x" * 500 + "end", 40) == "begin" + "x" * 12 + " ... " + "x" * 14 + "end"
