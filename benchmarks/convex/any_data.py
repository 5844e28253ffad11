"""Whole paths with nothing but the defaults, on rows of any kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.contenders import Contender
from benchmarks.harness.data.files import real_file
from benchmarks.harness.measuring import measured

# Rows of larger sets that are taken.
MOST_ROWS = 2000

Rows = tuple[np.ndarray, np.ndarray | None]


def _known(name: str) -> Rows:
    """Return a set that is shipped with Coterie or scikit-learn."""
    from sklearn import datasets

    import coterie.datasets

    match name:
        case "iris":
            return coterie.datasets.load_iris()
        case "senate":
            senate = coterie.datasets.load_senate(complete=True)
            return senate.data, senate.target
        case "mammals":
            return coterie.datasets.load_mammals().data, None
        case "moons":
            return datasets.make_moons(1000, noise=0.05, random_state=0)
        case "diabetes":
            return datasets.load_diabetes(return_X_y=True, scaled=False)[0], None
    loaded: Rows = getattr(datasets, f"load_{name}")(return_X_y=True)
    return loaded


def _shared(name: str) -> Rows:
    """Return the first rows of a table of the folder of real data, complete ones."""
    path = real_file(name)
    assert path is not None
    if path.suffix == ".parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path, columns=["embedding", "topic"]).slice(0, MOST_ROWS)
        return np.stack(table["embedding"].to_numpy()), table["topic"].to_numpy()
    with np.load(path) as file:
        X = file["X"].astype(np.float32)
        kept = np.flatnonzero(np.isfinite(X.reshape(len(X), -1)).all(axis=1))[:MOST_ROWS]
        classes = file["y"][kept] if "y" in file.files else None
        return X[kept].reshape(len(kept), -1), classes


def _generated(name: str) -> Rows:
    """Return rows of one awkward kind each."""
    from sklearn.datasets import make_blobs

    random = np.random.default_rng(0)
    match name:
        case "wide, 64 x 6,830":
            return make_blobs(64, 6830, centers=4, cluster_std=6, random_state=0)
        case "wide, 700 x 765":
            return make_blobs(700, 765, centers=5, cluster_std=6, random_state=0)
        case "long":
            return make_blobs(2000, 2, centers=5, random_state=0)
        case "heavy-tailed":
            return random.standard_t(1.5, size=(1000, 10)), None
        case "integer":
            return random.integers(0, 4, size=(1000, 3)), None
        case "constant column":
            X, y = make_blobs(500, 6, centers=3, random_state=1)
            X[:, 2] = 7
            return X, y
        case "units of 1e-9":
            X, y = _known("iris")
            return X * 1e-9, y
        case "far away, units of 1e6":
            X, y = _known("wine")
            return 1e6 * (X + 1e4), y
        case "normal, 2,000 x 100":
            return random.normal(size=(2000, 100)), None
        case "overlapping, 700 x 765":
            return _overlapping(700, 765)
        case "overlapping, 2,000 x 1,000":
            return _overlapping(2000, 1000)
    raise ValueError(name)


def _overlapping(n: int, p: int) -> Rows:
    """Return rows of five clusters whose means differ by less than the noise in each column."""
    random = np.random.default_rng(0)
    means, classes = 0.5 * random.normal(size=(5, p)), random.integers(5, size=n)
    return means[classes] + random.normal(size=(n, p)), classes


KNOWN = ("iris", "senate", "mammals", "moons", "digits", "wine", "breast_cancer", "diabetes")
SHARED = (
    "optdigits.npz", "pendigits.npz", "shuttle.npz", "cod_rna.npz", "four_moons_regen.npz", "kddc98_pva97nk.npz",
    "mnist.npz",
    "searchsnippets.parquet",
)  # fmt: skip
GENERATED = (
    "wide, 64 x 6,830", "wide, 700 x 765", "long", "heavy-tailed", "integer", "constant column", "units of 1e-9",
    "far away, units of 1e6", "normal, 2,000 x 100", "overlapping, 700 x 765", "overlapping, 2,000 x 1,000",
)  # fmt: skip
FEW = ("iris", "senate", "mammals", "wine", "integer", "constant column", "units of 1e-9", "wide, 64 x 6,830")


def sources() -> dict[str, tuple[Callable[[str], Rows], str]]:
    """Return what makes the rows of each set that is here, by its name."""
    found = {name: (_known, name) for name in KNOWN}
    found |= {name.partition(".")[0]: (_shared, name) for name in SHARED if real_file(name)}
    return found | {name: (_generated, name) for name in GENERATED}


def run_default(name: str, n_threads: int) -> dict[str, Any]:
    """Follow the default path of one set; return what became of it."""
    from coterie import ConvexClusterPath
    from coterie.convex.weights import distinct_rows
    from coterie.metrics import clustering_accuracy

    make, source = sources()[name]
    X, classes = make(source)
    X = X if X.dtype.kind == "f" else X.astype(float)
    with measured() as cost:
        path = ConvexClusterPath(n_threads=n_threads).fit(X)
    accuracy = None
    if classes is not None:
        accuracy = clustering_accuracy(classes, path.labels_at(len(np.unique(classes))))
    return {
        "shape": X.shape,
        "distinct": len(distinct_rows(X)[0]),
        "phi": path.distance_decay_,
        "gammas": len(path.gammas_),
        "iterations": path.n_iter_,
        "gap": float(path.relative_gaps_.max()),
        "converged": path.converged_,
        "clusters": (int(path.n_clusters_path_[0]), int(path.n_clusters_path_[-1])),
        "accuracy": accuracy,
        "seconds": cost.seconds,
        "cpu_seconds": cost.cpu_seconds,
    }


HEADERS = ["rows", "shape", "phi", "gammas", "iterations", "largest gap", "clusters", "accuracy", "CPU s"]


def measure_any(benchmark: Benchmark, key: str) -> None:
    """Follow default paths: each should converge, and go from all rows that differ to one cluster."""
    cells = []
    names = FEW if benchmark.options.quick else tuple(sources())
    for name in benchmark.select({name: Contender("coterie", run_default) for name in names}):
        found = benchmark.isolated(run_default, name, benchmark.options.threads)
        benchmark.report.data.setdefault("any", {})[name] = found
        n, p = found["shape"]
        first, last = found["clusters"]
        accuracy = "-" if found["accuracy"] is None else f"{found['accuracy']:.2f}"
        cells.append([
            name, f"{n:,} x {p:,}", f"{found['phi']:.2g}", f"{found['gammas']}", f"{found['iterations']:,}",
            f"{found['gap']:.1e}", f"{first:,} to {last:,}", accuracy, f"{found['cpu_seconds']:.2f}",
        ])  # fmt: skip
    benchmark.report.table("default paths, relative gap 1e-05", HEADERS, cells)
