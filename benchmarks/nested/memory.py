"""Row m: memory beside the input."""

from __future__ import annotations

from benchmarks.harness.cells import MIB
from benchmarks.harness.rounds import Result
from benchmarks.nested.benchmark import NestedBenchmark
from benchmarks.nested.contenders import NESTED
from benchmarks.nested.curves import seconds_text
from benchmarks.nested.rows import CURVE_ROWS
from benchmarks.nested.runs import run_memory

MEMORY_ROW, MEMORY_FRACTION = CURVE_ROWS["a"], 0.1
# Nested must see all rows before its peak is known; the others show theirs in a few iterations.
NESTED_BUDGET, OTHER_BUDGET = 4.0, 0.3


def measure_memory(benchmark: NestedBenchmark, key: str) -> None:
    """Compare peaks."""
    row = MEMORY_ROW.for_options(benchmark)
    train, _ = benchmark.split(row)
    title = f"memory beside the input: {row.title}"

    def run(name: str, seed: int) -> Result:
        share = NESTED_BUDGET if name.startswith(NESTED) else OTHER_BUDGET
        options = (row.start, row.sizes, seed, benchmark.options.threads, share * benchmark.options.budget)
        return benchmark.isolated(run_memory, name, train, *options)

    summaries = benchmark.measure(f"{key}: {title}", benchmark.contenders(row), run, repeats=1)

    def cells(name: str, s: Result) -> list[str]:
        ended = "stopped" if s["cut"] else "by itself"
        return [
            f"{s['peak_bytes'] / MIB:.1f}",
            f"{s['peak_bytes'] / s['input_bytes']:.1%}",
            seconds_text(s["seconds"]),
            ended,
        ]

    benchmark.table(key, title, ["MiB", "of the input", "seconds", "ended"], summaries, cells)
    if NESTED in summaries:
        fraction = summaries[NESTED]["peak_bytes"] / summaries[NESTED]["input_bytes"]
        what, wanted = f"{NESTED}, memory beside the input", f"<= {MEMORY_FRACTION:.0%}"
        benchmark.judge(key, what, wanted, f"{fraction:.1%}", fraction <= MEMORY_FRACTION)
