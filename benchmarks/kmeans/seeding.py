"""Initial centers of a large number of clusters, as coterie and faiss choose them."""

from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness.benchmark import Benchmark, Result
from benchmarks.harness.contenders import Contender, faiss_with, threaded
from benchmarks.harness.measuring import inertia, measured
from benchmarks.harness.reporting import TIMES, memory_cell, relative

N_ROWS, N_CLUSTERS, CHAIN_LENGTHS = 200_000, 8192, (2, 20, 200)


def _seeds(X: np.ndarray, k: int, seed: int, n_threads: int, *, name: str, **options: int) -> np.ndarray:
    return threaded(f"coterie.seeding.{name}", X, k, n_threads=n_threads, random_state=seed, **options)[0]


def _faiss_seeds(X: np.ndarray, k: int, seed: int, n_threads: int, *, chain_length: int) -> np.ndarray:
    faiss = faiss_with(n_threads)
    seeding = faiss.ClusteringInitialization(X.shape[1], k)
    seeding.method, seeding.afkmc2_chain_length, seeding.seed = (
        faiss.ClusteringInitMethod_AFK_MC2, chain_length, seed
    )  # fmt: skip
    centers = np.empty((k, X.shape[1]), np.float32)
    seeding.init_centroids(len(X), faiss.swig_ptr(X), faiss.swig_ptr(centers))
    return centers


SEEDINGS: dict[str, Contender] = {
    "coterie greedy k-means++": Contender("coterie", partial(_seeds, name="k_means_plus_plus")),
    **{
        f"{package} AFK-MC2, chain {length}": Contender(package, partial(call, chain_length=length))
        for package, call in (("coterie", partial(_seeds, name="afk_mc2")), ("faiss", _faiss_seeds))
        for length in CHAIN_LENGTHS
    },
}


def run_seeding(name: str, data: Path, n_clusters: int, seed: int, n_threads: int) -> Result:
    """Choose initial centers; the potential is the sum of squared distances to the nearest of them."""
    X, seeding = np.load(data), SEEDINGS[name].call
    seeding(X[:2000], 10, seed, n_threads)
    with measured() as cost:
        centers = seeding(X, n_clusters, seed, n_threads)
    return vars(cost) | {"potential": inertia(X, centers), "input_bytes": X.nbytes}


def measure_seedings(benchmark: Benchmark, key: str) -> None:
    n_rows, n_clusters = (N_ROWS // 50, N_CLUSTERS // 10) if benchmark.quick else (N_ROWS, N_CLUSTERS)
    title = f"{key}: blobs64, {n_rows:,} rows, k = {n_clusters:,}"
    run = benchmark.each(run_seeding, benchmark.data("blobs64", n_rows), n_clusters)
    summaries = benchmark.measure(title, benchmark.select(SEEDINGS), run)
    potential = relative(summaries, "potential", lambda ratio: f"{ratio:.3f}")
    benchmark.table(title, {**TIMES, "potential": potential, "memory": memory_cell}, summaries)
    benchmark.say("Potential: relative to the first line (median over the seeds).")
