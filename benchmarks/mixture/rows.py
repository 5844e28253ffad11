"""Whole fits on a data set, and the labels of its rows."""

from __future__ import annotations

import copy
from collections import defaultdict
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import mib_cell
from benchmarks.harness.contenders import model_of
from benchmarks.harness.measuring import seconds_of
from benchmarks.mixture.contenders import (
    CHAIN_REFERENCE,
    FITS,
    OWN_ALL_ROWS,
    REFERENCE,
    VAR_GMM_S,
    VC_GMM,
)
from benchmarks.mixture.fits import Point, columns_of, measure_points
from benchmarks.mixture.settings import ROWS, MixtureRow, Setting

HEAVY = (REFERENCE, VAR_GMM_S)
ALL_ROWS = (*HEAVY, CHAIN_REFERENCE, OWN_ALL_ROWS)
LABEL_REPEATS = 3
# What a run may take beside the fit: reading the rows, the parts once more, the error.
UNTIMED_SECONDS = 120.0


def measure_row(benchmark: Benchmark, key: str) -> None:
    """Fit all contenders to a data set; the seeding of scikit-learn takes too long on the large ones."""
    row = ROWS[key].for_options(benchmark)
    data, limit = row.file(benchmark, key), benchmark.options.budget + UNTIMED_SECONDS
    left_out = REFERENCE if row.large else CHAIN_REFERENCE
    names = [name for name in benchmark.select(FITS) if name != left_out]
    points = {name: Point(name, "", row.setting) for name in names}
    title = f"{key}. {row.title}"
    heavy = ALL_ROWS if row.large else HEAVY
    summaries = measure_points(benchmark, title, data, points, heavy=heavy, limit=limit)
    if not summaries:
        return
    reference = next(iter(summaries.values()))
    benchmark.table(title, columns_of(reference) | {"MiB": mib_cell}, summaries)
    benchmark.say(f"Reference: {reference['name']}, mean squared distance {reference['error']:.6g}.")
    if VC_GMM in summaries:
        _measure_labels(benchmark, row, data, limit)


def run_labels(data: Path, setting: Setting, n_threads: int) -> dict[str, Any]:
    """Fit vc-GMM and label all rows: exactly, by the truncated search, and by scikit-learn's k-means."""
    X = np.load(data)
    model = setting.mixture(0, n_threads, coreset_size=setting.coreset_size)
    fit_seconds = seconds_of(lambda: model.fit(X))
    means = model.means_
    peer = model_of("sklearn.cluster.KMeans", len(means), init=means, n_init=1, max_iter=1)
    peer.fit(X[: max(1000, 2 * len(means))])
    peer.cluster_centers_ = means
    found: dict[str, np.ndarray] = {}
    seconds: dict[str, list[float]] = defaultdict(list)

    def label(name: str, fitted: Any) -> None:
        found[name] = fitted.predict(X)

    for _ in range(LABEL_REPEATS):
        for name in ("exact", "truncated", "scikit-learn"):
            # A copy forgets what the search before has kept: the cells of the means count.
            ours = peer if name == "scikit-learn" else copy.deepcopy(model).set_params(assignment=name)
            seconds[name].append(seconds_of(partial(label, name, ours)))
    energies = {name: _energy(X, means, labels) for name, labels in found.items()}
    return {name: median(times) for name, times in seconds.items()} | {
        "fit": fit_seconds,
        "differ": float(np.mean(found["exact"] != found["truncated"])),
        "rise": energies["truncated"] / energies["exact"] - 1,
    }


def _energy(X: np.ndarray, centers: np.ndarray, labels: np.ndarray) -> float:
    gap = X - centers[labels]
    return float(np.einsum("ij,ij->", gap, gap, dtype=np.float64)) / len(X)


def _measure_labels(benchmark: Benchmark, row: MixtureRow, data: Path, limit: float) -> None:
    try:
        s = benchmark.isolated_within(limit, run_labels, data, row.setting, benchmark.threads)
    except TimeoutError as error:
        benchmark.say(f"Labels: {error}")
        return
    names = ("fit", "exact", "truncated", "scikit-learn")
    line = ["", *(f"{s[name]:.3f}" for name in names), f"{s['differ']:.2%}", f"{100 * s['rise']:+.3f}%"]
    headers = ["", *(f"{name} s" for name in names), "differ", "energy"]
    title = f"Labels of {row.n_rows:,} rows after {VC_GMM}, C = {row.setting.n_clusters:,}"
    benchmark.report.table(title, headers, [line])


ROW_NOTES = (
    "Error: mean squared distance of all rows to the nearest centroid or mean, relative to the reference; in",
    "parentheses the range over the seeds. Distances: of the coreset (2 n), of the seeding (AFK-MC2: n + m C (C - 1)",
    "/ 2; greedy k-means++: n and 2 + floor(log C) times n for each other center) and of the iterations (Lloyd: n C",
    "each, of which coterie's k-means evaluates fewer). MiB: peak beside the input. LWCS: lightweight coreset. Labels:",
    "of all rows; truncated: the best of the 4 sqrt(C) components around the nearest of 4 sqrt(C) cells; differ: rows",
    "with another label than the exact one.",
)
