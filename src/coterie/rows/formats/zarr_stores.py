"""Stores of Zarr arrays: each object that is read is compared with what it was.

Zarr takes a chunk that is not there for one of fill values, so one that is gone must be found. Here all files are
remembered when an array is opened. Elsewhere chunks are remembered by checksums, and fetched again where a connection
breaks: Zarr's own stores of version 2 take every failure for a chunk that is not there; ours only where the server says
so.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial
from typing import Any

from coterie.rows.checks import FileError
from coterie.rows.remote import RemoteFile
from coterie.rows.unchanged import SeenFolder

__all__ = ["Checksums", "local_store", "remote_store"]


class Checksums:
    """What has been read of an array so far, so that chunks of two arrays are never mixed.

    An array is many objects, and to ask for the ETag of each would take as many requests as to read them.

    Parameters
    ----------
    path : RemoteFile
        The array, for errors.
    """

    def __init__(self, path: RemoteFile) -> None:
        self._path = path
        self._found: dict[str, int | None] = {}

    def compare(self, key: str, content: Any) -> None:
        """Compare what is found now with what was found before.

        Parameters
        ----------
        key : str
            Which object, and which of its bytes.
        content : bytes-like or None
            What it holds, None where there is none.

        Raises
        ------
        ValueError
            Where it is something else.
        """
        checksum = None if content is None else zlib.crc32(content)
        if self._found.setdefault(key, checksum) != checksum:
            raise FileError(
                f"Cannot read {self._path}: it has changed since it was opened ({key} is another). Open it again."
            )


def local_store(path: str, seen: SeenFolder) -> Any:
    """Return a store of this machine for ``zarr.open``, of version 2 or 3."""
    return _local_store_of_3(path, seen) if _is_version_3() else _local_store_of_2(path, seen)


def _local_store_of_2(path: str, seen: SeenFolder) -> Any:
    from zarr.storage import DirectoryStore  # type: ignore[attr-defined]

    class Store(DirectoryStore):
        """Zarr's own store, whose files are compared once they are read."""

        def __getitem__(self, key: str) -> Any:
            try:
                return super().__getitem__(key)
            finally:
                seen.compare(key)

        def __contains__(self, key: object) -> bool:  # chunks that are not there are never asked for
            seen.compare(str(key))
            return super().__contains__(key)

    return Store(path)


def _local_store_of_3(path: str, seen: SeenFolder) -> Any:
    from zarr.storage import LocalStore

    class Store(LocalStore):
        """Zarr's own store, whose files are compared once they are read."""

        async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
            found = await super().get(key, prototype, byte_range)
            seen.compare(key)
            return found

    return Store(path, read_only=True)


def _is_version_3() -> bool:
    import zarr

    return int(zarr.__version__.split(".")[0]) >= 3


def remote_store(path: RemoteFile, checksums: Checksums) -> Any:
    """Return a store elsewhere for ``zarr.open``, of version 2 or 3."""
    import zarr

    if _is_version_3():
        return _store_of_3(path, checksums)
    return zarr.storage.KVStore(_Chunks(path, checksums))  # type: ignore[attr-defined]


class _Chunks(Mapping[str, bytes]):
    """The objects of an array by their names, as version 2 wants them."""

    def __init__(self, path: RemoteFile, checksums: Checksums) -> None:
        self._path = path
        self._checksums = checksums
        self._file_system, self._root = path.file_system()

    def __getitem__(self, key: str) -> bytes:
        try:
            found = self._path.attempts.read(lambda: self._file_system.cat_file(f"{self._root}/{key}"))
        except FileNotFoundError:
            self._checksums.compare(key, None)
            raise KeyError(key) from None
        self._checksums.compare(key, found)
        return bytes(found)

    def __iter__(self) -> Iterator[str]:
        found = self._path.attempts.read(lambda: self._file_system.find(self._root))
        return iter(name.removeprefix(f"{self._root}/") for name in found)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _store_of_3(path: RemoteFile, checksums: Checksums) -> Any:
    from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
    from zarr.abc.store import RangeByteRequest
    from zarr.storage import FsspecStore

    class Store(FsspecStore):
        """Zarr's own store, whose reads are tried again."""

        async def list_dir(self, prefix: str) -> AsyncIterator[str]:
            listed = super().list_dir

            async def names() -> list[str]:
                return [name async for name in listed(prefix)]

            for name in await path.attempts.read_async(names):
                yield name

        async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
            read = partial(super().get, key, prototype, byte_range)
            found = await path.attempts.read_async(read)
            if found is not None and isinstance(byte_range, RangeByteRequest):
                _check_length(path, key, byte_range.end - byte_range.start, len(found))
            named = key if byte_range is None else f"{key} {byte_range}"
            checksums.compare(named, None if found is None else found.as_numpy_array())
            return found

    file_system, root = path.file_system(asynchronous=True)
    if not file_system.async_impl:
        file_system = AsyncFileSystemWrapper(file_system, asynchronous=True)
    return Store(file_system, read_only=True, path=root.rstrip("/"))


def _check_length(path: RemoteFile, key: str, expected: int, found: int) -> None:
    """Raise where a server gave another part of a file than it was asked for; those without ranges give it whole."""
    if found != expected:
        raise FileError(
            f"Cannot read {path}: of {key} {expected} bytes were wanted, and {found} came. Does its server give parts "
            "of files?"
        )
