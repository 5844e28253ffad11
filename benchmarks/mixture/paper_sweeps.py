"""Fits with growing coresets, candidates and chains: error against seconds and against distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.cells import TIME_HEADERS, time_cells
from benchmarks.harness.papers import PaperRun
from benchmarks.harness.rounds import Result, Summaries, apart
from benchmarks.mixture.contenders import (
    FITS,
    OWN_ALL_ROWS,
    OWN_CHAIN,
    PEER_CHAIN,
    PUBLISHED_STEPS,
    REFERENCE,
    SEEDS_ALONE,
    VAR_GMM_S,
    VC_GMM,
)
from benchmarks.mixture.paper_sets import PaperSet
from benchmarks.mixture.rows import error_cell
from benchmarks.mixture.runs import LABELS, run_fit
from benchmarks.mixture.settings import MixtureRow, Setting
from coterie.figures import new_figure

SEEDS = 3
CANDIDATES = (2, 3, 5, 8)
CHAIN_LENGTHS = (2, 20, 200)
FEWER_DISTANCES = "distances of k-means++ / distances of this method"

# Colors that also the color-blind tell apart. Ours are solid, peers and seeds alone dashed.
STYLES = {
    OWN_ALL_ROWS: ("#000000", "*", "-"),
    SEEDS_ALONE: ("#888888", "v", "--"),
    VAR_GMM_S: ("#009e73", "s", "-"),
    PEER_CHAIN: ("#cc79a7", "^", "--"),
    OWN_CHAIN: ("#0072b2", "o", "-"),
    VC_GMM: ("#d55e00", "D", "-"),
    PUBLISHED_STEPS: ("#e69f00", "x", "-"),
}


@dataclass(frozen=True)
class Point:
    """A contender with one value of the parameter that is swept."""

    contender: str
    parameter: str
    setting: Setting

    @property
    def name(self) -> str:
        """Return the name of its line."""
        return f"{self.contender}, {self.parameter}" if self.parameter else self.contender


@dataclass(frozen=True)
class Sweep:
    """The points of one data set, measured; errors are relative to k-means++ on all rows."""

    title: str
    points: dict[str, Point]
    summaries: Summaries
    reference: Result

    def line(self, contender: str, what: str) -> tuple[list[float], list[float]]:
        """Return what was measured of a contender, and the errors in percent, in the order of the points."""
        measured = [s for name, s in self.summaries.items() if self.points[name].contender == contender]
        errors = [100 * (s["error"] / self.reference["error"] - 1) for s in measured]
        return [s[what] for s in measured], errors


def sweep_points(row: MixtureRow, sizes: Sequence[int], is_quick: bool) -> Iterator[Point]:
    """Yield the points of the paper's Figure 1 on a data set."""
    setting = row.setting
    yield Point(OWN_ALL_ROWS, "", setting)
    for m in CHAIN_LENGTHS[: 1 if is_quick else None]:
        yield Point(SEEDS_ALONE, f"m = {m}", replace(setting, chain_length=m))
    for n in CANDIDATES[1:2] if is_quick else CANDIDATES:
        yield Point(VAR_GMM_S, f"C' = {n}", replace(setting, n_candidates=n, n_neighbors=n))
    for size in sizes[:2] if is_quick else sizes:
        for contender in (PEER_CHAIN, OWN_CHAIN, VC_GMM, PUBLISHED_STEPS):
            yield Point(contender, f"N' = {size:,}", replace(setting, coreset_size=size))


def measure_points(
    run: PaperRun,
    title: str,
    data: Path,
    points: Mapping[str, Point],
    call: Callable[..., Any] = run_fit,
    *others: Any,
) -> Summaries:
    """Fit all points, each in a process of its own, those on all rows once."""
    names = [name for name in points if FITS[points[name].contender].installed]

    def fit(name: str, seed: int) -> Result:
        point = points[name]
        return run.isolated(call, point.contender, data, point.setting, seed, run.threads, *others)

    heavy = [name for name in names if points[name].contender in (REFERENCE, OWN_ALL_ROWS, VAR_GMM_S)]
    return run.measure(
        title, names, fit, repeats=len(run.seeds(SEEDS)), group_of=apart, most_rounds=dict.fromkeys(heavy, 1)
    )


