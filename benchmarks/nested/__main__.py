"""Run the benchmark of nested mini-batch k-means."""

from pathlib import Path

import benchmarks.nested
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser, above_zero
from benchmarks.nested.benchmark import NestedBenchmark
from benchmarks.nested.curve_rows import measure_curve
from benchmarks.nested.rows import CURVE_ROWS


def parser() -> SystemParser:
    # Row b shows other curves of images.
    quick = [key for key in CURVE_ROWS if key != "a"]
    parser = SystemParser(
        "nested", benchmarks.nested.__doc__, list(CURVE_ROWS), quick=quick, rounds=("--seeds", 5)
    )
    parser.add("--budget", type=above_zero, default=30.0, quick=0.2, help="seconds of each fit")
    parser.add_argument("--plot", type=Path, help="the picture (default: beside the JSON file)")
    return parser


if __name__ == "__main__":
    run_steps("nested", parser().read(), dict.fromkeys(CURVE_ROWS, measure_curve), NestedBenchmark)
