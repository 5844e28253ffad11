"""Run the benchmark of Laplacian K-modes."""

import benchmarks.laplacian_kmodes
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser, above_zero, at_least
from benchmarks.laplacian_kmodes.criteria import measure_criteria
from benchmarks.laplacian_kmodes.labeled import measure_row
from benchmarks.laplacian_kmodes.rows import ROWS
from benchmarks.laplacian_kmodes.whole import measure_blobs

STEPS = {**dict.fromkeys(ROWS, measure_row), "lambda": measure_criteria, "blobs": measure_blobs}


def parser() -> SystemParser:
    parser = SystemParser(
        "laplacian_kmodes",
        benchmarks.laplacian_kmodes.__doc__,
        list(STEPS),
        quick=("digits", "lambda", "blobs"),
    )
    parser.add("--seeds", type=at_least(2), default=10, quick=3, help="starts of row lambda")
    parser.add("--limit", type=above_zero, default=120.0, help="seconds for spectral clustering")
    return parser


if __name__ == "__main__":
    run_steps("laplacian_kmodes", parser().read(), STEPS)
