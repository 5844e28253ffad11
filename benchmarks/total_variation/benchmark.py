"""Total variation clustering on nearest-neighbour graphs, with and without labels, against scikit-learn's methods.

    python -m benchmarks.total_variation [--data optdigits,mnist] [--draws 10] [--trials 30] [--threads 2]
                                         [--only coterie] [--labels 0,1,0.1] [--kernel]

For each graph and number of labels (0: none, 1: one of each class, else the share of them that is known): purity, the
energy (P) of the clusters, and seconds. Unsupervised figures are those of the trial with the lowest energy. The graphs
are in the data folder (`graphs/*.npz`, `20news_graph.npz`) or made here: of 4moons (drawn anew), mnist-upright, whose
digits lean no more, and of webkb4, from term counts, without the documents that have none.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness.data import labelled, real_file, upright_digits
from benchmarks.harness.limits import memory_bandwidth
from benchmarks.harness.measuring import isolated, limit_threads
from benchmarks.harness.reporting import Report

DATA = ("4moons", "optdigits", "pendigits", "mnist", "mnist-upright", "webkb4", "20news")
FILES = {
    "20news": "20news_graph.npz",
    "webkb4": "webkb4.npz",
    "4moons": "four_moons_regen.npz",
    "mnist-upright": "mnist.npz",
}
LABELS = (0.0, 1.0, 0.01, 0.025, 0.05, 0.1)
# What the paper reports: purity in percent, for the numbers of labels above.
PAPER = {
    "4moons": (99.53, 99.55, 99.55, 99.55, 99.53, 99.55),
    "optdigits": (98.29, 98.29, 98.29, 98.35, 98.38, 98.45),
    "pendigits": (89.06, 89.17, 93.73, 95.83, 97.98, 98.22),
    "mnist": (97.60, 97.53, 97.59, 97.72, 97.79, 98.05),
    "mnist-upright": (97.60, 97.53, 97.59, 97.72, 97.79, 98.05),
    "webkb4": (59.15, 56.58, 58.75, 57.01, 58.34, 62.01),
    "20news": (39.40, 50.07, 61.70, 67.61, 70.51, 73.97),
}
KERNEL_ITERATIONS = 20


def _file_of(name: str) -> Path | None:
    return real_file(FILES.get(name, f"graphs/{name}.npz"))


def load_graph(name: str) -> tuple[sp.csr_array, np.ndarray]:
    """Return a graph and the classes of its vertices; digits of scikit-learn stand in where there is no such file."""
    path = _file_of(name)
    if path is None:
        return _graph_of_rows(*labelled("digits"))
    with np.load(path) as file:
        classes = file["y"].astype(np.int64)
        if "X" in file:
            rows = file["X"].astype(np.float32)
            return _graph_of_rows(upright_digits(rows) if name == "mnist-upright" else rows, classes)
        shape = tuple(file["shape"])
        parts = file["data"].astype(np.float32), file["indices"].astype(np.int32), file["indptr"]
        matrix = sp.csr_array(parts, shape=shape)
    return _graph_of_counts(matrix, classes) if name == "webkb4" else (matrix, classes)


def _graph_of_rows(rows: np.ndarray, classes: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
    from coterie.graphs import knn_graph

    return knn_graph(rows, 10), classes


def _graph_of_counts(counts: sp.csr_array, classes: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
    """Join each document to the 10 with the smallest angle, as terms weighted by log(1 + count) log(n / documents)."""
    from coterie.graphs import knn_graph

    has_terms = np.diff(counts.indptr) > 0
    weighted, classes = counts[has_terms], classes[has_terms]
    documents = np.maximum(np.bincount(weighted.indices, minlength=weighted.shape[1]), 1)
    weighted.data = np.log1p(weighted.data) * np.log(weighted.shape[0] / documents)[weighted.indices]
    return knn_graph(weighted, 10, metric="cosine").astype(np.float32), classes


def known_labels(classes: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Draw labels: one of each class, or a share of each."""
    random = np.random.default_rng(seed)
    labels = np.full(len(classes), -1)
    for label in np.unique(classes):
        rows = np.flatnonzero(classes == label)
        n_known = 1 if share >= 1 else max(1, round(share * len(rows)))
        labels[random.choice(rows, n_known, replace=False)] = label
    return labels


