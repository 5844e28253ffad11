"""Checks of input files: regular files, and archives whose declared sizes match their contents."""

from __future__ import annotations

import math
import os
import zipfile
from typing import Any

import numpy as np

from coterie.limits.memory import as_size, check_allocation


def check_regular_file(path: str | os.PathLike[str], *, may_be_folder: bool = False) -> None:
    """Raise a ValueError if a path is that of a pipe, a socket, a device or a folder, unless a folder is allowed."""
    name = os.fspath(path)
    is_folder, is_stream = os.path.isdir(name), name.startswith(("/dev/stdin", "/dev/fd/"))
    is_file = os.path.isfile(name) and not is_stream  # a file behind a stream has no ending
    if is_file or (may_be_folder and is_folder) or not os.path.lexists(name):
        return
    way = "give the file itself" if is_folder else "save its contents as a file"
    raise ValueError(f"{name} is {'a folder' if is_folder else 'a pipe or a device'}, not a file: {way}.")


def check_archive(archive: zipfile.ZipFile, path: str | os.PathLike[str]) -> None:
    """Raise an error if an array in an archive is shorter than it declares, or all contents do not fit in memory."""
    members = archive.infolist()
    n_bytes = 2.0 * sum(member.file_size for member in members)  # as bytes and as arrays
    check_allocation(n_bytes, f"contents of {os.fspath(path)}", "use a machine with more memory")
    for member in (member for member in members if member.filename.endswith(".npy")):
        with archive.open(member) as file:
            shape, dtype = read_array_header(file)
            declared, there = math.prod(shape) * dtype.itemsize, member.file_size - file.tell()
        if declared > there and not dtype.hasobject:
            name = shortened(member.filename, 60)
            raise ValueError(
                f"the file is damaged: its member {name!r} declares an array of {as_size(declared)}, but has "
                f"{as_size(there)}."
            )


def read_array_header(file: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the dtype of an array in .npy format."""
    read = np.lib.format.read_array_header_2_0
    if np.lib.format.read_magic(file) == (1, 0):
        read = np.lib.format.read_array_header_1_0
    shape, _, dtype = read(file)
    return shape, dtype


def shortened(text: str, most: int = 120) -> str:
    """Return a text in one line of limited length, shortened in the middle."""
    text = " ".join(text.split())
    half = (most - 5) // 2
    return text if len(text) <= most else f"{text[:half]} ... {text[-half:]}"
