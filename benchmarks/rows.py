"""Reading tables beside pyarrow, and fits of files of vectors; writes docs/benchmarks/rows.md.

    python -m benchmarks.rows [--gigabytes 4] [--repeats 3] [--folder scratch] [--quick]

The folder needs room for twice the gigabytes, and TMPDIR for once more: the rows of the fit in little memory.
"""

import os
import re
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

import numpy as np

from benchmarks.harness.measuring import Processes, measured
from benchmarks.harness.reporting import DOCS, MIB, command_line, machine_facts, markdown_table
from coterie import NestedMiniBatchKMeans, open_rows, prepare_rows

PAGE = """# Files

```console
$ {command}
```

{machine}. CPU seconds of {rounds}, each run in a fresh process{beside}.

## Reading

`open_rows` beside the reader of pyarrow and a copy to one array; columns of float64.

{read}

## Fits

`NestedMiniBatchKMeans` with k = {k} of {shape} float32 numbers in 200 noisy groups, from opening the file to the labels
of all rows. Parquet, written by pyarrow with its defaults, has a column of lists and one of ids. Its rows land in
memory; above a quarter of what is free, and scaled with `COTERIE_MEMORY=1GB`, in a temporary file. Peaks are of
memory that the process allocated, without pages of mapped files, which the system takes back when it needs them.

{fit}
"""
N_COLUMNS, N_GROUPS, BLOCK_ROWS = 384, 200, 50_000


def write_vectors(folder: Path, n_rows: int) -> None:
    """Write the same vectors as .npy and as a column of lists of Parquet."""
    import pyarrow
    from pyarrow import parquet

    random = np.random.default_rng(0)
    centers = random.standard_normal((N_GROUPS, N_COLUMNS), dtype=np.float32)
    kind = pyarrow.list_(pyarrow.float32())
    schema = pyarrow.schema([("id", pyarrow.string()), ("embedding", kind)])
    with open(folder / "x.npy", "wb") as file, parquet.ParquetWriter(folder / "x.parquet", schema) as writer:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, N_COLUMNS)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n_rows, BLOCK_ROWS):
            size = min(BLOCK_ROWS, n_rows - start)
            block = centers[random.integers(N_GROUPS, size=size)]
            block += random.standard_normal(block.shape, dtype=np.float32)
            file.write(block.data)
            vectors = pyarrow.FixedSizeListArray.from_arrays(block.ravel(), N_COLUMNS).cast(kind)
            names = pyarrow.array([f"row {start + i}" for i in range(size)])
            writer.write_table(pyarrow.table([names, vectors], schema=schema))