def _coterie(n_swaps: int) -> Callable[..., Any]:
    def run(
        graph: sp.csr_array, known: np.ndarray | None, k: int, seed: int, n_threads: int, n_init: int
    ) -> Any:
        from coterie import TotalVariationClustering

        # Swaps go on where a few trials have ended.
        model = TotalVariationClustering(
            k, affinity="precomputed", n_init=min(n_init, 2) if n_swaps else n_init, n_swaps=n_swaps,
            random_state=seed, n_threads=n_threads,
        )  # fmt: skip
        return model.fit(graph, known).labels_

    return run


def _spectral(
    graph: sp.csr_array, known: np.ndarray | None, k: int, seed: int, n_threads: int, n_init: int
) -> Any:
    from sklearn.cluster import SpectralClustering

    matrix = sp.csr_matrix(graph.astype(np.float64))
    return (
        SpectralClustering(k, affinity="precomputed", random_state=seed, n_jobs=n_threads).fit(matrix).labels_
    )


def _propagation(name: str) -> Callable[..., Any]:
    def run(graph: sp.csr_array, known: np.ndarray, k: int, seed: int, n_threads: int, n_init: int) -> Any:
        from sklearn import semi_supervised

        # Its kernel is a function of rows; here rows are numbers of vertices.
        model = getattr(semi_supervised, name)(kernel=lambda left, right: graph, n_jobs=n_threads)
        return model.fit(np.arange(graph.shape[0])[:, None], known).transduction_

    return run


CONTENDERS: dict[str, Callable[..., Any]] = {
    "coterie": _coterie(0),
    "coterie, 2 trials and swaps": _coterie(20),
    "scikit-learn SpectralClustering": _spectral,
    "scikit-learn LabelPropagation": _propagation("LabelPropagation"),
    "scikit-learn LabelSpreading": _propagation("LabelSpreading"),
}


def run_contender(
    name: str, data: str, share: float, n_draws: int, n_init: int, n_threads: int
) -> dict[str, Any]:
    """Cluster a graph from several draws of labels; means over the draws."""
    from coterie.metrics import balanced_cut, purity

    warnings.simplefilter("ignore")
    graph, classes = load_graph(data)
    k = len(np.unique(classes))
    purities, energies, seconds = [], [], []
    for seed in range(n_draws if share else 1):
        known = known_labels(classes, share, seed) if share else None
        start = time.perf_counter()
        labels = CONTENDERS[name](graph, known, k, seed, n_threads, n_init)
        seconds.append(time.perf_counter() - start)
        purities.append(100 * purity(classes, labels))
        energies.append(balanced_cut(graph, np.maximum(labels, 0).astype(np.int32), n_clusters=k))
    best = int(np.argmin(energies))
    return {
        "purity": float(np.mean(purities)),
        "purity_range": (min(purities), max(purities)),
        "purity_best": purities[best],
        "energy": float(np.mean(energies)),
        "energy_best": energies[best],
        "seconds": float(np.mean(seconds)),
    }


def run_kernel(data: str, n_threads: int) -> dict[str, float]:
    """Time inner iterations and the statistics, late in a fit, and count the bytes that an iteration must move."""
    from coterie.graphs.spectral import local_order, spectral_vectors
    from coterie.total_variation.descent import TotalVariationDescent
    from coterie.total_variation.graph import CutGraph

    graph, classes = load_graph(data)
    k = len(np.unique(classes))
    prepared = CutGraph(graph, local_order(spectral_vectors(graph, max(k, 10), 0)))
    descent = TotalVariationDescent(prepared, k, n_threads=n_threads)
    noise = np.random.default_rng(0).dirichlet(np.ones(k), len(classes))
    descent.start((0.7 * np.eye(k)[classes] + 0.3 * noise).astype(np.float32))
    for _ in range(3):
        descent.outer_step(1e-3)
    iterations, statistics = [], []
    for _ in range(15):
        descent._linearise(descent.statistics)
        start = time.perf_counter()
        descent._iterate(KERNEL_ITERATIONS)
        middle = time.perf_counter()
        descent.statistics = descent._statistics()
        iterations.append((middle - start) / KERNEL_ITERATIONS)
        statistics.append(time.perf_counter() - middle)
    # Duals, F and F_bar are read and written, the anchors read; each edge names its other end.
    edges = graph.nnz // 2
    must_move = 4 * (2 * edges * k + 5 * len(classes) * k + edges)
    return {
        "ms": 1e3 * float(np.median(iterations)),
        "best_ms": 1e3 * min(iterations),
        "statistics_ms": 1e3 * float(np.median(statistics)),
        "megabytes": must_move / 1e6,
        "gb_s": 1e-9 * must_move / float(np.median(iterations)),
        "duals_stored": prepared.n_duals / edges,
    }


