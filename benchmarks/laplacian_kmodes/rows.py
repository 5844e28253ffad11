"""Data sets whose classes are known."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.harness.benchmark import Benchmark
from benchmarks.laplacian_kmodes.setting import Setting

STARTS = 10


@dataclass(frozen=True)
class LabeledRow:
    """A data set, how it is scaled, and the parameters of Laplacian K-modes."""

    data: str
    scaling: str
    n_clusters: int
    lam: float
    bandwidth_factor: float = 1.0
    init: str = "k-means++"
    n_rows: int | None = None

    @property
    def title(self) -> str:
        wide = f", bandwidth x {self.bandwidth_factor:g}" if self.bandwidth_factor != 1 else ""
        start = f", starts from {self.init}" if self.init != "k-means++" else ""
        return f"{self.data}, {self.scaling}, {self.n_clusters} clusters, lambda {self.lam:g}{wide}{start}"

    def for_options(self, benchmark: Benchmark) -> LabeledRow:
        return replace(self, n_rows=1500) if benchmark.options.quick else self

    def setting(self, benchmark: Benchmark) -> Setting:
        """Return the parameters of the contenders."""
        threads = benchmark.options.threads
        return Setting(self.n_clusters, self.lam, STARTS, threads, self.bandwidth_factor, self.init)


UNIT = "rows of length 1"
ROWS = {
    "mnist": LabeledRow("mnist", UNIT, 10, 1.0, init="k-means"),
    "shuttle": LabeledRow("shuttle", UNIT, 7, 2.0),
    "shuttle-columns": LabeledRow("shuttle", "columns in 0..1", 7, 4.0, 20.0),
    "optdigits": LabeledRow("optdigits", UNIT, 10, 1.3),
    "optdigits-raw": LabeledRow("optdigits", "as they are", 10, 1.3),
    "optdigits-columns": LabeledRow("optdigits", "standardized columns", 10, 1.3),
    "pendigits": LabeledRow("pendigits", UNIT, 10, 1.3),
    "pendigits-raw": LabeledRow("pendigits", "as they are", 10, 1.0),
    "pendigits-columns": LabeledRow("pendigits", "standardized columns", 10, 1.0),
    "digits": LabeledRow("digits", UNIT, 10, 2.0),
}
