"""Whole paths with nothing but the defaults, on rows of any kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import Columns, number
from benchmarks.harness.contenders import Contender, model_of
from benchmarks.harness.data.files import needed_file, real_file, snippets
from benchmarks.harness.measuring import measured

# Rows of larger sets that are taken.
MOST_ROWS = 2000

Rows = tuple[np.ndarray, np.ndarray | None]


def _known(name: str) -> Rows:
    """Return a set that is shipped with Coterie or scikit-learn."""
    from sklearn import datasets

    import coterie.datasets

    if name == "iris":
        return coterie.datasets.load_iris()
    if name == "senate":
        senate = coterie.datasets.load_senate(complete=True)
        return senate.data, senate.target
    if name == "mammals":
        return coterie.datasets.load_mammals().data, None
    if name == "moons":
        return datasets.make_moons(1000, noise=0.05, random_state=0)
    if name == "diabetes":
        return datasets.load_diabetes(return_X_y=True, scaled=False)[0], None
    return getattr(datasets, f"load_{name}")(return_X_y=True)


def _shared(name: str) -> Rows:
    """Return the first rows of a table of the folder of real data, complete ones."""
    if name.endswith(".parquet"):
        X, classes = snippets()
        return X[:MOST_ROWS], classes[:MOST_ROWS]
    with np.load(needed_file(name)) as file:
        X = file["X"].astype(np.float32)
        kept = np.flatnonzero(np.isfinite(X.reshape(len(X), -1)).all(axis=1))[:MOST_ROWS]
        classes = file["y"][kept] if "y" in file.files else None
        return X[kept].reshape(len(kept), -1), classes


def _blobs(n: int, p: int, n_clusters: int, **options: Any) -> Callable[[], Rows]:
    return partial(model_of, "sklearn.datasets.make_blobs", n, p, centers=n_clusters, **options)


def _overlapping(n: int, p: int) -> Rows:
    """Return rows of five clusters whose means differ by less than the noise in each column."""
    random = np.random.default_rng(0)
    means, classes = 0.5 * random.normal(size=(5, p)), random.integers(5, size=n)
    return means[classes] + random.normal(size=(n, p)), classes


def _constant_column() -> Rows:
    X, y = _blobs(500, 6, 3, random_state=1)()
    X[:, 2] = 7
    return X, y


def _moved(name: str, shift: float, scale: float) -> Rows:
    X, y = _known(name)
    return scale * (X + shift), y


def _drawn(draw: Callable[[np.random.Generator], np.ndarray]) -> Callable[[], Rows]:
    return lambda: (draw(np.random.default_rng(0)), None)


KNOWN = ("iris", "senate", "mammals", "moons", "digits", "wine", "breast_cancer", "diabetes")
SHARED = (
    "optdigits.npz", "pendigits.npz", "shuttle.npz", "cod_rna.npz", "four_moons_regen.npz", "kddc98_pva97nk.npz",
    "mnist.npz",
    "searchsnippets.parquet",
)  # fmt: skip
# Rows of one awkward kind each.
GENERATED: dict[str, Callable[[], Rows]] = {
    "wide, 64 x 6,830": _blobs(64, 6830, 4, cluster_std=6, random_state=0),
    "wide, 700 x 765": _blobs(700, 765, 5, cluster_std=6, random_state=0),
    "long": _blobs(2000, 2, 5, random_state=0),
    "heavy-tailed": _drawn(lambda random: random.standard_t(1.5, size=(1000, 10))),
    "integer": _drawn(lambda random: random.integers(0, 4, size=(1000, 3))),
    "constant column": _constant_column,
    "units of 1e-9": partial(_moved, "iris", 0.0, 1e-9),
    "far away, units of 1e6": partial(_moved, "wine", 1e4, 1e6),
    "normal, 2,000 x 100": _drawn(lambda random: random.normal(size=(2000, 100))),
    "overlapping, 700 x 765": partial(_overlapping, 700, 765),
    "overlapping, 2,000 x 1,000": partial(_overlapping, 2000, 1000),
}
FEW = ("iris", "senate", "mammals", "wine", "integer", "constant column", "units of 1e-9", "wide, 64 x 6,830")


def sources() -> dict[str, Callable[[], Rows]]:
    """Return what makes the rows of each set that is here, by its name."""
    known = {name: partial(_known, name) for name in KNOWN}
    shared = {Path(name).stem: partial(_shared, name) for name in SHARED if real_file(name)}
    return known | shared | GENERATED


def run_default(name: str, n_threads: int) -> dict[str, Any]:
    """Follow the default path of one set; return what became of it."""
    from coterie import ConvexClusterPath
    from coterie.metrics import clustering_accuracy

    X, classes = sources()[name]()
    X = X if X.dtype.kind == "f" else X.astype(float)
    with measured() as cost:
        path = ConvexClusterPath(n_threads=n_threads).fit(X)
    accuracy = None
    if classes is not None:
        accuracy = clustering_accuracy(classes, path.labels_at(len(np.unique(classes))))
    return {
        "shape": X.shape,
        "gammas": len(path.gammas_),
        "iterations": path.n_iter_,
        "gap": float(path.relative_gaps_.max()),
        "accuracy": accuracy,
        "cpu_seconds": cost.cpu_seconds,
    }


def measure_any(benchmark: Benchmark, key: str) -> None:
    """Follow default paths: each should converge."""
    columns: Columns = {
        "shape": lambda s: "{:,} x {:,}".format(*s["shape"]),
        "gammas": number("gammas", "d"),
        "iterations": number("iterations", ",d"),
        "largest gap": number("gap", ".1e"),
        "accuracy": number("accuracy", ".2f"),
        "CPU s": number("cpu_seconds", ".2f"),
    }
    names = FEW if benchmark.quick else tuple(sources())
    chosen = benchmark.select({name: Contender("coterie", run_default) for name in names})
    found = {name: benchmark.isolated(run_default, name, benchmark.threads) for name in chosen}
    benchmark.report.columns("default paths, relative gap 1e-05", columns, found, "rows")
