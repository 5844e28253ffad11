"""Whole fits on a data set, each in a process of its own, and the labels of its rows."""

import copy
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark, Result, Summaries
from benchmarks.harness.contenders import model_of
from benchmarks.harness.measuring import inertia, measured, seconds_of
from benchmarks.harness.reporting import TIMES, Columns, mib_cell, number
from benchmarks.mixture.contenders import (
    CHAIN_REFERENCE,
    CORESET,
    FITS,
    OWN_ALL_ROWS,
    REFERENCE,
    ROWS,
    VAR_GMM_S,
    VC_GMM,
    MixtureRow,
    Setting,
)

# By the names of their lines: a contender, and its setting.
Points = Mapping[str, tuple[str, Setting]]


def run_fit(name: str, data: Path, setting: Setting, seed: int, n_threads: int) -> dict[str, Any]:
    """Fit one contender and measure it; its error and the seconds of its parts are measured afterwards."""
    X, tested = setting.split(np.load(data))
    fitting = FITS[name].call
    fitting(X[:2000], setting.tiny, seed, n_threads)
    with measured(n_threads) as cost:
        fit = fitting(X, setting, seed, n_threads)
    seconds = {CORESET: 0.0} | {part: seconds_of(call, n_threads) for part, call in fit.parts.items()}
    sizes = {"n_iter": int(fit.n_iter), "n_distances": fit.n_distances, "input_bytes": X.nbytes}
    return vars(cost) | seconds | sizes | {"error": inertia(tested, fit.centers) / len(tested)}


def measure_points(
    benchmark: Benchmark,
    title: str,
    data: Path,
    points: Points,
    *,
    heavy: tuple[str, ...],
    repeats: int | None = None,
    limit: float | None = None,
) -> Summaries:
    """Fit all points, each in a process of its own, `heavy` contenders once."""

    def fit(name: str, seed: int) -> Result:
        contender, setting = points[name]
        return benchmark.each(run_fit, data, setting, limit=limit)(contender, seed)

    names = [name for name, (contender, _) in points.items() if FITS[contender].installed]
    once = {name: 1 for name in names if points[name][0] in heavy}
    return benchmark.measure(title, names, fit, repeats=repeats, most_rounds=once)


def error_cell(reference: float) -> Callable[[Result], str]:
    """Return what makes a cell of the median error relative to the reference, and its quartiles."""

    def cell(s: Result) -> str:
        relative = [100 * (run["error"] / reference - 1) for run in s["each"]]
        low, middle, high = np.quantile(relative, (0.25, 0.5, 0.75))
        return f"{middle:+.2f}%" + f" ({low:+.2f} to {high:+.2f})" * (len(relative) > 1)

    return cell


def columns_of(reference: Result) -> Columns:
    """Return the columns of a table of fits, with errors relative to those of the reference."""
    distances, iterations = number("n_distances", ".2e"), number("n_iter", ".0f")
    return {
        "error": error_cell(reference["error"]),
        **TIMES,
        "distances": distances,
        "iterations": iterations,
    }


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
    points = {name: (name, row.setting) for name in names}
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
    for _ in range(LABEL_REPEATS):
        for name in ("exact", "truncated", "scikit-learn"):
            # A copy forgets what the search before has kept: the cells of the means count.
            labeling = peer if name == "scikit-learn" else copy.deepcopy(model).set_params(assignment=name)
            begin = time.perf_counter()
            found[name] = labeling.predict(X)
            seconds[name].append(time.perf_counter() - begin)
    gaps = (X - means[found[name]] for name in ("truncated", "exact"))
    truncated, exact = (float(np.einsum("ij,ij->", gap, gap, dtype=np.float64)) for gap in gaps)
    return {name: median(times) for name, times in seconds.items()} | {
        "fit": fit_seconds,
        "differ": float(np.mean(found["exact"] != found["truncated"])),
        "rise": truncated / exact - 1,
    }


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
