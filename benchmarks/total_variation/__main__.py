"""Run the benchmark of total variation clustering."""

import benchmarks.total_variation
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser, numbers
from benchmarks.total_variation.contenders import DATA, LABELS, compare

if __name__ == "__main__":
    doc = benchmarks.total_variation.__doc__
    parser = SystemParser(
        "total_variation", doc, DATA, quick=("optdigits",), rows_option="--data", rounds=None
    )
    parser.add("--draws", default=10, quick=1, help="draws of the labels")
    parser.add("--trials", default=30, quick=2, help="unsupervised trials")
    parser.add(
        "--labels", type=numbers, default=LABELS, quick=(0.0, 1.0), help="0, 1 of each class, or shares"
    )
    run_steps("total_variation", parser.read(), dict.fromkeys(DATA, compare))
