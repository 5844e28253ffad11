"""The figures and tables of Newling and Fleuret (2016)."""

from collections.abc import Sequence
from math import inf
from statistics import mean, median

from benchmarks.harness.benchmark import Item, PaperRun
from benchmarks.harness.reporting import bold_best
from benchmarks.nested.contenders import (
    CURVES,
    LLOYD,
    NESTED,
    RHOS,
    SCULLEY,
    SETTINGS,
    STREAM,
    setting_name,
)
from benchmarks.nested.curves import LEVELS, CurveRow, RowCurves, measure_curves

SEEDS, THRESHOLD_SEEDS = 20, 5
SECONDS, THRESHOLD_SECONDS = 15.0, 10.0
SHOWN_SECONDS = (1.0, 2.0, 10.0)  # the last two are the paper's
CONTENDERS = [NESTED, SCULLEY, LLOYD, STREAM]

TIMES_LEGEND = (
    "CPU seconds until the excess is at most 2%, 1% and 0.5%: median and, in brackets, quartiles over the seeds; then "
    'the ratio of the medians to that of nested mini-batches. "never": half of the runs or more ended with a higher '
    "excess. The lowest values are bold. Batches, and the first nested batch, have 5,000 rows."
)

# The paper's sets, and what stands for them here: the same sizes where we can make so many rows.
PAPER_ROWS = {
    "KDDC98": CurveRow("kddc98", 7_686, 2_000, needs="kddc98_pva97nk.npz"),
    "INFMNIST": CurveRow("infmnist", 400_000, 40_000),
    "RCV1": CurveRow("rcv1", 23_613, 4_000, needs="rcv1_27k.npz", sparse=True),
    "STL10P": CurveRow("patches", 960_000, 40_000, needs="cifar10_12k.npz"),
}


def _within(run: PaperRun, seconds: float) -> float:
    return seconds / 100 if run.quick else seconds


def _curves(run: PaperRun, name: str, names: Sequence[str], n_seeds: int, budget: float) -> RowCurves | None:
    row, wanted = PAPER_ROWS[name].for_options(run), {key: (CURVES | SETTINGS)[key] for key in names}
    title, seconds = f"{name}: {row.title}", _within(run, budget)
    return measure_curves(run, title, row, wanted, seconds, len(run.seeds(n_seeds)))


def make_figure_2(run: PaperRun) -> None:
    """Energy against seconds for exact k-means, mini-batches and nested mini-batches."""
    limit = run.limit(SECONDS)
    run.say(f"{TIMES_LEGEND} Time limit: {limit:g} s. Seeds: {len(run.seeds(SEEDS))}.")
    for name in PAPER_ROWS:
        curves = _curves(run, name, CONTENDERS, SEEDS, limit)
        if curves is not None:
            _table_of_times(run, curves)


def _table_of_times(run: PaperRun, curves: RowCurves) -> None:
    columns = []
    for level in LEVELS:
        times = [curves.time(name, level) for name in curves.curves]
        ratios = [
            curves.ratio(level, NESTED, name) if NESTED in curves.curves else "-" for name in curves.curves
        ]
        spans = [curves.time_cell(name, level) for name in curves.curves]
        cells = [span + f"; {ratio}" * (ratio != "-") for span, ratio in zip(spans, ratios)]
        columns.append(bold_best(cells, times))
    finals = [median(curves.excess_at(name)) for name in curves.curves]
    columns.append(bold_best([f"{100 * excess:.2f}%" for excess in finals], finals))
    headers = ["", *(f"seconds to {100 * level:g}%; ratio" for level in LEVELS), "final excess"]
    run.report.table(curves.title, headers, [[*line] for line in zip(curves.curves, *columns)])


def make_figure_3(run: PaperRun) -> None:
    """Show the excess after some seconds against the threshold rho, with bounds and without."""
    run.say(
        'Mean excess in percent after these CPU seconds. The lowest values are bold. Bounds on: `bounds="auto"`; '
        f"sparse rows have none. Seeds: {len(run.seeds(THRESHOLD_SEEDS))}.",
    )
    for name, row in PAPER_ROWS.items():
        # Sparse rows have no bounds to leave off.
        kinds = ("off",) if row.sparse else ("auto", "off")
        names = [setting_name(rho, bounds) for bounds in kinds for rho in (RHOS[::2] if run.quick else RHOS)]
        curves = _curves(run, name, names, THRESHOLD_SEEDS, THRESHOLD_SECONDS)
        if curves is not None:
            _table_of_thresholds(run, curves)


def _table_of_thresholds(run: PaperRun, curves: RowCurves) -> None:
    times = [_within(run, seconds) for seconds in SHOWN_SECONDS]
    columns = []
    for seconds in (*times, inf):
        cells = [f"{100 * mean(curves.excess_at(name, seconds)):.2f}" for name in curves.curves]
        columns.append(bold_best(cells, [float(cell) for cell in cells]))
    settings = [name.removeprefix("coterie nested, rho = ").split(", bounds ") for name in curves.curves]
    headers = ["rho", "bounds", *(f"at {seconds:g} s" for seconds in times), "in the end"]
    lines = [[*setting, *line] for setting, line in zip(settings, zip(*columns))]
    run.report.table(curves.title, headers, lines)


_DATA = ("mnist.npz", "cifar10_12k.npz", "rcv1_27k.npz", "kddc98_pva97nk.npz")
ITEMS = {
    "figure-2": Item(make_figure_2, "Figure 2", _DATA),
    "figure-3": Item(make_figure_3, "Figure 3, SM-C", _DATA),
}
