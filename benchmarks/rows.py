"""The same vectors as .npy and as list columns of Parquet files: fits of each, and what it costs to read them.

    python -m benchmarks.rows [--rows fit,pass,scaled] [--gigabytes 4] [--clusters 100] [--repeats 3] [--threads 2]
                              [--only npy] [--folder scratch] [--quick]

Row fit is a nested fit of each file, in a fresh process; row pass one reading of all blocks; row scaled a fit through
StandardScaler. The folder needs room for twice the gigabytes, and TMPDIR for once more: the copy that a fit makes of
what it would parse in every pass.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.harness.benchmark import Benchmark, Result, run_steps
from benchmarks.harness.contenders import Contender
from benchmarks.harness.measuring import measured
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import TIMES, mib_cell
from coterie import NestedMiniBatchKMeans, open_rows, prepare_rows

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
    with open(path, "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, N_COLUMNS)}
        np.lib.format.write_array_header_1_0(file, header)
        for _, block in _blocks(n_rows):
            file.write(block.data)


def _write_parquet(path: Path, n_rows: int, *, fixed_size: bool = False, **options: Any) -> None:
    import pyarrow
    from pyarrow import parquet

    kind = pyarrow.list_(pyarrow.float32(), N_COLUMNS if fixed_size else -1)
    schema = pyarrow.schema([("id", pyarrow.string()), ("embedding", kind)])
    with parquet.ParquetWriter(path, schema, **options) as writer:
        for start, block in _blocks(n_rows):
            names = pyarrow.array([f"row {start + i}" for i in range(len(block))])
            vectors = pyarrow.FixedSizeListArray.from_arrays(block.ravel(), N_COLUMNS).cast(kind)
            writer.write_table(pyarrow.table([names, vectors], schema=schema))


def run_fit(path: Path, n_clusters: int, n_threads: int, is_scaled: bool = False) -> dict[str, Any]:
    """Cluster a file by nested mini-batches, from opening it to the labels of all rows; scaled by a transformer."""
    import pyarrow.parquet  # noqa: F401  so that its memory is charged to nobody

    model = NestedMiniBatchKMeans(n_clusters, random_state=0, n_threads=n_threads)
    with measured() as cost:
        rows = open_rows(path)
        model.fit(prepare_rows(rows, StandardScaler()) if is_scaled else rows)
    return vars(cost) | {"inertia": float(model.inertia_), "n_iter": int(model.n_iter_)}


def run_pass(path: Path, _n_clusters: int, n_threads: int) -> dict[str, Any]:
    """Read all blocks of a file, checked for NaN, as `predict` does."""
    import pyarrow.parquet

    pyarrow.set_cpu_count(n_threads)
    rows = open_rows(path)
    with measured() as cost:
        total = sum(float(np.add.reduce(block[:, 0], dtype=np.float64)) for _, block in rows.blocks())
    return vars(cost) | {"inertia": total}


FITTED = ["npy", "parquet"]
# What is done, the files that it is done with, and what does it with a file and a number of clusters.
STEPS: dict[str, tuple[str, list[str], Callable[..., Result]]] = {
    "fit": ("nested fit of {size}, k = {k}", FITTED, run_fit),
    "pass": ("one pass over {size}", list(PARQUET), run_pass),
    "scaled": (
        "nested fit of {size} through StandardScaler, k = {k}",
        FITTED,
        partial(run_fit, is_scaled=True),
    ),
}


def measure(benchmark: Benchmark, key: str) -> None:
    """Compare fits or single passes of the same numbers in several files."""
    options, (what, names, call) = benchmark.options, STEPS[key]
    n_rows = int(options.gigabytes * 1e9) // (4 * N_COLUMNS)
    size = f"{options.gigabytes:g} GB ({n_rows:,} x {N_COLUMNS} float32)"
    wanted = benchmark.select(dict.fromkeys(names, Contender("coterie", call)))
    paths = {name: benchmark.isolated(write, name, n_rows, benchmark.folder) for name in wanted}

    def run(name: str, _: int) -> Result:
        return benchmark.isolated(call, paths[name], options.clusters, benchmark.threads)

    title = f"{key}. {what.format(size=size, k=options.clusters)}"
    benchmark.table(title, {**TIMES, "MiB": mib_cell}, benchmark.measure(title, wanted, run))
    for name in set(paths) - {"npy"}:
        paths[name].unlink(missing_ok=True)  # several do not fit every disk


if __name__ == "__main__":
    parser = SystemParser("rows", __doc__, list(STEPS))
    parser.add("--gigabytes", default=4.0, quick=0.02, help="size of the .npy file")
    parser.add("--clusters", default=100, quick=10, help="clusters of each fit")
    run_steps("rows", parser.read(), dict.fromkeys(STEPS, measure))
