"""Run the benchmark of k-means."""

import benchmarks.kmeans
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser
from benchmarks.kmeans import cases, fits

STEPS = {
    **dict.fromkeys(cases.CASES, cases.measure_fits),
    **dict.fromkeys(fits.FIT_ROWS, fits.measure_fit),
    "e": fits.measure_assignments,
    "f": fits.measure_memory,
    **dict.fromkeys(fits.SEEDING_ROWS, fits.measure_seedings),
    **dict.fromkeys(fits.SIZE_ROWS, fits.measure_sizes),
}

if __name__ == "__main__":
    parser = SystemParser("kmeans", benchmarks.kmeans.__doc__, list(STEPS), usual=list(cases.CASES))
    parser.add("--limit", default=120.0, help="seconds after which a whole fit is given up")
    run_steps("kmeans", parser.read(), STEPS, cases.tell)
