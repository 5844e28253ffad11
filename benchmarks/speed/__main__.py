"""Print the table: `python -m benchmarks.speed`."""

from __future__ import annotations

import benchmarks.speed
from benchmarks.harness.benchmark import Benchmark, run_steps
from benchmarks.harness.cells import milliseconds_cell, seconds_cell
from benchmarks.harness.contenders import is_peer
from benchmarks.harness.options import SystemParser
from benchmarks.harness.rounds import Result, Summaries
from benchmarks.speed.rows import ROWS, SpeedRow

_HEADERS = [
    "row", "work", "now", "processor", "result", "best of the others", "seconds", "its result",
]  # fmt: skip
# What takes less is shown in milliseconds.
_IN_MILLISECONDS = 0.01
_NOTES = [
    "Seconds: medians of the rounds on the wall, ranges in brackets; processor: seconds of all threads. Result: what",
    "the row names, relative to our first contender's where it is a percentage. The best of the others: the fastest",
    "contender that is not ours, and ours of a fixed setting where there are any; each of these does the same work.",
    "! other processes used a tenth of a processor or more during at least one run.",
]


def measure(benchmark: Benchmark, key: str) -> None:
    """Measure a row, and keep its line for the table in the end."""
    row = ROWS[key]
    names, repeats = benchmark.select(row.contenders), min(row.rounds, benchmark.options.repeats)
    summaries = benchmark.measure(key, names, row.prepare(benchmark), repeats=repeats)
    line = ["not measured", *["-"] * 5]
    if row.ours in summaries:
        ours = summaries[row.ours]
        own = [_seconds(ours), f"{ours['cpu_seconds']:.3g}", _quality(row, ours, ours)]
        line = [*own, *cells_of_others(row, summaries)]
    benchmark.kept.append([key, row.work, *line])
    benchmark.report.save()


def finish(benchmark: Benchmark) -> None:
    """Print the table."""
    benchmark.report.table("Speed", _HEADERS, benchmark.kept, 2)
    benchmark.say(*_NOTES)


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
    return seconds_cell(result) if result["seconds"] > _IN_MILLISECONDS else f"{milliseconds_cell(result)} ms"


def _quality(row: SpeedRow, result: Result, ours: Result) -> str:
    if not row.quality:
        return "-"
    if row.quality == "recall":
        return f"{result['recall']:.3f}"
    return row.quality if result is ours else f"{100 * (result[row.quality] / ours[row.quality] - 1):+.2f}%"


if __name__ == "__main__":
    parser = SystemParser("speed", benchmarks.speed.__doc__, list(ROWS))
    run_steps("speed", parser.read(), dict.fromkeys(ROWS, measure), finish)
