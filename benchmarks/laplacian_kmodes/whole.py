"""Row blobs: a whole fit against the search for neighbors alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import TIME_HEADERS, mib_cell, time_cells
from benchmarks.harness.measuring import measured
from benchmarks.harness.rounds import Result
from benchmarks.laplacian_kmodes.contenders import MODE_UPDATES, SLK_BO
from benchmarks.laplacian_kmodes.setting import GRAPH, N_NEIGHBORS, SEED, Setting

BLOB_ROWS, BLOB_CLUSTERS = 1_000_000, 100


def run_whole(name: str, data: Path, setting: Setting) -> dict[str, Any]:
    """Measure a whole fit, the search for neighbors included, or that search alone."""
    from coterie import LaplacianKModes
    from coterie.graphs import nearest_neighbors

    X = np.load(data)
    if name == GRAPH:
        with measured() as cost:
            nearest_neighbors(X, N_NEIGHBORS, random_state=SEED, n_threads=setting.n_threads)
        return vars(cost)
    model = LaplacianKModes(
        setting.n_clusters, graph_weight=setting.lam, n_neighbors=N_NEIGHBORS, mode_update=MODE_UPDATES[name],
        n_init=setting.n_init, random_state=SEED, n_threads=setting.n_threads,
    )  # fmt: skip
    with measured() as cost:
        model.fit(X)
    return vars(cost)


# --- tables


def measure_blobs(benchmark: Benchmark, key: str) -> None:
    """Compare one start on a million rows with the search for their neighbors alone."""
    n_rows = BLOB_ROWS // (50 if benchmark.options.quick else 1)
    data = benchmark.data("blobs", n_rows)
    setting = Setting(BLOB_CLUSTERS, 1.3, 1, benchmark.options.threads)
    title = f"blobs, {n_rows:,} x 32, {BLOB_CLUSTERS} clusters, one start"
    summaries = benchmark.measure(
        f"{key}: {title}", [GRAPH, SLK_BO], lambda name, _: benchmark.isolated(run_whole, name, data, setting)
    )

    def cells(_: str, s: Result) -> list[str]:
        ratio = s["seconds"] / summaries[GRAPH]["seconds"]
        return [*time_cells(s), f"{ratio:.2f}", mib_cell(s)]

    benchmark.table(key, title, [*TIME_HEADERS, "of the graph alone", "MiB"], summaries, cells)
