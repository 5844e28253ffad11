"""The data sets, and how they are divided."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.harness.benchmark import Benchmark
from benchmarks.nested.recorder import K_MEANS_PLUS_PLUS


@dataclass(frozen=True)
class CurveRow:
    """One data set, and how it is divided."""

    data: str
    n_train: int
    n_valid: int
    n_clusters: int = 50
    batch_size: int = 5000
    start: str = "random"
    needs: str = ""  # a file of the folder of real data
    sparse: bool = False

    @property
    def title(self) -> str:
        return f"{self.data}, {self.size_title}"

    @property
    def size_title(self) -> str:
        return f"{self.n_train:,} + {self.n_valid:,} rows, k = {self.n_clusters:,}"

    @property
    def sizes(self) -> tuple[int, int]:
        """Return the number of clusters and the batch size."""
        return self.n_clusters, self.batch_size

    def for_options(self, benchmark: Benchmark) -> CurveRow:
        if not benchmark.options.quick:
            return self
        return replace(
            self,
            n_train=self.n_train // 50,
            n_valid=self.n_valid // 50,
            n_clusters=max(10, self.n_clusters // 10),
            batch_size=self.batch_size // 10,
        )


CURVE_ROWS = {
    "a": CurveRow("infmnist", 400_000, 20_000),
    "b": CurveRow("mnist", 60_000, 10_000),
    "c": CurveRow("patches", 960_000, 40_000, needs="cifar10_12k.npz"),
    "d": CurveRow("rcv1", 23_613, 4_000, needs="rcv1_27k.npz", sparse=True),
    "e": CurveRow("blobs", 1_000_000, 20_000, n_clusters=1000, start=K_MEANS_PLUS_PLUS),
}
