"""Zarr arrays and groups: folders that end in .zarr."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from coterie.rows.checks import FileError, reading
from coterie.rows.formats.format import Format
from coterie.rows.formats.tabular import NOTHING_WRITTEN, choose_array, listed
from coterie.rows.memory import SlicedSource, sliced
from coterie.rows.remote import RemoteFile
from coterie.rows.unchanged import SeenFolder


class Checksums:
    """Checksums of the objects of an array that have been read, so that chunks of two versions are never mixed.

    An array has many objects, and requests for their ETags would be as many as for their content.
    """

    def __init__(self, path: RemoteFile) -> None:
        self._path = path
        self._found: dict[str, int | None] = {}

    def compare(self, key: str, content: Any) -> None:
        """Raise a ValueError if an object, or a range of its bytes, has another content (None: none) than before."""
        checksum = None if content is None else zlib.crc32(content)
        if self._found.setdefault(key, checksum) != checksum:
            raise FileError(
                f"Cannot read {self._path}: it has changed since it was opened ({key} has other contents). Open it "
                "again."
            )


def _local_store(path: str, seen: SeenFolder) -> Any:
    from zarr.storage import LocalStore

    class Store(LocalStore):
        """Zarr's local store, with comparison of the files that are read."""

        async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
            found = await super().get(key, prototype, byte_range)
            seen.compare(key)
            return found

    return Store(path, read_only=True)


def _remote_store(path: RemoteFile, checksums: Checksums) -> Any:
    from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
    from zarr.abc.store import RangeByteRequest
    from zarr.storage import FsspecStore

    class Store(FsspecStore):
        """Zarr's remote store, with retries."""

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
                wanted = byte_range.end - byte_range.start
                if len(found) != wanted:  # servers without ranges return the whole file
                    raise FileError(
                        f"Cannot read {path}: of {key} {wanted} bytes were wanted, and {len(found)} came. Does its "
                        "server give parts of files?"
                    )
            named = key if byte_range is None else f"{key} {byte_range}"
            checksums.compare(named, None if found is None else found.as_numpy_array())
            return found

    file_system, root = path.file_system(asynchronous=True)
    if not file_system.async_impl:
        file_system = AsyncFileSystemWrapper(file_system, asynchronous=True)
    return Store(file_system, read_only=True, path=root.rstrip("/"))


def _open(path: Path | RemoteFile, key: str | None) -> SlicedSource:
    """Open a Zarr array, or the array `key` of a Zarr group, else its only two-dimensional array."""
    import zarr

    checksums = Checksums(path) if isinstance(path, RemoteFile) else None
    root = _root(path, checksums)
    if isinstance(root, zarr.Array):
        if key:
            raise FileError(f"{path} is a single array: drop ::{key}.")
    elif key is None:
        shapes = {name: array.shape for name, array in root.arrays()}
        if not shapes and isinstance(path, RemoteFile):
            raise FileError(
                f"{path} lists no arrays, which web servers never do: choose one by {path}::name."
            )
        key = choose_array(shapes, None, path)
    elif key not in root or not isinstance(root[key], zarr.Array):
        raise FileError(f"{path} has no array {key!r}. It has {listed(dict(root.arrays()))}.")
    if not isinstance(path, RemoteFile) and (root[key] if key else root).nchunks_initialized == 0:
        raise ValueError(NOTHING_WRITTEN.format(key or path.name))
    seen = checksums or SeenFolder(Path(str(path)), (key or "").strip("/"))
    if isinstance(seen, SeenFolder):
        root = _root(path, seen)
    return sliced(root[key] if key else root, partial(_array, path, key, seen), "zarr")


def _root(path: Path | RemoteFile, seen: Checksums | SeenFolder | None) -> Any:
    """Open an array or a group, with comparison of its objects between reads."""
    import zarr

    if isinstance(seen, SeenFolder):
        return zarr.open(store=_local_store(str(path), seen), mode="r")
    if seen is None or isinstance(path, Path):
        return zarr.open(str(path), mode="r")
    try:
        return zarr.open(store=_remote_store(path, seen), mode="r")
    except (FileNotFoundError, KeyError, zarr.errors.ContainsArrayError) as error:
        raise FileNotFoundError(f"there is no array or group of Zarr ({type(error).__name__})") from None


@contextmanager
def _array(path: Path | RemoteFile, name: str | None, seen: Checksums | SeenFolder) -> Iterator[Any]:
    with reading(path), nullcontext() if isinstance(seen, Checksums) else seen.watched(only_errors=True):
        root = _root(path, seen)
        yield root[name] if name else root


ZARR = Format(
    "zarr", (".zarr",), _open, ("key",), library="zarr", install="coterie[io]", is_folder=True, elsewhere=True
)
