"""Run the benchmark of mixtures."""

import benchmarks.mixture
from benchmarks.harness.benchmark import Benchmark, run_steps
from benchmarks.harness.options import SystemParser
from benchmarks.mixture.contenders import QUICK, ROWS
from benchmarks.mixture.rows import ROW_NOTES, measure_row
from benchmarks.mixture.scaling import measure_factors, measure_scaling

STEPS = dict.fromkeys(ROWS, measure_row) | {"scaling": measure_scaling, "factors": measure_factors}


def finish(benchmark: Benchmark) -> None:
    """Say what the tables of whole fits mean."""
    if any(key in ROWS for key in benchmark.options.rows):
        benchmark.say(*ROW_NOTES)


def parser() -> SystemParser:
    doc, rounds = benchmarks.mixture.__doc__, ("--seeds", 3)
    parser = SystemParser("mixture", doc, list(STEPS), quick=QUICK, rounds=rounds)
    parser.add("--budget", default=600.0, help="seconds a fit may take")
    return parser


if __name__ == "__main__":
    run_steps("mixture", parser().read(), STEPS, finish)
