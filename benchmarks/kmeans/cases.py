"""Whole fits of 14 data sets, mini-batches beside exact k-means: initialization and labels of all rows included."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import gmean

from benchmarks.harness.benchmark import Benchmark, Result
from benchmarks.harness.contenders import Contender, faiss_with, threaded
from benchmarks.harness.measuring import measured

EXACT, ANNEALED = "KMeans", "MiniBatchKMeans"


@dataclass(frozen=True)
class Case:
    """Rows of a data set of `benchmarks.harness.data.tables`, and the number of clusters."""

    data: str
    n_rows: int
    n_clusters: int
    once: bool = False  # too large to be repeated


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
        Case("blobs8", 10_000_000, 50, once=True),
    )
}


@dataclass(frozen=True)
class Fit:
    """Centers, and how many times as many rows as there are were assigned, those of the initialization left out."""

    centers: np.ndarray
    n_passes: float


def _fit(X: np.ndarray, k: int, seed: int, n_threads: int, *, path: str) -> Fit:
    model = threaded(path, k, random_state=seed, n_threads=n_threads).fit(X)
    n_rows, n_passes = len(X), model.n_iter_
    if "Nested" in path:
        n_passes = model.history_.batch_size.sum() / n_rows
    elif path.startswith("sklearn"):
        n_passes = model.n_steps_ * min(model.batch_size, n_rows) / n_rows
    return Fit(model.cluster_centers_, float(n_passes) + 1)


def _faiss(X: np.ndarray, k: int, seed: int, n_threads: int) -> Fit:
    model = faiss_with(n_threads).Kmeans(X.shape[1], k, seed=seed + 1)
    model.train(X)
    model.assign(X)
    return Fit(model.centroids, 25 * min(len(X), 256 * k) / len(X) + 1)


def _superkmeans(X: np.ndarray, k: int, seed: int, n_threads: int, *, hierarchical: bool) -> Fit:
    from superkmeans import SuperKMeans

    model = SuperKMeans(k, X.shape[1], hierarchical=hierarchical, seed=seed + 1, n_threads=n_threads)
    centers = model.train(np.ascontiguousarray(X))
    model.assign(X, centers)
    return Fit(centers, float("nan"))


CONTENDERS: dict[str, Contender] = {
    EXACT: Contender("coterie", partial(_fit, path="coterie.KMeans")),
    ANNEALED: Contender("coterie", partial(_fit, path="coterie.MiniBatchKMeans")),
    "NestedMiniBatchKMeans": Contender("coterie", partial(_fit, path="coterie.NestedMiniBatchKMeans")),
    "scikit-learn mini-batch": Contender("sklearn", partial(_fit, path="sklearn.cluster.MiniBatchKMeans")),
    "faiss": Contender("faiss", _faiss),
    "superkmeans": Contender("superkmeans", partial(_superkmeans, hierarchical=False)),
    "superkmeans, hierarchical": Contender("superkmeans", partial(_superkmeans, hierarchical=True)),
}


def run_fit(name: str, data: Path, n_clusters: int, seed: int, n_threads: int) -> Result:
    """Fit one contender; the inertia is computed by one function for all."""
    import coterie

    X, fit = np.load(data, mmap_mode="r"), CONTENDERS[name].call
    if X.nbytes < 1 << 28:
        X = np.array(X)
    fit(np.array(X[:1000]), 10, seed, n_threads)  # starts thread pools and chooses code paths
    with measured(n_threads) as cost:
        found = fit(X, n_clusters, seed, n_threads)
    centers = np.ascontiguousarray(found.centers, dtype=X.dtype)
    of = coterie.KMeans(n_clusters, init=centers, max_iter=1, n_threads=n_threads).fit(
        X[: max(n_clusters, 1000)]
    )
    of.cluster_centers_ = centers
    return vars(cost) | {"inertia": -of.score(X), "passes": found.n_passes, "input_bytes": X.nbytes}


def measure_fits(benchmark: Benchmark, key: str) -> None:
    """Compare whole fits of one kind; the round is the seed."""
    case = CASES[key]
    n_rows, n_clusters = case.n_rows, case.n_clusters
    if benchmark.quick:
        n_rows, n_clusters = n_rows // 50, max(10, n_clusters // 50)
    data = benchmark.data(case.data, n_rows)
    shape = np.load(data, mmap_mode="r").shape
    title = f"{case.data}, {shape[0]:,} x {shape[1]}, k = {n_clusters:,}"
    run = benchmark.each(run_fit, data, n_clusters, limit=benchmark.options.limit)
    repeats = 1 if case.once else None
    benchmark.kept.append(
        (title, benchmark.measure(title, benchmark.select(CONTENDERS), run, repeats=repeats))
    )


def tell(benchmark: Benchmark) -> None:
    """Print a table of the inertias, one of CPU seconds and one of passes, with a line for each case."""
    if not benchmark.kept:
        return
    names = benchmark.select(CONTENDERS)
    show: dict[str, tuple[str, Callable[[float, float], float]]] = {
        "inertia": (".4f", lambda value, exact: value / exact),
        "cpu_seconds": (".2f", lambda value, _: value),
        "passes": (".1f", lambda value, _: value),
    }
    for what, (form, value_of) in show.items():
        lines, ratios = [], []
        for title, found in benchmark.kept:
            values = [
                value_of(found[name][what], found.get(EXACT, found[name])[what]) if name in found else np.nan
                for name in names
            ]
            lines.append([title, *("-" if np.isnan(value) else format(value, form) for value in values)])
            ratios.append([
                found[name][what] / found[EXACT][what] if name in found and EXACT in found else np.nan for name in names
            ])  # fmt: skip
        means = gmean(np.array(ratios), axis=0, nan_policy="omit")
        lines.append(
            [f"geometric mean, relative to {EXACT}", *("-" if np.isnan(m) else f"{m:.4f}" for m in means)]
        )
        benchmark.report.table(what.replace("cpu_seconds", "CPU s"), ["", *names], lines)
