"""Run the benchmark of convex clustering."""

import benchmarks.convex
from benchmarks.convex.any_data import measure_any
from benchmarks.convex.iteration import measure_iteration
from benchmarks.convex.paths import MOON_SIZES, measure_moons, measure_paper
from benchmarks.convex.trees import measure_tree_accuracy, measure_trees
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser, whole_numbers

STEPS = {
    "sparse": measure_paper,
    "dense": measure_paper,
    "moons": measure_moons,
    "iteration": measure_iteration,
    "any": measure_any,
    "tree": measure_trees,
    "tree-accuracy": measure_tree_accuracy,
}


def parser() -> SystemParser:
    parser = SystemParser("convex", benchmarks.convex.__doc__, list(STEPS))
    parser.add("--sizes", type=whole_numbers, default=MOON_SIZES, quick=(500,), help="rows of the two moons")
    return parser


if __name__ == "__main__":
    run_steps("convex", parser().read(), STEPS)
