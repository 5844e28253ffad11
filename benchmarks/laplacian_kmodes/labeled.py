"""Rows whose classes are known: all methods with many starts, then Laplacian K-modes with single ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import TIME_HEADERS, mib_cell, time_cells
from benchmarks.harness.data.labeled import has_labeled, save_labeled
from benchmarks.harness.measuring import clock, measured
from benchmarks.harness.rounds import Result, Summaries, apart
from benchmarks.laplacian_kmodes.contenders import CONTENDERS, K_MEANS, MODE_UPDATES, SPECTRAL
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

    Returns
    -------
    dict
        Lists over the seeds: `objective`, `nmi`, `accuracy`, `seconds`, and `known`, the accuracy on those rows whose
        labels a user may know.
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
    """Cluster a data set in all ways, then with single starts."""
    row = ROWS[key].for_options(benchmark)
    if not has_labeled(row.data):
        benchmark.report.say("", f"{key}: skipped, {row.data}.npz is not in COTERIE_DATA.")
        return
    data = benchmark.isolated(save_labeled, row.data, row.scaling, row.n_rows, benchmark.folder)
    summaries = _clusterings(benchmark, key, row, data)
    _row_table(benchmark, key, row, summaries)
    _judge_row(benchmark, key, row, summaries)
    if benchmark.options.seeds:
        _spread(benchmark, key, row, data)


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


def _judge_row(benchmark: Benchmark, key: str, row: LabeledRow, summaries: Summaries) -> None:
    found = [name for name in MODE_UPDATES if name in summaries]
    for name in found if row.wanted else ():
        s, (nmi, accuracy) = summaries[name], row.wanted or (0.0, 0.0)
        met = s["nmi"] >= nmi and s["accuracy"] >= accuracy
        what = f"{name}, lowest objective, NMI / accuracy"
        benchmark.judge(
            key, what, f">= {nmi:.2f} / {accuracy:.2f}", f"{s['nmi']:.3f} / {s['accuracy']:.3f}", met
        )


def _spread(benchmark: Benchmark, key: str, row: LabeledRow, data: Path) -> None:
    """Single starts: how far they differ, and which one is picked by the objective or by some labels."""
    setting = row.setting(benchmark)
    lines, kept = [], {}
    for name in (name for name in benchmark.select(CONTENDERS) if name in MODE_UPDATES):
        for lam in row.lambdas:
            options = (name, data, replace(setting, lam=lam), benchmark.options.seeds)
            kept[f"{name}, lambda {lam:g}"] = starts = benchmark.isolated(run_starts, *options)
            lines.append([f"{name}, lambda {lam:g}", *_spread_cells(starts)])
    benchmark.report.data["rows"][f"{key}: starts"] = kept
    headers = ["NMI (range)", "accuracy (range)", "lowest E", "10% labels", "seconds a start"]
    title = f"{row.data}, {row.scaling}: {benchmark.options.seeds} single starts"
    benchmark.report.table(f"{key}. {title}", ["", *headers], lines)
    for name in MODE_UPDATES:
        runs = [starts for tag, starts in kept.items() if tag.startswith(name)]
        if len(runs) > 1:
            best = {column: [value for run in runs for value in run[column]] for column in runs[0]}
            picked = _pick(best, max, "known")
            benchmark.report.say(
                "", f"{name}, lambda and seed by {LABELED_SHARE:.0%} of the labels: {picked}"
            )
            _judge_labels(benchmark, key, name, row, picked)
    benchmark.report.save()


def _judge_labels(benchmark: Benchmark, key: str, name: str, row: LabeledRow, picked: str) -> None:
    if row.wanted is None:
        return
    met = all(float(value) >= wanted for value, wanted in zip(picked.split(" / "), row.wanted))
    what = f"{name}, {LABELED_SHARE:.0%} of the labels, NMI / accuracy"
    benchmark.judge(key, what, ">= {:.2f} / {:.2f}".format(*row.wanted), picked, met)


def _spread_cells(starts: Starts) -> list[str]:
    def spread(name: str) -> str:
        values = starts[name]
        return f"{median(values):.3f} ({min(values):.3f}-{max(values):.3f})"

    picks = (_pick(starts, min, "objective"), _pick(starts, max, "known"))
    return [spread("nmi"), spread("accuracy"), *picks, f"{median(starts['seconds']):.2f}"]


def _pick(starts: Starts, best: Callable[..., int], column: str) -> str:
    """Return NMI and accuracy of the start that is best in a column."""
    chosen = best(range(len(starts[column])), key=starts[column].__getitem__)
    return f"{starts['nmi'][chosen]:.3f} / {starts['accuracy'][chosen]:.3f}"
