"""Run the benchmark of mixtures."""

from pathlib import Path

import benchmarks.mixture
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser, above_zero, at_least
from benchmarks.mixture.benchmark import MixtureBenchmark
from benchmarks.mixture.factors import measure_factors
from benchmarks.mixture.rows import measure_row
from benchmarks.mixture.scaling import measure_scaling
from benchmarks.mixture.settings import ON_DEMAND, QUICK, ROWS

STEPS = dict.fromkeys(ROWS, measure_row) | {"scaling": measure_scaling, "factors": measure_factors}


def parser() -> SystemParser:
    usual = [key for key in ROWS if key not in ON_DEMAND]
    parser = SystemParser(
        "mixture", benchmarks.mixture.__doc__, list(STEPS), usual=usual, quick=QUICK, rounds=("--seeds", 3)
    )
    parser.add("--heavy-seeds", type=at_least(1), default=1, help="fits of each that takes long")
    parser.add("--budget", type=above_zero, default=600.0, help="seconds a fit may take")
    parser.add_argument("--plot", type=Path, help="the picture of scaling (default: beside the JSON file)")
    return parser


if __name__ == "__main__":
    run_steps("mixture", parser().read(), STEPS, MixtureBenchmark)
