"""Zarr arrays and groups: folders that end in .zarr."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from coterie.rows.checks import FileError, reading
from coterie.rows.formats.format import Format
from coterie.rows.formats.stored import NOTHING_WRITTEN, choose_array, listed
from coterie.rows.formats.zarr_stores import Checksums, local_store, remote_store
from coterie.rows.memory import SlicedSource, sliced
from coterie.rows.remote import RemoteFile
from coterie.rows.unchanged import SeenFolder

__all__ = ["ZARR"]


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
    """Open an array or a group, whose objects are compared with what was seen of them."""
    import zarr

    if isinstance(seen, SeenFolder):
        return zarr.open(store=local_store(str(path), seen), mode="r")
    if seen is None or isinstance(path, Path):
        return zarr.open(str(path), mode="r")
    try:
        return zarr.open(store=remote_store(path, seen), mode="r")
    except (FileNotFoundError, KeyError, zarr.errors.ContainsArrayError) as error:
        raise FileNotFoundError(f"there is no array or group of Zarr ({type(error).__name__})") from None


@contextmanager
def _array(path: Path | RemoteFile, name: str | None, seen: Checksums | SeenFolder) -> Iterator[Any]:
    with reading(path), nullcontext() if isinstance(seen, Checksums) else seen.watched():
        root = _root(path, seen)
        yield root[name] if name else root


ZARR = Format(
    "zarr",
    (".zarr",),
    _open,
    ("key",),
    library="zarr",
    install="coterie[io]",
    is_folder=True,
    elsewhere=True,
)
