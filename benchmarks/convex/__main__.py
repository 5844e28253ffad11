"""Run the benchmark of convex clustering."""

import benchmarks.convex
from benchmarks.convex import paths
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser

STEPS = {
    "moons": paths.measure_moons,
    "tree": paths.measure_trees,
    "tree-accuracy": paths.measure_tree_accuracy,
}

if __name__ == "__main__":
    parser = SystemParser("convex", benchmarks.convex.__doc__, list(STEPS))
    run_steps("convex", parser.read(), STEPS)
