"""Whole fits as users call them: each package with its own defaults, initialization included.

    COTERIE_DATA=folder python -m benchmarks.whole_fits [--rows mnist-1000,...] [--limit 300]

A fit ends with labels: where a package returns none, a pass that finds them is part of the fit. The inertia is
computed by one function for all.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark, run_steps
from benchmarks.harness.contenders import EVERY_ROW, Contender, faiss_with, threaded
from benchmarks.harness.measuring import inertia, measured
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import TIMES, memory_cell, relative

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
USUAL = (
    "mnist-100", "mnist-1000", "mnist-all-50", "blobs-10", "blobs-1000", "noise-1000", "embeddings-384-1000"
)  # fmt: skip


def _fit(X: np.ndarray, k: int, seed: int, n_threads: int, *, path: str) -> np.ndarray:
    return threaded(path, k, random_state=seed, n_threads=n_threads).fit(X).cluster_centers_


def _faiss(X: np.ndarray, k: int, seed: int, n_threads: int, *, kind: str, **options: Any) -> np.ndarray:
    model = getattr(faiss_with(n_threads), kind)(X.shape[1], k, seed=seed + 1, **options)
    model.train(X)
    model.assign(X)
    return model.centroids


def _superkmeans(X: np.ndarray, k: int, seed: int, n_threads: int, *, hierarchical: bool) -> np.ndarray:
    from superkmeans import SuperKMeans

    options: dict[str, Any] = {"sampling_fraction": 1.0, "max_points_per_cluster": EVERY_ROW}
    model = SuperKMeans(k, X.shape[1], hierarchical, iters=25, seed=seed + 1, n_threads=n_threads, **options)
    centers = model.train(X)
    model.assign_training_points(X, centers)
    return centers


CONTENDERS: dict[str, Contender] = {
    OURS: Contender("coterie", partial(_fit, path="coterie.KMeans")),
    "scikit-learn": Contender("sklearn", partial(_fit, path="sklearn.cluster.KMeans")),
    "scikit-learn-intelex": Contender("sklearnex", partial(_fit, path="sklearnex.cluster.KMeans")),
    "faiss": Contender("faiss", partial(_faiss, kind="Kmeans")),
    "faiss, all rows": Contender("faiss", partial(_faiss, kind="Kmeans", max_points_per_centroid=EVERY_ROW)),
    "faiss SuperKmeans": Contender("faiss", partial(_faiss, kind="SuperKmeans")),
    "superkmeans, all rows": Contender("superkmeans", partial(_superkmeans, hierarchical=False)),
    "superkmeans hierarchical, all rows": Contender("superkmeans", partial(_superkmeans, hierarchical=True)),
}


def run_fit(name: str, data: Path, n_clusters: int, seed: int, n_threads: int) -> dict[str, Any]:
    X, fit = np.load(data), CONTENDERS[name].call
    fit(X[:1000], 10, seed, n_threads)  # starts thread pools and chooses code paths
    with measured(n_threads) as cost:
        centers = fit(X, n_clusters, seed, n_threads)
    return vars(cost) | {"inertia": inertia(X, centers), "input_bytes": X.nbytes}


def measure_fits(benchmark: Benchmark, key: str) -> None:
    """Compare whole fits of one kind; the round is the seed."""
    name, n_rows, n_clusters = WORK[key]
    if benchmark.quick:
        n_rows, n_clusters = n_rows // 50, max(10, n_clusters // 50)
    data = benchmark.data(name, n_rows)
    title = f"{key}. {name}, {n_rows:,} x {np.load(data, mmap_mode='r').shape[1]}, k = {n_clusters:,}"
    run = benchmark.each(run_fit, data, n_clusters, limit=benchmark.options.limit)
    summaries = benchmark.measure(title, benchmark.select(CONTENDERS), run, repeat_slow=False)
    inertias = relative(
        summaries, "inertia", lambda ratio: f"{100 * (ratio - 1):+.2f}%", OURS if OURS in summaries else ""
    )
    benchmark.table(title, {**TIMES, "inertia": inertias, "memory": memory_cell}, summaries)


if __name__ == "__main__":
    parser = SystemParser("whole_fits", __doc__, list(WORK), usual=USUAL, quick=USUAL)
    parser.add("--limit", default=300.0, help="seconds after which a fit is given up")
    run_steps("whole_fits", parser.read(), dict.fromkeys(WORK, measure_fits))
