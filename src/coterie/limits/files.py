"""Checks of input files: regular files, and archives whose declared sizes match their contents."""

from __future__ import annotations

import math
import os
import stat
import zipfile
from io import BytesIO
from typing import Any

import numpy as np

from coterie.limits.memory import as_size, check_allocation

# Highest compression ratio of deflate.
_DEFLATE_RATIO = 1032
_SLACK_BYTES = 1024

# Texts of more than this are believed only where they do not come from far fewer bytes: names and numbers of a real
# model shrink to a tenth.
_MOST_TEXT = 64 * 2**20
_TEXT_RATIO = 30

# An array is held as bytes and as an array for a moment; a text becomes objects of Python.
_TIMES_ARRAY, _TIMES_TEXT = 2, 4

# NumPy itself trusts headers of up to 10,000 characters.
_MOST_HEADER = 10_000
_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    (3, 0): np.lib.format.read_array_header_2_0,  # differs by names of fields, which no array of numbers has
}


_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class DamagedFileError(ValueError):
    """The contents of a file contradict each other."""


def check_regular_file(path: str | os.PathLike[str], *, may_be_folder: bool = False) -> None:
    """Raise a ValueError if a path is that of a pipe, a socket, a device or a folder, unless a folder is allowed.

    They block, never end, or are not a file. Links are followed; a path that does not exist is accepted.
    """
    name = os.fspath(path)
    try:
        mode = os.stat(name).st_mode
    except OSError:
        return
    kind = next((kind for is_kind, kind in _KINDS if is_kind(mode)), "no file")
    if name == "/dev/stdin" or name.startswith(
        "/dev/fd/"
    ):  # also where a file stands behind it, which has no ending
        kind = "a stream"
    elif stat.S_ISREG(mode) or (may_be_folder and stat.S_ISDIR(mode)):
        return
    way = "give the file itself" if stat.S_ISDIR(mode) else "save its contents as a file"
    raise ValueError(f"{name} is {kind}, not a file: {way}.")


def check_archive(archive: zipfile.ZipFile, path: str | os.PathLike[str]) -> None:
    """Raise an error if an archive of arrays and texts cannot hold what it declares, or holds more than fits in memory.

    Only the headers of arrays are unpacked.
    """
    check_allocation(_n_bytes(archive), f"contents of {os.fspath(path)}", "use a machine with more memory")


def check_members(archive: zipfile.ZipFile) -> None:
    """Raise an error if members of a zip archive cannot be as large as declared; see `check_archive`."""
    assert archive.fp is not None
    there = archive.fp.seek(0, os.SEEK_END)
    if sum(member.compress_size for member in archive.infolist()) > there:
        raise DamagedFileError("the file is damaged: the parts of the archive overlap.")
    for member in archive.infolist():
        if member.file_size > _most_bytes(member):
            raise DamagedFileError(
                f"the file is damaged: {_named(member)} declares {as_size(member.file_size)}, which "
                f"{as_size(member.compress_size)} of compressed data cannot hold."
            )


def read_array_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an array in .npy format: its shape, whether it is in Fortran order, its dtype.

    The file is left behind the header. Headers of more than 10,000 bytes, which no array of numbers has, are a
    ValueError.
    """
    try:
        version = np.lib.format.read_magic(file)
    except ValueError as error:
        raise DamagedFileError(str(error)) from None
    length_bytes = 2 if version == (1, 0) else 4
    if version not in _HEADER_READERS:
        raise ValueError(f"version {version[0]}.{version[1]} of the format .npy is not known")
    length = file.read(length_bytes)
    n_bytes = int.from_bytes(length, "little")
    if n_bytes > _MOST_HEADER:
        raise DamagedFileError(
            f"the header of its array has {n_bytes:,} bytes, more than that of any array of numbers"
        )
    try:
        shape, fortran, dtype = _HEADER_READERS[version](BytesIO(length + file.read(n_bytes)))
    except Exception as error:  # whatever Python's parsers find; it may repeat all of the header
        message = shortened(str(error).removeprefix("Cannot parse header: "), 80)
        raise DamagedFileError(f"Cannot parse header: {message}") from None
    if any(size < 0 for size in shape):
        raise DamagedFileError(f"Cannot parse header: its shape is {shape}")
    return shape, fortran, dtype


def shortened(text: str, most: int = 120) -> str:
    """Return a text in one line of limited length, shortened in the middle."""
    text = " ".join(text.split())
    half = (most - 5) // 2
    return text if len(text) <= most else f"{text[:half]} ... {text[-half:]}"


def _n_bytes(archive: zipfile.ZipFile, *, is_inner: bool = False) -> float:
    """Return the memory that all members need."""
    check_members(archive)
    n_bytes = 0.0
    for member in archive.infolist():
        times = _TIMES_ARRAY
        if member.filename.endswith(".npy"):
            _check_array(archive, member)
        elif member.filename.endswith(".npz") and not is_inner:
            with archive.open(member) as file, zipfile.ZipFile(file) as inner:
                n_bytes += _n_bytes(inner, is_inner=True)
        else:
            _check_text(member)
            times = _TIMES_TEXT
        n_bytes += times * member.file_size
    return n_bytes


def _named(member: zipfile.ZipInfo) -> str:
    return f"its member {shortened(member.filename, 60)!r}"


def _check_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    with archive.open(member) as file:
        shape, _, dtype = read_array_header(file)
        there = member.file_size - file.tell()
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_bytes > there and not dtype.hasobject:
        raise DamagedFileError(
            f"the file is damaged: {_named(member)} declares an array of {as_size(n_bytes)}, but has "
            f"{as_size(there)}."
        )


def _check_text(member: zipfile.ZipInfo) -> None:
    if member.file_size > _MOST_TEXT and member.file_size > _TEXT_RATIO * member.compress_size:
        raise ValueError(
            f"{_named(member)} would unpack from {as_size(member.compress_size)} to {as_size(member.file_size)}, too "
            "much for names or settings"
        )


def _most_bytes(member: zipfile.ZipInfo) -> float:
    """Return the largest unpacked size of a member; unlimited for bzip2 and LZMA."""
    if member.compress_type == zipfile.ZIP_STORED:
        return member.compress_size
    if member.compress_type == zipfile.ZIP_DEFLATED:
        return _DEFLATE_RATIO * member.compress_size + _SLACK_BYTES
    return math.inf
