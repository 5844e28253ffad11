"""Figures 2 and 3 of the paper: energy against seconds, and how the threshold and the bounds change it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf, isinf
from pathlib import Path
from statistics import mean

from benchmarks.harness.data.files import real_file
from benchmarks.harness.data.splits import save_split
from benchmarks.harness.papers import PaperRun
from benchmarks.harness.rounds import Result, apart
from benchmarks.nested.contenders import (
    CURVES,
    LLOYD,
    NESTED,
    RHOS,
    SCULLEY,
    SETTINGS,
    STREAM,
    CurveContender,
    setting_name,
)
from benchmarks.nested.curves import LEVELS, RowCurves, excess_cell, ratio_text, seconds_text
from benchmarks.nested.paper_pictures import draw_thresholds
from benchmarks.nested.picture import draw
from benchmarks.nested.rows import CurveRow
from benchmarks.nested.runs import run_curve

# The paper's sets, and what stands for them here: the same sizes where we can make so many rows.
PAPER_ROWS = {
    "KDDC98": CurveRow("kddc98", 7_686, 2_000, needs="kddc98_pva97nk.npz"),
    "INFMNIST": CurveRow("infmnist", 400_000, 40_000),
    "RCV1": CurveRow("rcv1", 23_613, 4_000, needs="rcv1_27k.npz", sparse=True),
    "STL10P": CurveRow("patches", 960_000, 40_000, needs="cifar10_12k.npz"),
}
SEEDS, THRESHOLD_SEEDS = 20, 5
SECONDS, THRESHOLD_SECONDS = 15.0, 10.0
TIMES = (1.0, 2.0, 10.0)  # the last two are the paper's
CONTENDERS = [NESTED, SCULLEY, "coterie mini-batch", LLOYD, "coterie yinyang", STREAM]


def _measure(
    run: PaperRun, name: str, contenders: dict[str, CurveContender], n_seeds: int, budget: float
) -> RowCurves | None:
    """Record the curves of all contenders on one of the paper's sets; None where its data are missing."""
    row = PAPER_ROWS[name].for_options(run)
    if row.needs and real_file(row.needs) is None:
        run.report.say("", f"{name} is left out: {row.needs} is not in COTERIE_DATA.")
        return None
    fitting = run.select(
        {key: contender for key, contender in contenders.items() if contender.sparse or not row.sparse}
    )
    train, valid = run.isolated(save_split, row.data, row.n_train, row.n_valid, run.folder)
    title = f"{name}: {row.size_title}"
    record = partial(_record, run, row, train, valid, run.within(budget))
    run.measure(title, fitting, record, repeats=len(run.seeds(n_seeds)), group_of=apart)
    return RowCurves.of_runs(title, run.report.data["rows"][title])


def _record(
    run: PaperRun, row: CurveRow, train: Path, valid: Path, budget: float, contender: str, seed: int
) -> Result:
    return run.isolated(run_curve, contender, train, valid, row.start, row.sizes, seed, run.threads, budget)


def make_figure_2(run: PaperRun) -> None:
    """Draw energy against seconds for exact k-means, mini-batches and nested mini-batches."""
    contenders = {name: CURVES[name] for name in CONTENDERS}
    rows = []
    run.report.say("", f"{TIMES_LEGEND} Seeds: {len(run.seeds(SEEDS))}.")
    for name in PAPER_ROWS:
        curves = _measure(run, name, contenders, SEEDS, SECONDS)
        if curves is not None and curves.curves:
            rows.append(curves)
            _table_of_times(run, curves)
            run.report.data.setdefault("curves", {})[curves.title] = curves.facts()
            run.report.save()
    if rows:
        alt = (
            "Excess of the held-out energy against seconds: a panel for each data set, a line for each method"
        )
        run.draw("curves", lambda path: draw(rows, path), alt)


