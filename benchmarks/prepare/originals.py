"""Original files: where they lie, and what stands in them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import tarfile
import zlib
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

# How compressed files are read; .Z, which Python cannot, by the program gzip.
OPENERS: dict[str, Callable[[Path], IO[bytes]]] = {
    "": lambda path: path.open("rb"),
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}

UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError)

# What IDX files say of their numbers.
IDX_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


class MissingFilesError(FileNotFoundError):
    """Files that are not among the downloads."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(", ".join(names))
        self.names = tuple(names)


class Downloads:
    """The files below some folders, by their names; compressed ones by the names that they have when they are not."""

    def __init__(self, *folders: Path) -> None:
        self._folders = folders

    def find(self, name: str) -> Path | None:
        """Return a file of this name, or compressed; None where there is none."""
        for folder in self._folders:
            for suffix in (*OPENERS, ".Z"):
                found = sorted(path for path in folder.rglob(name + suffix) if path.is_file())
                if found:
                    return found[0]
        return None

    def has(self, *names: str) -> bool:
        """Whether all of these are there."""
        return all(self.find(name) is not None for name in names)

    def path(self, name: str) -> Path:
        """Return a file that has to be there."""
        return self.paths(name)[0]

    def paths(self, *names: str) -> list[Path]:
        """Return several; the error names all that are missing."""
        found = [self.find(name) for name in names]
        if missing := [name for name, path in zip(names, found) if path is None]:
            raise MissingFilesError(missing)
        return [path for path in found if path is not None]

    def read(self, name: str) -> bytes:
        """Return the contents of a file, decompressed."""
        return contents(self.path(name))

    def lines(self, name: str, most: int | None = None) -> list[str]:
        """Return the first lines of a text file, all by default, without reading the rest."""
        path = self.path(name)
        if path.suffix == ".Z":
            return contents(path).decode("ascii", errors="replace").splitlines()[:most]
        try:
            with OPENERS.get(path.suffix, OPENERS[""])(path) as file:
                return [line.decode("ascii", errors="replace").rstrip() for line in islice(file, most)]
        except UNREADABLE as error:
            raise ValueError(f"{path} cannot be read; is the download complete? ({error})") from error

    def below(self, folder: str, pattern: str) -> list[Path]:
        """Return the files of a folder of this name that match a pattern, in order."""
        for root in self._folders:
            for found in sorted(path for path in [root, *root.rglob(folder)] if path.name == folder):
                if files := sorted(found.glob(pattern)):
                    return files
        raise MissingFilesError([f"{folder}/{pattern}"])

    def members(self, name: str, wanted: Sequence[str]) -> dict[str, bytes]:
        """Return files by their names: from a tar archive, or if that is not there as they lie in a folder."""
        archive = self.find(name)
        if archive is None:
            if not self.has(*wanted):
                raise MissingFilesError([name])
            return {member: self.read(member) for member in wanted}
        try:
            found = _unpacked(archive, wanted)
        except (tarfile.TarError, *UNREADABLE) as error:
            raise ValueError(f"{archive} cannot be read; is the download complete? ({error})") from error
        if lacking := [member for member in wanted if member not in found]:
            raise ValueError(f"{archive} has no {', '.join(lacking)}.")
        return found


def _unpacked(archive: Path, wanted: Sequence[str]) -> dict[str, bytes]:
    found = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            part = tar.extractfile(member) if Path(member.name).name in wanted else None
            if part is not None:
                found[Path(member.name).name] = part.read()
    return found


def contents(path: Path) -> bytes:
    """Return what is in a file, decompressed."""
    if path.suffix == ".Z":
        try:
            return subprocess.run(["gzip", "-dc", path], check=True, capture_output=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            raise ValueError(
                f"{path} cannot be decompressed: use `uncompress` on it first ({error})."
            ) from error
    try:
        with OPENERS.get(path.suffix, OPENERS[""])(path) as file:
            return file.read()
    except UNREADABLE as error:
        raise ValueError(f"{path} cannot be read; is the download complete? ({error})") from error


def read_idx(data: bytes, name: str) -> np.ndarray:
    """Return the array of an IDX file (MNIST)."""
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in IDX_TYPES:
        raise ValueError(f"{name} is no IDX file.")
    n_axes = data[3]
    shape = tuple(np.frombuffer(data, ">u4", n_axes, offset=4).tolist())
    values = np.frombuffer(data, IDX_TYPES[data[2]], offset=4 + 4 * n_axes)
    if values.size != np.prod(shape):
        raise ValueError(f"{name} has {values.size} numbers in place of {np.prod(shape)}: it is cut off.")
    return values.reshape(shape)


def read_numbers(data: bytes, name: str, n_columns: int) -> np.ndarray:
    """Return the numbers of a text file with a row a line, between commas or blanks; float64."""
    lines = data.decode("ascii", errors="replace").replace(",", " ").splitlines()
    rows = [line.split() for line in lines if line.strip()]
    wrong = next((number for number, row in enumerate(rows, 1) if len(row) != n_columns), None)
    if wrong is not None or not rows:
        raise ValueError(f"{name}: row {wrong or 1} does not have {n_columns} numbers.")
    try:
        return np.array(rows, dtype=np.float64)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def read_svm(lines: Sequence[str], name: str, n_columns: int) -> tuple[sp.csr_array, list[str]]:
    """Return rows and the words before them of a LIBSVM file; columns count from 1 in it. float64."""
    labels: list[str] = []
    indices: list[int] = []
    values: list[float] = []
    starts = [0]
    for number, line in enumerate(lines, 1):
        label, *pairs = line.split() if not line[:1].isspace() else ["", *line.split()]
        try:
            for pair in pairs:
                column, value = pair.split(":")
                indices.append(int(column) - 1)
                values.append(float(value))
        except ValueError as error:
            raise ValueError(f"{name}: line {number} is not LIBSVM's format ({error}).") from error
        labels.append(label)
        starts.append(len(indices))
    if not labels or not 0 <= min(indices, default=0) <= max(indices, default=0) < n_columns:
        raise ValueError(f"{name} does not have rows of {n_columns} columns.")
    parts: Any = (np.array(values), np.array(indices, dtype=np.int64), np.array(starts, dtype=np.int64))
    return sp.csr_array(parts, shape=(len(labels), n_columns)), labels
