"""Run the benchmark of total variation clustering."""

import benchmarks.total_variation
from benchmarks.harness.benchmark import Benchmark, run_steps
from benchmarks.harness.options import SystemParser, at_least, numbers
from benchmarks.total_variation.comparison import LABELS, compare
from benchmarks.total_variation.graphs import DATA
from benchmarks.total_variation.kernel import measure_kernel


class TotalVariationBenchmark(Benchmark):
    """No part of total variation clustering is a product of matrices."""

    needs_sgemm = False


def measure_graph(benchmark: TotalVariationBenchmark, data: str) -> None:
    """Compare contenders on a graph, and time the inner iteration on one of them."""
    if benchmark.options.kernel or data == "mnist":
        measure_kernel(benchmark, data)
    if not benchmark.options.kernel:
        compare(benchmark, data)


def parser() -> SystemParser:
    """Return what reads the command line."""
    parser = SystemParser(
        "total_variation",
        benchmarks.total_variation.__doc__,
        DATA,
        quick=("mnist",),
        rows_option="--data",
        rounds=None,
    )
    parser.add("--draws", type=at_least(1), default=10, quick=1, help="draws of the labels")
    parser.add("--trials", type=at_least(1), default=30, quick=2, help="unsupervised trials")
    parser.add(
        "--labels", type=numbers, default=LABELS, quick=(0.0, 1.0), help="0, 1 of each class, or shares"
    )
    parser.add_argument("--kernel", action="store_true", help="time the inner iteration only")
    return parser


if __name__ == "__main__":
    steps = dict.fromkeys(DATA, measure_graph)
    run_steps("total_variation", parser().read(), steps, TotalVariationBenchmark)
