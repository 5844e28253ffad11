"""Run the benchmark of Dask clusters."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import benchmarks.dask
from benchmarks.dask.runs import CONTENDERS, ONE_WORKER, make_rows
from benchmarks.harness.benchmark import Benchmark, run_steps
from benchmarks.harness.cells import TIME_HEADERS, time_cells
from benchmarks.harness.options import SystemParser, at_least
from benchmarks.harness.rounds import Result, apart

# A forecast: rows, columns and clusters of a fit, threads of a machine, and bytes per second of the client's link.
FORECAST, N_THREADS, NETWORK = (80_000_000, 3072, 1000), 32, 1.25e9


def parser() -> SystemParser:
    parser = SystemParser("dask", benchmarks.dask.__doc__, list(CONTENDERS))
    parser.add("--n-rows", type=at_least(1), default=4_000_000, quick=20_000, help="rows")
    parser.add("--columns", type=at_least(1), default=64, quick=16, help="columns")
    parser.add(
        "--clusters",
        type=at_least(1),
        default=1000,
        quick=50,
        help="clusters; components are 4 times as many",
    )
    parser.add("--iterations", type=at_least(1), default=10, help="iterations of each fit")
    return parser


def compare(benchmark: Benchmark, key: str) -> None:
    """Fit all contenders of a kind, in turns."""
    options = benchmark.options
    folder = benchmark.isolated(
        make_rows, benchmark.folder, options.n_rows, options.columns, options.clusters
    )
    n_clusters = options.clusters * (4 if key == "mixture" else 1)
    title = f"{options.n_rows:,} x {options.columns}, k = {n_clusters:,}, {options.iterations} iterations"

    def run(name: str, _repeat: int) -> Result:
        # Not from a pool of processes: a cluster starts its own.
        words = map(str, (key, name, folder, n_clusters, options.iterations))
        command = [sys.executable, "-m", "benchmarks.dask.runs", *words]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout.splitlines()[-1])

    names = benchmark.select(CONTENDERS[key])
    summaries = benchmark.measure(f"{key}: {title}", names, run, group_of=apart)
    headers = [*TIME_HEADERS, "inertia, or free energy per row"]
    benchmark.table(key, title, headers, summaries, lambda _, s: [*time_cells(s), f"{s['objective']:.6g}"])
    if ONE_WORKER in summaries:
        rate = summaries[ONE_WORKER]["rate"]
        benchmark.report.say("", f"{rate / 1e9:.1f} GFLOP/s of one thread in the first pass.")
        benchmark.report.table(
            "Forecast of a pass", ["", "16 workers", "64 workers", "256 workers"], list(forecast(rate))
        )
        benchmark.report.save()


def forecast(rate: float) -> Iterator[list[str]]:
    """Yield lines of memory and seconds of a pass of Lloyd's algorithm, for so many operations a second and thread."""
    n, d, k = FORECAST
    workers = (16, 64, 256)
    yield ["rows of a worker, GiB", *(f"{4 * n * d / w / 2**30:.1f}" for w in workers)]
    yield ["computing, s", *(f"{2 * n * d * k / (w * N_THREADS * rate):.1f}" for w in workers)]
    # Centers in float32 to each worker, at most sums and counts of rows that move, in float64, from it.
    traveling = 4 * k * d + 16 * k * (d + 1)
    yield ["centers and sums through the client, s", *(f"{w * traveling / NETWORK:.1f}" for w in workers)]


if __name__ == "__main__":
    run_steps("dask", parser().read(), dict.fromkeys(CONTENDERS, compare))
