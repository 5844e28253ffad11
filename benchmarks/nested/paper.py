"""The figures and tables of Newling and Fleuret (2016); here energy against seconds, by threshold and bounds too."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf, isinf
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness.cells import TIMES, number
from benchmarks.harness.contenders import Contender, threaded
from benchmarks.harness.data.splits import load_rows
from benchmarks.harness.measuring import measured
from benchmarks.harness.papers import Item, PaperRun
from benchmarks.harness.quality import inertia
from benchmarks.harness.reporting import lines_of
from benchmarks.harness.rounds import Result
from benchmarks.nested.contenders import CURVES, LLOYD, NESTED, RHOS, SCULLEY, SETTINGS, STREAM, setting_name
from benchmarks.nested.curves import (
    LEVELS,
    CurveRow,
    RowCurves,
    excess_cell,
    measure_curves,
    ratio_text,
    seconds_text,
)
from benchmarks.nested.paper_samples import make_figure_1, make_revisits
from benchmarks.nested.picture import draw
from benchmarks.nested.runs import first_rows
from coterie.figures import new_figure

SEEDS, THRESHOLD_SEEDS = 20, 5
SECONDS, THRESHOLD_SECONDS = 15.0, 10.0
SHOWN_SECONDS = (1.0, 2.0, 10.0)  # the last two are the paper's
CONTENDERS = [NESTED, SCULLEY, "coterie mini-batch", LLOYD, "coterie yinyang", STREAM]
# After Okabe and Ito; bounds on are solid, off dashed.
TIME_COLORS = ("#d55e00", "#0072b2")
RHO_COLORS = ("#f0e442", "#e69f00", "#cc79a7", "#0072b2", "#000000")

TIMES_LEGEND = (
    "CPU seconds until the excess is at most 2%, 1% and 0.5% (median over the seeds); in parentheses, the seconds "
    'divided by those of nested mini-batches. "never": half of the runs or more ended with a higher excess. Time '
    "limit: 15 s. The lowest values are bold. Batches, and the first nested batch, have 5,000 rows."
)

# The paper's sets, and what stands for them here: the same sizes where we can make so many rows.
PAPER_ROWS = {
    "KDDC98": CurveRow("kddc98", 7_686, 2_000, needs="kddc98_pva97nk.npz"),
    "INFMNIST": CurveRow("infmnist", 400_000, 40_000),
    "RCV1": CurveRow("rcv1", 23_613, 4_000, needs="rcv1_27k.npz", sparse=True),
    "STL10P": CurveRow("patches", 960_000, 40_000, needs="cifar10_12k.npz"),
}
# Rows and seconds of the paper's implementations, one thread each.
PUBLISHED = {
    "INFMNIST": (400_000, {"authors": 12.4, "scikit-learn": 20.6}),
    "RCV1": (781_265, {"authors": 15.2, "scikit-learn": 63.6, "sofia": 23.3}),
}
ROUNDS = 3
STREAMS = {
    "coterie": Contender("coterie", partial(threaded, "coterie.MiniBatchKMeans", n_threads=1)),
    "scikit-learn": Contender("sklearn", partial(threaded, "sklearn.cluster.MiniBatchKMeans", n_threads=1)),
}


def run_pass(
    name: str, data: Path, valid: Path, n_clusters: int, batch_size: int, seed: int
) -> dict[str, Any]:
    """Show all rows once, in batches; return the cost and the validation energy afterwards."""
    rows = load_rows(data)
    start = first_rows(rows, n_clusters, seed)
    batches = [rows[at : at + batch_size] for at in range(0, rows.shape[0], batch_size)]
    options = {"init": start, "n_init": 1, "batch_size": batch_size, "random_state": 0}
    STREAMS[name].call(n_clusters, **options).partial_fit(batches[0])
    model = STREAMS[name].call(n_clusters, **options)
    with threadpool_limits(1), measured() as cost:
        for batch in batches:
            model.partial_fit(batch)
    held_out = load_rows(valid)
    return vars(cost) | {"energy": inertia(held_out, model.cluster_centers_) / held_out.shape[0]}


def make_table_1(run: PaperRun) -> None:
    """Time one pass, dense and sparse."""
    for name, (n_published, seconds) in PUBLISHED.items():
        row = PAPER_ROWS[name].for_options(run)
        files = row.files(run)
        if files is None:
            continue

        def one(package: str, seed: int, files: Any = files, row: CurveRow = row) -> Result:
            return run.isolated(run_pass, package, *files, row.n_clusters, row.batch_size, seed)

        title = f"{name}: {row.title}, batches of {row.batch_size:,}, one thread"
        summaries = run.measure(title, run.select(STREAMS), one, repeats=len(run.seeds(ROUNDS)))
        columns = {
            **TIMES,
            "microseconds per row": lambda s, n=row.n_train: f"{1e6 * s['seconds'] / n:.1f}",
            "held-out energy": number("energy", ".4g"),
        }
        lines = lines_of(columns, summaries) + [
            [f"published: {whose}", f"{theirs:g} for {n_published:,} rows", "", f"{1e6 * theirs / n_published:.1f}", ""]
            for whose, theirs in seconds.items()
        ]  # fmt: skip
        run.report.table(title, ["", *columns], lines)
    run.say("`!`: other processes used a tenth of a processor or more.")


def _bold_least(cells: Sequence[str], values: Sequence[float]) -> list[str]:
    least = min(values)
    return [
        f"**{cell}**" if value == least and not isinf(value) else cell for cell, value in zip(cells, values)
    ]


def _curves(run: PaperRun, name: str, names: Sequence[str], n_seeds: int, budget: float) -> RowCurves | None:
    row, wanted = PAPER_ROWS[name].for_options(run), {key: (CURVES | SETTINGS)[key] for key in names}
    title, seconds = f"{name}: {row.title}", run.within(budget)
    found = measure_curves(run, title, row, wanted, seconds, len(run.seeds(n_seeds)))
    return found[0] if found and found[1] else None


def make_figure_2(run: PaperRun) -> None:
    """Draw energy against seconds for exact k-means, mini-batches and nested mini-batches."""
    run.say(f"{TIMES_LEGEND} Seeds: {len(run.seeds(SEEDS))}.")
    rows = []
    for name in PAPER_ROWS:
        curves = _curves(run, name, CONTENDERS, SEEDS, SECONDS)
        if curves is not None:
            rows.append(curves)
            _table_of_times(run, curves)
    alt = "Excess of the held-out energy against seconds: a panel for each data set, a line for each method"
    run.draw("curves", lambda path: draw(rows, path), alt)


def _table_of_times(run: PaperRun, curves: RowCurves) -> None:
    columns = []
    for level in LEVELS:
        cells = [_time_and_ratio(curves, name, level) for name in curves.curves]
        columns.append(_bold_least(cells, [curves.time(name, level) for name in curves.curves]))
    finals = [mean(curves.final_excess(name)) for name in curves.curves]
    columns.append(_bold_least([excess_cell(curves, name) for name in curves.curves], finals))
    headers = ["", *(f"seconds to {100 * level:g}% (ratio)" for level in LEVELS), "final excess"]
    run.report.table(curves.title, headers, [[*line] for line in zip(curves.curves, *columns)])


def _time_and_ratio(curves: RowCurves, name: str, level: float) -> str:
    text = seconds_text(curves.time(name, level))
    ratio = ratio_text(*curves.ratio(level, NESTED, name)) if NESTED in curves.curves else "-"
    return text if ratio == "-" else f"{text} ({ratio})"


def make_figure_3(run: PaperRun) -> None:
    """Draw the excess after some seconds against the threshold rho, with bounds and without; and all their curves."""
    run.say(
        'Mean excess in percent after these CPU seconds. The lowest values are bold. Bounds on: `bounds="auto"`; '
        f"sparse rows have none. Seeds: {len(run.seeds(THRESHOLD_SEEDS))}.",
    )
    rows = []
    for name, row in PAPER_ROWS.items():
        # Sparse rows have no bounds to leave off.
        kinds = ("off",) if row.sparse else ("auto", "off")
        names = [setting_name(rho, bounds) for bounds in kinds for rho in (RHOS[::2] if run.quick else RHOS)]
        curves = _curves(run, name, names, THRESHOLD_SEEDS, THRESHOLD_SECONDS)
        if curves is not None:
            rows.append(curves)
            _table_of_thresholds(run, curves)
    times = [run.within(seconds) for seconds in SHOWN_SECONDS[-2:]]
    alt = "Excess against rho after 2 and 10 seconds, and against seconds: a panel for each data set"
    run.draw("thresholds", lambda path: _draw_thresholds(rows, times, path), alt)


def _table_of_thresholds(run: PaperRun, curves: RowCurves) -> None:
    times = [run.within(seconds) for seconds in SHOWN_SECONDS]
    columns = []
    for seconds in (*times, inf):
        cells = [f"{100 * mean(curves.excess_at(name, seconds)):.2f}" for name in curves.curves]
        columns.append(_bold_least(cells, [float(cell) for cell in cells]))
    settings = [name.removeprefix("coterie nested, rho = ").split(", bounds ") for name in curves.curves]
    headers = ["rho", "bounds", *(f"at {seconds:g} s" for seconds in times), "in the end"]
    lines = [[*setting, *line] for setting, line in zip(settings, zip(*columns))]
    run.report.table(curves.title, headers, lines)


def _draw_thresholds(rows: Sequence[RowCurves], times: Sequence[float], path: Path) -> None:
    """Draw a line of panels with the excess against rho, and one with all curves with bounds."""
    figure = new_figure((5.2 * len(rows), 8.4))
    axes = figure.subplots(2, len(rows), squeeze=False)
    for row, above, below in zip(rows, axes[0], axes[1]):
        _draw_excess(above, row, times)
        _draw_curves(below, row)
    for line in axes:
        line[0].set_ylabel("held-out energy above the best, %")
        handles = {label: handle for axis in line for handle, label in zip(*axis.get_legend_handles_labels())}
        line[-1].legend(handles.values(), handles, fontsize=8)
    figure.savefig(path, dpi=110)


def _draw_excess(axis: Any, row: RowCurves, times: Sequence[float]) -> None:
    for seconds, color in zip(times, TIME_COLORS):
        for bounds, word, dash in (("auto", "on", "-"), ("off", "off", "--")):
            names = {rho: setting_name(rho, bounds) for rho in RHOS}
            found = {
                rho: 100 * mean(row.excess_at(name, seconds))
                for rho, name in names.items()
                if name in row.curves
            }
            if found:
                label = f"at {seconds:g} s, bounds {word}"
                axis.plot(list(found), list(found.values()), dash, marker="o", color=color, label=label)
    axis.set(xscale="log", title=row.title, xlabel="threshold rho")
    axis.set_ylim(bottom=0)


def _draw_curves(axis: Any, row: RowCurves) -> None:
    """Draw the curves of one kind of bounds: of the first seed, for they are of different lengths."""
    bounds = "auto" if setting_name(RHOS[0], "auto") in row.curves else "off"
    for rho, color in zip(RHOS, RHO_COLORS):
        fits = row.curves.get(setting_name(rho, bounds))
        if fits:
            seconds, energies = np.array(fits[0]).T
            axis.plot(seconds, 100 * (energies / row.best_energy - 1), color=color, label=f"rho = {rho:g}")
    axis.set(xscale="log", yscale="log", xlabel="seconds of the fit, first seed")
    axis.yaxis.set_major_formatter("{x:g}")


_DIGITS = "enlarged digits of scikit-learn"
_DATA = ("mnist.npz", "cifar10_12k.npz", "rcv1_27k.npz", "kddc98_pva97nk.npz")
_STANDS_IN = f"{_DIGITS} for MNIST; sets whose files are missing are left out"
ITEMS = {
    "figure-1": Item(make_figure_1, ("mnist.npz",), _DIGITS),
    "sm-a": Item(make_revisits),
    "figure-2": Item(make_figure_2, _DATA, _STANDS_IN),
    "figure-3": Item(make_figure_3, _DATA, _STANDS_IN),
    "table-1": Item(make_table_1, ("mnist.npz", "rcv1_27k.npz"), _STANDS_IN),
}
