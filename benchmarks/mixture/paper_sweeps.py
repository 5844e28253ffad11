"""Figures 1 and S.2: error against seconds and distances, with growing coresets, candidates and chains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.papers import PaperRun
from benchmarks.harness.rounds import Result, Summaries
from benchmarks.mixture.contenders import (
    OWN_ALL_ROWS,
    OWN_CHAIN,
    PEER_CHAIN,
    PUBLISHED_STEPS,
    REFERENCE,
    SEEDS_ALONE,
    VAR_GMM_S,
    VC_GMM,
)
from benchmarks.mixture.fits import Point, columns_of, measure_points
from benchmarks.mixture.paper_sets import HEADINGS, SETS, PaperSet, chosen_sets
from benchmarks.mixture.settings import MixtureRow
from coterie.figures import new_figure

SEEDS = 3
CANDIDATES = (2, 3, 5, 8)
CHAIN_LENGTHS = (2, 20, 200)
STANDARD_CLUSTERS = 2000  # of SONG, in Figure S.2

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


def measure_set(
    run: PaperRun, title: str, data: Path, points: Mapping[str, Point], **options: Any
) -> Summaries:
    """Fit all points, those on all rows once."""
    heavy, repeats = (REFERENCE, OWN_ALL_ROWS, VAR_GMM_S), len(run.seeds(SEEDS))
    return measure_points(run, title, data, points, heavy=heavy, repeats=repeats, **options)


@dataclass(frozen=True)
class Sweep:
    """The points of one data set, measured; errors are relative to k-means++ on all rows."""

    points: dict[str, Point]
    summaries: Summaries
    reference: Result

    def line(self, contender: str, what: str) -> tuple[list[float], list[float]]:
        """Return what was measured of a contender, and the errors in percent, in the order of the points."""
        measured = [s for name, s in self.summaries.items() if self.points[name].contender == contender]
        errors = [100 * (s["error"] / self.reference["error"] - 1) for s in measured]
        return [s[what] for s in measured], errors


def make_figure_1(run: PaperRun) -> None:
    """Error against seconds and against distances, for growing N', C' and m."""
    _sweeps(run, chosen_sets(run))


def make_figure_s2(run: PaperRun) -> None:
    """Make the same for SONG with the standard number of clusters."""
    song = SETS["SONG"]
    setting = replace(song.row.setting, n_clusters=STANDARD_CLUSTERS)
    # The rows of SONG take long to make.
    row = MixtureRow("blobs", 50_000, setting) if run.quick else replace(song.row, setting=setting)
    _sweeps(run, {f"{HEADINGS['SONG']}, C = {STANDARD_CLUSTERS:,}": replace(song, row=row)})


def _sweeps(run: PaperRun, sets: Mapping[str, PaperSet]) -> None:
    swept = {key: _sweep(run, key, chosen) for key, chosen in sets.items()}
    found = {key: sweep for key, sweep in swept.items() if OWN_ALL_ROWS in sweep.summaries}
    alt = "Error against seconds and against distances, a row of panels for each data set, a line for each method"
    run.draw("errors", partial(_draw_sweeps, found), alt)


def _points(row: MixtureRow, sizes: Sequence[int], is_quick: bool) -> Iterator[Point]:
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


def _sweep(run: PaperRun, key: str, chosen: PaperSet) -> Sweep:
    """Measure the points of a data set and print their tables."""
    data, row = chosen.prepared(run, key)
    points = {point.name: point for point in _points(row, chosen.swept(row), run.quick)}
    title = f"{key}. {row.title}"
    summaries = measure_set(run, title, data, points)
    found = Sweep(points, summaries, summaries.get(OWN_ALL_ROWS, {}))
    if found.reference:
        run.table(title, columns_of(found.reference), summaries)
        _compare_with_lwcs(run, key, found)
    return found


def _compare_with_lwcs(run: PaperRun, key: str, found: Sweep) -> None:
    """Add a table of the mixture's error relative to that of k-means on the same coreset and seeds."""
    gaps: dict[str, dict[str, str]] = {VC_GMM: {}, PUBLISHED_STEPS: {}}
    for name, point in found.points.items():
        lwcs = found.summaries.get(f"{OWN_CHAIN}, {point.parameter}")
        if point.contender in gaps and name in found.summaries and lwcs:
            pairs = zip(found.summaries[name]["each"], lwcs["each"])
            gap = float(np.median([100 * (ours["error"] / theirs["error"] - 1) for ours, theirs in pairs]))
            gaps[point.contender][point.parameter] = f"{gap:+.2f}%"
    sizes = list(dict.fromkeys(size for of_sizes in gaps.values() for size in of_sizes))
    rows = [
        [name.removeprefix("coterie "), *(of_sizes.get(size, "-") for size in sizes)]
        for name, of_sizes in gaps.items()
    ]
    run.report.table(f"{key}. Error relative to LWCS, same coreset and seeds", ["", *sizes], rows)


def _draw_sweeps(sweeps: Mapping[str, Sweep], path: Path) -> None:
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
                place = {"textcoords": "offset points", "ha": "center", "fontsize": 8}
                axis.annotate(f"{error:.0f}%", (x, y), (0, -12), **place)
    axis.set_ylim(low - margin, high + 2.5 * margin)
