"""Run the benchmark of files of rows."""

from __future__ import annotations

from functools import partial

import benchmarks.rows
from benchmarks.harness.benchmark import Benchmark, run_steps
from benchmarks.harness.cells import MIB, TIME_HEADERS, time_cells
from benchmarks.harness.contenders import Contender
from benchmarks.harness.options import SystemParser, above_zero, at_least
from benchmarks.harness.rounds import Result, Summaries, apart
from benchmarks.rows.files import N_COLUMNS, PARQUET, write
from benchmarks.rows.runs import run_fit, run_pass

FITTED = ["npy", "parquet", "parquet, one row group"]


def parser() -> SystemParser:
    parser = SystemParser("rows", benchmarks.rows.__doc__, ["fit", "pass", "scaled"])
    parser.add("--gigabytes", type=above_zero, default=4.0, quick=0.02, help="size of the .npy file")
    parser.add("--clusters", type=at_least(1), default=100, quick=10, help="clusters of each fit")
    parser.add("--seed", type=int, default=0, help="of the fits")
    return parser


def measure_fits(benchmark: Benchmark, key: str) -> None:
    """Compare fits of the same numbers in several files."""
    options = benchmark.options
    title = f"nested fit of {_size(benchmark)}, k = {options.clusters}"
    fit = partial(run_fit, n_clusters=options.clusters, seed=options.seed, n_threads=options.threads)
    _measure(benchmark, key, title, FITTED, fit)


def measure_scaled_fits(benchmark: Benchmark, key: str) -> None:
    """Compare fits through a transformer."""
    options = benchmark.options
    title = f"nested fit of {_size(benchmark)} through StandardScaler, k = {options.clusters}"
    fit = partial(
        run_fit, n_clusters=options.clusters, seed=options.seed, n_threads=options.threads, is_scaled=True
    )
    _measure(benchmark, key, title, FITTED[:2], fit)


def measure_passes(benchmark: Benchmark, key: str) -> None:
    """Compare single passes, by encoding and compression."""
    title = f"one pass over {_size(benchmark)}"
    _measure(benchmark, key, title, list(PARQUET), partial(run_pass, n_threads=benchmark.options.threads))


def _measure(benchmark: Benchmark, key: str, title: str, names: list[str], call: partial) -> Summaries:
    wanted = benchmark.select(dict.fromkeys(names, Contender("coterie", call)))
    paths = {name: benchmark.isolated(write, name, _n_rows(benchmark), benchmark.folder) for name in wanted}

    def run(name: str, _repeat: int) -> Result:
        return benchmark.isolated(call, paths[name])

    summaries = benchmark.measure(f"{key}: {title}", wanted, run, group_of=apart)

    def cells(name: str, s: Result) -> list[str]:
        ratios = ["-"] * 3
        if "npy" in summaries:
            npy = summaries["npy"]
            fields = ("seconds", "cpu_seconds", "peak_bytes")
            ratios = [f"{s[field] / npy[field]:.2f}" if npy[field] else "-" for field in fields]
        size = paths[name].stat().st_size / 1e9
        return [f"{size:.2f}", *time_cells(s), f"{s['peak_bytes'] / MIB:.0f}", *ratios]

    headers = ["GB", *TIME_HEADERS, "MiB", "seconds / npy", "CPU / npy", "MiB / npy"]
    benchmark.table(key, title, headers, summaries, cells)
    for name in set(paths) - {"npy"}:
        paths[name].unlink(missing_ok=True)  # several do not fit every disk
    return summaries


def _n_rows(benchmark: Benchmark) -> int:
    return int(benchmark.options.gigabytes * 1e9) // (4 * N_COLUMNS)


def _size(benchmark: Benchmark) -> str:
    return f"{benchmark.options.gigabytes:g} GB ({_n_rows(benchmark):,} x {N_COLUMNS} float32)"


STEPS = {"fit": measure_fits, "pass": measure_passes, "scaled": measure_scaled_fits}

if __name__ == "__main__":
    run_steps("rows", parser().read(), STEPS)