TIMES_LEGEND = (
    "CPU seconds until the excess is at most 2%, 1% and 0.5% (median over the seeds); in parentheses, the seconds "
    'divided by those of nested mini-batches. "never": half of the runs or more ended with a higher excess. Time '
    "limit: 15 s. The lowest values are bold. Batches, and the first nested batch, have 5,000 rows."
)


def _table_of_times(run: PaperRun, curves: RowCurves) -> None:
    columns = []
    for level in LEVELS:
        values = [curves.time(name, level) for name in curves.curves]
        cells = [_time_and_ratio(curves, name, level) for name in curves.curves]
        columns.append(_bold_least(cells, values))
    finals = [mean(curves.final_excess(name)) for name in curves.curves]
    columns.append(_bold_least([excess_cell(curves, name) for name in curves.curves], finals))
    headers = ["", *(f"seconds to {100 * level:g}% (ratio)" for level in LEVELS), "final excess"]
    run.report.table(curves.title, headers, [[*line] for line in zip(curves.curves, *columns)])


def _time_and_ratio(curves: RowCurves, name: str, level: float) -> str:
    seconds = curves.time(name, level)
    text = seconds_text(seconds)
    ratio = ratio_text(*curves.ratio(level, NESTED, [name])) if NESTED in curves.curves else "-"
    return text if ratio == "-" else f"{text} ({ratio})"


def _bold_least(cells: Sequence[str], values: Sequence[float]) -> list[str]:
    least = min(values)
    return [
        f"**{cell}**" if value == least and not isinf(value) else cell for cell, value in zip(cells, values)
    ]


def make_figure_3(run: PaperRun) -> None:
    """Draw the excess after some seconds against the threshold rho, with bounds and without; and all their curves."""
    rows = []
    run.report.say(
        "",
        'Mean excess in percent after these CPU seconds. The lowest values are bold. Bounds on: `bounds="auto"`; '
        f"sparse rows have none. Seeds: {len(run.seeds(THRESHOLD_SEEDS))}.",
    )
    for name, row in PAPER_ROWS.items():
        # Sparse rows have no bounds to leave off.
        kinds = ("off",) if row.sparse else ("auto", "off")
        names = [setting_name(rho, bounds) for bounds in kinds for rho in (RHOS[::2] if run.quick else RHOS)]
        settings = {key: SETTINGS[key] for key in names}
        curves = _measure(run, name, settings, THRESHOLD_SEEDS, THRESHOLD_SECONDS)
        if curves is not None and curves.curves:
            rows.append(curves)
            _table_of_thresholds(run, curves)
            run.report.save()
    if rows:
        times = [run.within(seconds) for seconds in TIMES]
        alt = "Excess against rho after 2 and 10 seconds, and against seconds: a panel for each data set"
        run.draw("thresholds", draw_thresholds(rows, times[-2:], excess_at), alt)


def _table_of_thresholds(run: PaperRun, curves: RowCurves) -> None:
    times = [run.within(seconds) for seconds in TIMES]
    columns = []
    for seconds in (*times, inf):
        values = [mean(excess_at(curves, name, seconds)) for name in curves.curves]
        cells = [f"{100 * value:.2f}" for value in values]
        columns.append(_bold_least(cells, [float(cell) for cell in cells]))
    settings = [name.removeprefix("coterie nested, rho = ").split(", bounds ") for name in curves.curves]
    headers = ["rho", "bounds", *(f"at {seconds:g} s" for seconds in times), "in the end"]
    run.report.table(
        curves.title, headers, [[*setting, *line] for setting, line in zip(settings, zip(*columns))]
    )


def excess_at(curves: RowCurves, name: str, seconds: float) -> list[float]:
    """Return the relative excess of each seed at a time: that of its last point by then, or else of its first."""
    return [
        _energy_at(curve, seconds) / curves.best_energy - 1
        for curve in curves.curves[name]
    ]  # fmt: skip


def _energy_at(curve: Sequence[Sequence[float]], seconds: float) -> float:
    by_then = [energy for at, energy in curve if at <= seconds]
    return by_then[-1] if by_then else curve[0][1]
