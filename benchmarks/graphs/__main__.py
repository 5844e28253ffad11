"""Run the benchmark of graphs of nearest neighbors."""

import benchmarks.graphs
from benchmarks.graphs.rows import ROWS, measure_row
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser


def parser() -> SystemParser:
    return SystemParser("graphs", benchmarks.graphs.__doc__, list(ROWS))


if __name__ == "__main__":
    run_steps("graphs", parser().read(), dict.fromkeys(ROWS, measure_row))
