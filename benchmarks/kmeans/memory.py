"""Row f: memory beside the input, and a file larger than what may be held."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import MIB, TIME_HEADERS, time_cells
from benchmarks.harness.contenders import Contender
from benchmarks.harness.data.tables import save_huge
from benchmarks.harness.measuring import measured, peak_memory
from benchmarks.harness.rounds import Result
from benchmarks.kmeans.fits import FITS, run_fit
from benchmarks.kmeans.rows import FIT_ROWS

LEAST_MEMORY, MEMORY_FRACTION = "coterie lloyd", 0.15
HUGE_CLUSTERS, HUGE_ITERATIONS, HUGE_BYTES = 100, 3, 700e6
QUICK_HUGE_ROWS = 20_000


def run_huge(path: Path, reader: str, n_clusters: int, max_iter: int, n_threads: int) -> dict[str, Any]:
    """Fit a file without loading it; the peak is what lies above the interpreter with coterie imported."""
    from coterie import KMeans, open_rows

    rows = open_rows(path) if reader == "open_rows" else np.load(path, mmap_mode="r")
    model = KMeans(
        n_clusters, init="random", n_init=1, max_iter=max_iter, tol=0, random_state=0, n_threads=n_threads
    )
    with measured() as cost:
        model.fit(rows)
    return vars(cost) | {"n_iter": int(model.n_iter_), "process_peak_bytes": peak_memory()}


# --- tables


def measure_memory(benchmark: Benchmark, key: str) -> None:
    """Compare the peaks of whole fits."""
    benchmark.measure_limit()
    row = replace(FIT_ROWS["a"], max_iter=10).for_options(benchmark)
    data, centers = row.files(benchmark)
    title = f"memory beside the input: {row.title}"

    def run(name: str, _repeat: int) -> Result:
        threads = benchmark.options.threads
        return benchmark.isolated(run_fit, name, data, centers, row.max_iter, threads, memory=True)

    summaries = benchmark.measure(f"{key}: {title}", benchmark.select(FITS), run, repeats=1)

    def cells(name: str, s: Result) -> list[str]:
        return [f"{s['peak_bytes'] / MIB:.1f}", f"{s['peak_bytes'] / s['input_bytes']:.1%}"]

    benchmark.table(key, title, ["MiB", "of the input"], summaries, cells)
    if LEAST_MEMORY in summaries:
        s = summaries[LEAST_MEMORY]
        fraction = s["peak_bytes"] / s["input_bytes"]
        what, met = f"{LEAST_MEMORY}, of the input", fraction < MEMORY_FRACTION
        benchmark.judge(key, what, "< 15%", f"{fraction:.1%}", met)
    if benchmark.options.huge:
        _measure_huge(benchmark, key)


def _measure_huge(benchmark: Benchmark, key: str) -> None:
    path = save_huge(benchmark.folder, *((QUICK_HUGE_ROWS,) if benchmark.options.quick else ()))
    size = path.stat().st_size / 1e9
    title = f"a file of {size:.1f} GB, k = {HUGE_CLUSTERS}, {HUGE_ITERATIONS} iterations, random init"
    readers = {reader: Contender("coterie", run_huge) for reader in ("open_rows", "memory map")}

    def run(reader: str, _repeat: int) -> Result:
        sizes = (HUGE_CLUSTERS, HUGE_ITERATIONS, benchmark.options.threads)
        return benchmark.isolated(run_huge, path, reader, *sizes)

    summaries = benchmark.measure(f"{key}: {title}", benchmark.select(readers), run, repeats=1)
    path.unlink()

    def cells(name: str, s: Result) -> list[str]:
        return [*time_cells(s), f"{s['peak_bytes'] / 1e6:.0f}", f"{s['process_peak_bytes'] / 1e6:.0f}"]

    headers = [*TIME_HEADERS, "MB beyond the interpreter", "MB of the process"]
    benchmark.table(key, title, headers, summaries, cells)
    for reader, s in summaries.items():
        peak = s["peak_bytes"]
        benchmark.judge(key, f"{reader}, resident", "< 700 MB", f"{peak / 1e6:.0f} MB", peak < HUGE_BYTES)
