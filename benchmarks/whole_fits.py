"""Whole fits as users call them: each package with its own defaults, initialization included.

    COTERIE_DATA=folder python -m benchmarks.whole_fits [--rows mnist-1000,...] [--limit 300]

A fit ends with labels: where a package returns none, a pass that finds them is part of the fit. The inertia is
computed by one function for all. The JSON file has a list `fits` of {work, contender, seconds, cpu_seconds, inertia},
the medians of the rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark, run_steps
from benchmarks.harness.cells import TIME_HEADERS, memory_cell, ratio_cell, time_cells
from benchmarks.harness.contenders import EVERY_ROW, Contender
from benchmarks.harness.measuring import measured
from benchmarks.harness.options import SystemParser, above_zero
from benchmarks.harness.quality import inertia

OURS = "coterie"

# Data sets of `benchmarks.harness.data.tables`, their numbers of rows, and numbers of clusters.
DATA = {
    "mnist": ("mnist", 20_000, (10, 100, 1000)),
    "mnist-all": ("mnist", 70_000, (10, 50)),
    "blobs": ("blobs", 300_000, (10, 100, 1000)),
    "million": ("blobs", 1_000_000, (10, 100, 1000, 4000)),
    "noise": ("noise256", 50_000, (10, 100, 1000)),
    "embeddings-384": ("embeddings384", 80_000, (10, 100, 1000, 4000)),
    "embeddings": ("embeddings", 100_000, (10, 100, 1000, 4000)),
}
WORK = {f"{key}-{k}": (name, n_rows, k) for key, (name, n_rows, ks) in DATA.items() for k in ks}
USUAL = [
    "mnist-100",
    "mnist-1000",
    "mnist-all-50",
    "blobs-10",
    "blobs-1000",
    "noise-1000",
    "embeddings-384-1000",
]


def _coterie(X: np.ndarray, k: int, seed: int, n_threads: int) -> np.ndarray:
    from coterie import KMeans

    return KMeans(k, random_state=seed, n_threads=n_threads).fit(X).cluster_centers_


def _scikit_learn(X: np.ndarray, k: int, seed: int, n_threads: int) -> np.ndarray:
    from sklearn.cluster import KMeans

    return KMeans(k, random_state=seed).fit(X).cluster_centers_


def _intelex(X: np.ndarray, k: int, seed: int, n_threads: int) -> np.ndarray:
    from sklearnex.cluster import KMeans

    return KMeans(k, random_state=seed, n_jobs=n_threads).fit(X).cluster_centers_


def _faiss(X: np.ndarray, k: int, seed: int, n_threads: int, *, kind: str, **options: Any) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    model = getattr(faiss, kind)(X.shape[1], k, seed=seed + 1, **options)
    model.train(X)
    model.assign(X)
    return model.centroids


CONTENDERS: dict[str, Contender] = {
    OURS: Contender("coterie", _coterie),
    "scikit-learn": Contender("sklearn", _scikit_learn),
    "scikit-learn-intelex": Contender("sklearnex", _intelex),
    "faiss": Contender("faiss", partial(_faiss, kind="Kmeans")),
    "faiss, all rows": Contender("faiss", partial(_faiss, kind="Kmeans", max_points_per_centroid=EVERY_ROW)),
    "faiss SuperKmeans": Contender("faiss", partial(_faiss, kind="SuperKmeans")),
}


def run_fit(name: str, data: Path, n_clusters: int, seed: int, n_threads: int) -> dict[str, Any]:
    """Fit one contender and measure it."""
    fit: Callable[..., np.ndarray] = CONTENDERS[name].call
    X = np.load(data)
    fit(X[:1000], 10, seed, n_threads)  # starts thread pools and chooses code paths
    with measured(n_threads) as cost:
        centers = fit(X, n_clusters, seed, n_threads)
    return vars(cost) | {"inertia": inertia(X, centers), "input_bytes": X.nbytes}


def measure_fits(benchmark: Benchmark, key: str) -> None:
    """Compare whole fits of one kind; the round is the seed."""
    data_name, n_rows, n_clusters = WORK[key]
    if benchmark.options.quick:
        n_rows, n_clusters = n_rows // 50, max(10, n_clusters // 50)
    data, threads = benchmark.data(data_name, n_rows), benchmark.options.threads
    summaries = benchmark.measure(
        key,
        benchmark.select(CONTENDERS),
        lambda name, seed: benchmark.isolated_within(
            benchmark.options.limit, run_fit, name, data, n_clusters, seed, threads
        ),
    )
    reference = summaries.get(OURS, next(iter(summaries.values()), {}))
    shape = np.load(data, mmap_mode="r").shape
    title = f"{data_name}, {shape[0]:,} x {shape[1]}, k = {n_clusters:,}"
    benchmark.table(
        key,
        title,
        [*TIME_HEADERS, "inertia", "memory", "ratio"],
        summaries,
        lambda name, s: [
            *time_cells(s),
            f"{100 * (s['inertia'] / reference['inertia'] - 1):+.2f}%",
            memory_cell(s),
            ratio_cell(s["seconds"], summaries, OURS),
        ],
    )
    benchmark.report.data.setdefault("fits", []).extend(
        {"work": title, "contender": name} | {part: s[part] for part in ("seconds", "cpu_seconds", "inertia")}
        for name, s in summaries.items()
    )
    benchmark.report.save()


def parser() -> SystemParser:
    parser = SystemParser("whole_fits", __doc__, list(WORK), usual=USUAL, quick=USUAL)
    parser.add("--limit", default=300.0, type=above_zero, help="seconds after which a fit is given up")
    return parser


if __name__ == "__main__":
    # Fresh processes import the functions that they run.
    from benchmarks.whole_fits import measure_fits as measure
    from benchmarks.whole_fits import parser as command

    run_steps("whole_fits", command().read(), dict.fromkeys(WORK, measure))
