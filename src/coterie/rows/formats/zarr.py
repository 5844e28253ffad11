"""Zarr arrays and groups: folders that end in .zarr."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from coterie.rows.checks import reading
from coterie.rows.formats.format import Format
from coterie.rows.formats.stored import choose_array, listed
from coterie.rows.memory import SlicedSource, sliced

__all__ = ["ZARR"]


def _open(path: Path, key: str | None) -> SlicedSource:
    """Open a Zarr array, or the array `key` of a Zarr group, else its only two-dimensional array."""
    import zarr

    root: Any = zarr.open(str(path), mode="r")
    if isinstance(root, zarr.Array):
        if key:
            raise ValueError(f"{path} is a single array: drop ::{key}.")
    elif key is None:
        key = choose_array({name: array.shape for name, array in root.arrays()}, None, path)
    elif key not in root or not isinstance(root[key], zarr.Array):
        raise ValueError(f"{path} has no array {key!r}. It has {listed(dict(root.arrays()))}.")
    return sliced(root[key] if key else root, partial(_array, path, key), "zarr")


@contextmanager
def _array(path: Path, name: str | None) -> Iterator[Any]:
    import zarr

    with reading(path):
        root: Any = zarr.open(str(path), mode="r")
        yield root[name] if name else root


ZARR = Format("zarr", (".zarr",), _open, ("key",), library="zarr", install="coterie[io]", is_folder=True)