def sweep(run: PaperRun, key: str, chosen: PaperSet) -> Sweep | None:
    """Measure the points of a data set and print their table."""
    data, row = chosen.prepared(run, key)
    points = {point.name: point for point in sweep_points(row, chosen.swept(row), run.quick)}
    title = f"{key}: {row.title}"
    summaries = measure_points(run, title, data, points)
    if OWN_ALL_ROWS not in summaries:
        return None
    found = Sweep(title, points, summaries, summaries[OWN_ALL_ROWS])
    _table(run, key, found)
    _compare_with_lwcs(run, key, found)
    return found


def _table(run: PaperRun, key: str, found: Sweep) -> None:
    runs = run.report.data["rows"][found.title]

    def cells(name: str, s: Result) -> list[str]:
        return [
            FITS[found.points[name].contender].seeded_by,
            error_cell([one["error"] for one in runs[name]], found.reference["error"]),
            *time_cells(s),
            f"{found.reference['seconds'] / s['seconds']:.1f}",
            f"{s['n_distances']:.2e}",
            f"{found.reference['n_distances'] / s['n_distances']:.1f}",
            f"{s['n_iter']:.0f}",
            f"{s[LABELS]:.3f}" if s[LABELS] else "-",
        ]

    headers = ["seeded by", "error", *TIME_HEADERS, "speed-up", "distances", FEWER_DISTANCES, "iterations"]
    run.table(key, found.title.split(": ", 1)[1], [*headers, "labels s"], found.summaries, cells)


def _compare_with_lwcs(run: PaperRun, key: str, found: Sweep) -> None:
    """Add a table of the mixture's error relative to that of k-means on the same coreset and seeds."""
    runs = run.report.data["rows"][found.title]
    differences: dict[str, dict[str, float]] = {VC_GMM: {}, PUBLISHED_STEPS: {}}
    for name, point in found.points.items():
        lwcs = f"{OWN_CHAIN}, {point.parameter}"
        if point.contender in differences and name in found.summaries and lwcs in found.summaries:
            ours, theirs = ([one["error"] for one in runs[line]] for line in (name, lwcs))
            gaps = [100 * (a / b - 1) for a, b in zip(ours, theirs)]
            differences[point.contender][point.parameter] = float(np.median(gaps))
    run.report.data.setdefault("above", {})[found.title] = differences
    sizes = list(dict.fromkeys(size for gaps in differences.values() for size in gaps))
    rows = [
        [name, *(f"{gaps[size]:+.2f}%" if size in gaps else "-" for size in sizes)]
        for name, gaps in differences.items()
    ]
    run.report.table(f"{key}. Error relative to LWCS, same coreset and seeds", ["", *sizes], rows)


def draw_sweeps(sweeps: Mapping[str, Sweep], path: Path) -> None:
    """Draw the errors of each data set against distances and against seconds."""
    from matplotlib.ticker import NullFormatter

    figure = new_figure((10, 3.3 * len(sweeps) + 0.9))
    axes = figure.subplots(len(sweeps), 2, squeeze=False)
    for row, (key, found) in zip(axes, sweeps.items()):
        for axis, what in zip(row, ("n_distances", "seconds")):
            _draw_lines(axis, found, what)
            axis.set(xscale="log", title=key)
            axis.margins(x=0.1)
            axis.xaxis.set_minor_formatter(NullFormatter())
            axis.grid(color="#eeeeee", linewidth=0.8)
        row[0].set_ylabel("error above k-means++, %")
    axes[-1][0].set_xlabel("distances, coreset and seeding included")
    axes[-1][1].set_xlabel("seconds, coreset and seeding included")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=110)


def _draw_lines(axis: Any, found: Sweep, what: str) -> None:
    """Draw all lines; seeds alone, whose errors are far above, at the upper edge with their number."""
    lines = {contender: found.line(contender, what) for contender in STYLES}
    fits = [error for contender, (_, errors) in lines.items() for error in errors if contender != SEEDS_ALONE]
    low, high = min(fits), max(fits)
    margin = 0.08 * max(high - low, 1)
    for contender, (color, marker, dash) in STYLES.items():
        measured, errors = lines[contender]
        shown = np.minimum(errors, high + 1.5 * margin)
        label = contender.removeprefix("coterie ")
        axis.plot(measured, shown, dash, marker=marker, color=color, markersize=6, label=label)
        for x, y, error in zip(measured, shown, errors):
            if error > y:
                axis.annotate(
                    f"{error:.0f}%", (x, y), (0, -12), textcoords="offset points", ha="center", fontsize=8
                )
    axis.set_ylim(low - margin, high + 2.5 * margin)
