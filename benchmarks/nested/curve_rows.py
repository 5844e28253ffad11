"""Rows a to e: when each contender comes near the best energy."""

from __future__ import annotations

from benchmarks.harness.cells import range_cell
from benchmarks.harness.contenders import is_peer
from benchmarks.harness.rounds import Result, Summaries, apart
from benchmarks.nested.benchmark import NestedBenchmark
from benchmarks.nested.contenders import CURVES, LLOYD, NESTED
from benchmarks.nested.curves import LEVELS, RowCurves, excess_cell, ratio_text, time_cell
from benchmarks.nested.rows import CURVE_ROWS, SCIKIT_LEARN, CurveRow, Sooner
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
        _judge(benchmark, key, row, curves)


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


def _judge(benchmark: NestedBenchmark, key: str, row: CurveRow, curves: RowCurves) -> None:
    if NESTED not in curves.curves:
        return
    for target in row.targets:
        _judge_sooner(benchmark, key, target, curves)
    if LLOYD in curves.curves and benchmark.options.repeats > 1:
        above, spread = curves.within_one_deviation(NESTED, LLOYD)
        measured = f"{100 * above:+.2f}% (deviation {100 * spread:.2f}%)"
        what = f"{NESTED}, final energy above that of {LLOYD}"
        benchmark.judge(key, what, "<= 1 deviation", measured, above <= spread)


def _judge_sooner(benchmark: NestedBenchmark, key: str, target: Sooner, curves: RowCurves) -> None:
    others = tuple(name for name in curves.curves if is_peer(name) and name not in SCIKIT_LEARN)
    peers = [name for name in target.peers or others if name in curves.curves]
    if not peers:
        return
    ratio, bounded = curves.ratio(target.level, NESTED, peers)
    first = min(peers, key=lambda name: curves.time(name, target.level))
    whom = "any of " + "; ".join(peers) if bounded else first
    measured = ratio_text(ratio, bounded) if ratio else "never"
    what = f"{NESTED}, times as soon at {100 * target.level:g}% as {whom}"
    missed = "open: raise --budget" if bounded and ratio > 0 else "MISSED"
    benchmark.judge(key, what, f">= {target.ratio:g}", measured, ratio >= target.ratio, missed)
