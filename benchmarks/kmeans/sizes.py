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
from benchmarks.harness.cells import TIMES, number
from benchmarks.harness.contenders import Contender, model_of
from benchmarks.harness.measuring import measured
from benchmarks.harness.rounds import Result

PLAIN, SIZED, PEER = "coterie, any sizes", "coterie, sizes within bounds", "k-means-constrained"


@dataclass(frozen=True)
class SizeRow:
    """Normal rows, in groups or not, and clusters whose sizes may differ by a share (`slack`) of their mean."""

    name: str
    n_rows: int
    n_columns: int
    n_clusters: int
    n_groups: int
    group_deviation: float
    slack: float
    max_iter: int
    contenders: tuple[str, ...]

    @property
    def title(self) -> str:
        """Data, sizes, bounds and iterations."""
        least, most = self.bounds
        sizes = f"sizes {least:,} to {most:,}" if least < most else f"sizes of {least:,}"
        until = "until convergence" if self.max_iter == 300 else f"{self.max_iter} iterations"
        return f"{self.name}, {self.n_rows:,} x {self.n_columns}, k = {self.n_clusters:,}, {sizes}, {until}"

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest size of a cluster."""
        mean = self.n_rows / self.n_clusters
        return int(mean * (1 - self.slack)), int(np.ceil(mean * (1 + self.slack)))

    def rows(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and first centroids, drawn from them."""
        random = np.random.default_rng(seed)
        X = random.standard_normal((self.n_rows, self.n_columns), dtype=np.float32)
        if self.n_groups:
            means = random.standard_normal((self.n_groups, self.n_columns), dtype=np.float32)
            X += self.group_deviation * means[random.integers(0, self.n_groups, self.n_rows)]
        return X, X[random.choice(self.n_rows, self.n_clusters, replace=False)]

    def for_options(self, benchmark: Benchmark) -> SizeRow:
        """Return the row, smaller with --quick."""
        if not benchmark.quick:
            return self
        n_clusters = self.n_clusters // 20
        return replace(self, n_rows=self.n_rows // 50, n_clusters=n_clusters, n_groups=self.n_groups // 20)


_MILLION = (1_000_000, 32, 1000)
SIZE_ROWS = {
    "h": SizeRow("normal rows", *_MILLION, 0, 0.0, 0.1, 3, (PLAIN, SIZED)),
    "i": SizeRow("200 separate groups", *_MILLION, 200, 4.0, 0.1, 3, (PLAIN, SIZED)),
    "j": SizeRow("touching groups", 23_000, 50, 100, 100, 1.0, 0.0, 300, (SIZED, PEER)),
}


def _plain(row: SizeRow, X: np.ndarray, **options: Any) -> Any:
    return model_of("coterie.KMeans", row.n_clusters, **options).fit(X)


def _sized(row: SizeRow, X: np.ndarray, **options: Any) -> Any:
    return model_of("coterie.SizeConstrainedKMeans", row.n_clusters, *row.bounds, **options).fit(X)


def _constrained(row: SizeRow, X: np.ndarray, *, init: np.ndarray, n_threads: int, **options: Any) -> Any:
    least, most = row.bounds
    return model_of(
        "k_means_constrained.KMeansConstrained", row.n_clusters, size_min=least, size_max=most,
        init=init.astype(np.float64), n_jobs=1, **options,  # only starts go to other processes, and there is one
    ).fit(X.astype(np.float64))  # fmt: skip


CONTENDERS = {
    PLAIN: Contender("coterie", _plain),
    SIZED: Contender("coterie", _sized),
    PEER: Contender("k_means_constrained", _constrained),
}


def run_sizes(name: str, row: SizeRow, seed: int, n_threads: int) -> Result:
    """Fit one contender; its inertia is that of its labels' own means, by one function for all."""
    warnings.simplefilter("ignore")
    X, centers = row.rows(seed)
    options = {"init": centers, "n_init": 1, "tol": 0, "n_threads": n_threads}
    few = replace(row, n_rows=4 * row.n_clusters)
    CONTENDERS[name].call(few, X[: few.n_rows], max_iter=1, **options)  # loads packages, starts threads
    with measured(n_threads) as cost:
        model = CONTENDERS[name].call(row, X, max_iter=row.max_iter, **options)
    labels = np.asarray(model.labels_)
    sizes = np.bincount(labels, minlength=row.n_clusters)
    return vars(cost) | {
        "inertia": _inertia_of(X, labels, sizes),
        "n_iter": int(model.n_iter_),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
    }


def _inertia_of(X: np.ndarray, labels: np.ndarray, sizes: np.ndarray) -> float:
    total = 0.0
    for column in X.T.astype(np.float64):
        means = np.bincount(labels, weights=column, minlength=len(sizes)) / np.maximum(sizes, 1)
        total += np.sum((column - means[labels]) ** 2)
    return float(total)


def measure_sizes(benchmark: Benchmark, key: str) -> None:
    """Compare fits of one row; each round has rows of its own."""
    row = SIZE_ROWS[key].for_options(benchmark)

    def run(name: str, repeat: int) -> Result:
        return benchmark.isolated(run_sizes, name, row, repeat, benchmark.threads)

    names = benchmark.select({name: CONTENDERS[name] for name in row.contenders})
    title = f"{key}. {row.title}"
    summaries = benchmark.measure(title, names, run, repeat_slow=False)
    columns = {
        **TIMES,
        "iterations": number("n_iter", ".0f"),
        "inertia": number("inertia", ".6g"),
        "sizes": lambda s: f"{s['smallest']:,.0f} to {s['largest']:,.0f}",
    }
    benchmark.table(title, columns, summaries)
