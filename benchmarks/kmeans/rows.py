"""Tasks of the contenders: data, number of clusters and iterations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.data.tables import save_first_centers


@dataclass(frozen=True)
class FitRow:
    """Rows of a data set, and what is made of them."""

    data: str
    n_rows: int
    n_clusters: int
    max_iter: int = 0
    skip: tuple[str, ...] = ()  # contenders that would keep a bound for every row and centroid

    @property
    def title(self) -> str:
        """Data, sizes and the iterations, if there are any."""
        until = {0: "", 300: ", until convergence"}.get(self.max_iter, f", {self.max_iter} iterations")
        return f"{self.data}, {self.n_rows:,} rows, k = {self.n_clusters:,}{until}"

    def for_options(self, benchmark: Benchmark) -> FitRow:
        """Return the row, smaller with --quick."""
        if not benchmark.quick:
            return self
        return replace(self, n_rows=self.n_rows // 50, n_clusters=max(10, self.n_clusters // 10))

    def files(self, benchmark: Benchmark) -> tuple[Path, Path]:
        """Return the files of the rows and of the initial centroids."""
        data = benchmark.data(self.data, self.n_rows)
        centers = benchmark.isolated(save_first_centers, data, self.n_clusters)
        return data, centers


ELKAN = ("scikit-learn elkan", "coterie elkan")
FIT_ROWS = {
    "a": FitRow("mnist", 70_000, 50, 300),
    "b": FitRow("blobs", 1_000_000, 1000, 25, skip=ELKAN),
    "c": FitRow("mnist", 20_000, 1000, 10),
    "d": FitRow("embeddings", 100_000, 1000, 10),
}
