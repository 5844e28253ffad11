"""Run the benchmark of convex clustering."""

import benchmarks.convex
from benchmarks.convex import paths
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser, numbers

STEPS = {
    "moons": paths.measure_moons,
    "tree": paths.measure_trees,
    "tree-accuracy": paths.measure_tree_accuracy,
}

if __name__ == "__main__":
    parser = SystemParser("convex", benchmarks.convex.__doc__, list(STEPS))
    parser.add("--sizes", type=numbers, default=paths.MOON_SIZES, quick=(500,), help="rows of the two moons")
    run_steps("convex", parser.read(), STEPS)
