"""Paths with tree weights: growth with the number of rows, and accuracy beside the weights of nearest neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import number
from benchmarks.harness.data.files import arrays_of, real_file, sampled
from benchmarks.harness.data.quality_sets import SETS
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
    return {
        "gammas": len(path.gammas_),
        "solved": path.n_iter_,
        "gap": float(path.relative_gaps_.max()),
        "splits": int(path.n_splits_.sum()),
        **vars(cost),
    }


def run_accuracy(name: str, n_threads: int) -> dict[str, float]:
    """Compare paths with both kinds of weights by their agreement with the classes."""
    from sklearn.metrics import adjusted_rand_score

    from coterie import ConvexClusterPath
    from coterie.metrics import clustering_accuracy

    X, classes = sampled(*(arrays_of(CCMMR_FILE) if name == CCMMR else SETS[name].read()), MOST_ROWS)
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
    columns = {
        "gammas": number("gammas", "d"),
        "problems solved": number("solved", "d"),
        "largest gap": number("gap", ".0e"),
        "splits": number("splits", ",d"),
        "CPU s": number("cpu_seconds", ".2f"),
    }
    found = {
        f"{n:,} x {p}": benchmark.isolated(run_tree, n, p, benchmark.threads)
        for n, p in SIZES[: 1 if benchmark.quick else None]
    }
    title = 'weights="tree", norm="l1", 50 gammas'
    benchmark.report.columns(title, columns, found, "rows")


def measure_tree_accuracy(benchmark: Benchmark, key: str) -> None:
    """Show the agreement with known classes beside the default weights and norm."""
    names = [name for name, known in SETS.items() if known.is_here and not known.is_graph]
    names = [*([CCMMR] if real_file(CCMMR_FILE) else []), *names][: 2 if benchmark.quick else None]
    found = {name: benchmark.isolated(run_accuracy, name, benchmark.threads) for name in names}
    columns = {header: number(header, ".2f") for header in next(iter(found.values()))}
    found["mean"] = {header: np.mean([one[header] for one in found.values()]) for header in columns}
    title = "tree weights (l1) beside nearest neighbors (l2), default gammas"
    benchmark.report.columns(title, columns, found, "rows")
