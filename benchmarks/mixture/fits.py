"""Whole fits, each in a process of its own, and the cells of their tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import TIMES, Columns, number
from benchmarks.harness.measuring import measured, seconds_of
from benchmarks.harness.quality import inertia
from benchmarks.harness.rounds import Result, Summaries
from benchmarks.mixture.contenders import CORESET, FITS, Fit
from benchmarks.mixture.settings import Setting


@dataclass(frozen=True)
class Point:
    """A contender with one value of the parameter that is swept."""

    contender: str
    parameter: str
    setting: Setting

    @property
    def name(self) -> str:
        """The name of its line."""
        return f"{self.contender}, {self.parameter}" if self.parameter else self.contender


def run_fit(name: str, data: Path, setting: Setting, seed: int, n_threads: int) -> dict[str, Any]:
    """Fit one contender and measure it; its error and the seconds of its parts are measured afterwards."""
    X, tested = setting.split(np.load(data))
    fit, found = fitted(name, X, setting, seed, n_threads)
    return found | {"error": inertia(tested, fit.centers) / len(tested)}


def fitted(
    name: str, X: np.ndarray, setting: Setting, seed: int, n_threads: int
) -> tuple[Fit, dict[str, Any]]:
    """Fit one contender; return what it returned and what it took."""
    fitting = FITS[name].call
    fitting(X[:2000], setting.tiny, seed, n_threads)
    with measured(n_threads) as cost:
        fit = fitting(X, setting, seed, n_threads)
    seconds = {CORESET: 0.0} | {part: seconds_of(call, n_threads) for part, call in fit.parts.items()}
    sizes = {"n_iter": int(fit.n_iter), "n_distances": fit.n_distances, "input_bytes": X.nbytes}
    return fit, vars(cost) | seconds | sizes


def measure_points(
    benchmark: Benchmark,
    title: str,
    data: Path,
    points: Mapping[str, Point],
    *,
    heavy: tuple[str, ...],
    repeats: int | None = None,
    limit: float | None = None,
    call: Callable[..., Any] = run_fit,
    others: tuple[Any, ...] = (),
) -> Summaries:
    """Fit all points, each in a process of its own, `heavy` contenders once."""

    def fit(name: str, seed: int) -> Result:
        point = points[name]
        options = (point.contender, data, point.setting, seed, benchmark.threads, *others)
        return benchmark.isolated_within(limit, call, *options)

    names = [name for name in points if FITS[points[name].contender].installed]
    once = {name: 1 for name in names if points[name].contender in heavy}
    return benchmark.measure(title, names, fit, repeats=repeats, most_rounds=once)


def error_cell(reference: float) -> Callable[[Result], str]:
    """Return what makes a cell of the median error relative to the reference, and its range."""

    def cell(s: Result) -> str:
        relative = [100 * (run["error"] / reference - 1) for run in s["each"]]
        text = f"{np.median(relative):+.2f}%"
        return text + (f" ({min(relative):+.2f} to {max(relative):+.2f})" if len(relative) > 1 else "")

    return cell


def columns_of(reference: Result) -> Columns:
    """Return the columns of a table of fits, with errors relative to those of the reference."""
    return {
        "error": error_cell(reference["error"]),
        **TIMES,
        "distances": number("n_distances", ".2e"),
        "iterations": number("n_iter", ".0f"),
    }
