"""Whole fits of 14 data sets, mini-batches beside exact k-means: initialization and labels of all rows included.

    python -m benchmarks.kmeans [--rows mnist] [--repeats 3] [--threads 1] [--only faiss] [--quick]

All cases and contenders on one thread make the page.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import gmean

from benchmarks.harness.benchmark import Benchmark, Result, run_steps
from benchmarks.harness.contenders import EVERY_ROW, SUPERKMEANS_ALL_ROWS, Contender, faiss_with, threaded
from benchmarks.harness.measuring import inertia, measured
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import (
    DOCS,
    FAILED,
    RESULTS,
    Results,
    bold_best,
    machine_line,
    markdown_table,
    write_parts,
)  # fmt: skip

EXACT = "coterie"
PAGE = DOCS / "benchmarks" / "kmeans.md"
# So many rows stay in their file.
FILE_ROWS = 5_000_000


@dataclass(frozen=True)
class Case:
    """Rows of a data set of `benchmarks.harness.data.tables`, their name on the page, and the number of clusters."""

    data: str
    name: str
    n_rows: int
    n_clusters: int


CASES = {
    case.data if case.n_clusters != 1000 else f"{case.data} {case.n_clusters}": case
    for case in (
        Case("mnist", "MNIST", 70_000, 50),
        Case("mnist", "MNIST", 10_000, 1000),
        Case("aug90", "shifted digits", 20_000, 200),
        Case("pendigits", "pendigits", 10_992, 200),
        Case("shuttle", "shuttle", 58_000, 100),
        Case("cod_rna", "cod-rna", 150_000, 500),
        Case("kddc98", "KDD Cup 98", 50_000, 100),
        Case("patches", "image patches", 100_000, 500),
        Case("embeddings384", "embeddings", 20_000, 500),
        Case("noise256", "noise", 30_000, 100),
        Case("blobs", "blobs", 100_000, 1000),
        Case("blobs64", "overlapping blobs", 60_000, 1500),
        Case("blobs18", "overlapping blobs", 100_000, 10_000),
        Case("blobs8", "blobs, file", 10_000_000, 50),
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
    """Compare whole fits of one kind; the round is the seed. Fits that an earlier run has kept are not repeated."""
    case = CASES[key]
    n_rows, n_clusters = case.n_rows, case.n_clusters
    if benchmark.quick:
        n_rows, n_clusters = n_rows // 50, max(10, n_clusters // 50)
    data = benchmark.data(case.data, n_rows)
    shape = np.load(data, mmap_mode="r").shape
    title = f"{case.name}, {shape[0]:,} x {shape[1]}, {n_clusters:,}"
    results = Results((benchmark.folder if benchmark.quick else RESULTS) / f"kmeans-{benchmark.threads}")
    run = benchmark.each(run_fit, data, n_clusters, 0, limit=benchmark.options.limit)
    names, found = benchmark.select(CONTENDERS), {}
    for seed in range(1 if case.n_rows >= FILE_ROWS else benchmark.options.repeats):
        for name in names:
            cell = results.made(title, name, seed, partial(run, name, seed))
            if FAILED not in cell:
                found.setdefault(name, []).append(cell)
    medians = {
        name: {what: float(np.median([cell[what] for cell in cells])) for what in TABLES}
        for name, cells in found.items()
    }
    benchmark.kept.append((title, medians))


# What is told of each fit: the format, whether it is relative to exact k-means, and whether less is better.
TABLES = {
    "inertia": (".4f", True, True),
    "cpu_seconds": (".2f", False, True),
    "passes": (".1f", False, False),
}


def tell(benchmark: Benchmark) -> None:
    """Print a table of each kind with a line for each case; all cases and contenders on one thread make the page."""
    if not benchmark.kept:
        return
    options, names, parts = benchmark.options, benchmark.select(CONTENDERS), {}
    for what, (form, is_relative, has_best) in TABLES.items():
        found = np.array(
            [[one.get(name, {}).get(what, np.nan) for name in names] for _, one in benchmark.kept]
        )
        ratios = found / found[:, [names.index(EXACT)]] if EXACT in names else found
        means = gmean(ratios, axis=0, nan_policy="omit")
        titles = [*(case for case, _ in benchmark.kept), f"geometric mean, relative to {EXACT}"]
        lines = []
        for title, row in zip(titles, [*(ratios if is_relative else found), means]):
            cells = ["-" if np.isnan(value) else format(value, form) for value in row]
            lines.append([title, *(bold_best(cells, row) if has_best else cells)])
        headers = ["rows, k", *names]
        benchmark.report.table(what, headers, lines)
        if has_best:
            parts[what] = "\n".join(markdown_table(headers, lines))
    is_whole = len(benchmark.kept) == len(CASES) and not (benchmark.quick or options.only or options.skip)
    if is_whole and benchmark.threads == 1:
        write_parts(PAGE, {"machine": f"{machine_line()}."} | parts)


if __name__ == "__main__":
    parser = SystemParser("kmeans", __doc__, list(CASES))
    parser.add("--limit", default=420.0, help="seconds after which a whole fit is given up")
    run_steps("kmeans", parser.read(), dict.fromkeys(CASES, measure_fits), tell)
