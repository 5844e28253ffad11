"""Seconds of an iteration against the number of components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import milliseconds_cell
from benchmarks.harness.contenders import Contender, model_of
from benchmarks.harness.measuring import measured, seconds_of
from benchmarks.harness.rounds import Result
from benchmarks.mixture.contenders import VC_GMM
from benchmarks.mixture.settings import ROWS, Coreset, Setting, draw_coreset

SCALING_CLUSTERS = (256, 512, 1024, 2048, 4096, 8192)
SLOPE_FROM = 512
# One in so many EM iterations searches; from which iteration on such a cycle costs what the next ones cost.
CYCLE, SETTLED_ITERATION = 3, 5
# Of the fits: of vc-GMM, and of Lloyd's algorithm.
N_ITER, N_ITER_LLOYD = 20, 5


def _mixture_iterations(coreset: Coreset, setting: Setting, seed: int, n_threads: int) -> Any:
    model = setting.mixture(seed, n_threads, max_iter=N_ITER, tol=0).fit(coreset[0], sample_weight=coreset[1])
    history = model.history_[SETTLED_ITERATION - 1 :]
    # One of the iterations of a cycle searches.
    seconds = np.diff(history["seconds"][::CYCLE]) / CYCLE
    return seconds, float(np.mean(history["n_distances"][1 : 1 + CYCLE * len(seconds)]))


def _lloyd(path: str, setting: Setting, max_iter: int, **options: Any) -> Any:
    return model_of(
        path, setting.n_clusters, n_init=1, max_iter=max_iter, tol=0, algorithm="lloyd", **options
    )


def _coterie_iterations(coreset: Coreset, setting: Setting, seed: int, n_threads: int) -> Any:
    options = {"init": "random", "random_state": seed, "n_threads": n_threads}
    model = _lloyd("coterie.KMeans", setting, N_ITER_LLOYD, **options)
    history = model.fit(coreset[0], sample_weight=coreset[1]).history_
    return np.diff(history["seconds"]), float(len(coreset[0])) * setting.n_clusters


def _scikit_learn_iterations(coreset: Coreset, setting: Setting, seed: int, n_threads: int) -> Any:
    rows, weights = coreset
    start = rows[np.sort(np.random.default_rng(seed).choice(len(rows), setting.n_clusters, replace=False))]

    def fitted(most: int) -> tuple[float, int]:
        model = _lloyd("sklearn.cluster.KMeans", setting, most, init=start)
        return seconds_of(partial(model.fit, rows, sample_weight=weights)), model.n_iter_

    # Two fits that differ by so many iterations; the rest, checks and labels, is the same.
    seconds = []
    for _ in range(2):
        (few_seconds, few), (many_seconds, many) = fitted(1), fitted(N_ITER_LLOYD)
        seconds.append((many_seconds - few_seconds) / (many - few))
    return seconds, float(len(rows)) * setting.n_clusters


ITERATIONS: dict[str, Contender] = {
    VC_GMM: Contender("coterie", _mixture_iterations),
    "coterie lloyd": Contender("coterie", _coterie_iterations),
    "scikit-learn lloyd": Contender("sklearn", _scikit_learn_iterations),
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


def measure_scaling(benchmark: Benchmark, key: str) -> None:
    """Compare iterations for growing numbers of components."""
    row = ROWS["blobs64"].for_options(benchmark)
    data, n_rows = row.file(benchmark, key), row.setting.coreset_size
    sizes = [c for c in SCALING_CLUSTERS if not benchmark.quick or 8 * c <= n_rows]
    methods = benchmark.select(ITERATIONS)
    lines = {f"{method}, C = {c:,}": (method, c) for c in sizes for method in methods}

    def run(name: str, seed: int) -> Result:
        method, c = lines[name]
        setting = replace(row.setting, n_clusters=c)
        return benchmark.isolated(run_iterations, method, data, setting, seed, benchmark.threads)

    title = f"scaling: {row.data}, a coreset of {n_rows:,} rows, milliseconds of an iteration"
    once = {name: 1 for name, (method, _) in lines.items() if method != VC_GMM}
    summaries = benchmark.measure(title, list(lines), run, most_rounds=once)
    found = {
        c: {m: summaries[f"{m}, C = {c:,}"] for m in methods if f"{m}, C = {c:,}" in summaries} for c in sizes
    }
    cells = [
        [
            f"C = {c:,}",
            *(milliseconds_cell(of_c[method]) if method in of_c else "-" for method in methods),
            f"{of_c[VC_GMM]['n_distances'] / n_rows:.1f}" if VC_GMM in of_c else "-",
        ]
        for c, of_c in found.items()
    ]
    benchmark.report.table(title, ["", *methods, "distances per row"], cells)
    benchmark.say_disturbed(summaries)
    curves = {m: [(c, of_c[m]["seconds"]) for c, of_c in found.items() if m in of_c] for m in methods}
    slopes = ", ".join(f"{method} {_slope(points):.2f}" for method, points in curves.items())
    benchmark.say(
        f"Log-log slope from C = {SLOPE_FROM} on (least squares): {slopes}. Milliseconds: means of {CYCLE} iterations,",
        f"one of which searches, medians of these from the {SETTLED_ITERATION}th on; of Lloyd's algorithm medians of",
        "the iterations after the first, from random rows; then medians over the seeds.",
    )
    title = f"{row.data}, a coreset of {n_rows:,} rows, {benchmark.threads} threads"
    benchmark.draw("scaling", lambda path: _draw(curves, title, path))


def _slope(points: Sequence[tuple[int, float]]) -> float:
    """Return the slope of log seconds against log C from `SLOPE_FROM` on (from the first where that is all)."""
    points = [point for point in points if point[1] > 0]  # differences may be lost in noise
    chosen = [point for point in points if point[0] >= SLOPE_FROM]
    c, seconds = np.log(np.array(chosen if len(chosen) > 1 else points)).T
    return float(np.polyfit(c, seconds, 1)[0])


def _draw(curves: dict[str, list[tuple[int, float]]], title: str, path: Path) -> None:
    from coterie.plotting import plot_curves

    lines = {name: ([c for c, _ in points], [1000 * s for _, s in points]) for name, points in curves.items()}
    axes = plot_curves(lines, xlabel="components C", ylabel="milliseconds of an iteration", title=title)
    axes.set_xticks(SCALING_CLUSTERS, [str(c) for c in SCALING_CLUSTERS])
    axes.figure.savefig(path)
