"""Print the table: `python -m benchmarks.speed`."""

from __future__ import annotations

import argparse

import benchmarks.speed
from benchmarks.harness.benchmark import Benchmark, begun
from benchmarks.harness.cells import milliseconds_cell, range_cell
from benchmarks.harness.contenders import is_peer
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import Report, command_line
from benchmarks.harness.rounds import Result, Summaries, apart
from benchmarks.speed.rows import ROWS, SpeedRow

_HEADERS = [
    "row",
    "work",
    "now",
    "processor",
    "result",
    "best of the others",
    "seconds",
    "its result",
]
# What takes less is shown in milliseconds.
_IN_MILLISECONDS = 0.01
_NOTES = [
    "Seconds: medians of the rounds on the wall, ranges in brackets; processor: seconds of all threads. Result: what",
    "the row names, relative to our first contender's where it is a percentage. The best of the others: the fastest",
    "contender that is not ours, and ours of a fixed setting where there are any; each of these does the same work.",
    "! other processes used a tenth of a processor or more during at least one run.",
]


def parser() -> SystemParser:
    parser = SystemParser("speed", benchmarks.speed.__doc__, list(ROWS))
    parser.add("--seed", type=int, default=0, help="draws the initial centroids of k-means")
    return parser


def _measured(benchmark: Benchmark, key: str) -> list[str]:
    row = ROWS[key]
    names = benchmark.select(row.contenders)
    summaries = benchmark.measure(
        key, names, row.prepare(benchmark), group_of=apart, repeats=row.most_rounds(benchmark.options.repeats)
    )
    if row.ours not in summaries:
        return [key, row.work, "not measured", *["-"] * 5]
    ours = summaries[row.ours]
    return [
        key,
        row.work,
        _seconds(ours),
        f"{ours['cpu_seconds']:.3g}",
        _quality(row, ours, ours),
        *cells_of_others(row, summaries),
    ]


def cells_of_others(row: SpeedRow, summaries: Summaries) -> list[str]:
    """Return who else does the work the fastest, in how many seconds, and how well."""
    others = {name: s for name, s in summaries.items() if name != row.ours}
    packages = [name for name in others if is_peer(name)]
    shown = [
        min(names, key=lambda name: others[name]["seconds"])
        for names in (packages, set(others) - set(packages))
        if names
    ]
    ours = summaries[row.ours]
    if not shown:
        return ["-"] * 3
    return [
        "; ".join(shown),
        "; ".join(_seconds(others[name]) for name in shown),
        "; ".join(_quality(row, others[name], ours) for name in shown),
    ]


def _seconds(result: Result) -> str:
    return range_cell(result) if result["seconds"] > _IN_MILLISECONDS else f"{milliseconds_cell(result)} ms"


def _quality(row: SpeedRow, result: Result, ours: Result) -> str:
    if not row.quality:
        return "-"
    if row.quality == "recall":
        return f"{result['recall']:.3f}"
    return row.quality if result is ours else f"{100 * (result[row.quality] / ours[row.quality] - 1):+.2f}%"


def run(options: argparse.Namespace) -> None:
    """Measure the rows that were asked for; print the table whenever one is done."""
    report = Report("speed", command_line("speed"))
    with begun(options, report, Benchmark) as benchmark:
        lines = []
        for key in options.rows:
            lines.append(_measured(benchmark, key))
            report.data["lines"] = lines
            report.save()
        report.table("Speed", _HEADERS, lines, 2)
        report.say("", *_NOTES)


if __name__ == "__main__":
    run(parser().read())
