"""Whole fits of 14 data sets, mini-batches beside exact k-means: initialization and labels of all rows included."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import gmean

from benchmarks.harness.benchmark import Benchmark, Result
from benchmarks.harness.contenders import EVERY_ROW, SUPERKMEANS_ALL_ROWS, Contender, faiss_with, threaded
from benchmarks.harness.measuring import inertia, measured

EXACT = "coterie"
# So many rows stay in their file.
FILE_ROWS = 5_000_000


@dataclass(frozen=True)
class Case:
    """Rows of a data set of `benchmarks.harness.data.tables`, and the number of clusters."""

    data: str
    n_rows: int
    n_clusters: int


CASES = {
    case.data if case.n_clusters != 1000 else f"{case.data} {case.n_clusters}": case
    for case in (
        Case("mnist", 70_000, 50),
        Case("mnist", 10_000, 1000),
        Case("aug90", 20_000, 200),
        Case("pendigits", 10_992, 200),
        Case("shuttle", 58_000, 100),
        Case("cod_rna", 150_000, 500),
        Case("kddc98", 50_000, 100),
        Case("patches", 100_000, 500),
        Case("embeddings384", 20_000, 500),
        Case("noise256", 30_000, 100),
        Case("blobs", 100_000, 1000),
        Case("blobs64", 60_000, 1500),
        Case("blobs18", 100_000, 10_000),
        Case("blobs8", 10_000_000, 50),
    )
}


@dataclass(frozen=True)
class Fit:
    """Centers, and how many times as many rows as there are were assigned, those of the initialization left out."""

    centers: np.ndarray
    n_passes: float


def _fit(X: np.ndarray, k: int, seed: int, n_threads: int, *, path: str, **options: Any) -> Fit:
    model = threaded(path, k, random_state=seed, n_threads=n_threads, **options).fit(X)
    n_rows, n_passes = len(X), model.n_iter_
    if "Nested" in path:
        n_passes = model.history_.batch_size.sum() / n_rows
    elif path == "sklearn.cluster.MiniBatchKMeans":
        n_passes = model.n_steps_ * min(model.batch_size, n_rows) / n_rows
    return Fit(model.cluster_centers_, float(n_passes) + 1)


def _faiss(
    X: np.ndarray, k: int, seed: int, n_threads: int, *, kind: str, start: np.ndarray | None = None, **options: Any
) -> Fit:  # fmt: skip
    model = getattr(faiss_with(n_threads), kind)(X.shape[1], k, seed=seed + 1, **options)
    model.train(X, **({"init_centroids": start} if start is not None else {}))
    model.assign(X)
    n_fitted = min(len(X), options.get("max_points_per_centroid", 256) * k)
    return Fit(model.centroids, options.get("niter", 25) * n_fitted / len(X) + 1)


def _superkmeans(X: np.ndarray, k: int, seed: int, n_threads: int, **options: Any) -> Fit:
    from superkmeans import SuperKMeans

    model = SuperKMeans(k, X.shape[1], seed=seed + 1, n_threads=n_threads, **options)
    centers = model.train(np.ascontiguousarray(X))
    (model.assign_training_points if "sampling_fraction" in options else model.assign)(X, centers)
    return Fit(centers, float("nan"))


_ALL_ROWS: dict[str, Any] = {"sampling_fraction": 1.0, "max_points_per_cluster": EVERY_ROW, "iters": 25}
FITS: dict[str, Contender] = {
    EXACT: Contender("coterie", partial(_fit, path="coterie.KMeans")),
    "coterie MiniBatchKMeans": Contender("coterie", partial(_fit, path="coterie.MiniBatchKMeans")),
    "coterie NestedMiniBatchKMeans": Contender("coterie", partial(_fit, path="coterie.NestedMiniBatchKMeans")),
    "scikit-learn": Contender("sklearn", partial(_fit, path="sklearn.cluster.KMeans")),
    "scikit-learn-intelex": Contender("sklearnex", partial(_fit, path="sklearnex.cluster.KMeans")),
    "scikit-learn mini-batch": Contender("sklearn", partial(_fit, path="sklearn.cluster.MiniBatchKMeans")),
    "faiss": Contender("faiss", partial(_faiss, kind="Kmeans")),
    "faiss, all rows": Contender("faiss", partial(_faiss, kind="Kmeans", max_points_per_centroid=EVERY_ROW)),
    "faiss SuperKmeans": Contender("faiss", partial(_faiss, kind="SuperKmeans")),
    **{
        f"superkmeans{word}{rows}": Contender("superkmeans", partial(_superkmeans, hierarchical=bool(word), **options))
        for word in ("", " hierarchical")
        for rows, options in (("", {}), (", all rows", _ALL_ROWS))
    },
}  # fmt: skip
# Those of the page; scikit-learn's exact k-means is on that of speed.
CONTENDERS = {
    name: FITS[name]
    for name in (
        EXACT, "coterie MiniBatchKMeans", "coterie NestedMiniBatchKMeans", "scikit-learn mini-batch", "faiss",
        "superkmeans", "superkmeans hierarchical",
    )
}  # fmt: skip


def same_work(name: str, start: np.ndarray, max_iter: int) -> dict[str, Any]:
    """Return the options with which a package fits all rows, without an early stop, from `start` if it takes one."""
    if name == "superkmeans":
        return SUPERKMEANS_ALL_ROWS | {"iters": max_iter}
    if name.startswith("faiss"):
        options = {"niter": max_iter, "max_points_per_centroid": EVERY_ROW, "min_points_per_centroid": 1}
        return options if "Super" in name else options | {"start": start}
    options = {"init": start, "n_init": 1, "max_iter": max_iter, "tol": 0}
    return options | ({"algorithm": "lloyd"} if name == "scikit-learn" else {})


def run_fit(name: str, data: Path, n_clusters: int, max_iter: int, seed: int, n_threads: int) -> Result:
    """Fit one contender, labels of all rows included: with its defaults, or so many iterations from the same centers.

    The inertia is computed by one function for all.
    """
    X, fit = np.load(data, mmap_mode="r"), FITS[name].call
    if len(X) < FILE_ROWS:
        X = np.array(X)
    options = {}
    if max_iter:
        start = X[np.sort(np.random.default_rng(0).choice(len(X), n_clusters, replace=False))]
        options = same_work(name, start, max_iter)
    fit(np.array(X[:1000]), 10, seed, n_threads)  # starts thread pools and chooses code paths
    with measured(n_threads) as cost:
        found = fit(X, n_clusters, seed, n_threads, **options)
    return vars(cost) | {
        "inertia": inertia(X, found.centers), "passes": found.n_passes, "input_bytes": X.nbytes
    }  # fmt: skip


def measure_fits(benchmark: Benchmark, key: str) -> None:
    """Compare whole fits of one kind; the round is the seed."""
    case = CASES[key]
    n_rows, n_clusters = case.n_rows, case.n_clusters
    if benchmark.quick:
        n_rows, n_clusters = n_rows // 50, max(10, n_clusters // 50)
    data = benchmark.data(case.data, n_rows)
    shape = np.load(data, mmap_mode="r").shape
    title = f"{case.data}, {shape[0]:,} x {shape[1]}, k = {n_clusters:,}"
    run = benchmark.each(run_fit, data, n_clusters, 0, limit=benchmark.options.limit)
    names, repeats = benchmark.select(CONTENDERS), 1 if case.n_rows >= FILE_ROWS else None
    benchmark.kept.append((title, benchmark.measure(title, names, run, repeats=repeats)))


def tell(benchmark: Benchmark) -> None:
    """Print a table of the inertias, one of CPU seconds and one of passes, with a line for each case."""
    if not benchmark.kept:
        return
    names = benchmark.select(CONTENDERS)
    for what, title, form in (("inertia", "inertia, relative", ".4f"), ("cpu_seconds", "CPU s", ".2f"),
                              ("passes", "passes", ".1f")):  # fmt: skip
        found = np.array(
            [[one.get(name, {}).get(what, np.nan) for name in names] for _, one in benchmark.kept]
        )
        ratios = found / found[:, [names.index(EXACT)]] if EXACT in names else found
        means = gmean(ratios, axis=0, nan_policy="omit")
        shown = [*(ratios if what == "inertia" else found), means]
        titles = [*(case for case, _ in benchmark.kept), f"geometric mean, relative to {EXACT}"]
        lines = [
            [case, *("-" if np.isnan(value) else format(value, form) for value in row)]
            for case, row in zip(titles, shown)
        ]
        benchmark.report.table(title, ["", *names], lines)