def labels_in_words(share: float) -> str:
    """Say how many labels are known."""
    return "none" if share == 0 else "1 a class" if share >= 1 else f"{share:.1%}"


def compare(report: Report, data: str, options: argparse.Namespace) -> None:
    """Run all contenders on a graph."""
    rows = []
    is_real = _file_of(data) is not None
    for share in options.labels:
        paper = f"{PAPER[data][LABELS.index(share)]:.2f}" if share in LABELS and is_real else "-"
        for name in CONTENDERS:
            unsupervised = "Spectral" in name or "swaps" in name
            if options.only not in name or ("Label" in name and not share) or (unsupervised and share):
                continue
            result = isolated(
                run_contender, name, data, share, options.draws, options.trials, options.threads
            )
            report.data.setdefault("results", []).append(
                {"data": data, "labels": share, "name": name, **result}
            )
            low, high = result["purity_range"]
            rows.append(
                [
                    labels_in_words(share),
                    name,
                    f"{result['purity']:.2f} ({low:.2f}-{high:.2f})",
                    f"{result['purity_best']:.2f}",
                    paper if name == "coterie" else "",
                    f"{result['energy']:.4f}",
                    f"{result['energy_best']:.4f}",
                    f"{result['seconds']:.2f}",
                ]
            )
    headers = ["labels", "", "purity (range)", "of the lowest (P)", "paper", "(P)", "lowest (P)", "seconds"]
    what = data if is_real else f"scikit-learn's digits in place of {data}"
    report.table(f"{what}, means over {options.draws} draws", headers, rows, n_left=2)


def measure_kernel(report: Report, data: str, n_threads: int) -> None:
    """Print how fast an inner iteration is, and what share of the memory bandwidth that takes."""
    bandwidth = isolated(memory_bandwidth, n_threads)
    result = isolated(run_kernel, data, n_threads)
    report.data.setdefault("kernel", {})[data] = {**result, "bandwidth": bandwidth}
    rows = [
        ["inner iteration, ms (best)", f"{result['ms']:.2f} ({result['best_ms']:.2f})"],
        ["statistics, ms", f"{result['statistics_ms']:.2f}"],
        ["bytes that must move, MB", f"{result['megabytes']:.1f}"],
        ["GB/s", f"{result['gb_s']:.1f}"],
        ["of the memory's reads in this run", f"{result['gb_s'] / bandwidth['read']:.0%}"],
        ["of its copies", f"{result['gb_s'] / bandwidth['copy']:.0%}"],
        ["duals stored for each edge", f"{result['duals_stored']:.2f}"],
    ]
    report.table(f"An inner iteration on {data}, {n_threads} threads", ["", ""], rows)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.total_variation", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--data", default=",".join(DATA), help="graphs (default: all)")
    parser.add_argument("--draws", type=int, default=10, help="draws of the labels (default: 10)")
    parser.add_argument("--trials", type=int, default=30, help="unsupervised trials (default: 30)")
    parser.add_argument("--threads", type=int, default=2, help="threads of every contender (default: 2)")
    parser.add_argument("--labels", default=",".join(map(str, LABELS)), help="0, 1 of each class, or shares")
    parser.add_argument("--only", default="", help="run only contenders whose name has this word")
    parser.add_argument("--kernel", action="store_true", help="time the inner iteration only")
    options = parser.parse_args(arguments)
    options.data = options.data.split(",")
    options.labels = [float(share) for share in options.labels.split(",")]
    if not set(options.data) <= set(DATA) or min(options.draws, options.trials, options.threads) < 1:
        parser.error(f"data are {', '.join(DATA)}; draws, trials and threads are at least 1")
    return options


def main() -> None:
    """Run what was asked for."""
    options = parse()
    limit_threads(options.threads)
    report = Report(
        "total_variation", shlex.join(["python", "-m", "benchmarks.total_variation", *sys.argv[1:]])
    )
    for data in options.data:
        if options.kernel or data == "mnist":
            measure_kernel(report, data, options.threads)
        if not options.kernel:
            compare(report, data, options)
    report.say("", f"Written to {report.save().name}")


if __name__ == "__main__":
    main()
