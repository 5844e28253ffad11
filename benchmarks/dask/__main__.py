"""The comparison: each contender in fresh processes, in turns; then what follows for many machines."""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.dask import __doc__ as PURPOSE
from benchmarks.dask.prediction import Cluster, Fit, prediction_lines, straggling
from benchmarks.dask.runs import RUNS

NEEDED = {
    "coterie.dask, 1 worker": "distributed",
    "coterie.dask, 2 workers": "distributed",
    "dask_ml, 2 workers": "dask_ml",
    "Spark MLlib, local[2]": "pyspark",
}


def main() -> int:
    """Print the table and the prediction; write them as JSON where asked."""
    options = read_options()
    n_rows, n_columns, k = (
        (20_000, 16, 50) if options.quick else (options.rows, options.columns, options.clusters)
    )
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        made = Path(folder)
        make_rows(made / "shards", n_rows, n_columns, k)
        found = measured(made, k, options.iterations, options.rounds, options.only)
    print(
        f"{n_rows:,} x {n_columns}, k = {k:,}, {options.iterations} iterations, medians of {options.rounds}"
    )
    print(*table(found), sep="\n")
    print(*predicted(found, n_rows, n_columns, k, options.iterations), sep="\n")
    if options.out:
        options.out.write_text(json.dumps(found, indent=2))
    return 0


def read_options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=PURPOSE)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="contenders whose names hold this")
    parser.add_argument("--quick", action="store_true", help="small, to see that all runs")
    parser.add_argument("--folder", help="where the rows are written for the time of the run")
    parser.add_argument("--out", type=Path, help="write the figures to this file too")
    return parser.parse_args()


def make_rows(folder: Path, n_rows: int, n_columns: int, k: int, n_shards: int = 8) -> None:
    """Write blobs to shards, and for Spark to Parquet beside them."""
    folder.mkdir()
    centers = np.random.default_rng(0).normal(size=(k, n_columns)).astype(np.float32) * 2
    for number, size in enumerate(np.diff(np.linspace(0, n_rows, n_shards + 1).astype(int))):
        draw = np.random.default_rng(1 + number)
        part = centers[draw.integers(k, size=size)]
        part += draw.standard_normal(part.shape, dtype=np.float32)
        np.save(folder / f"part-{number}.npy", part)
        if importlib.util.find_spec("pyspark"):
            write_parquet(folder.parent / "spark.parquet", number, part)


def write_parquet(folder: Path, number: int, part: np.ndarray) -> None:
    """Write rows as lists of doubles."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    values = pa.array(part.astype(np.float64).ravel())
    offsets = pa.array(np.arange(0, part.size + 1, part.shape[1], dtype=np.int32))
    pq.write_table(
        pa.table({"features": pa.ListArray.from_arrays(offsets, values)}), folder / f"{number}.parquet"
    )


def measured(
    folder: Path, k: int, n_iterations: int, n_rounds: int, only: str | None
) -> dict[str, list[dict]]:
    """Run all contenders that are installed in turns; return what each round of each has found."""
    names = [name for name in RUNS if not only or only in name]
    for name in [name for name in names if name in NEEDED and not importlib.util.find_spec(NEEDED[name])]:
        print(f"{name}: {NEEDED[name]} is not installed, left out")
        names.remove(name)
    found: dict[str, list[dict]] = {name: [] for name in names}
    for _ in range(n_rounds):
        for name in names:
            out = folder / "out.json"
            command = [sys.executable, "-m", "benchmarks.dask.runs", name, str(folder / "shards"), str(k)]
            done = subprocess.run([*command, str(n_iterations), str(out)], capture_output=True, text=True)
            if done.returncode:
                print(f"{name}: failed: {done.stderr.strip().splitlines()[-1]}")
            else:
                found[name].append(json.loads(out.read_text()))
    return {name: runs for name, runs in found.items() if runs}


def table(found: dict[str, list[dict]]) -> Iterator[str]:
    """Yield a line for each contender."""
    yield "| | seconds | per iteration | CPU seconds | inertia |"
    yield "|---|---:|---:|---:|---:|"
    for name, runs in found.items():
        cells = [median(runs, field) for field in ("seconds", "per_iteration", "cpu_seconds")]
        shown = " | ".join("" if cell is None else f"{cell:.2f}" for cell in cells)
        yield f"| {name} | {shown} | {runs[0]['inertia']:.6g} |"


def median(runs: list[dict], field: str) -> float | None:
    """Return the median of a field, None where it is not measured."""
    values = [run[field] for run in runs if field in run]
    return float(np.median(values)) if values else None


def predicted(
    found: dict[str, list[dict]], n_rows: int, n_columns: int, k: int, n_iterations: int
) -> Iterator[str]:
    """Yield what follows for 80,000,000 x 3,072 on 16 machines of 32 processors and 10 Gbit/s."""
    runs = found.get("coterie.dask, 1 worker")
    if not runs:
        return
    per_iteration = median(runs, "per_iteration") or float("nan")
    rate = 2.0 * n_rows * n_columns * k / per_iteration
    # Passes grow cheaper as bounds tell more, so each is compared with the same one of other rounds.
    passes = np.array([run["pass_seconds"] for run in runs])
    relative = (passes / np.median(passes, axis=0)).ravel()
    yield f"one worker of one thread: {rate / 1e9:.1f} GFLOP/s, with what bounds left out"
    yield from prediction_lines(Fit(80_000_000, 3_072, 1_000), Cluster(16, 32, rate, 1.25e9, 0.01))
    for n_workers in (16, 64, 256):
        yield f"the slowest of {n_workers} workers: {straggling(relative, n_workers):.2f} times the mean pass"


if __name__ == "__main__":
    sys.exit(main())
