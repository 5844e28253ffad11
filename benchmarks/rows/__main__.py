"""Run the benchmark of files of rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import benchmarks.rows
from benchmarks.harness.benchmark import Benchmark, run_steps
from benchmarks.harness.cells import TIMES, mib_cell
from benchmarks.harness.contenders import Contender
from benchmarks.harness.options import SystemParser
from benchmarks.rows.files import N_COLUMNS, PARQUET, run_fit, run_pass, write

FITTED = ["npy", "parquet"]


def measure(benchmark: Benchmark, key: str) -> None:
    """Compare fits or single passes of the same numbers in several files."""
    options = benchmark.options
    n_rows = int(options.gigabytes * 1e9) // (4 * N_COLUMNS)
    size = f"{options.gigabytes:g} GB ({n_rows:,} x {N_COLUMNS} float32)"
    fit = partial(run_fit, n_clusters=options.clusters)
    what, names, call = {
        "fit": (f"nested fit of {size}, k = {options.clusters}", FITTED, fit),
        "scaled": (
            f"nested fit of {size} through StandardScaler, k = {options.clusters}",
            FITTED,
            partial(fit, is_scaled=True),
        ),
        "pass": (f"one pass over {size}", list(PARQUET), run_pass),
    }[key]
    wanted = benchmark.select(dict.fromkeys(names, Contender("coterie", call)))
    paths = {name: benchmark.isolated(write, name, n_rows, benchmark.folder) for name in wanted}

    def run(name: str, _repeat: int) -> dict[str, Any]:
        return benchmark.isolated(call, paths[name], n_threads=benchmark.threads)

    title = f"{key}. {what}"
    summaries = benchmark.measure(title, wanted, run)
    benchmark.table(title, {**TIMES, "MiB": mib_cell}, summaries)
    for name in set(paths) - {"npy"}:
        paths[name].unlink(missing_ok=True)  # several do not fit every disk


if __name__ == "__main__":
    parser = SystemParser("rows", benchmarks.rows.__doc__, ["fit", "pass", "scaled"])
    parser.add("--gigabytes", default=4.0, quick=0.02, help="size of the .npy file")
    parser.add("--clusters", default=100, quick=10, help="clusters of each fit")
    run_steps("rows", parser.read(), dict.fromkeys(("fit", "pass", "scaled"), measure))
