"""Rows a to d: whole fits, and f, their memory, by the k-means of coterie and of its peers behind one face.

Peers are asked for the same work: every row, the same number of iterations, no subsampling, no early stop,
and the same initial centroids wherever a peer takes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import MIB, TIME_HEADERS, memory_cell, ratio_cell, time_cells
from benchmarks.harness.contenders import EVERY_ROW, SUPERKMEANS_ALL_ROWS, Contender
from benchmarks.harness.measuring import measured
from benchmarks.harness.quality import inertia
from benchmarks.harness.rounds import Result, Summaries
from benchmarks.kmeans.rows import FIT_ROWS, FitRow

COTERIE_ALGORITHMS = ("auto", "lloyd", "elkan", "yinyang", "hamerly")
OURS = "coterie auto"
REFERENCE = "scikit-learn lloyd"


@dataclass
class Fit:
    """What a contender's fit returned; `label` is the extra pass that gives labels where the fit did not."""

    centers: np.ndarray
    n_iter: int
    label: Callable[[], object] | None = None


def _coterie_fit(X: np.ndarray, centers: np.ndarray, max_iter: int, n_threads: int, *, algorithm: str) -> Fit:
    from coterie import KMeans

    model = KMeans(
        n_clusters=len(centers),
        init=centers,
        n_init=1,
        max_iter=max_iter,
        tol=0,
        algorithm=algorithm,
        n_threads=n_threads,
    ).fit(X)
    return Fit(model.cluster_centers_, model.n_iter_)


def _scikit_learn_fit(
    X: np.ndarray, centers: np.ndarray, max_iter: int, n_threads: int, *, algorithm: str
) -> Fit:
    from sklearn.cluster import KMeans

    model = KMeans(len(centers), init=centers, n_init=1, max_iter=max_iter, tol=0, algorithm=algorithm).fit(X)
    return Fit(model.cluster_centers_, model.n_iter_)


def _intelex_fit(X: np.ndarray, centers: np.ndarray, max_iter: int, n_threads: int) -> Fit:
    from sklearnex.cluster import KMeans

    model = KMeans(len(centers), init=centers, n_init=1, max_iter=max_iter, tol=0, n_jobs=n_threads).fit(X)
    return Fit(model.cluster_centers_, model.n_iter_)


def _faiss_fit(X: np.ndarray, centers: np.ndarray, max_iter: int, n_threads: int) -> Fit:
    import faiss

    return _faiss_trained(faiss.Kmeans, X, centers, max_iter, n_threads, init_centroids=centers)


def _faiss_super_fit(X: np.ndarray, centers: np.ndarray, max_iter: int, n_threads: int) -> Fit:
    import faiss

    return _faiss_trained(faiss.SuperKmeans, X, centers, max_iter, n_threads)


def _faiss_trained(
    kind: Any, X: np.ndarray, centers: np.ndarray, max_iter: int, n_threads: int, **start: Any
) -> Fit:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    model = kind(
        X.shape[1], len(centers), niter=max_iter, max_points_per_centroid=EVERY_ROW, min_points_per_centroid=1
    )
    model.train(X, **start)
    return Fit(model.centroids, len(model.iteration_stats), partial(model.assign, X))


def _superkmeans_fit(X: np.ndarray, centers: np.ndarray, max_iter: int, n_threads: int) -> Fit:
    from superkmeans import SuperKMeans

    model = SuperKMeans(len(centers), X.shape[1], iters=max_iter, n_threads=n_threads, **SUPERKMEANS_ALL_ROWS)
    found = model.train(X)
    return Fit(found, max_iter, partial(model.assign_training_points, X, found))


FITS: dict[str, Contender] = {
    # First, because its number of iterations and its inertia are what the others are held to.
    REFERENCE: Contender("sklearn", partial(_scikit_learn_fit, algorithm="lloyd")),
    **{f"coterie {a}": Contender("coterie", partial(_coterie_fit, algorithm=a)) for a in COTERIE_ALGORITHMS},
    "scikit-learn elkan": Contender("sklearn", partial(_scikit_learn_fit, algorithm="elkan")),
    "scikit-learn-intelex": Contender("sklearnex", _intelex_fit),
    "faiss": Contender("faiss", _faiss_fit, converges=False),
    "faiss SuperKmeans": Contender("faiss", _faiss_super_fit, takes_centers=False, converges=False),
    "superkmeans": Contender("superkmeans", _superkmeans_fit, takes_centers=False, converges=False),
}


