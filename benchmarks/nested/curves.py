"""Time-energy curves: when each comes near the best energy.

A curve is a list of (seconds, validation energy) of one fit; a contender has one for each seed. Energies are
told as relative excess over E*, the lowest one that anything in the run has found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isinf, nan
from statistics import mean, median, median_low, stdev
from typing import Any

LEVELS = (0.02, 0.01, 0.005)

Curve = Sequence[Sequence[float]]


@dataclass
class RowCurves:
    """The curves of one data row: contender to one curve per seed, and whether its budget ended it."""

    title: str
    curves: dict[str, list[Curve]]
    cut: dict[str, bool]

    @classmethod
    def of_runs(cls, title: str, results: dict[str, Any]) -> RowCurves:
        """Take the curves from the results of `interleave`; contenders that failed are left out."""
        runs = {name: found for name, found in results.items() if found and not isinstance(found, str)}
        return cls(
            title,
            {name: [run["curve"] for run in found] for name, found in runs.items()},
            {name: any(run["cut"] for run in found) for name, found in runs.items()},
        )

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

    def ratio(self, level: float, ours: str, others: Iterable[str]) -> tuple[float, bool]:
        """Return how many times sooner we are at a level than the first of others.

        Where none of them gets there it is at least so many times, which the second value tells: until the first
        of those that could have gone on was stopped, or until the last ended if all ended by themselves.
        """
        others = list(others)
        first = min(self.time(name, level) for name in others)
        bounded = isinf(first)
        if bounded:
            stopped = [self.total(name) for name in others if self.cut[name]]
            first = min(stopped) if stopped else max(self.total(name) for name in others)
        time = self.time(ours, level)
        return (0.0 if isinf(time) else first / time), bounded

    def facts(self) -> dict[str, Any]:
        """Return what the tables tell, for JSON; None for never."""
        return {
            "title": self.title,
            "best_energy": self.best_energy,
            "contenders": {
                name: {
                    "seconds_to": {
                        f"{level:g}": [None if isinf(t) else t for t in self.times(name, level)]
                        for level in LEVELS
                    },
                    "final_excess": self.final_excess(name),
                    "total_seconds": self.total(name),
                    "cut": self.cut[name],
                }
                for name in self.curves
            },
        }


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample, 0 for a single value."""
    return stdev(values) if len(values) > 1 else 0.0


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
    if ratio == 0:
        return "-"
    digits = 2 if ratio < 10 else 1 if ratio < 100 else 0
    return "> " * bounded + f"{ratio:.{digits}f}"


def excess_cell(row: RowCurves, name: str) -> str:
    """Return the mean of the final excess and, of several seeds, the standard deviation."""
    excess = row.final_excess(name)
    spread = f" +- {100 * deviation(excess):.2f}" if len(excess) > 1 else ""
    return f"{100 * mean(excess):.2f}{spread}%"
