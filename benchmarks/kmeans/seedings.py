"""Rows g and k: initial centroids, as coterie, scikit-learn and faiss choose them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import TIMES, memory_cell
from benchmarks.harness.contenders import Contender, faiss_with, threaded
from benchmarks.harness.measuring import measured
from benchmarks.harness.quality import inertia
from benchmarks.harness.rounds import Result
from benchmarks.kmeans.rows import FitRow

GREEDY, PLAIN = "greedy k-means++", "plain D^2 sampling"
CHAINS = {length: f"AFK-MC2, chain {length}" for length in (2, 20, 200)}


def _seeds(X: np.ndarray, k: int, seed: int, n_threads: int, *, path: str, **options: int) -> np.ndarray:
    return threaded(path, X, k, n_threads=n_threads, random_state=seed, **options)[0]


def _faiss(
    X: np.ndarray, k: int, seed: int, n_threads: int, *, method: str, chain_length: int = 0
) -> np.ndarray:
    faiss = faiss_with(n_threads)
    seeding = faiss.ClusteringInitialization(X.shape[1], k)
    seeding.method = getattr(faiss, f"ClusteringInitMethod_{method}")
    if chain_length:
        seeding.afkmc2_chain_length = chain_length
    seeding.seed = seed
    centers = np.empty((k, X.shape[1]), np.float32)
    seeding.init_centroids(len(X), faiss.swig_ptr(X), faiss.swig_ptr(centers))
    return centers


_GREEDY = partial(_seeds, path="coterie.seeding.k_means_plus_plus")
_PEER = partial(_seeds, path="sklearn.cluster.kmeans_plusplus")
SEEDINGS: dict[str, Contender] = {
    f"scikit-learn {GREEDY}": Contender("sklearn", _PEER),
    f"coterie {GREEDY}": Contender("coterie", _GREEDY),
    f"coterie {PLAIN}": Contender("coterie", partial(_GREEDY, n_local_trials=1)),
    f"scikit-learn {PLAIN}": Contender("sklearn", partial(_PEER, n_local_trials=1)),
    f"faiss {PLAIN}": Contender("faiss", partial(_faiss, method="KMEANS_PLUS_PLUS")),
    **{
        f"{package} {kind}": Contender(package, partial(call, chain_length=length))
        for length, kind in CHAINS.items()
        for package, call in (
            ("coterie", partial(_seeds, path="coterie.seeding.afk_mc2")),
            ("faiss", partial(_faiss, method="AFK_MC2")),
        )
    },
}
SEEDING_ROWS: dict[str, tuple[FitRow, tuple[str, ...]]] = {
    "g": (FitRow("blobs", 250_000, 1000), (GREEDY, PLAIN, CHAINS[200])),
    "k": (FitRow("blobs64", 200_000, 8192), (GREEDY, *CHAINS.values())),
}


def run_seeding(name: str, data: Path, n_clusters: int, seed: int, n_threads: int) -> Result:
    """Choose initial centers; the potential is the sum of squared distances to the nearest of them."""
    X, seeding = np.load(data), SEEDINGS[name].call
    seeding(X[:2000], 10, seed, n_threads)
    with measured() as cost:
        centers = seeding(X, n_clusters, seed, n_threads)
    return vars(cost) | {"potential": inertia(X, centers), "input_bytes": X.nbytes}


def measure_seedings(benchmark: Benchmark, key: str) -> None:
    """Compare seedings."""
    row, kinds = SEEDING_ROWS[key]
    row = row.for_options(benchmark)
    data = benchmark.data(row.data, row.n_rows)
    title = f"{key}. seeding: {row.title}"
    wanted = {name: seeding for name, seeding in SEEDINGS.items() if name.endswith(kinds)}
    summaries = benchmark.measure(
        title,
        benchmark.select(wanted),
        lambda name, seed: benchmark.isolated(
            run_seeding, name, data, row.n_clusters, seed, benchmark.threads
        ),
    )
    first: Result = next(iter(summaries.values()), {})
    columns = {
        **TIMES,
        "potential": lambda s: f"{s['potential'] / first['potential']:.3f}",
        "memory": memory_cell,
    }
    benchmark.table(title, columns, summaries)
    benchmark.say("Potential: relative to the first line (median over the seeds).")
