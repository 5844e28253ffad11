"""Multilevel graph clustering and Leiden on the same graphs: quality and CPU seconds.

    python -m benchmarks.graphs_quality.leiden [--sets iris,mnist] [--most-rows 5000] [--quick]

Sets of `benchmarks.graphs_quality`. Each graph of 15 nearest neighbors is made once.
Leiden searches the resolution that gives the number of classes. Needs `pip install leidenalg igraph` (GPL).
"""

import time
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import numpy as np
import scipy.sparse as sp

from benchmarks.graphs_quality.contenders import leiden_labels, task_of
from benchmarks.graphs_quality.page import MOST_ROWS
from benchmarks.harness.data.quality_sets import SETS, prepared
from benchmarks.harness.measuring import limit_threads
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import Report, command_line
from coterie import MultilevelGraphClustering
from coterie.graphs import knn_graph
from coterie.metrics import clustering_accuracy, normalized_mutual_info_score

N_NEIGHBORS = 15
METHODS = {
    "multilevel": lambda graph, k: MultilevelGraphClustering(k, affinity="precomputed").fit_predict(graph),
    "Leiden": lambda graph, k: leiden_labels(graph, k, seed=0),
}


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
        "graphs_quality.leiden", __doc__, list(SETS), quick=["iris", "moons"], rows_option="--sets", rounds=None
    )  # fmt: skip
    parser.add("--most-rows", default=MOST_ROWS, quick=200, help="drawn of larger sets")
    options = parser.read()
    limit_threads(1)
    for method in METHODS:  # imports are not timed
        scores(method, knn_graph(np.arange(8.0)[:, None], 3), np.arange(8) // 4)
    report = Report("leiden", command_line("graphs_quality.leiden"))
    found = []
    with TemporaryDirectory(dir=options.folder) as folder:
        for name in (name for name in options.rows if SETS[name].is_here):
            task, y = task_of(prepared(name, options.most_rows, Path(folder)), 0)
            graph, n = task.rows, task.rows.shape[0]
            if not task.is_graph:
                graph = knn_graph(graph, min(N_NEIGHBORS, n - 1), random_state=0)
            of_methods = [scores(method, graph, y) for method in METHODS]
            found.append((f"{name}, {n:,}, {task.n_clusters}", *of_methods))
    rows = [[title, *_cells(zip(*both))] for title, *both in found]
    means = [tuple(fmean(values) for values in zip(*of_method)) for of_method in list(zip(*found))[1:]]
    rows.append(["mean", *_cells(zip(*means))])
    headers = [f"{score}, {method}" for score in ("accuracy", "NMI", "CPU s") for method in METHODS]
    report.table("Multilevel and Leiden", ["set, rows, classes", *headers], rows)
    report.save()
