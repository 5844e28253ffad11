"""Row gan: a graph of features that the authors published without the features or labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import TIME_HEADERS, mib_cell, time_cells
from benchmarks.harness.data.files import real_file
from benchmarks.harness.measuring import measured
from benchmarks.harness.rounds import Result
from benchmarks.laplacian_kmodes.contenders import SLK_BO
from benchmarks.laplacian_kmodes.setting import Setting

GAN_GRAPH, GAN_LAMBDA = "mnist_gan_knn5_graph.npz", 1.3


def run_given_graph(path: Path, setting: Setting, seed: int) -> dict[str, Any]:
    """Cluster the vertices of a stored graph, whose weights are the kernel of the modes too."""
    import scipy.sparse as sp

    from coterie import LaplacianKModes

    with np.load(path) as file:
        graph = sp.csr_array((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))
    model = LaplacianKModes(
        setting.n_clusters, affinity="precomputed", init="random", graph_weight=setting.lam, n_init=setting.n_init,
        random_state=seed, n_threads=setting.n_threads,
    )  # fmt: skip
    with measured() as cost:
        model.fit(graph)
    edges = graph.tocoo()
    cut = model.labels_[edges.coords[0]] != model.labels_[edges.coords[1]]
    sizes = np.bincount(model.labels_, minlength=setting.n_clusters)
    return vars(cost) | {
        "objective": float(model.objective_),
        "updates": int(model.history_["n_updates"].sum()),
        "cut": float(edges.data[cut].sum() / edges.data.sum()),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "vertices": graph.shape[0],
        "edges": graph.nnz,
    }


# --- tables


def measure_gan(benchmark: Benchmark, key: str) -> None:
    """Cluster the graph."""
    path = real_file(GAN_GRAPH)
    if path is None:
        benchmark.report.say("", f"{key}: skipped, {GAN_GRAPH} is not in COTERIE_DATA.")
        return
    setting = Setting(10, GAN_LAMBDA, 1, benchmark.options.threads)
    title = f"the authors' graph of MNIST GAN features, lambda {GAN_LAMBDA:g}, one start"
    summaries = benchmark.measure(
        f"{key}: {title}", [SLK_BO], lambda _, seed: benchmark.isolated(run_given_graph, path, setting, seed)
    )

    def cells(_: str, s: Result) -> list[str]:
        sizes = f"{s['smallest']:,.0f} to {s['largest']:,.0f}"
        return [
            f"{s['objective']:,.0f}",
            f"{s['cut']:.2%}",
            sizes,
            f"{s['updates']:,.0f}",
            *time_cells(s),
            mib_cell(s),
        ]

    headers = ["E", "weight cut", "rows a cluster", "updates", *TIME_HEADERS, "MiB"]
    benchmark.table(key, title, headers, summaries, cells)
    benchmark.report.say(
        "", "The kernel of the modes is the graph too, for features and labels are not published."
    )
