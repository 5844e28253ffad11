"""Run the benchmark of graphs of nearest neighbors."""

import benchmarks.graphs
from benchmarks.graphs.runs import ROWS, measure_row
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser

if __name__ == "__main__":
    parser = SystemParser("graphs", benchmarks.graphs.__doc__, list(ROWS))
    run_steps("graphs", parser.read(), dict.fromkeys(ROWS, measure_row))