def run_fit(
    name: str, data: Path, first_centers: Path, max_iter: int, n_threads: int, memory: bool = False
) -> dict[str, Any]:
    """Fit one contender and measure it; `memory` is for runs whose peak matters more than their seconds.

    The inertia is computed afterwards, by the same function for all.
    """
    contender = FITS[name]
    X, centers = np.load(data), np.load(first_centers)
    if memory:  # import everything, but leave no buffers that the measured fit would find ready
        contender.call(X[:64], centers[:2].copy(), 1, n_threads)
    else:  # start thread pools and choose code paths too
        contender.call(X[: max(1000, 4 * len(centers))], centers.copy(), 1, n_threads)
    with measured() as cost:
        fit = contender.call(X, centers, max_iter, n_threads)
    result = vars(cost) | {"n_iter": int(fit.n_iter), "has_labels": fit.label is None}
    if fit.label is not None:
        with measured() as label_cost:
            fit.label()
        result |= {"label_seconds": label_cost.seconds, "label_cpu_seconds": label_cost.cpu_seconds}
    return result | {"inertia": inertia(X, np.asarray(fit.centers)), "input_bytes": X.nbytes}


# --- tables


def measure_fit(benchmark: Benchmark, key: str) -> None:
    """Compare whole fits."""
    benchmark.measure_limit()
    row = FIT_ROWS[key].for_options(benchmark)
    data, centers = row.files(benchmark)
    iterations = row.max_iter

    def run(name: str, repeat: int) -> Result:
        nonlocal iterations
        limit = row.max_iter if FITS[name].converges else iterations
        result = benchmark.isolated(run_fit, name, data, centers, limit, benchmark.options.threads)
        if name == REFERENCE:
            iterations = result["n_iter"]
        return result

    summaries = benchmark.measure(f"{key}: {row.title}", _contenders(benchmark, row), run)
    n_entries = data.stat().st_size // 4  # float32
    _table(benchmark, key, row, summaries, flops=2.0 * n_entries * row.n_clusters)


def _contenders(benchmark: Benchmark, row: FitRow) -> list[str]:
    names = benchmark.select(FITS)
    left_out = [name for name in names if name in row.skip]
    if left_out:
        benchmark.report.say("", "Left out, bounds of rows x clusters are too large: " + ", ".join(left_out))
    return [name for name in names if name not in left_out]


def _table(benchmark: Benchmark, key: str, row: FitRow, summaries: Summaries, flops: float) -> None:
    reference: Result = next(iter(summaries.values()), {})

    def cells(name: str, s: Result) -> list[str]:
        passes = s["n_iter"] + s["has_labels"]
        labels = s.get("label_seconds")
        return [
            f"{s['n_iter']:.0f}",
            *time_cells(s),
            "in fit" if labels is None else f"{labels:.2f}",
            f"{s['inertia'] / reference['inertia'] - 1:+.1e}" + ("" if FITS[name].takes_centers else "*"),
            memory_cell(s),
            f"{flops * passes / s['seconds'] / benchmark.sgemm / 1e9:.2f}",
            ratio_cell(s["seconds"], summaries, OURS),
            ratio_cell(s["seconds"] + (labels or 0), summaries, OURS),
        ]

    headers = [
        "iterations", *TIME_HEADERS, "labels s", "inertia", "memory", "of sgemm", "ratio", "with labels",
    ]  # fmt: skip
    benchmark.table(key, row.title, headers, summaries, cells)
    benchmark.report.say("", *FIT_NOTES)


def measure_memory(benchmark: Benchmark, key: str) -> None:
    """Compare the peaks of whole fits."""
    row = replace(FIT_ROWS["a"], max_iter=10).for_options(benchmark)
    data, centers = row.files(benchmark)
    title = f"memory beside the input: {row.title}"

    def run(name: str, _repeat: int) -> Result:
        threads = benchmark.options.threads
        return benchmark.isolated(run_fit, name, data, centers, row.max_iter, threads, memory=True)

    summaries = benchmark.measure(f"{key}: {title}", benchmark.select(FITS), run, repeats=1)

    def cells(name: str, s: Result) -> list[str]:
        return [f"{s['peak_bytes'] / MIB:.1f}", f"{s['peak_bytes'] / s['input_bytes']:.1%}"]

    benchmark.table(key, title, ["MiB", "of the input"], summaries, cells)


FIT_NOTES = [
    "Seconds: median wall time of the fit. Inertia: relative difference from the first line, all computed by",
    "one function; * the package draws its own initial centroids. Memory: peak beside the input. Of sgemm:",
    "2 n k d for each pass over the rows, per second, over the machine's rate. Ratio: seconds over those of",
    "coterie auto; with labels: where the fit gives no labels, the package's pass for them is added.",
]
