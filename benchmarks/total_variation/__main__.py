"""Run the benchmark of total variation clustering."""

import benchmarks.total_variation
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser, at_least, numbers
from benchmarks.total_variation.comparison import LABELS, compare
from benchmarks.total_variation.graphs import DATA


def parser() -> SystemParser:
    parser = SystemParser(
        "total_variation",
        benchmarks.total_variation.__doc__,
        DATA,
        quick=("optdigits",),
        rows_option="--data",
        rounds=None,
    )
    parser.add("--draws", type=at_least(1), default=10, quick=1, help="draws of the labels")
    parser.add("--trials", type=at_least(1), default=30, quick=2, help="unsupervised trials")
    parser.add(
        "--labels", type=numbers, default=LABELS, quick=(0.0, 1.0), help="0, 1 of each class, or shares"
    )
    return parser


if __name__ == "__main__":
    run_steps("total_variation", parser().read(), dict.fromkeys(DATA, compare))
