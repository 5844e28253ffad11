"""Paths with tree weights: growth with the number of rows, and accuracy beside the weights of nearest neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.data.files import real_file
from benchmarks.harness.data.quality_sets import SETS
from benchmarks.harness.data.readers import arrays_of, sampled
from benchmarks.harness.measuring import measured

# Rows and columns.
SIZES = [(10_000, 2), (100_000, 2), (1_000_000, 2), (10_000, 50), (100_000, 50)]
MOST_ROWS = 1000

# The half moons of the R package CCMMR (Touw, Groenen and Terada), 75 rows each; larger ones are generated.
CCMMR, CCMMR_FILE = "half moons of CCMMR", "two_half_moons_150.npz"


def run_tree(n_rows: int, n_columns: int, n_threads: int) -> dict[str, Any]:
    """Follow the path of half moons, or of 20 normal clusters in more columns."""
    from sklearn.datasets import make_moons

    from coterie import ConvexClusterPath

    random = np.random.default_rng(0)
    if n_columns == 2:
        X = make_moons(n_rows, noise=0.05, random_state=0)[0]
    else:
        means = 3 * random.normal(size=(20, n_columns))
        X = means[random.integers(20, size=n_rows)] + random.normal(size=(n_rows, n_columns))
    with measured() as cost:
        path = ConvexClusterPath(weights="tree", norm="l1", n_gammas=50, n_threads=n_threads).fit(X)
    counts = path.n_clusters_path_
    steps = -np.diff(np.log(counts)) / np.log(n_rows) * (len(counts) - 1)
    return {
        "gammas": len(path.gammas_),
        "solved": path.n_iter_,
        "gap": float(path.relative_gaps_.max()),
        "splits": int(path.n_splits_.sum()),
        "largest_step": float(steps.max()),
        "seconds": cost.seconds,
        "cpu_seconds": cost.cpu_seconds,
    }


def run_accuracy(name: str, n_threads: int) -> dict[str, float]:
    """Compare paths with both kinds of weights by their agreement with the classes."""
    from sklearn.metrics import adjusted_rand_score

    from coterie import ConvexClusterPath
    from coterie.metrics import clustering_accuracy

    X, classes = sampled(*(arrays_of(CCMMR_FILE) if name == CCMMR else SETS[name].read()), MOST_ROWS, 0)
    X = np.asarray(X, dtype=np.float64)
    found = {}
    for kind, options in {"tree": {"weights": "tree", "norm": "l1"}, "knn": {}}.items():
        with measured() as cost:
            path = ConvexClusterPath(n_threads=n_threads, **options).fit(X)
        found[f"{kind}, accuracy"] = clustering_accuracy(classes, path.labels_at(len(np.unique(classes))))
        found[f"{kind}, best ARI"] = max(adjusted_rand_score(classes, labels) for labels in path.labels_path_)
        found[f"{kind}, CPU s"] = cost.cpu_seconds
    return found


def measure_trees(benchmark: Benchmark, key: str) -> None:
    """Show how time and gaps grow with the rows."""
    cells = []
    for n, p in SIZES[: 1 if benchmark.options.quick else None]:
        found = benchmark.isolated(run_tree, n, p, benchmark.options.threads)
        cells.append([
            f"{n:,} x {p}", f"{found['gammas']}", f"{found['solved']}", f"{found['gap']:.0e}", f"{found['splits']:,}",
            f"{found['largest_step']:.1f}", f"{found['seconds']:.2f}", f"{found['cpu_seconds']:.2f}",
        ])  # fmt: skip
    headers = ["rows", "gammas", "problems solved", "largest gap", "splits", "largest step", "s", "CPU s"]
    benchmark.report.table(
        'weights="tree", norm="l1", 50 gammas; steps in even steps of log k', headers, cells
    )


def measure_tree_accuracy(benchmark: Benchmark, key: str) -> None:
    """Show the agreement with known classes beside the default weights and norm."""
    cells: list[list[str]] = []
    values = []
    names = [name for name, known in SETS.items() if known.is_here and not known.is_graph]
    names = [*([CCMMR] if real_file(CCMMR_FILE) else []), *names]
    for name in names[: 2 if benchmark.options.quick else None]:
        found = benchmark.isolated(run_accuracy, name, benchmark.options.threads)
        values.append(list(found.values()))
        cells.append([name, *(f"{value:.2f}" for value in found.values())])
    cells.append(["mean", *(f"{value:.2f}" for value in np.mean(values, axis=0))])
    headers = [
        "rows",
        *(f"{kind}, {what}" for kind in ("tree", "knn") for what in ("accuracy", "best ARI", "CPU s")),
    ]
    benchmark.report.table("tree weights (l1) beside nearest neighbors (l2), default gammas", headers, cells)
