"""The parts of an EM iteration, against the machine's product."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness.cells import milliseconds_cell
from benchmarks.harness.measuring import measured
from benchmarks.harness.rounds import Result, apart
from benchmarks.mixture.benchmark import MixtureBenchmark
from benchmarks.mixture.settings import CYCLE, QUICK, ROWS, Setting, draw_coreset

ESTEP_ROWS = {
    "blobs64": ROWS["blobs64"],
    "aug90": ROWS["aug90"],
    "mnist": ROWS["mnist"],
    "mnist, N' = 65,536": replace(ROWS["mnist"], setting=Setting(500, 65_536)),
}


def run_estep(data: Path, setting: Setting, seed: int, n_threads: int, n_iter: int = 27) -> dict[str, Any]:
    """Return the seconds of each part in the last iterations of a fit on the coreset, and of the whole iteration."""
    from benchmarks.mixture.clocked import (
        ALL,
        MOMENTS,
        N_DISTANCES,
        POSTERIORS,
        REFRESH,
        SEARCH,
        clocked_iterations,
    )

    coreset = draw_coreset(np.load(data), setting, seed, n_threads)
    with measured() as cost:
        totals = clocked_iterations(coreset, setting, seed, n_threads, n_iter)
    n_last = n_iter // 3 // CYCLE * CYCLE
    last = totals[-1 - n_last :]
    typical = {
        part: (last[-1][part] - last[0][part]) / n_last
        for part in (ALL, SEARCH, REFRESH, POSTERIORS, MOMENTS)
    }
    searches = [
        (after[SEARCH] - before[SEARCH], after[N_DISTANCES])
        for before, after in pairwise(last)
        if after[SEARCH] > before[SEARCH]
    ]
    rate = median(n_distances / seconds for seconds, n_distances in searches)
    n_rows, n_columns = coreset[0].shape
    return typical | {
        "other_seconds": cost.other_seconds * typical[ALL] / cost.seconds,
        "n_columns": n_columns,
        "distances_per_row": median(n for _, n in searches) / n_rows,
        "distances_per_second": rate,
        "gflops": 2e-9 * n_columns * rate,
    }


def measure_estep(benchmark: MixtureBenchmark, key: str) -> None:
    """Measure the parts of an iteration late in a fit."""
    wanted = {name: row for name, row in ESTEP_ROWS.items() if not benchmark.options.quick or name in QUICK}
    rows = {name: row.for_options(benchmark) for name, row in wanted.items()}
    data = {name: row.file(benchmark, name) for name, row in rows.items()}
    title = "kernels of an EM iteration on a coreset, late in the fit"

    def run(name: str, seed: int) -> Result:
        return benchmark.within_budget(
            run_estep, data[name], rows[name].setting, seed, benchmark.options.threads
        )

    summaries = benchmark.measure(title, list(rows), run, group_of=apart)
    benchmark.measure_limit()

    def cells(name: str, s: Result) -> list[str]:
        setting = rows[name].setting
        parts = ("search_seconds", "refresh_seconds", "posteriors_seconds", "moments_seconds")
        return [
            f"{s['n_columns']:.0f}",
            f"{setting.n_clusters:,}",
            f"{setting.coreset_size:,}",
            milliseconds_cell(s),
            *(f"{s[part] / s['seconds']:.0%}" for part in parts),
            f"{s['distances_per_row']:.1f}",
            f"{1e9 / s['distances_per_second']:.1f}",
            f"{s['gflops']:.1f}",
            f"{s['gflops'] / benchmark.sgemm:.1%}",
        ]

    headers = ["D", "C", "N'", "ms of an iteration", "searches", "refreshes", "posteriors", "moments"]
    headers += ["distances per row", "ns each", "GFLOP/s", "of sgemm"]
    benchmark.table(key, title, headers, summaries, cells)
    benchmark.report.say("", *ESTEP_NOTES, f"Limit: {benchmark.sgemm:.0f} GFLOP/s.")


ESTEP_NOTES = [
    "Means over the last third of 27 iterations, one in three of which searches, then medians over the seeds. Shares:",
    "of the seconds of an iteration: E-steps that search, those that do not, the components' shares of the rows with",
    "the free energy, the moments; the rest is the M-step's end. Of sgemm: 2 D for each distance that the whole",
    "searching E-step evaluates, over its seconds and the machine's rate: gathering, selecting and the renewal of",
    "neighborhoods count as nothing, so that the products alone reach more.",
]
