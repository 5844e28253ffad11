"""Run the benchmark of k-means."""

import benchmarks.kmeans
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser
from benchmarks.kmeans import cases

STEPS = dict.fromkeys(cases.CASES, cases.measure_fits)

if __name__ == "__main__":
    parser = SystemParser("kmeans", benchmarks.kmeans.__doc__, list(STEPS))
    parser.add("--limit", default=420.0, help="seconds after which a whole fit is given up")
    run_steps("kmeans", parser.read(), STEPS, cases.tell)
