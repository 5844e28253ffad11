"""Multilevel graph clustering and Leiden on the same graphs: quality and CPU seconds.

    python -m benchmarks.graphs_quality.leiden [--sets iris,mnist] [--most-rows 5000] [--quick]

Sets of `benchmarks.graphs_quality`, and MNIST as a whole ("mnist (70000)"). Each graph of 15 nearest neighbors is made
once. Leiden searches the resolution that gives the number of classes. Needs `pip install leidenalg igraph` (GPL).
"""

import time
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import numpy as np
import scipy.sparse as sp

from benchmarks.graphs_quality.contenders import leiden_labels
from benchmarks.graphs_quality.page import MOST_ROWS
from benchmarks.harness.data.quality_sets import SETS, prepared
from benchmarks.harness.measuring import limit_threads
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import Report, command_line
from coterie import MultilevelGraphClustering
from coterie.graphs import knn_graph
from coterie.metrics import clustering_accuracy, normalized_mutual_info_score

MNIST, N_NEIGHBORS = "mnist (70000)", 15
METHODS = {
    "multilevel": lambda graph, k: MultilevelGraphClustering(k, affinity="precomputed").fit_predict(graph),
    "Leiden": lambda graph, k: leiden_labels(graph, k, seed=0),
}


def graph_of(path: Path) -> tuple[sp.csr_array, np.ndarray]:
    """Return the graph of a set, and its classes."""
    with np.load(path) as arrays:
        if "X" in arrays:
            n_neighbors = min(N_NEIGHBORS, len(arrays["X"]) - 1)
            return knn_graph(arrays["X"], n_neighbors, random_state=0), arrays["y"]
        return sp.csr_array(tuple(arrays[part] for part in ("data", "indices", "indptr"))), arrays["y"]


def scores(method: str, graph: sp.csr_array, y: np.ndarray) -> tuple[float, float, float]:
    """Return accuracy, NMI and CPU seconds."""
    begin = time.process_time()
    labels = METHODS[method](graph, int(y.max()) + 1)
    seconds = time.process_time() - begin
    return clustering_accuracy(y, labels), normalized_mutual_info_score(y, labels), seconds


def _cells(scores: zip) -> list[str]:
    accuracy, nmi, seconds = scores
    return [*(f"{value:.3f}" for value in (*accuracy, *nmi)), *(f"{value:.2f}" for value in seconds)]


if __name__ == "__main__":
    parser = SystemParser(
        "graphs_quality.leiden", __doc__, [*SETS, MNIST], quick=["iris", "moons"], rows_option="--sets", rounds=None
    )  # fmt: skip
    parser.add("--most-rows", default=MOST_ROWS, quick=200, help="drawn of larger sets")
    options = parser.read()
    limit_threads(1)
    for method in METHODS:  # imports are not timed
        scores(method, knn_graph(np.arange(8.0)[:, None], 3), np.arange(8) // 4)
    report = Report("leiden", command_line("graphs_quality.leiden"))
    found = []
    with TemporaryDirectory(dir=options.folder) as folder:
        for name in options.rows:
            known, most_rows = ("mnist", 70_000) if name == MNIST else (name, options.most_rows)
            if SETS[known].is_here:
                graph, y = graph_of(prepared(known, most_rows, Path(folder)))
                found_by = [scores(one, graph, y) for one in METHODS]
                found.append((name, graph.shape[0], int(y.max()) + 1, *found_by))
    rows = [[f"{name}, {n:,}, {k}", *_cells(zip(*both))] for name, n, k, *both in found]
    means = [tuple(fmean(values) for values in zip(*of_method)) for of_method in list(zip(*found))[3:]]
    rows.append(["mean", *_cells(zip(*means))])
    headers = [f"{score}, {method}" for score in ("accuracy", "NMI", "CPU s") for method in METHODS]
    report.table("Multilevel and Leiden", ["set, rows, classes", *headers], rows)
    report.save()
