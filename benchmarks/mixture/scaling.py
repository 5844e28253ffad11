"""Seconds of an iteration against the number of components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.cells import milliseconds_cell
from benchmarks.harness.contenders import Contender
from benchmarks.harness.measuring import measured, seconds_of
from benchmarks.harness.rounds import Result, Summaries, apart
from benchmarks.mixture.benchmark import MixtureBenchmark
from benchmarks.mixture.contenders import VC_GMM
from benchmarks.mixture.settings import (
    CYCLE,
    ROWS,
    SETTLED_ITERATION,
    Coreset,
    MixtureRow,
    Setting,
    draw_coreset,
)

SCALING_ROW = ROWS["blobs64"]
SCALING_CLUSTERS = (256, 512, 1024, 2048, 4096, 8192)
SLOPE_FROM = 512

Curves = Mapping[str, list[tuple[int, float]]]  # number of components and seconds, by method


def _mixture_iterations(coreset: Coreset, setting: Setting, seed: int, n_threads: int, n_iter: int) -> Any:
    model = setting.mixture(seed, n_threads, max_iter=n_iter, tol=0).fit(coreset[0], sample_weight=coreset[1])
    history = model.history_[SETTLED_ITERATION - 1 :]
    # One of the iterations of a cycle searches.
    seconds = np.diff(history["seconds"][::CYCLE]) / CYCLE
    return seconds, float(np.mean(history["n_distances"][1 : 1 + CYCLE * len(seconds)]))


def _coterie_iterations(coreset: Coreset, setting: Setting, seed: int, n_threads: int, n_iter: int) -> Any:
    from coterie import KMeans

    model = KMeans(
        setting.n_clusters,
        init="random",
        n_init=1,
        max_iter=n_iter,
        tol=0,
        algorithm="lloyd",
        random_state=seed,
        n_threads=n_threads,
    ).fit(coreset[0], sample_weight=coreset[1])
    return np.diff(model.history_["seconds"]), float(len(coreset[0])) * setting.n_clusters


def _scikit_learn_iterations(
    coreset: Coreset, setting: Setting, seed: int, n_threads: int, n_iter: int
) -> Any:
    from sklearn.cluster import KMeans

    rows, weights = coreset
    start = rows[np.sort(np.random.default_rng(seed).choice(len(rows), setting.n_clusters, replace=False))]

    def fitted(most: int) -> tuple[float, int]:
        model = KMeans(setting.n_clusters, init=start, n_init=1, max_iter=most, tol=0, algorithm="lloyd")
        return seconds_of(partial(model.fit, rows, sample_weight=weights)), model.n_iter_

    # Two fits that differ by so many iterations; the rest, checks and labels, is the same.
    seconds = []
    for _ in range(2):
        (few_seconds, few), (many_seconds, many) = fitted(1), fitted(n_iter)
        seconds.append((many_seconds - few_seconds) / (many - few))
    return seconds, float(len(rows)) * setting.n_clusters


ITERATIONS: dict[str, Contender] = {
    VC_GMM: Contender("coterie", partial(_mixture_iterations, n_iter=20)),
    "coterie lloyd": Contender("coterie", partial(_coterie_iterations, n_iter=5)),
    "scikit-learn lloyd": Contender("sklearn", partial(_scikit_learn_iterations, n_iter=5)),
}


def run_iterations(name: str, data: Path, setting: Setting, seed: int, n_threads: int) -> dict[str, Any]:
    """Return the typical seconds of an iteration on the coreset, and the distances that it evaluates."""
    rows, weights = coreset = draw_coreset(np.load(data), setting, seed, n_threads)
    iterate = ITERATIONS[name].call
    iterate((rows[:2000], None if weights is None else weights[:2000]), setting.tiny, seed, n_threads)
    with measured() as cost:
        seconds, n_distances = iterate(coreset, setting, seed, n_threads)
    typical = float(np.median(seconds))
    # What is disturbed is judged by the seconds that count.
    other = cost.other_seconds * typical / cost.seconds
    return {"seconds": typical, "other_seconds": other, "n_distances": n_distances}


# --- tables


def measure_scaling(benchmark: MixtureBenchmark, key: str) -> None:
    """Compare iterations for growing numbers of components."""
    row = SCALING_ROW.for_options(benchmark)
    data = row.file(benchmark, key)
    n_rows = row.setting.coreset_size
    sizes = [c for c in SCALING_CLUSTERS if not benchmark.options.quick or 8 * c <= n_rows]
    settings = {
        f"{method}, C = {c:,}": (method, replace(row.setting, n_clusters=c))
        for c in sizes
        for method in benchmark.select(ITERATIONS)
    }
    title = f"scaling: {row.data}, a coreset of {n_rows:,} rows, milliseconds of an iteration"

    def run(name: str, seed: int) -> Result:
        method, setting = settings[name]
        return benchmark.within_budget(run_iterations, method, data, setting, seed, benchmark.options.threads)

    heavy = [name for name, (method, _) in settings.items() if method != VC_GMM]
    summaries = benchmark.measure(
        title,
        list(settings),
        run,
        group_of=apart,
        most_rounds=dict.fromkeys(heavy, benchmark.options.heavy_seeds),
    )
    _table(benchmark, title, n_rows, sizes, summaries)
    curves: dict[str, list[tuple[int, float]]] = {}
    for name, (method, setting) in settings.items():
        if name in summaries:
            curves.setdefault(method, []).append((setting.n_clusters, summaries[name]["seconds"]))
    _say_slopes(benchmark, curves)
    benchmark.picture(lambda path: _draw(curves, row, benchmark.options.threads, path))


def _table(
    benchmark: MixtureBenchmark, title: str, n_rows: int, sizes: Sequence[int], summaries: Summaries
) -> None:
    rows = []
    for c in sizes:
        found = {method: summaries.get(f"{method}, C = {c:,}") for method in ITERATIONS}
        ours = found[VC_GMM]
        cells = [milliseconds_cell(s) if s else "-" for s in found.values()]
        per_row = f"{ours['n_distances'] / n_rows:.1f}" if ours else "-"
        ratios = [
            f"{s['seconds'] / ours['seconds']:.1f}" if s and ours else "-"
            for method, s in found.items()
            if method != VC_GMM
        ]
        rows.append([f"C = {c:,}", *cells, per_row, *ratios])
    ratio_headers = [f"ratio {method}" for method in ITERATIONS if method != VC_GMM]
    headers = ["", *ITERATIONS, "distances per row", *ratio_headers]
    benchmark.report.table(title, headers, rows)
    benchmark.say_disturbed(summaries)


def _say_slopes(benchmark: MixtureBenchmark, curves: Curves) -> None:
    slopes = {method: _slope(points) for method, points in curves.items()}
    benchmark.report.data["scaling"] = {"curves": curves, "slopes": slopes}
    benchmark.report.say(
        "",
        f"Log-log slope from C = {SLOPE_FROM} on (least squares): "
        + ", ".join(f"{method} {slope:.2f}" for method, slope in slopes.items())
        + ".",
        f"Milliseconds: means of {CYCLE} iterations, one of which searches, medians of these from the",
        f"{SETTLED_ITERATION}th on; of Lloyd's algorithm medians of the iterations after the first, from random",
        "rows; then medians over the seeds.",
    )


def _slope(points: Sequence[tuple[int, float]]) -> float:
    """Return the slope of log seconds against log C from `SLOPE_FROM` on (from the first where that is all)."""
    points = [point for point in points if point[1] > 0]  # differences may be lost in noise
    chosen = [point for point in points if point[0] >= SLOPE_FROM]
    if len(chosen) < 2:
        chosen = points
    if len(chosen) < 2:
        return float("nan")
    c, seconds = np.log(np.array(chosen)).T
    return float(np.polyfit(c, seconds, 1)[0])


def _draw(curves: Curves, row: MixtureRow, n_threads: int, path: Path) -> None:
    from coterie.plotting import plot_curves

    axes = plot_curves(
        {name: ([c for c, _ in points], [1000 * s for _, s in points]) for name, points in curves.items()},
        xlabel="components C",
        ylabel="milliseconds of an iteration",
        title=f"{row.data}, a coreset of {row.setting.coreset_size:,} rows, {n_threads} threads",
    )
    axes.set_xticks(SCALING_CLUSTERS, [str(c) for c in SCALING_CLUSTERS])
    axes.figure.savefig(path)
