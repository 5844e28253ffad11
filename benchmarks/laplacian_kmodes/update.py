"""Row update: the update of the memberships against the memory."""

from __future__ import annotations

import time
from statistics import median

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import MIB
from benchmarks.harness.data.images import mnist
from benchmarks.harness.limits import memory_bandwidth
from benchmarks.laplacian_kmodes.setting import N_NEIGHBORS, SEED

UPDATE_ROWS, UPDATE_CLUSTERS = 70_000, (10, 100)
# Few enough that all rows still move: the update passes over those that have settled.
UPDATES, UPDATE_ROUNDS = 3, 25


def run_updates(n_rows: int, n_clusters: int, n_threads: int) -> dict[str, float]:
    """Measure one update of the memberships of MNIST's rows around random modes.

    Returns
    -------
    dict
        `seconds` of an update and the `bytes` that it must move: affinities and memberships in, memberships and
        edges. Neighbors' memberships count once, as if they came from the cache.
    """
    from coterie.graphs import graph_of_neighbors, nearest_neighbors
    from coterie.laplacian_kmodes.memberships import GraphMemberships

    X = mnist(n_rows)
    ids, squares = nearest_neighbors(
        X, N_NEIGHBORS, method="approximate", random_state=SEED, n_threads=n_threads
    )
    graph = graph_of_neighbors(ids, squares, symmetrize="none")
    memberships = GraphMemberships(graph, n_clusters, diagonal_shift=True, n_threads=n_threads)
    affinities = np.random.default_rng(SEED).random(memberships.affinities.shape)
    # So far apart that the softmax is not uniform.
    memberships.affinities[:] = 2 * np.log(n_clusters) * affinities

    def seconds(max_updates: int) -> float:
        started = time.perf_counter()
        # Nothing falls by less than -1 of itself: the updates end with their number.
        memberships.minimize(1.3, tol=-1.0, max_updates=max_updates)
        return time.perf_counter() - started

    seconds(1)
    update = median((seconds(1 + UPDATES) - seconds(1)) / UPDATES for _ in range(UPDATE_ROUNDS))
    values = 3 * memberships.memberships.size * memberships.memberships.itemsize
    return {"seconds": update, "bytes": values + graph.indices.nbytes + graph.indptr.nbytes}


# --- tables


def measure_update(benchmark: Benchmark, key: str) -> None:
    """Measure the update of the memberships against the memory."""
    limit = benchmark.isolated(memory_bandwidth, benchmark.options.threads)["copy"]
    n_rows = UPDATE_ROWS // (20 if benchmark.options.quick else 1)
    lines = []
    for n_clusters in UPDATE_CLUSTERS:
        s = benchmark.isolated(run_updates, n_rows, n_clusters, benchmark.options.threads)
        rate = 1e-9 * s["bytes"] / s["seconds"]
        lines.append(
            [
                str(n_clusters),
                f"{1e3 * s['seconds']:.2f}",
                f"{s['bytes'] / MIB:.0f}",
                f"{rate:.1f}",
                f"{rate / limit:.0%}",
            ]
        )
        benchmark.report.data["rows"][f"{key}: {n_clusters} clusters"] = s
    title = f"one update of the memberships of {n_rows:,} rows on {N_NEIGHBORS} neighbors"
    headers = ["clusters", "milliseconds", "MiB that must move", "GB/s", f"of {limit:.0f} GB/s (copy)"]
    benchmark.report.table(f"{key}. {title}", headers, lines)
    benchmark.report.save()
