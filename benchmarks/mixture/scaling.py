"""Seconds of an iteration against the number of components; mixtures of factor analyzers, also on held-out rows."""

import time
import warnings
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from benchmarks.harness.benchmark import Benchmark, Result
from benchmarks.harness.contenders import Contender, model_of
from benchmarks.harness.data.files import real_file
from benchmarks.harness.measuring import measured, seconds_of
from benchmarks.harness.reporting import milliseconds_cell
from benchmarks.mixture.contenders import ROWS, VC_GMM, Coreset, Setting, draw_coreset
from coterie import TruncatedGaussianMixture

SCALING_CLUSTERS = (256, 512, 1024, 2048, 4096, 8192)
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
    options |= {"n_init": 1, "max_iter": max_iter, "tol": 0, "algorithm": "lloyd"}
    return model_of(path, setting.n_clusters, **options)


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
        return benchmark.each(run_iterations, data, replace(row.setting, n_clusters=c))(method, seed)

    title = f"scaling: {row.data}, a coreset of {n_rows:,} rows, milliseconds of an iteration"
    once = {name: 1 for name, (method, _) in lines.items() if method != VC_GMM}
    summaries = benchmark.measure(title, list(lines), run, most_rounds=once)
    found = {c: {m: summaries.get(f"{m}, C = {c:,}") for m in methods} for c in sizes}
    cells = []
    for c, of_c in found.items():
        times = [milliseconds_cell(s) if s else "-" for s in of_c.values()]
        ours = of_c.get(VC_GMM)
        cells.append([f"C = {c:,}", *times, f"{ours['n_distances'] / n_rows:.1f}" if ours else "-"])
    benchmark.report.table(title, ["", *methods, "distances per row"], cells)
    benchmark.say_disturbed(summaries)
    benchmark.say(
        f"Milliseconds: means of {CYCLE} iterations, one of which searches, medians of these from the",
        f"{SETTLED_ITERATION}th on; of Lloyd's algorithm medians of the iterations after the first, from random rows;",
        "then medians over the seeds.",
    )


REG_COVAR = 1e-3


@dataclass(frozen=True)
class HeldOutSet:
    """Rows of which a sixth is held out."""

    file: str
    n_rows: int
    n_components: int
    scale: float | None  # what rows are divided by; None: columns are standardized
    n_factors: tuple[int, ...]
    is_full: bool = True  # whether scikit-learn fits full covariances

    def split(self, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Return rows to fit and rows to score, at most n_rows together."""
        X = np.load(real_file(self.file))["X"]
        X = X[np.random.RandomState(0).permutation(len(X))[: min(n_rows, self.n_rows)]].astype(np.float32)
        X = (
            X / np.float32(self.scale)
            if self.scale
            else ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
        )
        n_scored = len(X) // 6
        return X[n_scored:], X[:n_scored]


HELD_OUT = {
    "MNIST": HeldOutSet("mnist.npz", 24_000, 50, 255, (5, 10, 20), is_full=False),
    "CIFAR-10": HeldOutSet("cifar10_12k.npz", 12_000, 20, 255, (5, 10, 20), is_full=False),
    "optdigits": HeldOutSet("optdigits.npz", 5_620, 20, 16, (5, 10, 20)),
    "pendigits": HeldOutSet("pendigits.npz", 10_992, 20, 100, (4, 8, 12)),
    "shuttle": HeldOutSet("shuttle.npz", 58_000, 20, None, (1, 2, 4)),
}


def _fit_seconds(model: Any, X: np.ndarray) -> float:
    """Fit a model, which need not converge; return the CPU seconds."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    return time.process_time() - begin


def _mixture(n_components: int, covariance_type: str, n_factors: int, **others: Any) -> Any:
    return TruncatedGaussianMixture(
        n_components, covariance_type=covariance_type, n_factors=n_factors, random_state=0, n_threads=1,
        compute_labels=False, **others,
    )  # fmt: skip


def measure_factors(benchmark: Benchmark, key: str) -> None:
    rows = [line for name in HELD_OUT for line in _held_out(benchmark, name)]
    title = f"factors: mean log-likelihood of a held-out sixth, reg_covar = {REG_COVAR:g}"
    headers = ["data", "model", "fitted rows", "held-out rows", "iterations", "CPU s"]
    benchmark.report.table(title, headers, rows)


def _held_out(benchmark: Benchmark, name: str) -> list[list[str]]:
    data, rows = HELD_OUT[name], []
    if real_file(data.file) is None:
        benchmark.say(f"{data.file} is not in COTERIE_DATA.")
        return []
    fitted, scored = data.split(600 if benchmark.quick else data.n_rows)
    n_components = min(data.n_components, len(fitted) // 25)
    sizes = {"diag": 0} | {f"factors, H = {h}": h for h in data.n_factors}
    options = {"init": "afk-mc2", "reg_covar": REG_COVAR}
    models: dict[str, Any] = {
        kind: _mixture(n_components, kind.split(",")[0], h, **options) for kind, h in sizes.items()
    }
    if data.is_full:
        models["scikit-learn full"] = GaussianMixture(n_components, reg_covar=REG_COVAR, random_state=0)
    shape = f"{name}, {len(fitted) + len(scored):,} x {fitted.shape[1]:,}, C = {n_components}"
    for method, model in models.items():
        seconds = _fit_seconds(model, fitted)
        scores = [f"{model.score(part):.2f}" for part in (fitted, scored)]
        rows.append([shape, method, *scores, str(model.n_iter_), f"{seconds:.1f}"])
    return rows
