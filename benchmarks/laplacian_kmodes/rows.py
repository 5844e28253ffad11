"""Rows whose classes are known, clustered by all methods with many starts; and a whole fit of a million rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import TIMES, mib_cell, number, ratio_to
from benchmarks.harness.contenders import model_of
from benchmarks.harness.data.labeled import has_labeled, save_labeled
from benchmarks.harness.measuring import clock, measured
from benchmarks.harness.rounds import Result
from benchmarks.laplacian_kmodes.contenders import (
    CONTENDERS,
    EVERYONE,
    GRAPH,
    MODE_UPDATES,
    N_NEIGHBORS,
    SEED,
    SLK_BO,
    SPECTRAL,
    Neighbors,
    Setting,
)

STARTS = 10
# The paper picks seeds and lambdas by the accuracy on a tenth of the rows, whose labels are given.
LABELED_SHARE = 0.1
BLOB_ROWS, BLOB_CLUSTERS = 1_000_000, 100
Starts = dict[str, list[float]]


@dataclass(frozen=True)
class LabeledRow:
    """A data set, how it is scaled, and the parameters of Laplacian K-modes."""

    data: str
    scaling: str
    n_clusters: int
    lam: float
    bandwidth_factor: float = 1.0
    init: str = "k-means++"

    @property
    def title(self) -> str:
        """Data and parameters."""
        wide = f", bandwidth x {self.bandwidth_factor:g}" if self.bandwidth_factor != 1 else ""
        start = f", starts from {self.init}" if self.init != "k-means++" else ""
        return f"{self.data}, {self.scaling}, {self.n_clusters} clusters, lambda {self.lam:g}{wide}{start}"


UNIT = "rows of length 1"
ROWS = {
    "mnist": LabeledRow("mnist", UNIT, 10, 1.0, init="k-means"),
    "shuttle": LabeledRow("shuttle", UNIT, 7, 2.0),
    "shuttle-columns": LabeledRow("shuttle", "columns in 0..1", 7, 4.0, 20.0),
    "optdigits": LabeledRow("optdigits", UNIT, 10, 1.3),
    "optdigits-raw": LabeledRow("optdigits", "as they are", 10, 1.3),
    "pendigits": LabeledRow("pendigits", UNIT, 10, 1.3),
    "pendigits-raw": LabeledRow("pendigits", "as they are", 10, 1.0),
    "pendigits-columns": LabeledRow("pendigits", "standardized columns", 10, 1.0),
    "digits": LabeledRow("digits", UNIT, 10, 2.0),
}


def load_labeled(data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and classes."""
    with np.load(data) as file:
        return file["X"], file["y"]


def run_graph(data: Path, n_threads: int) -> dict[str, Any]:
    """Find the neighbors of all rows, measure it and keep them beside the data."""
    X, _ = load_labeled(data)
    with measured(n_threads) as cost:
        neighbors = Neighbors.found(X, n_threads)
    neighbors.save(data)
    return vars(cost)


def run_clustering(name: str, data: Path, setting: Setting, seed: int) -> dict[str, Any]:
    """Cluster the rows, on the graph of `run_graph` where one is needed, and measure it."""
    X, y = load_labeled(data)
    run = CONTENDERS[name].call(X, Neighbors.load(data), setting, seed)
    with measured(setting.n_threads) as cost:
        labels = run()
    return vars(cost) | _scores(y, labels)


def run_starts(name: str, data: Path, setting: Setting, n_seeds: int) -> Starts:
    """Fit once for each seed, on the graph of `run_graph`.

    The lists over the seeds include `known`, the accuracy on those rows whose labels a user may know.
    """
    X, y = load_labeled(data)
    neighbors = Neighbors.load(data)
    known = np.random.default_rng(SEED).random(len(y)) < LABELED_SHARE
    results: Starts = {}
    single, seconds_by = replace(setting, n_init=1), clock(setting.n_threads)
    for seed in range(n_seeds):
        started = seconds_by()
        labels = EVERYONE[name].call(X, neighbors, single, seed)()
        result = {"seconds": seconds_by() - started, **_scores(y, labels)}
        result["known"] = _scores(y[known], labels[known])["accuracy"]
        for key, value in result.items():
            results.setdefault(key, []).append(value)
    return results


def _scores(y: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    from coterie.metrics import clustering_accuracy, normalized_mutual_info_score

    nmi = float(normalized_mutual_info_score(y, labels))
    return {"nmi": nmi, "accuracy": clustering_accuracy(y, labels)}


def measure_row(benchmark: Benchmark, key: str) -> None:
    """Cluster a data set in all ways."""
    row, threads = ROWS[key], benchmark.threads
    if not has_labeled(row.data):
        benchmark.say(f"{key}: skipped, {row.data}.npz is not in COTERIE_DATA.")
        return
    n_rows = 1500 if benchmark.quick else None
    data = benchmark.isolated(save_labeled, row.data, row.scaling, n_rows, benchmark.folder)
    setting = Setting(row.n_clusters, row.lam, STARTS, threads, row.bandwidth_factor, row.init)

    def run(name: str, repeat: int) -> Result:
        if name == GRAPH:
            return benchmark.isolated(run_graph, data, threads)
        limit = benchmark.options.limit if name == SPECTRAL else None
        return benchmark.isolated_within(limit, run_clustering, name, data, setting, repeat)

    title = f"{key}. {row.title}"
    summaries = benchmark.measure(title, [GRAPH, *benchmark.select(CONTENDERS)], run)
    columns = {"NMI": number("nmi", ".3f"), "accuracy": number("accuracy", ".3f"), **TIMES}
    benchmark.table(title, columns, summaries)
    benchmark.say(
        f"Graph: {N_NEIGHBORS} neighbors, found once. {STARTS} starts each (spectral: one), the one with the "
        "lowest objective counts; medians over the seeds of the rounds.",
    )


def run_whole(name: str, data: Path, setting: Setting) -> dict[str, Any]:
    """Measure a whole fit, the search for neighbors included, or that search alone."""
    X = np.load(data)
    if name == GRAPH:
        with measured() as cost:
            Neighbors.found(X, setting.n_threads)
        return vars(cost)
    model = model_of(
        "coterie.LaplacianKModes", setting.n_clusters, graph_weight=setting.lam, n_neighbors=N_NEIGHBORS,
        mode_update=MODE_UPDATES[name], n_init=setting.n_init, random_state=SEED, n_threads=setting.n_threads,
    )  # fmt: skip
    with measured() as cost:
        model.fit(X)
    return vars(cost)


def measure_blobs(benchmark: Benchmark, key: str) -> None:
    """Compare one start on a million rows with the search for their neighbors alone."""
    n_rows = BLOB_ROWS // (50 if benchmark.quick else 1)
    data = benchmark.data("blobs", n_rows)
    setting = Setting(BLOB_CLUSTERS, 1.3, 1, benchmark.threads)
    title = f"{key}. blobs, {n_rows:,} x 32, {BLOB_CLUSTERS} clusters, one start"
    summaries = benchmark.measure(
        title, [GRAPH, SLK_BO], lambda name, _: benchmark.isolated(run_whole, name, data, setting)
    )
    columns = {**TIMES, "of the graph alone": ratio_to(summaries, GRAPH), "MiB": mib_cell}
    benchmark.table(title, columns, summaries)
