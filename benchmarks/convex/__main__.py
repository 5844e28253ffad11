"""Run the benchmark of convex clustering."""

import benchmarks.convex
from benchmarks.convex.any_data import measure_any
from benchmarks.convex.paths import MOON_SIZES, measure_moons
from benchmarks.convex.trees import measure_tree_accuracy, measure_trees
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser, numbers

STEPS = {
    "moons": measure_moons,
    "any": measure_any,
    "tree": measure_trees,
    "tree-accuracy": measure_tree_accuracy,
}

if __name__ == "__main__":
    parser = SystemParser("convex", benchmarks.convex.__doc__, list(STEPS))
    parser.add("--sizes", type=numbers, default=MOON_SIZES, quick=(500,), help="rows of the two moons")
    run_steps("convex", parser.read(), STEPS)
