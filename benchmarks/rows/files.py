"""Clustered vectors like embeddings, as .npy and in Parquet as pipelines write them, and what is done with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.measuring import measured

N_COLUMNS, N_GROUPS, BLOCK_ROWS = 384, 200, 50_000

# What Parquet files may differ in: options of pyarrow's writer, and the type of the column.
_ZSTD: dict[str, Any] = {"use_dictionary": False, "compression": "zstd"}
PARQUET: dict[str, dict[str, Any]] = {
    "npy": {},
    "parquet": {},
    "parquet, plain": {"use_dictionary": False, "compression": "none"},
    "parquet, zstd": _ZSTD,
    "parquet, byte streams": _ZSTD | {"use_byte_stream_split": ["embedding.list.element"]},
    "parquet, fixed size": {"fixed_size": True},
}


def write(name: str, n_rows: int, folder: Path) -> Path:
    """Write one of `PARQUET`, unless it is there already; return its path."""
    path = folder / ("x.npy" if name == "npy" else f"{name.replace(', ', '-').replace(' ', '-')}.parquet")
    if not path.exists():
        _write_npy(path, n_rows) if name == "npy" else _write_parquet(path, n_rows, **PARQUET[name])
    return path


def _blocks(n_rows: int) -> Iterator[tuple[int, np.ndarray]]:
    random = np.random.default_rng(0)
    centers = random.standard_normal((N_GROUPS, N_COLUMNS), dtype=np.float32)
    for start in range(0, n_rows, BLOCK_ROWS):
        size = min(BLOCK_ROWS, n_rows - start)
        noise = random.standard_normal((size, N_COLUMNS), dtype=np.float32)
        yield start, centers[random.integers(N_GROUPS, size=size)] + noise


def _write_npy(path: Path, n_rows: int) -> None:
    shape = (n_rows, N_COLUMNS)
    with open(path, "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for _, block in _blocks(n_rows):
            file.write(block.data)


def _write_parquet(path: Path, n_rows: int, *, fixed_size: bool = False, **options: Any) -> None:
    import pyarrow
    from pyarrow import parquet

    numbers = pyarrow.float32()
    kind = pyarrow.list_(numbers, N_COLUMNS) if fixed_size else pyarrow.list_(numbers)
    schema = pyarrow.schema([("id", pyarrow.string()), ("embedding", kind)])
    with parquet.ParquetWriter(path, schema, **options) as writer:
        for start, block in _blocks(n_rows):
            names = pyarrow.array([f"row {start + i}" for i in range(len(block))])
            vectors = pyarrow.FixedSizeListArray.from_arrays(block.ravel(), N_COLUMNS).cast(kind)
            table = pyarrow.table([names, vectors], schema=schema)
            writer.write_table(table)


def run_fit(path: Path, n_clusters: int, n_threads: int, is_scaled: bool = False) -> dict[str, Any]:
    """Cluster a file by nested mini-batches, from opening it to the labels of all rows; scaled by a transformer."""
    import pyarrow.parquet  # noqa: F401  so that its memory is charged to nobody
    from sklearn.preprocessing import StandardScaler

    from coterie import NestedMiniBatchKMeans, open_rows, prepare_rows

    model = NestedMiniBatchKMeans(n_clusters, random_state=0, n_threads=n_threads)
    with measured() as cost:
        rows = open_rows(path)
        model.fit(prepare_rows(rows, StandardScaler()) if is_scaled else rows)
    return vars(cost) | {"inertia": float(model.inertia_), "n_iter": int(model.n_iter_)}


def run_pass(path: Path, n_threads: int) -> dict[str, Any]:
    """Read all blocks of a file, checked for NaN, as `predict` does."""
    import pyarrow.parquet

    from coterie import open_rows

    pyarrow.set_cpu_count(n_threads)
    rows = open_rows(path)
    with measured() as cost:
        total = sum(float(np.add.reduce(block[:, 0], dtype=np.float64)) for _, block in rows.blocks())
    return vars(cost) | {"inertia": total}
