"""Rows a to e: when each contender comes near the best energy."""

from __future__ import annotations

from benchmarks.harness.cells import range_cell
from benchmarks.harness.rounds import Result, Summaries, apart
from benchmarks.nested.benchmark import NestedBenchmark
from benchmarks.nested.contenders import CURVES, NESTED
from benchmarks.nested.curves import LEVELS, RowCurves, excess_cell, ratio_text, time_cell
from benchmarks.nested.rows import CURVE_ROWS, CurveRow
from benchmarks.nested.runs import run_curve


def measure_curve(benchmark: NestedBenchmark, key: str) -> None:
    """Record all contenders on a data set."""
    row = CURVE_ROWS[key].for_options(benchmark)
    if not benchmark.has_data(key, row):
        return
    train, valid = benchmark.split(row)

    def run(name: str, seed: int) -> Result:
        options = (row.start, row.sizes, seed, benchmark.options.threads, benchmark.options.budget)
        return benchmark.isolated(run_curve, name, train, valid, *options)

    title = f"{key}: {row.title}"
    # Apart: those that take long are just what is to be seen.
    summaries = benchmark.measure(title, benchmark.contenders(row), run, group_of=apart)
    curves = RowCurves.of_runs(f"{key}. {row.title}", benchmark.report.data["rows"][title])
    if summaries:
        benchmark.curves.append(curves)
        benchmark.report.data["curves"][key] = curves.facts()
        _table(benchmark, key, row, summaries, curves)


def _table(
    benchmark: NestedBenchmark, key: str, row: CurveRow, summaries: Summaries, curves: RowCurves
) -> None:
    def cells(name: str, s: Result) -> list[str]:
        ratios = [
            ratio_text(*curves.ratio(level, NESTED, [name])) if NESTED in curves.curves else "-"
            for level in LEVELS
        ]
        start = "" if CURVES[name].takes_centers else "*"
        return [
            *(time_cell(curves, name, level) for level in LEVELS),
            *ratios,
            excess_cell(curves, name) + start,
            range_cell(s),
        ]

    percents = [f"{100 * level:g}%" for level in LEVELS]
    headers = [
        *(f"seconds to {p}" for p in percents),
        *(f"ratio {p}" for p in percents),
        "final excess",
        "seconds in all",
    ]
    benchmark.table(key, row.title, headers, summaries, cells)
    benchmark.report.say("", f"E* = {curves.best_energy:.6g}")
