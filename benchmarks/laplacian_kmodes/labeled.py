"""Rows whose classes are known: all methods with many starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import TIME_HEADERS, mib_cell, time_cells
from benchmarks.harness.data.labeled import has_labeled, save_labeled
from benchmarks.harness.measuring import clock, measured
from benchmarks.harness.rounds import Result, Summaries, apart
from benchmarks.laplacian_kmodes.contenders import CONTENDERS, K_MEANS, SPECTRAL
from benchmarks.laplacian_kmodes.peers import EVERYONE
from benchmarks.laplacian_kmodes.rows import ROWS, STARTS, LabeledRow
from benchmarks.laplacian_kmodes.setting import GRAPH, N_NEIGHBORS, SEED, Neighbors, Setting, load_labeled

# The paper picks seeds and lambdas by the accuracy on a tenth of the rows, whose labels are given.
LABELED_SHARE = 0.1
Starts = dict[str, list[float]]


def run_graph(data: Path, n_threads: int) -> dict[str, Any]:
    """Find the neighbors of all rows, measure it and keep them beside the data."""
    from coterie.graphs import nearest_neighbors

    X, _ = load_labeled(data)
    with measured(n_threads) as cost:
        ids, squares = nearest_neighbors(X, N_NEIGHBORS, random_state=SEED, n_threads=n_threads)
    Neighbors(ids, squares).save(data)
    return vars(cost) | {"input_bytes": X.nbytes}


def run_clustering(name: str, data: Path, setting: Setting, seed: int) -> dict[str, Any]:
    """Cluster the rows, on the graph of `run_graph` where one is needed, and measure it."""
    X, y = load_labeled(data)
    neighbors = Neighbors.load(data)
    run = CONTENDERS[name].call(X, neighbors, setting, seed)
    with measured(setting.n_threads) as cost:
        found = run()
    return vars(cost) | _scores(y, found.labels) | {"objective": found.objective}


def run_starts(name: str, data: Path, setting: Setting, n_seeds: int) -> dict[str, list[float]]:
    """Fit once for each seed, on the graph of `run_graph`.

    The lists over the seeds include `known`, the accuracy on those rows whose labels a user may know.
    """
    X, y = load_labeled(data)
    neighbors = Neighbors.load(data)
    known = np.random.default_rng(SEED).random(len(y)) < LABELED_SHARE
    results: dict[str, list[float]] = {}
    single, seconds_by = replace(setting, n_init=1), clock(setting.n_threads)
    for seed in range(n_seeds):
        started = seconds_by()
        found = EVERYONE[name].call(X, neighbors, single, seed)()
        result = {
            "seconds": seconds_by() - started,
            "objective": found.objective,
            "known": _scores(y[known], found.labels[known])["accuracy"],
            **_scores(y, found.labels),
        }
        for key, value in result.items():
            results.setdefault(key, []).append(value)
    return results


def _scores(y: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    from coterie.metrics import clustering_accuracy, normalized_mutual_info_score

    return {
        "nmi": float(normalized_mutual_info_score(y, labels)),
        "accuracy": clustering_accuracy(y, labels),
    }


# --- tables


def measure_row(benchmark: Benchmark, key: str) -> None:
    """Cluster a data set in all ways."""
    row = ROWS[key].for_options(benchmark)
    if not has_labeled(row.data):
        benchmark.report.say("", f"{key}: skipped, {row.data}.npz is not in COTERIE_DATA.")
        return
    data = benchmark.isolated(save_labeled, row.data, row.scaling, row.n_rows, benchmark.folder)
    summaries = _clusterings(benchmark, key, row, data)
    _row_table(benchmark, key, row, summaries)


def _clusterings(benchmark: Benchmark, key: str, row: LabeledRow, data: Path) -> Summaries:
    setting = row.setting(benchmark)

    def run(name: str, repeat: int) -> Result:
        if name == GRAPH:
            return benchmark.isolated(run_graph, data, benchmark.options.threads)
        if name == SPECTRAL:
            return benchmark.isolated_within(
                benchmark.options.limit, run_clustering, name, data, setting, repeat
            )
        return benchmark.isolated(run_clustering, name, data, setting, repeat)

    names = [GRAPH, *benchmark.select(CONTENDERS)]
    return benchmark.measure(f"{key}: {row.title}", names, run, group_of=apart)


def _row_table(benchmark: Benchmark, key: str, row: LabeledRow, summaries: Summaries) -> None:
    graph = summaries[GRAPH]["seconds"]

    def cells(name: str, s: Result) -> list[str]:
        if name == GRAPH:
            return ["-", "-", "-", *time_cells(s), f"{graph:.2f}", mib_cell(s)]
        objective = "-" if s["objective"] is None else f"{s['objective']:,.0f}"
        total = s["seconds"] + (0 if name == K_MEANS else graph)
        return [
            f"{s['nmi']:.3f}",
            f"{s['accuracy']:.3f}",
            objective,
            *time_cells(s),
            f"{total:.2f}",
            mib_cell(s),
        ]

    headers = ["NMI", "accuracy", "E", *TIME_HEADERS, "with graph s", "MiB"]
    benchmark.table(key, row.title, headers, summaries, cells)
    benchmark.report.say(
        "",
        f"Graph: {N_NEIGHBORS} neighbors, found once. {STARTS} starts each (spectral: one), the one with the "
        "lowest objective counts; medians over the seeds of the rounds.",
    )
