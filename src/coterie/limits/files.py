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

# Highest compression ratio of deflate, and what of a small member is not data.
_DEFLATE_RATIO, _SLACK_BYTES = 1032, 1024

# Texts of more than this are believed only where they do not come from far fewer bytes: names and numbers of a real
# model shrink to a tenth.
_MOST_TEXT, _TEXT_RATIO = 64 * 2**20, 30

# An array is held as bytes and as an array for a moment; a text becomes objects of Python.
_TIMES_ARRAY, _TIMES_TEXT = 2, 4

# NumPy itself trusts headers of up to 10,000 characters.
_MOST_HEADER = 10_000

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
    if name.startswith(("/dev/stdin", "/dev/fd/")):  # also where a file stands behind it, which has no ending
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


def _n_bytes(archive: zipfile.ZipFile, *, is_inner: bool = False) -> float:
    """Return the memory that all members need."""
    assert archive.fp is not None
    members, n_bytes = archive.infolist(), 0.0
    if sum(member.compress_size for member in members) > archive.fp.seek(0, os.SEEK_END):
        raise DamagedFileError("the file is damaged: the parts of the archive overlap.")
    for member in members:
        name, packed, size = shortened(member.filename, 60), member.compress_size, member.file_size
        is_array, is_archive = name.endswith(".npy"), name.endswith(".npz") and not is_inner
        deflated = _DEFLATE_RATIO * packed + _SLACK_BYTES
        most = {zipfile.ZIP_STORED: packed, zipfile.ZIP_DEFLATED: deflated}.get(
            member.compress_type, math.inf
        )
        if not is_array and not is_archive:
            most = min(most, max(_MOST_TEXT, _TEXT_RATIO * packed))
        if size > most:
            raise DamagedFileError(
                f"the file is damaged: its member {name!r} declares {as_size(size)}, in {as_size(packed)} of the file."
            )
        if is_archive:
            with archive.open(member) as file, zipfile.ZipFile(file) as inner:
                n_bytes += _n_bytes(inner, is_inner=True)
        elif is_array:
            with archive.open(member) as file:
                shape, _, dtype = read_array_header(file)
                declared, there = math.prod(shape) * dtype.itemsize, size - file.tell()
            if declared > there and not dtype.hasobject:
                raise DamagedFileError(
                    f"the file is damaged: its member {name!r} declares an array of {as_size(declared)}, but has "
                    f"{as_size(there)}."
                )
        n_bytes += (_TIMES_ARRAY if is_array or is_archive else _TIMES_TEXT) * size
    return n_bytes


def read_array_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an array in .npy format: its shape, whether it is in Fortran order, its dtype.

    The file is left behind the header. Headers of more than 10,000 bytes, which no array of numbers has, are a
    ValueError.
    """
    try:
        version = np.lib.format.read_magic(file)
        if version[0] not in (1, 2, 3):
            raise ValueError(f"version {version[0]}.{version[1]} of the format .npy is not known")
        length = file.read(2 if version == (1, 0) else 4)
        n_bytes = int.from_bytes(length, "little")
        if n_bytes > _MOST_HEADER:
            raise ValueError(f"it has {n_bytes:,} bytes, more than that of any array of numbers")
        # Version 3 differs by names of fields, which no array of numbers has.
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = read(BytesIO(length + file.read(n_bytes)))
        if any(size < 0 for size in shape):
            raise ValueError(f"its shape is {shape}")
    except Exception as error:  # whatever Python's parsers find; it may repeat all of the header
        message = shortened(str(error).removeprefix("Cannot parse header: "), 80)
        raise DamagedFileError(f"Cannot parse header: {message}") from None
    return shape, fortran, dtype


def shortened(text: str, most: int = 120) -> str:
    """Return a text in one line of limited length, shortened in the middle."""
    text = " ".join(text.split())
    half = (most - 5) // 2
    return text if len(text) <= most else f"{text[:half]} ... {text[-half:]}"
