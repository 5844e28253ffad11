"""The comparison: each contender in fresh processes, in turns; then what follows for many machines."""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from benchmarks.dask import __doc__ as PURPOSE
from benchmarks.dask.prediction import Cluster, Fit, prediction_lines, straggling, traveling_seconds
from benchmarks.dask.runs import RUNS

NEEDED = {
    "coterie.dask, 1 worker": "distributed",
    "coterie.dask, 2 workers": "distributed",
    "coterie.dask from files, 1 worker": "distributed",
    "coterie.dask from files, 2 workers": "distributed",
    "dask_ml, 2 workers": "dask_ml",
    "Spark MLlib, local[2]": "pyspark",
}


def main() -> int:
    """Print the table and the prediction; write them as JSON where asked."""
    options = read_options()
    n_rows, n_columns, k = (
        (20_000, 16, 50) if options.quick else (options.rows, options.columns, options.clusters)
    )
    before = json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
    if options.predict:
        print(*predicted(before, n_rows, n_columns, k), sep="\n")
        return 0
    with ExitStack() as stack:
        made = Path(options.made or stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder)))
        if not (made / "shards").exists():
            make_rows(made / "shards", n_rows, n_columns, k)
        found = measured(made, k, options)
    found = {name: before.get(name, []) + found.get(name, []) for name in before | found}
    print(
        f"{n_rows:,} x {n_columns}, k = {k:,} (C = {4 * k:,} of mixtures), {options.iterations} iterations, medians of "
        f"{max(map(len, found.values()), default=0)}"
    )
    print(*table(found), sep="\n")
    print(*predicted(found, n_rows, n_columns, k), sep="\n")
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
    parser.add_argument("--only", help="contenders whose names begin with this")
    parser.add_argument("--made", help="folder whose rows are used, or made where there are none, and kept")
    parser.add_argument("--predict", action="store_true", help="only what follows from the figures in --out")
    parser.add_argument("--quick", action="store_true", help="small, to see that all runs")
    parser.add_argument("--folder", help="where the rows are written for the time of the run")
    parser.add_argument("--out", type=Path, help="add the figures to this file, and show all that it has")
    return parser.parse_args()


def make_rows(folder: Path, n_rows: int, n_columns: int, k: int, n_shards: int = 8) -> None:
    """Write blobs to shards, and for Spark to Parquet beside them."""
    folder.mkdir(parents=True)
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


def measured(folder: Path, k: int, options: argparse.Namespace) -> dict[str, list[dict]]:
    """Run all contenders that are installed in turns; return what each round of each has found."""
    names = [name for name in RUNS if name.startswith(options.only or "")]
    for name in [name for name in names if name in NEEDED and not importlib.util.find_spec(NEEDED[name])]:
        print(f"{name}: {NEEDED[name]} is not installed, left out")
        names.remove(name)
    found: dict[str, list[dict]] = {name: [] for name in names}
    for _ in range(options.rounds):
        for name in names:
            out, n_clusters = folder / "out.json", 4 * k if name.startswith("vc-GMM") else k
            numbers = [str(n_clusters), str(options.iterations)]
            command = [sys.executable, "-m", "benchmarks.dask.runs", name, str(folder / "shards")]
            done = subprocess.run([*command, *numbers, str(out)], capture_output=True, text=True)
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
    values = [run[field] for run in runs if field in run and np.isfinite(run[field])]
    return float(np.median(values)) if values else None


def predicted(found: dict[str, list[dict]], n_rows: int, n_columns: int, k: int) -> Iterator[str]:
    """Yield what follows for 80,000,000 x 3,072 on 16 machines of 32 processors and 10 Gbit/s."""
    runs = found.get("coterie.dask, 1 worker")
    if not runs:
        yield "Nothing is predicted without figures of coterie.dask with 1 worker: give them by --out."
        return
    passes = np.array([run["pass_seconds"] for run in runs])
    # The first pass has no bounds yet: nothing is left out.
    rate = 2.0 * n_rows * n_columns * k / float(np.median([run["first_pass"] for run in runs]))
    yield f"one worker of one thread: {rate / 1e9:.1f} GFLOP/s in a pass that leaves nothing out"
    waits = [
        seconds for run in found.get("a pass that computes nothing", []) for seconds in run["pass_seconds"]
    ]
    latency = float(np.median(waits)) if waits else 0.01
    yield f"a pass that computes nothing: {1e3 * latency:.1f} ms ({len(waits)} measured)"
    fit = Fit(80_000_000, 3_072, 1_000)
    yield from prediction_lines(fit, Cluster(16, 32, rate, 1.25e9, latency))
    for n_workers in (64, 256):
        yield f"{n_workers} workers: {traveling_seconds(fit, n_workers, 1.25e9):.1f} s traveling a pass"
    if waits:
        for n_workers in (16, 64, 256):
            worst = straggling(waits, n_workers) * float(np.mean(waits))
            yield f"{n_workers} workers: the slowest answer of a pass comes after {1e3 * worst:.1f} ms in the mean"
    if len(passes) > 1:
        # Passes grow cheaper as bounds tell more, so each is compared with the same one of other rounds.
        relative = (passes / np.median(passes, axis=0)).ravel()
        for n_workers in (16, 64, 256):
            yield f"{n_workers} workers: the slowest takes {straggling(relative, n_workers):.2f} times the mean pass"


if __name__ == "__main__":
    sys.exit(main())
