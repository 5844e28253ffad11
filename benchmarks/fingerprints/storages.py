"""Everything that rows are read from, and cases of each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask.array
import h5py
import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp
import zarr
from pyarrow import feather, parquet

import coterie
from benchmarks.fingerprints.data import blobs
from benchmarks.fingerprints.runs import Case, Cases, fitted
from coterie import KMeans, MiniBatchKMeans, NestedMiniBatchKMeans

Array = npt.NDArray[Any]

# Of what is stored in chunks.
CHUNK_ROWS, CHUNK_COLUMNS = 700, 3


def storage_cases() -> Cases:
    """The same rows, from memory and from files."""
    X = blobs(3_000, 8)

    def made(make: Callable[[Array], Any]) -> Case:
        return lambda: read_and_fitted(make(X))

    return {
        **{name: made(make) for name, make in IN_MEMORY.items()},
        **{f"file {kind}": partial(from_file, kind, X, read_and_fitted) for kind in FILES},
        "memory map": partial(from_memory_map, X, read_and_fitted),
        "float32": made(lambda X: coterie.as_rows(X, dtype=np.float32)),
        "other paths": partial(from_other_paths, X),
    }


def read_and_fitted(X: Any) -> dict[str, Any]:
    """Return what a source says, blocks and rows of it, and k-means of all kinds on it."""
    rows = coterie.as_rows(X)
    models = KMeans(6, n_init=2), NestedMiniBatchKMeans(6, batch_size=400), MiniBatchKMeans(6, batch_size=200)
    return {
        "facts": facts_of(rows),
        "blocks": list(rows.blocks(400)),
        "rows": rows.take([0, 0, 1, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, rows.shape[0] - 1]),
        "models": [fitted(model, X, X, "predict", "score") for model in models],
    }


def facts_of(rows: coterie.RowSource) -> list[Any]:
    """Return what a source says of itself."""
    return [rows.shape, rows.dtype.str, rows.is_sparse, rows.is_table, rows.column_names, rows.description]


def from_file(kind: str, X: Array, use: Callable[[coterie.RowSource], Any]) -> Any:
    """Write a file of a kind of `FILES`, open it, and return what a function makes of it."""
    name, write = FILES[kind]
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path, X)
        return use(coterie.open_rows(path))


def from_memory_map(X: Array, use: Callable[[Array], Any]) -> Any:
    """Write a file, map it, and return what a function makes of the map."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, X)
        return use(np.load(path, mmap_mode="r"))


def from_other_paths(X: Array) -> list[Any]:
    """Read a glob, an array of a file that has several, and some columns of a table."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_shards(folder / "shards", X)
        np.savez(folder / "two.npz", vectors=X, others=X[::2])
        opened = [
            coterie.open_rows(folder / "shards" / "part-*.parquet"),
            coterie.open_rows(f"{folder}/two.npz::others"),
            coterie.open_rows(folder / "shards", columns=["c3", "c0"]),
        ]
        return [[facts_of(rows), rows.read(), fitted(KMeans(4), rows)] for rows in opened]


# --- writers


def arrow_table(X: Array) -> pa.Table:
    """Return a table with named columns."""
    return pa.table({f"c{j}": column for j, column in enumerate(X.T)})


def write_parquet(path: Path, X: Array) -> None:
    """Write row groups."""
    parquet.write_table(arrow_table(X), path, row_group_size=CHUNK_ROWS)


def write_shards(path: Path, X: Array) -> None:
    """Write a folder of Parquet files of unequal lengths; by name the last would come first."""
    path.mkdir()
    for number, part in enumerate(np.split(X, [500, 2_000]), start=8):
        write_parquet(path / f"part-{number}.parquet", part)


def write_feather(path: Path, X: Array) -> None:
    """Write record batches."""
    feather.write_feather(arrow_table(X), str(path), chunksize=CHUNK_ROWS)


def write_arrow(path: Path, X: Array) -> None:
    """Write a stream."""
    table = arrow_table(X)
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=CHUNK_ROWS)


def write_h5(path: Path, X: Array) -> None:
    """Write chunks of a data set."""
    with h5py.File(path, "w") as file:
        file.create_dataset("vectors", data=X, chunks=(CHUNK_ROWS, CHUNK_COLUMNS))


def write_zarr(path: Path, X: Array) -> None:
    """Write chunks."""
    array = zarr.create_array(path, shape=X.shape, chunks=(CHUNK_ROWS, CHUNK_COLUMNS), dtype=X.dtype)
    array[:] = X


def write_svm(path: Path, X: Array) -> None:
    """Write lines of column:value."""
    lines = (" ".join(f"{j}:{value!r}" for j, value in enumerate(row, 1)) for row in X.tolist())
    path.write_text("".join(f"0 {line}\n" for line in lines))


def write_csv(path: Path, X: Array) -> None:
    """Write all digits of numbers, with a header."""
    header = ",".join(f"c{j}" for j in range(X.shape[1]))
    np.savetxt(path, X, delimiter=",", header=header, comments="", fmt="%.17g")


def write_tsv(path: Path, X: Array) -> None:
    """Write all digits of numbers, without a header."""
    np.savetxt(path, X, delimiter="\t", fmt="%.17g")


# Kind -> name of the file and its writer.
FILES: dict[str, tuple[str, Callable[[Path, Array], Any]]] = {
    "npy": ("rows.npy", np.save),
    "npy, fortran order": ("rows.npy", lambda path, X: np.save(path, np.asfortranarray(X))),
    "npz": ("rows.npz", np.savez),
    "npz, compressed": ("rows.npz", np.savez_compressed),
    "npz, sparse": ("rows.npz", lambda path, X: sp.save_npz(path, sp.csr_array(X))),
    "csv": ("rows.csv", write_csv),
    "tsv": ("rows.tsv", write_tsv),
    "parquet": ("rows.parquet", write_parquet),
    "parquet shards": ("shards", write_shards),
    "feather": ("rows.feather", write_feather),
    "arrow": ("rows.arrow", write_arrow),
    "zarr": ("rows.zarr", write_zarr),
    "h5": ("rows.h5", write_h5),
    "svm": ("rows.svm", write_svm),
}

# Kind -> what is made of an array.
IN_MEMORY: dict[str, Callable[[Array], Any]] = {
    "array": np.array,
    "fortran order": np.asfortranarray,
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "big endian": lambda X: X.astype(">f8"),
    "list": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]),
    "polars": lambda X: pl.from_arrow(arrow_table(X)),
    "pyarrow": arrow_table,
    "dask": lambda X: dask.array.from_array(X, chunks=(CHUNK_ROWS, CHUNK_COLUMNS)),
    "csr": sp.csr_array,
    "csc": sp.csc_array,
}
