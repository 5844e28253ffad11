"""Time-energy curves: what is measured on a data set, and when each contender comes near the best energy.

A curve is a list of (seconds, validation energy) of one fit; a contender has one for each seed. Energies are
told as relative excess over E*, the lowest one that anything in the run has found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isinf, nan
from pathlib import Path
from statistics import median, median_low
from typing import Self

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.contenders import Contender
from benchmarks.harness.data.files import real_file
from benchmarks.harness.data.tables import save_split
from benchmarks.nested.contenders import run_curve

LEVELS = (0.02, 0.01, 0.005)
Curve = Sequence[Sequence[float]]


@dataclass(frozen=True)
class CurveRow:
    """One data set, and how it is divided."""

    data: str
    n_train: int
    n_valid: int
    n_clusters: int = 50
    batch_size: int = 5000
    needs: str = ""  # a file of the folder of real data
    sparse: bool = False

    @property
    def title(self) -> str:
        return f"{self.n_train:,} + {self.n_valid:,} rows, k = {self.n_clusters:,}"

    def for_options(self, benchmark: Benchmark) -> Self:
        if not benchmark.quick:
            return self
        sizes = {"n_train": self.n_train // 50, "n_valid": self.n_valid // 50}
        n_clusters = max(10, self.n_clusters // 10)
        return replace(self, **sizes, n_clusters=n_clusters, batch_size=self.batch_size // 10)

    def files(self, benchmark: Benchmark) -> tuple[Path, Path] | None:
        """Return the files of the rows for training and for validation; None where the data are missing."""
        if self.needs and real_file(self.needs) is None:
            benchmark.say(f"{self.data} is left out: {self.needs} is not in COTERIE_DATA.")
            return None
        return benchmark.isolated(save_split, self.data, self.n_train, self.n_valid, benchmark.folder)


@dataclass
class RowCurves:
    """The curves of one data row: contender to one curve per seed."""

    title: str
    curves: dict[str, list[Curve]]

    @cached_property
    def best_energy(self) -> float:
        """E*: the lowest energy of all contenders, seeds and points."""
        return min((e for fits in self.curves.values() for fit in fits for _, e in fit), default=nan)

    def times(self, name: str, level: float) -> list[float]:
        """Return the seconds at which each seed first reaches a relative excess; infinity for never."""
        wanted = (1 + level) * self.best_energy
        return [next((s for s, e in curve if e <= wanted), inf) for curve in self.curves[name]]

    def time(self, name: str, level: float) -> float:
        """Return the median of `times`; infinity where fewer than half of the seeds get there."""
        return median_low(self.times(name, level))

    def excess_at(self, name: str, seconds: float = inf) -> list[float]:
        """Return the relative excess of each seed at a time: that of its last point by then, or else of its first."""
        found = []
        for curve in self.curves[name]:
            by_then = [energy for at, energy in curve if at <= seconds]
            found.append((by_then[-1] if by_then else curve[0][1]) / self.best_energy - 1)
        return found

    def time_cell(self, name: str, level: float) -> str:
        """Return the median and the quartiles of the seconds to a level, and how many seeds reach it if not all do."""
        times = np.array(self.times(name, level))
        reached = f" ({np.count_nonzero(np.isfinite(times))} of {len(times)})" * bool(np.isinf(times).any())
        quartiles = np.quantile(times, (0.25, 0.75), method="inverted_cdf")
        spread = f" [{seconds_text(quartiles[0])}, {seconds_text(quartiles[1])}]" * (len(times) > 1)
        return seconds_text(self.time(name, level)) + spread * bool(np.isfinite(times).any()) + reached

    def ratio(self, level: float, ours: str, other: str) -> str:
        """Return how many times sooner we are at a level than another; "-" where ours never gets there.

        Where the other never gets there, it is at least so many times: until it ended.
        """
        theirs, time = self.time(other, level), self.time(ours, level)
        if isinf(time):
            return "-"
        ratio = (median(curve[-1][0] for curve in self.curves[other]) if isinf(theirs) else theirs) / time
        return "> " * isinf(theirs) + f"{ratio:.{2 if ratio < 10 else 1 if ratio < 100 else 0}f}"


def measure_curves(
    benchmark: Benchmark, title: str, row: CurveRow, contenders: Mapping[str, Contender], budget: float, repeats: int
) -> RowCurves | None:  # fmt: skip
    """Record all contenders on the rows of a data set; None where its data are missing, or nothing was measured."""
    files = row.files(benchmark)
    if files is None:
        return None
    run = benchmark.each(run_curve, *files, row.n_clusters, row.batch_size, budget)
    summaries = benchmark.measure(title, benchmark.select(contenders), run, repeats=repeats)
    curves = {name: [run["curve"] for run in s["each"]] for name, s in summaries.items()}
    return RowCurves(title, curves) if curves else None


def seconds_text(seconds: float) -> str:
    """Return seconds with three significant digits or so."""
    return "never" if isinf(seconds) else f"{seconds:.{3 if seconds < 1 else 2 if seconds < 10 else 1}f}"
