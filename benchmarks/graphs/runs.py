"""The neighbors of all rows of a data set in all ways, each in a process of its own, and how many are the true ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graphs.contenders import EXACT, GRAPHS, SEED
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import TIMES, Columns, mib_cell, number
from benchmarks.harness.measuring import measured
from benchmarks.harness.rounds import Result

N_NEIGHBORS = 10
RECALL_ROWS = 1000  # whose neighbors are found exactly
WARM_UP_ROWS = 3000


def run_graph(name: str, data: Path, n_neighbors: int, n_threads: int) -> dict[str, Any]:
    """Find the neighbors of all rows and measure it; the recall is that of a sample of the rows."""
    X = np.load(data)
    find = GRAPHS[name].call
    find(X[:WARM_UP_ROWS], n_neighbors, n_threads)
    with measured() as cost:
        ids = find(X, n_neighbors, n_threads)
    return vars(cost) | {"recall": recall(X, np.asarray(ids))}


def run_part(data: Path, n_neighbors: int, n_threads: int, n_rows: int) -> dict[str, Any]:
    """Search exactly for the neighbors of the first rows among all; the seconds are those of all rows."""
    from coterie.graphs import nearest_neighbors

    X = np.load(data)
    with measured() as cost:
        ids, _ = nearest_neighbors(X, n_neighbors, queries=X[:n_rows], method="exact", n_threads=n_threads)
    share = len(X) / len(ids)
    times = {name: share * vars(cost)[name] for name in ("seconds", "cpu_seconds", "other_seconds")}
    return vars(cost) | times | {"recall": 1.0}


def recall(X: np.ndarray, ids: np.ndarray) -> float:
    """Return the share of the nearest rows that were found, over a sample; equal distances count as found."""
    from coterie.graphs import nearest_neighbors

    m = ids.shape[1]
    sample = np.sort(np.random.default_rng(SEED).choice(len(X), RECALL_ROWS, replace=False))
    _, true_squares = nearest_neighbors(X, m + 1, queries=X[sample], method="exact")
    squares = np.array(
        [np.sum((X[i].astype(np.float64) - X[found]) ** 2, axis=1) for i, found in zip(sample, ids[sample])]
    )
    # One of the m + 1 is the row itself.
    return float(np.mean(squares <= true_squares[:, m:] * (1 + 1e-6)))


@dataclass(frozen=True)
class GraphRow:
    """One data set; where an exact search of all rows takes too long, `timed` says on how many it is timed."""

    data: str
    n_rows: int
    n_columns: int
    timed: int = 0


ROWS = {"mnist": GraphRow("mnist", 70_000, 784), "blobs": GraphRow("blobs", 1_000_000, 32, timed=50_000)}


def measure_row(benchmark: Benchmark, key: str) -> None:
    """Find the neighbors of all rows of a data set, in all ways."""
    row = ROWS[key]
    if benchmark.quick:
        row = replace(row, n_rows=3000, timed=min(row.timed, 500))
    options = (benchmark.data(row.data, row.n_rows), N_NEIGHBORS, benchmark.threads)

    def run(name: str, _repeat: int) -> Result:
        if name == EXACT and row.timed:
            return benchmark.isolated(run_part, *options, row.timed)
        return benchmark.isolated(run_graph, name, *options)

    title = (
        f"{key}. {row.data}, {row.n_rows:,} x {row.n_columns}, {N_NEIGHBORS} nearest neighbors of all rows"
    )
    names = [name for name in benchmark.select(GRAPHS) if not (name == "faiss exact" and row.timed)]
    summaries = benchmark.measure(title, names, run)
    exact = summaries.get(EXACT)
    columns: Columns = {
        "recall": number("recall", ".4f"),
        **TIMES,
        "times as fast as exact": lambda s: f"{exact['seconds'] / s['seconds']:.1f}" if exact else "-",
        "MiB": mib_cell,
    }
    benchmark.table(title, columns, summaries)
    if row.timed:
        benchmark.say(f"{EXACT}: timed on the first {row.timed:,} rows, times the ratio of the rows.")
