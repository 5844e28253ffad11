"""Zarr arrays and groups: folders that end in .zarr."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coterie.rows.checks import FileError
from coterie.rows.formats.format import Format, Matrix
from coterie.rows.formats.tabular import NOTHING_WRITTEN, choose_array, listed, slices


def _read(path: Path, key: str | None) -> Matrix:
    """Open a Zarr array, or the array `key` of a Zarr group, else its only two-dimensional array."""
    import zarr

    found: Any = zarr.open(str(path), mode="r")
    if isinstance(found, zarr.Array):
        if key:
            raise FileError(f"{path} is a single array: drop ::{key}.")
    else:
        if key is None:
            key = choose_array({name: array.shape for name, array in found.arrays()}, None, path)
        elif key not in found or not isinstance(found[key], zarr.Array):
            raise FileError(f"{path} has no array {key!r}. It has {listed(dict(found.arrays()))}.")
        found = found[key]
    if found.nchunks_initialized == 0:
        raise ValueError(NOTHING_WRITTEN.format(key or path.name))
    return Matrix(found.shape, found.dtype, slices(found), "zarr")


ZARR = Format("zarr", (".zarr",), _read, ("key",), library="zarr", install="coterie[io]", is_folder=True)
