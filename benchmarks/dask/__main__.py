"""Run the benchmark of Dask clusters."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import benchmarks.dask
from benchmarks.dask.runs import CONTENDERS, ONE_WORKER, make_rows
from benchmarks.harness.benchmark import Benchmark, run_steps
from benchmarks.harness.cells import TIMES, number
from benchmarks.harness.options import SystemParser
from benchmarks.harness.rounds import Result

N_ITERATIONS = 10
# A forecast: rows, columns and clusters of a fit, threads of a machine, and bytes per second of the client's link.
WORKERS = (16, 64, 256)
FORECAST, N_THREADS, NETWORK = (80_000_000, 3072, 1000), 32, 1.25e9


def compare(benchmark: Benchmark, key: str) -> None:
    """Fit all contenders of a kind, in turns."""
    n_rows = benchmark.options.n_rows
    n_columns, n_blobs = (16, 50) if benchmark.quick else (64, 1000)
    folder = benchmark.isolated(make_rows, benchmark.folder, n_rows, n_columns, n_blobs)
    n_clusters = n_blobs * (4 if key == "mixture" else 1)
    title = f"{key}. {n_rows:,} x {n_columns}, k = {n_clusters:,}, {N_ITERATIONS} iterations"

    def run(name: str, _repeat: int) -> Result:
        # Not from a pool of processes: a cluster starts its own.
        words = map(str, (key, name, folder, n_clusters, N_ITERATIONS))
        command = [sys.executable, "-m", "benchmarks.dask.runs", *words]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout.splitlines()[-1])

    summaries = benchmark.measure(title, benchmark.select(CONTENDERS[key]), run)
    columns = {**TIMES, "inertia, or free energy per row": number("objective", ".6g")}
    benchmark.table(title, columns, summaries)
    if ONE_WORKER in summaries:
        rate = summaries[ONE_WORKER]["rate"]
        benchmark.say(f"{rate / 1e9:.1f} GFLOP/s of one thread in the first pass.")
        headers = ["", *(f"{n} workers" for n in WORKERS)]
        benchmark.report.table("Forecast of a pass", headers, list(forecast(rate)))


def forecast(rate: float) -> Iterator[list[str]]:
    """Yield lines of memory and seconds of a pass of Lloyd's algorithm, for so many operations a second and thread."""
    n, d, k = FORECAST
    yield ["rows of a worker, GiB", *(f"{4 * n * d / w / 2**30:.1f}" for w in WORKERS)]
    yield ["computing, s", *(f"{2 * n * d * k / (w * N_THREADS * rate):.1f}" for w in WORKERS)]
    # Centers in float32 to each worker, at most sums and counts of rows that move, in float64, from it.
    traveling = 4 * k * d + 16 * k * (d + 1)
    yield ["centers and sums through the client, s", *(f"{w * traveling / NETWORK:.1f}" for w in WORKERS)]


if __name__ == "__main__":
    parser = SystemParser("dask", benchmarks.dask.__doc__, list(CONTENDERS))
    parser.add("--n-rows", default=4_000_000, quick=20_000, help="rows")
    run_steps("dask", parser.read(), dict.fromkeys(CONTENDERS, compare))
