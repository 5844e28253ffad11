"""Whole paths: of two moons of growing sizes, of the problems of the paper, and with tree weights."""

from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.metrics import adjusted_rand_score

from benchmarks.harness.benchmark import Benchmark, Result
from benchmarks.harness.data.files import arrays_of, real_file, sampled
from benchmarks.harness.data.quality_sets import SETS
from benchmarks.harness.measuring import measured
from benchmarks.harness.reporting import CPU, Columns, mib_cell, number
from coterie import ConvexClusterPath
from coterie.metrics import clustering_accuracy

PHI = 2.0  # the scale of distances in the weights
PAPER_SIZES, MOON_SIZES = (100, 200, 300, 400, 500), (1000, 5000, 20_000, 100_000)
PAPER_GAMMAS, MOON_GAMMAS = np.geomspace(0.01, 10, 50), np.geomspace(0.01, 100, 50)
PAPER_TOL, MOON_TOL = 1e-4, 1e-5

# Seconds of CCMMR, measured on this kind of machine.
CCMMR_SECONDS = {1000: 0.53, 5000: 3.7, 20_000: 17.2}

FASTEST = "fast AMA"
SOLVERS: dict[str, dict[str, Any]] = {
    FASTEST: {"solver": "ama"},
    "AMA": {"solver": "plain-ama"},
    "fast AMA, the paper's step": {"solver": "ama", "step_size": "paper"},
    "ADMM": {"solver": "admm"},
    "ADMM, Boyd's residuals": {"solver": "admm", "stopping": "residuals"},
}


def moons(n_rows: int) -> np.ndarray:
    return datasets.make_moons(n_rows, noise=0.05, random_state=0)[0]


def followed(X: np.ndarray, **options: Any) -> tuple[ConvexClusterPath, Result]:
    """Follow one path; return it, its costs, its largest relative gap, and how many gammas and iterations it took."""
    model = ConvexClusterPath(**options)
    with measured() as cost:
        model.fit(X)
    gap, n_gammas = float(model.relative_gaps_.max()), len(model.gammas_)
    return model, vars(cost) | {"largest gap": gap, "iterations": model.n_iter_, "gammas": n_gammas}


def run_path(solver: str, kind: str, n_rows: int, seed: int, n_threads: int) -> Result:
    """Follow one path of moons or of the paper's rows."""
    if kind == "moons":
        X, gammas, tol = moons(n_rows), MOON_GAMMAS, MOON_TOL
        graph: dict[str, Any] = {"n_neighbors": 15}
    else:
        X, gammas, tol = np.random.default_rng(seed).standard_normal((n_rows, 2)), PAPER_GAMMAS, PAPER_TOL
        graph = {"weights": "dense"} if kind == "dense" else {"n_neighbors": n_rows // 4}
    options = {
        "gammas": gammas,
        "distance_decay": PHI,
        "tol": tol,
        "n_threads": n_threads,
        "max_iter": 50_000,
    }
    return followed(X, **options, **graph, **SOLVERS[solver])[1]


def measure_moons(benchmark: Benchmark, kind: str) -> None:
    """Follow paths of growing numbers of rows: two moons, 15 neighbors."""
    title = f"two moons, 15 neighbors, phi = 2, 50 gammas from 0.01 to 100, relative gap {MOON_TOL:g}"
    sizes = {f"n = {n_rows:,}": n_rows for n_rows in ((500,) if benchmark.quick else MOON_SIZES)}

    def run(name: str, seed: int) -> Result:
        theirs = {"CCMMR's s": CCMMR_SECONDS.get(sizes[name])}
        return benchmark.each(run_path, kind, sizes[name])(FASTEST, seed) | theirs

    once = {name: 1 for name, n_rows in sizes.items() if n_rows > 5000}
    columns: Columns = {
        "seconds": ".3g", "CPU s": number("cpu_seconds", ".3g"), "iterations": ",.0f", "largest gap": ".1e",
        "MiB": mib_cell, "CCMMR's s": "g",
    }  # fmt: skip
    benchmark.table(title, columns, benchmark.measure(title, list(sizes), run, most_rounds=once))


# --- tree weights: growth with the number of rows, and accuracy beside the weights of nearest neighbors

# Rows and columns.
SIZES = [(10_000, 2), (100_000, 2), (1_000_000, 2), (10_000, 50), (100_000, 50)]
TREE_ROWS = 1000
TREE = {"weights": "tree", "norm": "l1"}
# The half moons of the R package CCMMR (Touw, Groenen and Terada), 75 rows each; larger ones are generated.
CCMMR, CCMMR_FILE = "half moons of CCMMR", "two_half_moons_150.npz"


def run_tree(n_rows: int, n_columns: int, n_threads: int) -> Result:
    """Follow the path of half moons, or of 20 normal clusters in more columns."""
    random = np.random.default_rng(0)
    if n_columns == 2:
        X = moons(n_rows)
    else:
        means = 3 * random.normal(size=(20, n_columns))
        X = means[random.integers(20, size=n_rows)] + random.normal(size=(n_rows, n_columns))
    path, found = followed(X, **TREE, n_gammas=50, n_threads=n_threads)
    return found | {"splits": int(path.n_splits_.sum())}


def run_accuracy(name: str, n_threads: int) -> Result:
    """Compare paths with both kinds of weights by their agreement with the classes."""
    X, classes = sampled(*(arrays_of(CCMMR_FILE) if name == CCMMR else SETS[name].read()), TREE_ROWS)
    X = np.asarray(X, dtype=np.float64)
    found = {}
    for kind, options in {"tree": TREE, "knn": {}}.items():
        path, cost = followed(X, n_threads=n_threads, **options)
        found[f"{kind}, accuracy"] = clustering_accuracy(classes, path.labels_at(len(np.unique(classes))))
        found[f"{kind}, best ARI"] = max(adjusted_rand_score(classes, labels) for labels in path.labels_path_)
        found[f"{kind}, CPU s"] = cost["cpu_seconds"]
    return found


def measure_trees(benchmark: Benchmark, key: str) -> None:
    """Show how time and gaps grow with the rows."""
    columns: Columns = {
        "gammas": "d", "largest gap": ".0e", "splits": ",d", "CPU s": CPU,
    }  # fmt: skip
    found = {
        f"{n:,} x {p}": benchmark.isolated(run_tree, n, p, benchmark.threads)
        for n, p in SIZES[: 1 if benchmark.quick else None]
    }
    benchmark.report.columns('weights="tree", norm="l1", 50 gammas', columns, found, "rows")


def measure_tree_accuracy(benchmark: Benchmark, key: str) -> None:
    """Show the agreement with known classes beside the default weights and norm."""
    names = [name for name, known in SETS.items() if known.is_here and not known.is_graph]
    names = [*([CCMMR] if real_file(CCMMR_FILE) else []), *names][: 2 if benchmark.quick else None]
    found = {name: benchmark.isolated(run_accuracy, name, benchmark.threads) for name in names}
    columns: Columns = dict.fromkeys(next(iter(found.values())), ".2f")
    found["mean"] = {header: np.mean([one[header] for one in found.values()]) for header in columns}
    title = "tree weights (l1) beside nearest neighbors (l2), default gammas"
    benchmark.report.columns(title, columns, found, "rows")
