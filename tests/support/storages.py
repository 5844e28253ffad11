"""The same numbers as arrays, in memory maps and in files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie import open_rows

IN_MEMORY = ["array", "fortran", "strided", "read-only", "pandas", "dask"]
IN_FILES = ["memory map", "npy", "csv", "parquet", "zarr", "shards"]
STORAGES = [*IN_MEMORY, *IN_FILES]

_ROW_GROUP = 333


def stored(X: np.ndarray, storage: str, folder: Path) -> Any:
    """Return rows of float64 (or, but for csv, of any type) as another thing that `fit` takes, one of `STORAGES`."""
    return in_memory(X, storage) if storage in IN_MEMORY else in_files(X, storage, folder)


def in_memory(X: np.ndarray, storage: str) -> Any:
    if storage == "array":
        return X
    if storage == "fortran":
        return np.asfortranarray(X)
    if storage == "strided":
        return np.repeat(X, 2, axis=0)[::2]
    if storage == "read-only":
        other = X.copy()
        other.flags.writeable = False
        return other
    if storage == "pandas":
        return pytest.importorskip("pandas").DataFrame(X, columns=column_names(X))
    return pytest.importorskip("dask.array").from_array(X, chunks=(_ROW_GROUP, 3))


def in_files(X: np.ndarray, storage: str, folder: Path) -> Any:
    if storage == "shards":
        parts = folder / "shards"
        parts.mkdir()
        for number, part in enumerate(np.array_split(X, 3)):
            np.save(parts / f"{number}.npy", part)
        return open_rows(parts)
    path = folder / f"rows.{'npy' if storage == 'memory map' else storage}"
    if storage == "csv":
        np.savetxt(path, X, delimiter=",", fmt="%.17g")
    elif storage == "parquet":
        frame = pytest.importorskip("pandas").DataFrame(X, columns=column_names(X))
        frame.to_parquet(path, row_group_size=_ROW_GROUP)
    elif storage == "zarr":
        zarr = pytest.importorskip("zarr")
        zarr.create_array(path, shape=X.shape, chunks=(_ROW_GROUP, 2), dtype=X.dtype)[:] = X
    else:
        np.save(path, X)
    return np.load(path, mmap_mode="r") if storage == "memory map" else open_rows(path)


def column_names(X: np.ndarray) -> list[str]:
    return [f"c{j}" for j in range(X.shape[1])]
