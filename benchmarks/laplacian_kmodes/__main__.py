"""Run the benchmark of Laplacian K-modes."""

import benchmarks.laplacian_kmodes
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser, above_zero, at_least
from benchmarks.laplacian_kmodes.any_data import measure_any
from benchmarks.laplacian_kmodes.criteria import measure_criteria
from benchmarks.laplacian_kmodes.given_graph import measure_gan
from benchmarks.laplacian_kmodes.labeled import measure_row
from benchmarks.laplacian_kmodes.rows import ROWS
from benchmarks.laplacian_kmodes.update import measure_update
from benchmarks.laplacian_kmodes.whole import measure_blobs

STEPS = {
    **dict.fromkeys(ROWS, measure_row),
    "any": measure_any,
    "lambda": measure_criteria,
    "gan": measure_gan,
    "update": measure_update,
    "blobs": measure_blobs,
}


def parser() -> SystemParser:
    """Return what reads the command line."""
    parser = SystemParser(
        "laplacian_kmodes",
        benchmarks.laplacian_kmodes.__doc__,
        list(STEPS),
        quick=("digits", "any", "lambda", "update", "blobs"),
    )
    parser.add(
        "--seeds", type=at_least(0), default=10, quick=2, help="single starts for each lambda, 0 for none"
    )
    parser.add("--limit", type=above_zero, default=120.0, help="seconds for spectral clustering")
    return parser


if __name__ == "__main__":
    run_steps("laplacian_kmodes", parser().read(), STEPS)
