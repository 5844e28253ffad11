"""Graphs of nearest neighbours: the exact search against the machine's product, the approximate one against libraries.

    python -m benchmarks.graphs [--rows mnist,blobs] [--repeats 3] [--threads 2] [--only coterie,faiss] [--quick]

For each data set the time to the 10 nearest neighbours of all rows, index included, and which share of the true ones
was found (recall, over 1,000 rows).
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.graphs.contenders import EXACT, GRAPHS, OURS, run_graph, run_part
from benchmarks.harness.data import save_rows
from benchmarks.harness.measuring import isolated, limit_threads
from benchmarks.harness.reporting import Report
from benchmarks.kmeans.benchmark import MIB, SGEMM_FRACTION, TIME_HEADERS, Benchmark, Summaries, time_cells

N_NEIGHBORS = 10
RECALL, RATIO = 0.95, 3.0


@dataclass(frozen=True)
class GraphRow:
    """One data set; where an exact search of all rows takes too long, `timed` says on how many it is timed."""

    data: str
    n_rows: int
    n_columns: int
    timed: int = 0

    @property
    def title(self) -> str:
        """Return the heading of the row's table."""
        return (
            f"{self.data}, {self.n_rows:,} x {self.n_columns}, {N_NEIGHBORS} nearest neighbours of all rows"
        )


ROWS = {"mnist": GraphRow("mnist", 70_000, 784), "blobs": GraphRow("blobs", 1_000_000, 32, timed=50_000)}


class GraphBenchmark(Benchmark):
    """One run; what is common with whole fits comes from `benchmarks.kmeans`."""

    def row(self, key: str) -> None:
        """Find the neighbours of all rows of a data set, in all ways."""
        row = self._shrunk_row(ROWS[key])
        data = isolated(save_rows, row.data, row.n_rows, self.folder)

        def run(name: str, _repeat: int) -> dict[str, Any]:
            options = (data, N_NEIGHBORS, self.options.threads)
            if name == EXACT and row.timed:
                return isolated(run_part, *options, row.timed)
            return isolated(run_graph, name, *options)

        names = [name for name in self._select(GRAPHS) if not (name == "faiss exact" and row.timed)]
        # A group of its own for each: a slow one is repeated like any other.
        summaries = self._measure(f"{key}: {row.title}", names, run, group_of=lambda name: name)
        self._row_table(key, row, summaries)
        self._judge_row(key, row, summaries)

    def _row_table(self, key: str, row: GraphRow, summaries: Summaries) -> None:
        flops = 2.0 * row.n_rows**2 * row.n_columns

        def cells(name: str, s: dict[str, Any]) -> list[str]:
            rate = f"{flops / s['seconds'] / self.sgemm / 1e9:.0%}" if "exact" in name else "-"
            ratio = f"{summaries[EXACT]['seconds'] / s['seconds']:.1f}" if EXACT in summaries else "-"
            return [f"{s['recall']:.4f}", *time_cells(s), ratio, rate, f"{s['peak_bytes'] / MIB:.0f}"]

        headers = ["recall", *TIME_HEADERS, "times as fast as exact", "of sgemm", "MiB"]
        self._table(key, row.title, headers, summaries, cells)
        if row.timed:
            self.report.say(
                "", f"{EXACT}: timed on the first {row.timed:,} rows, times the ratio of the rows."
            )

    def _judge_row(self, key: str, row: GraphRow, summaries: Summaries) -> None:
        if EXACT not in summaries:
            return
        exact = summaries[EXACT]["seconds"]
        rate = 2e-9 * row.n_rows**2 * row.n_columns / exact / self.sgemm
        wanted = f">= {SGEMM_FRACTION:.0%}"
        self._judge(key, f"{EXACT}, of sgemm", wanted, f"{rate:.0%}", rate >= SGEMM_FRACTION)
        if OURS in summaries:
            s = summaries[OURS]
            ratio = exact / s["seconds"]
            self._judge(key, f"{OURS}, recall", f">= {RECALL}", f"{s['recall']:.3f}", s["recall"] >= RECALL)
            self._judge(key, f"{OURS}, times as fast", f">= {RATIO:g}", f"{ratio:.1f}", ratio >= RATIO)

    def _shrunk_row(self, row: GraphRow) -> GraphRow:
        return replace(row, n_rows=row.n_rows // 20, timed=row.timed // 20) if self.options.quick else row


STEPS: dict[str, Callable[[GraphBenchmark, str], None]] = dict.fromkeys(ROWS, GraphBenchmark.row)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graphs", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default=",".join(STEPS), help="rows to run (default: all)")
    parser.add_argument("--repeats", type=int, default=3, help="rounds (default: 3)")
    parser.add_argument("--threads", type=int, default=2, help="threads of every contender (default: 2)")
    parser.add_argument("--only", default="", help="run only contenders whose name has one of these words")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    options = parser.parse_args(arguments)
    options.rows = [key.strip() for key in options.rows.split(",")]
    unknown = [key for key in options.rows if key not in STEPS]
    if unknown or options.repeats < 1 or options.threads < 1:
        parser.error(f"rows are {', '.join(STEPS)}; repeats and threads are at least 1")
    return options


def main() -> None:
    """Run the rows that were asked for."""
    options = parse()
    limit_threads(options.threads)
    report = Report("graphs", shlex.join(["python", "-m", "benchmarks.graphs", *sys.argv[1:]]))
    with tempfile.TemporaryDirectory(prefix="coterie-benchmark-") as folder:
        benchmark = GraphBenchmark(options, Path(folder), report)
        for key in options.rows:
            STEPS[key](benchmark, key)
        benchmark.finish()


if __name__ == "__main__":
    main()
