"""The neighbors of all rows of a data set, in all ways."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.graphs.contenders import EXACT, GRAPHS
from benchmarks.graphs.runs import run_graph, run_part
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import TIME_HEADERS, mib_cell, time_cells
from benchmarks.harness.rounds import Result, Summaries, apart

N_NEIGHBORS = 10
QUICK_ROWS, QUICK_TIMED = 3000, 500


@dataclass(frozen=True)
class GraphRow:
    """One data set; where an exact search of all rows takes too long, `timed` says on how many it is timed."""

    data: str
    n_rows: int
    n_columns: int
    timed: int = 0

    @property
    def title(self) -> str:
        return f"{self.data}, {self.n_rows:,} x {self.n_columns}, {N_NEIGHBORS} nearest neighbors of all rows"

    def for_options(self, benchmark: Benchmark) -> GraphRow:
        if not benchmark.options.quick:
            return self
        return replace(self, n_rows=QUICK_ROWS, timed=min(self.timed, QUICK_TIMED))


ROWS = {"mnist": GraphRow("mnist", 70_000, 784), "blobs": GraphRow("blobs", 1_000_000, 32, timed=50_000)}


def measure_row(benchmark: Benchmark, key: str) -> None:
    """Find the neighbors of all rows of a data set, in all ways."""
    benchmark.measure_limit()
    row = ROWS[key].for_options(benchmark)
    data = benchmark.data(row.data, row.n_rows)

    def run(name: str, _repeat: int) -> Result:
        options = (data, N_NEIGHBORS, benchmark.options.threads)
        if name == EXACT and row.timed:
            return benchmark.isolated(run_part, *options, row.timed)
        return benchmark.isolated(run_graph, name, *options)

    names = [name for name in benchmark.select(GRAPHS) if not (name == "faiss exact" and row.timed)]
    summaries = benchmark.measure(f"{key}: {row.title}", names, run, group_of=apart)
    _table(benchmark, key, row, summaries)


def _table(benchmark: Benchmark, key: str, row: GraphRow, summaries: Summaries) -> None:
    flops = 2.0 * row.n_rows**2 * row.n_columns

    def cells(name: str, s: Result) -> list[str]:
        rate = f"{flops / s['seconds'] / benchmark.sgemm / 1e9:.0%}" if "exact" in name else "-"
        ratio = f"{summaries[EXACT]['seconds'] / s['seconds']:.1f}" if EXACT in summaries else "-"
        return [f"{s['recall']:.4f}", *time_cells(s), ratio, rate, mib_cell(s)]

    headers = ["recall", *TIME_HEADERS, "times as fast as exact", "of sgemm", "MiB"]
    benchmark.table(key, row.title, headers, summaries, cells)
    if row.timed:
        benchmark.report.say(
            "", f"{EXACT}: timed on the first {row.timed:,} rows, times the ratio of the rows."
        )
