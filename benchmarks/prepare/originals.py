"""Original files: where they are, and their contents."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import tarfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np


def _uncompressed(data: bytes) -> bytes:
    """Return the contents of a .Z file, which Python cannot read, by the program gzip."""
    return subprocess.run(["gzip", "-dc"], input=data, check=True, capture_output=True).stdout


OPENERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress, ".Z": _uncompressed
}  # fmt: skip
UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, subprocess.CalledProcessError)


class MissingFilesError(FileNotFoundError):
    """Files that are not among the downloads."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(", ".join(names))
        self.names = tuple(names)


class Downloads:
    """The files below some folders, by their names; compressed ones by their names without the suffix."""

    def __init__(self, *folders: Path) -> None:
        self._folders = folders

    def find(self, name: str) -> Path | None:
        """Return a file of this name, or compressed; None where there is none."""
        suffixed = [f"{name}{suffix}" for suffix in ("", *OPENERS)]
        found = [path for folder in self._folders for one in suffixed for path in sorted(folder.rglob(one))]
        return next((path for path in found if path.is_file()), None)

    def has(self, *names: str) -> bool:
        """Whether all of these are there."""
        return all(self.find(name) is not None for name in names)

    def read(self, *names: str) -> list[bytes]:
        """Return the contents of files, decompressed; the error names all that are missing."""
        paths = {name: self.find(name) for name in names}
        if missing := [name for name, path in paths.items() if path is None]:
            raise MissingFilesError(missing)
        return [_contents(path) for path in paths.values() if path is not None]

    def below(self, folder: str, pattern: str) -> list[Path]:
        """Return the files of a folder of this name that match a pattern, in order."""
        found = [path for root in self._folders for path in root.rglob(f"{folder}/{pattern}")]
        if not found:
            raise MissingFilesError([f"{folder}/{pattern}"])
        return sorted(found)

    def members(self, name: str, wanted: Sequence[str]) -> list[bytes]:
        """Return files of a tar archive by their names."""
        archive = self.find(name)
        if archive is None:
            raise MissingFilesError([name])
        try:
            with tarfile.open(archive) as tar:
                members = {Path(member.name).name: member for member in tar}
                return [tar.extractfile(members[name]).read() for name in wanted]  # type: ignore[union-attr]
        except UNREADABLE as error:
            raise ValueError(f"{archive} cannot be read; is the download complete? ({error})") from error


def _contents(path: Path) -> bytes:
    try:
        return OPENERS.get(path.suffix, bytes)(path.read_bytes())
    except UNREADABLE as error:
        raise ValueError(f"{path} cannot be read; is the download complete? ({error})") from error


def read_idx(data: bytes) -> np.ndarray:
    """Return the array of unsigned bytes of an IDX file (MNIST)."""
    if data[:3] != b"\0\0\x08":
        raise ValueError("no IDX file of unsigned bytes.")
    shape = np.frombuffer(data, ">u4", data[3], offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)
