"""Rows h to j: clusters of bounded sizes, against plain k-means and against the package k-means-constrained.

All fits of a row begin with the same drawn rows. `KMeansConstrained` solves a flow over all pairs of rows and clusters
in each iteration, as exactly as its costs in whole numbers allow, and has no other setting that would make it faster.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import TIME_HEADERS, memory_cell, time_cells
from benchmarks.harness.contenders import Contender
from benchmarks.harness.measuring import measured
from benchmarks.harness.rounds import Result

PLAIN, SIZED, PEER = "coterie, any sizes", "coterie, sizes within bounds", "k-means-constrained"


@dataclass(frozen=True)
class SizeRow:
    """Normal rows, in groups or not, and clusters whose sizes may differ by a share (`slack`) of their mean."""

    title: str
    n_rows: int
    n_columns: int
    n_clusters: int
    n_groups: int
    group_deviation: float
    slack: float
    max_iter: int
    contenders: tuple[str, ...]

    def rows(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and first centroids, drawn from them."""
        random = np.random.default_rng(seed)
        X = random.standard_normal((self.n_rows, self.n_columns), dtype=np.float32)
        if self.n_groups:
            means = random.standard_normal((self.n_groups, self.n_columns), dtype=np.float32)
            X += self.group_deviation * means[random.integers(0, self.n_groups, self.n_rows)]
        return X, X[random.choice(self.n_rows, self.n_clusters, replace=False)]

    def for_options(self, benchmark: Benchmark) -> SizeRow:
        if not benchmark.options.quick:
            return self
        n_clusters = self.n_clusters // 20
        return replace(self, n_rows=self.n_rows // 50, n_clusters=n_clusters, n_groups=self.n_groups // 20)

    @property
    def bounds(self) -> tuple[int, int]:
        """Return the smallest and the largest size of a cluster."""
        mean = self.n_rows / self.n_clusters
        return int(mean * (1 - self.slack)), int(np.ceil(mean * (1 + self.slack)))


_MILLION = (1_000_000, 32, 1000)
SIZE_ROWS = {
    "h": SizeRow("normal rows", *_MILLION, 0, 0.0, 0.1, 3, (PLAIN, SIZED)),
    "i": SizeRow("200 separate groups", *_MILLION, 200, 4.0, 0.1, 3, (PLAIN, SIZED)),
    "j": SizeRow("touching groups", 23_000, 50, 100, 100, 1.0, 0.0, 300, (SIZED, PEER)),
}


def _plain(row: SizeRow, X: np.ndarray, centers: np.ndarray, n_threads: int) -> Any:
    from coterie import KMeans

    options = {"init": centers, "n_init": 1, "max_iter": row.max_iter, "tol": 0, "n_threads": n_threads}
    return KMeans(len(centers), **options).fit(X)


def _sized(row: SizeRow, X: np.ndarray, centers: np.ndarray, n_threads: int) -> Any:
    from coterie import SizeConstrainedKMeans

    options = {"init": centers, "n_init": 1, "max_iter": row.max_iter, "tol": 0, "n_threads": n_threads}
    return SizeConstrainedKMeans(len(centers), *row.bounds, **options).fit(X)


def _constrained(row: SizeRow, X: np.ndarray, centers: np.ndarray, _: int) -> Any:
    from k_means_constrained import KMeansConstrained

    least, most = row.bounds
    return KMeansConstrained(
        len(centers),
        size_min=least,
        size_max=most,
        init=centers.astype(np.float64),
        n_init=1,
        max_iter=row.max_iter,
        tol=0,
        n_jobs=1,  # only starts go to other processes, and there is one
    ).fit(X.astype(np.float64))


CONTENDERS = {
    PLAIN: Contender("coterie", _plain),
    SIZED: Contender("coterie", _sized),
    PEER: Contender("k_means_constrained", _constrained),
}


def run_sizes(name: str, row: SizeRow, seed: int, n_threads: int) -> Result:
    """Fit one contender; its inertia is that of its labels' own means, by one function for all."""
    warnings.simplefilter("ignore")
    contender = CONTENDERS[name]
    X, centers = row.rows(seed)
    few = replace(row, n_rows=4 * row.n_clusters, max_iter=1)
    contender.call(few, X[: few.n_rows], centers, n_threads)  # loads packages, starts threads
    with measured(n_threads) as cost:
        model = contender.call(row, X, centers, n_threads)
    labels = np.asarray(model.labels_)
    sizes = np.bincount(labels, minlength=row.n_clusters)
    result = vars(cost) | {
        "inertia": _inertia_of(X, labels, sizes),
        "n_iter": int(model.n_iter_),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "input_bytes": X.nbytes,
    }
    if name == SIZED:
        result |= {"gap": max(float(iteration["gap"]) for iteration in model.history_)}
    return result


def _inertia_of(X: np.ndarray, labels: np.ndarray, sizes: np.ndarray) -> float:
    means = (
        np.column_stack([np.bincount(labels, weights=column, minlength=len(sizes)) for column in X.T])
        / np.maximum(sizes, 1)[:, None]
    )
    return float(
        sum(np.sum((column - means[labels, j]) ** 2) for j, column in enumerate(X.T.astype(np.float64)))
    )


def measure_sizes(benchmark: Benchmark, key: str) -> None:
    """Compare fits of one row; each round has rows of its own."""
    row = SIZE_ROWS[key].for_options(benchmark)
    least, most = row.bounds
    sizes = f"sizes {least:,} to {most:,}" if least < most else f"sizes of {least:,}"
    title = f"{row.title}, {row.n_rows:,} x {row.n_columns}, k = {row.n_clusters:,}, {sizes}"
    title += ", until convergence" if row.max_iter == 300 else f", {row.max_iter} iterations"

    def run(name: str, repeat: int) -> Result:
        seed = benchmark.options.seed + repeat
        return benchmark.isolated(run_sizes, name, row, seed, benchmark.options.threads)

    names = benchmark.select({name: CONTENDERS[name] for name in row.contenders})
    summaries = benchmark.measure(f"{key}: {title}", names, run)

    def cells(name: str, s: Result) -> list[str]:
        return [
            *time_cells(s),
            memory_cell(s),
            f"{s['n_iter']:.0f}",
            f"{s['inertia']:.6g}",
            f"{s['smallest']:,.0f} to {s['largest']:,.0f}",
            f"{s['gap']:.3%}" if "gap" in s else "-",
        ]

    headers = [*TIME_HEADERS, "memory", "iterations", "inertia", "sizes", "largest gap"]
    benchmark.table(key, title, headers, summaries, cells)
