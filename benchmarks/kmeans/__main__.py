"""Run the benchmark of k-means."""

import benchmarks.kmeans
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser
from benchmarks.kmeans.assignments import measure_assignments
from benchmarks.kmeans.fits import measure_fit, measure_memory
from benchmarks.kmeans.rows import FIT_ROWS
from benchmarks.kmeans.seedings import SEEDING_ROWS, measure_seedings
from benchmarks.kmeans.sizes import SIZE_ROWS, measure_sizes

STEPS = {
    **dict.fromkeys(FIT_ROWS, measure_fit),
    "e": measure_assignments,
    "f": measure_memory,
    **dict.fromkeys(SEEDING_ROWS, measure_seedings),
    **dict.fromkeys(SIZE_ROWS, measure_sizes),
}

if __name__ == "__main__":
    run_steps("kmeans", SystemParser("kmeans", benchmarks.kmeans.__doc__, list(STEPS)).read(), STEPS)