def write_tables(folder: Path, divide: int) -> None:
    """Write a long table as CSV and Parquet, and a wide one as CSV."""
    import pyarrow
    from pyarrow import csv, parquet

    for name, n_rows, n_columns in (("long", 400_000 // divide, 50), ("wide", 50, 20_000 // divide)):
        X = np.random.default_rng(0).normal(size=(n_columns, n_rows))
        table = pyarrow.table(list(X), names=[f"c{i}" for i in range(n_columns)])
        csv.write_csv(table, folder / f"{name}.csv")
        parquet.write_table(table, folder / f"{name}.parquet")


def read(path: Path, is_ours: bool) -> dict[str, Any]:
    """Read a table to an array, by `open_rows` or by pyarrow."""
    import pyarrow.csv
    import pyarrow.parquet

    open_rows(path.with_name("wide.parquet"))  # imports what is needed
    with measured() as cost:
        if is_ours:
            rows = open_rows(path)
            total = sum(float(block[:, 0].sum()) for _, block in rows.blocks())
        else:
            reader = pyarrow.csv.read_csv if path.suffix == ".csv" else pyarrow.parquet.read_table
            total = float(_copied(reader(path))[:, 0].sum())
    return vars(cost) | {"total": total}


def _copied(table: Any) -> np.ndarray:
    array = np.empty(table.shape)
    for i, column in enumerate(table.columns):
        array[:, i] = column.to_numpy()
    return array


def fit(path: Path, k: int, n_threads: int, is_scaled: bool) -> dict[str, Any]:
    """Cluster a file by nested mini-batches; if scaled, through StandardScaler and in little memory."""
    import pyarrow.parquet  # noqa: F401  so that its memory is charged to nobody

    if is_scaled:
        os.environ["COTERIE_MEMORY"] = "1GB"
    model = NestedMiniBatchKMeans(k, random_state=0, n_threads=n_threads)
    held, ended = [_allocated()], Event()
    sampler = Thread(target=lambda: [held.append(_allocated()) for _ in iter(lambda: ended.wait(0.01), True)])
    sampler.start()
    with measured() as cost:
        model.fit(prepare_rows(path, scale="standard") if is_scaled else open_rows(path))
    ended.set()
    sampler.join()
    return vars(cost) | {"total": float(model.inertia_), "peak_bytes": max(held) - held[0]}


def _allocated() -> int:
    """Return the memory that this process allocated and has touched, in bytes."""
    return int(re.search(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text())[1]) * 1024  # type: ignore[index]


def in_turns(repeats: int, runs: dict[str, Callable[[], dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Run each of several so many times in turns; yield the medians."""
    rounds = [{name: run() for name, run in runs.items()} for _ in range(repeats)]
    for name in runs:
        yield {key: median(found[name][key] for found in rounds) for key in rounds[0][name]}


def main() -> None:
    parser = ArgumentParser("python -m benchmarks.rows", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=4.0, help="size of the .npy file")
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where data are written (default: the temporary folder)")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, once, in one process; writes no page"
    )
    options = parser.parse_args()
    if options.quick:
        options.gigabytes, options.clusters, options.repeats = 0.02, 10, 1
    n_rows = int(options.gigabytes * 1e9) // (4 * N_COLUMNS)
    with (
        TemporaryDirectory(prefix="coterie-benchmark-", dir=options.folder) as name,
        closing(Processes(kept=options.quick)) as processes,
    ):
        folder = Path(name)
        processes.run(write_tables, folder, 20 if options.quick else 1)
        processes.run(write_vectors, folder, n_rows)
        lines = []
        for path in (folder / "long.csv", folder / "wide.csv", folder / "long.parquet"):
            ours, theirs = in_turns(
                options.repeats,
                {
                    who: lambda p=path, w=who: processes.run(read, p, w == "ours")
                    for who in ("ours", "pyarrow")
                },
            )
            assert np.isclose(ours["total"], theirs["total"])
            cpu = [ours["cpu_seconds"], theirs["cpu_seconds"]]
            shape = " x ".join(f"{n:,}" for n in open_rows(path).shape)
            lines.append([f"{path.suffix}, {shape}", *(f"{s:.2f}" for s in cpu), f"{cpu[0] / cpu[1]:.2f}"])
        kinds = {
            ".npy": ("x.npy", False),
            "Parquet": ("x.parquet", False),
            "Parquet, scaled": ("x.parquet", True),
        }
        runs = {
            name: lambda f=file, s=s: processes.run(fit, folder / f, options.clusters, options.threads, s)
            for name, (file, s) in kinds.items()
        }
        found = list(in_turns(options.repeats, runs))
        assert found[0]["total"] == found[1]["total"]  # bit-identical
        is_disturbed = any(one["other_seconds"] > 0.1 * one["seconds"] for one in found)
        fits = [
            [name, f"{one['cpu_seconds']:.1f}", f"{one['peak_bytes'] / MIB:,.0f}"]
            for name, one in zip(runs, found)
        ]
    facts = machine_facts()
    page = PAGE.format(
        command=command_line("rows"),
        machine=f"{facts['cpu']}, {facts['cores']} cores, pyarrow {version('pyarrow')}",
        rounds="one round" if options.repeats == 1 else f"{options.repeats} rounds in turns, medians",
        beside=", beside other work" * is_disturbed,
        k=options.clusters,
        shape=f"{n_rows:,} vectors of {N_COLUMNS}",
        read="\n".join(markdown_table(["file", "coterie, CPU s", "pyarrow, CPU s", "ratio"], lines)),
        fit="\n".join(markdown_table(["file", "CPU s", "peak memory, MiB"], fits)),
    )
    print(page)
    if not options.quick:
        (DOCS / "benchmarks" / "rows.md").write_text(page)


if __name__ == "__main__":
    main()
