"""Time-energy curves: what is measured on a data set, when each contender comes near the best energy, and a picture.

A curve is a list of (seconds, validation energy) of one fit; a contender has one for each seed. Energies are
told as relative excess over E*, the lowest one that anything in the run has found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf, isinf, nan
from pathlib import Path
from statistics import median, median_low
from typing import Any, Self

import numpy as np

from benchmarks.harness.benchmark import Benchmark, Summaries
from benchmarks.harness.contenders import Contender
from benchmarks.harness.data.files import real_file
from benchmarks.harness.data.tables import save_split
from benchmarks.harness.reporting import legend_below
from benchmarks.nested.contenders import run_curve
from coterie.figures import new_figure

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
    benchmark: Benchmark,
    title: str,
    row: CurveRow,
    contenders: Mapping[str, Contender],
    budget: float,
    repeats: int | None = None,
) -> tuple[RowCurves, Summaries] | None:
    """Record all contenders that take the rows of a data set; None where its data are missing."""
    files = row.files(benchmark)
    if files is None:
        return None
    able = {name: contender for name, contender in contenders.items() if contender.sparse or not row.sparse}
    run = benchmark.each(run_curve, *files, row.start, row.n_clusters, row.batch_size, budget)
    summaries = benchmark.measure(title, benchmark.select(able), run, repeats=repeats)
    return RowCurves(
        title, {name: [run["curve"] for run in s["each"]] for name, s in summaries.items()}
    ), summaries


def seconds_text(seconds: float) -> str:
    """Return seconds with three significant digits or so."""
    return "never" if isinf(seconds) else f"{seconds:.{3 if seconds < 1 else 2 if seconds < 10 else 1}f}"


LEAST_EXCESS = 1e-4  # what lies below is drawn there
# Colors that also the color-blind tell apart (after Okabe and Ito, and Tol). Ours are solid, peers dashed.
STYLES = {
    "coterie nested": ("#d55e00", "-"),
    "coterie nested, k-means++": ("#e69f00", "-"),
    "coterie mini-batch": ("#009e73", "-"),
    "mini-batch, Sculley 2010": ("#b15928", "-"),
    "coterie lloyd": ("#0072b2", "-"),
    "coterie yinyang": ("#56b4e9", "-"),
    "scikit-learn mini-batch, partial_fit": ("#117733", "--"),
    "scikit-learn mini-batch, fit": ("#999933", "--"),
    "faiss, 256 rows per centroid": ("#cc79a7", "--"),
    "faiss, all rows": ("#882255", "--"),
    "superkmeans, all rows": ("#000000", "--"),
}


def draw(rows: Sequence[RowCurves]) -> Any:
    """Draw one panel per data row: the median excess over the seeds against seconds, with its range as a band."""
    n_columns = min(3, len(rows)) if len(rows) != 4 else 2
    n_lines = ceil(len(rows) / n_columns)
    figure = new_figure((max(7.0, 5.2 * n_columns), 4.0 * n_lines + 1.1))
    axes = figure.subplots(n_lines, n_columns, squeeze=False).ravel()
    for axis, row in zip(axes, rows):
        _draw_row(axis, row)
    for axis in axes[len(rows) :]:
        axis.set_axis_off()
    for axis in axes[::n_columns]:
        axis.set_ylabel("validation energy above the best, %")
    legend_below(figure, min(4, 2 * n_columns))
    return figure


def _draw_row(axis: Any, row: RowCurves) -> None:
    for level in LEVELS:
        axis.axhline(100 * level, color="#bbbbbb", linewidth=0.8, zorder=0)
    highest = 0.0
    for name in row.curves:
        seconds, excess = _on_grid(row, name)
        color, dash = STYLES[name]
        middle = 100 * np.median(excess, axis=0)
        width = 2.4 if name == "coterie nested" else 1.5
        axis.plot(seconds, middle, dash, color=color, linewidth=width, label=name)
        axis.plot(seconds[-1], middle[-1], "o", color=color, markersize=5)  # where it ended
        low, high = 100 * excess.min(axis=0), 100 * excess.max(axis=0)
        axis.fill_between(seconds, low, high, color=color, alpha=0.12, linewidth=0)
        highest = max(highest, float(middle[0]))
    axis.set(xscale="log", yscale="log", title=row.title, xlabel="seconds of the fit")
    axis.set_ylim(80 * LEAST_EXCESS, min(2 * highest, 200))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.grid(axis="x", color="#eeeeee", linewidth=0.8)


def _on_grid(row: RowCurves, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return common seconds and the excess of every seed at them: that of its last point before.

    From the median of the first seconds to that of the last; what is a single point stays one.
    """
    seconds = [[at for at, _ in curve] for curve in row.curves[name]]
    begin = median(times[0] for times in seconds)
    end = max(begin, median(times[-1] for times in seconds))
    grid = np.geomspace(begin, end, 200 if max(map(len, seconds)) > 1 else 1)
    held = np.transpose([row.excess_at(name, at) for at in grid * (1 + 1e-9)])
    return grid, np.maximum(held, LEAST_EXCESS)
