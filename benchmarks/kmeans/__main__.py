"""Run the benchmark of k-means."""

import benchmarks.kmeans
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser
from benchmarks.kmeans import fits

STEPS = {
    **dict.fromkeys(fits.FIT_ROWS, fits.measure_fit),
    "e": fits.measure_assignments,
    "f": fits.measure_memory,
    **dict.fromkeys(fits.SEEDING_ROWS, fits.measure_seedings),
    **dict.fromkeys(fits.SIZE_ROWS, fits.measure_sizes),
}

if __name__ == "__main__":
    run_steps("kmeans", SystemParser("kmeans", benchmarks.kmeans.__doc__, list(STEPS)).read(), STEPS)
