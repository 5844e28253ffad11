"""Time-energy curves: what is measured on a data set, and when each contender comes near the best energy.

A curve is a list of (seconds, validation energy) of one fit; a contender has one for each seed. Energies are
told as relative excess over E*, the lowest one that anything in the run has found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isinf, nan
from pathlib import Path
from statistics import mean, median, median_low, stdev

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.data.files import real_file
from benchmarks.harness.data.splits import save_split
from benchmarks.harness.rounds import Result, Summaries
from benchmarks.nested.contenders import CurveContender
from benchmarks.nested.runs import run_curve

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
    start: str = "random"
    needs: str = ""  # a file of the folder of real data
    sparse: bool = False

    @property
    def title(self) -> str:
        """The sizes."""
        return f"{self.n_train:,} + {self.n_valid:,} rows, k = {self.n_clusters:,}"

    def for_options(self, benchmark: Benchmark) -> CurveRow:
        """Return the row, smaller with --quick."""
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

    @property
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

    def total(self, name: str) -> float:
        """Return the median of the seconds of the whole fits."""
        return median(curve[-1][0] for curve in self.curves[name])

    def final_excess(self, name: str) -> list[float]:
        """Return the relative excess at the end of each fit."""
        return [curve[-1][1] / self.best_energy - 1 for curve in self.curves[name]]

    def excess_at(self, name: str, seconds: float) -> list[float]:
        """Return the relative excess of each seed at a time: that of its last point by then, or else of its first."""
        found = []
        for curve in self.curves[name]:
            by_then = [energy for at, energy in curve if at <= seconds]
            found.append((by_then[-1] if by_then else curve[0][1]) / self.best_energy - 1)
        return found

    def ratio(self, level: float, ours: str, other: str) -> tuple[float, bool]:
        """Return how many times sooner we are at a level than another.

        Where it never gets there, it is at least so many times, which the second value tells: until it ended.
        """
        first, time = self.time(other, level), self.time(ours, level)
        bounded = isinf(first)
        return (0.0 if isinf(time) else (self.total(other) if bounded else first) / time), bounded


def measure_curves(
    benchmark: Benchmark,
    title: str,
    row: CurveRow,
    contenders: Mapping[str, CurveContender],
    budget: float,
    repeats: int | None = None,
) -> tuple[RowCurves, Summaries] | None:
    """Record all contenders that take the rows of a data set; None where its data are missing."""
    files = row.files(benchmark)
    if files is None:
        return None
    sizes, threads = (row.n_clusters, row.batch_size), benchmark.threads

    def run(name: str, seed: int) -> Result:
        return benchmark.isolated(run_curve, name, *files, row.start, sizes, seed, threads, budget)

    able = {name: contender for name, contender in contenders.items() if contender.sparse or not row.sparse}
    summaries = benchmark.measure(title, benchmark.select(able), run, repeats=repeats)
    results = benchmark.report.data["rows"][title]
    curves = {name: [run["curve"] for run in results[name]] for name in summaries}
    return RowCurves(title, curves), summaries


def seconds_text(seconds: float) -> str:
    """Return seconds with three significant digits or so."""
    return "never" if isinf(seconds) else f"{seconds:.{3 if seconds < 1 else 2 if seconds < 10 else 1}f}"


def time_cell(row: RowCurves, name: str, level: float) -> str:
    """Return the median and the range of the seconds to a level."""
    times = row.times(name, level)
    if isinf(row.time(name, level)):
        reached = sum(not isinf(t) for t in times)
        return "never" + f" ({reached} of {len(times)} did)" * bool(reached)
    if len(times) == 1:
        return seconds_text(times[0])
    return f"{seconds_text(row.time(name, level))} ({seconds_text(min(times))}-{seconds_text(max(times))})"


def ratio_text(ratio: float, bounded: bool) -> str:
    """Return a ratio of `RowCurves.ratio`; "-" where ours never gets there."""
    digits = 2 if ratio < 10 else 1 if ratio < 100 else 0
    return "> " * bounded + f"{ratio:.{digits}f}" if ratio else "-"


def excess_cell(row: RowCurves, name: str) -> str:
    """Return the mean of the final excess and, of several seeds, the standard deviation."""
    excess = row.final_excess(name)
    spread = f" +- {100 * stdev(excess):.2f}" if len(excess) > 1 else ""
    return f"{100 * mean(excess):.2f}{spread}%"
