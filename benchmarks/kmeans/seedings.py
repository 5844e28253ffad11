"""Rows g and k: initial centroids, as coterie, scikit-learn and faiss choose them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import TIME_HEADERS, memory_cell, ratio_cell, time_cells
from benchmarks.harness.contenders import Contender
from benchmarks.harness.measuring import measured
from benchmarks.harness.quality import inertia
from benchmarks.harness.rounds import Result
from benchmarks.kmeans.rows import FitRow

GREEDY, PLAIN = "greedy k-means++", "plain D^2 sampling"
CHAINS = {length: f"AFK-MC2, chain {length}" for length in (2, 20, 200)}


def _coterie(X: np.ndarray, k: int, seed: int, n_threads: int, *, trials: int | None) -> np.ndarray:
    from coterie.seeding import k_means_plus_plus

    return k_means_plus_plus(X, k, random_state=seed, n_local_trials=trials, n_threads=n_threads)[0]


def _coterie_chain(X: np.ndarray, k: int, seed: int, n_threads: int, *, chain_length: int) -> np.ndarray:
    from coterie.seeding import afk_mc2

    return afk_mc2(X, k, chain_length=chain_length, random_state=seed, n_threads=n_threads)[0]


def _scikit_learn(X: np.ndarray, k: int, seed: int, n_threads: int, *, trials: int | None) -> np.ndarray:
    from sklearn.cluster import kmeans_plusplus

    return kmeans_plusplus(X, k, random_state=seed, n_local_trials=trials)[0]


def _faiss(
    X: np.ndarray, k: int, seed: int, n_threads: int, *, method: str, chain_length: int = 0
) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    seeding = faiss.ClusteringInitialization(X.shape[1], k)
    seeding.method = getattr(faiss, f"ClusteringInitMethod_{method}")
    if chain_length:
        seeding.afkmc2_chain_length = chain_length
    seeding.seed = seed
    centers = np.empty((k, X.shape[1]), np.float32)
    seeding.init_centroids(len(X), faiss.swig_ptr(X), faiss.swig_ptr(centers))
    return centers


SEEDINGS: dict[str, Contender] = {
    f"scikit-learn {GREEDY}": Contender("sklearn", partial(_scikit_learn, trials=None), GREEDY),
    f"coterie {GREEDY}": Contender("coterie", partial(_coterie, trials=None), GREEDY),
    f"coterie {PLAIN}": Contender("coterie", partial(_coterie, trials=1), PLAIN),
    f"scikit-learn {PLAIN}": Contender("sklearn", partial(_scikit_learn, trials=1), PLAIN),
    f"faiss {PLAIN}": Contender("faiss", partial(_faiss, method="KMEANS_PLUS_PLUS"), PLAIN),
    **{
        f"{package} {kind}": Contender(package, partial(call, chain_length=length), kind)
        for length, kind in CHAINS.items()
        for package, call in (("coterie", _coterie_chain), ("faiss", partial(_faiss, method="AFK_MC2")))
    },
}
SEEDING_ROWS: dict[str, tuple[FitRow, tuple[str, ...]]] = {
    "g": (FitRow("blobs", 250_000, 1000, 0), (GREEDY, PLAIN, CHAINS[200])),
    "k": (FitRow("blobs64", 200_000, 8192, 0), (GREEDY, *CHAINS.values())),
}


def run_seeding(name: str, data: Path, n_clusters: int, seed: int, n_threads: int) -> Result:
    """Choose initial centers; the potential is the sum of squared distances to the nearest of them."""
    X, seeding = np.load(data), SEEDINGS[name].call
    seeding(X[:2000], 10, seed, n_threads)
    with measured() as cost:
        centers = seeding(X, n_clusters, seed, n_threads)
    return vars(cost) | {"potential": inertia(X, np.asarray(centers), 2048), "input_bytes": X.nbytes}


def measure_seedings(benchmark: Benchmark, key: str) -> None:
    """Compare seedings with those of their own kind."""
    row, kinds = SEEDING_ROWS[key]
    row = row.for_options(benchmark)
    data = benchmark.data(row.data, row.n_rows)
    title = f"seeding: {row.data}, {row.n_rows:,} rows, k = {row.n_clusters:,}"

    def run(name: str, seed: int) -> Result:
        return benchmark.isolated(run_seeding, name, data, row.n_clusters, seed, benchmark.options.threads)

    names = benchmark.select({name: seeding for name, seeding in SEEDINGS.items() if seeding.group in kinds})
    summaries = benchmark.measure(f"{key}: {title}", names, run, group_of=lambda name: SEEDINGS[name].group)
    reference: Result = next(iter(summaries.values()), {})

    def cells(name: str, s: Result) -> list[str]:
        return [
            *time_cells(s),
            f"{s['potential'] / reference['potential']:.3f}",
            memory_cell(s),
            ratio_cell(s["seconds"], summaries, f"coterie {SEEDINGS[name].group}"),
        ]

    benchmark.table(key, title, [*TIME_HEADERS, "potential", "memory", "ratio"], summaries, cells)
    benchmark.report.say("", "Potential: relative to the first line (median over the seeds).")
