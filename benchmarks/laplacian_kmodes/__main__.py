"""Run the benchmark of Laplacian K-modes."""

import benchmarks.laplacian_kmodes
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser
from benchmarks.laplacian_kmodes.rows import ROWS, measure_blobs, measure_row

STEPS = {**dict.fromkeys(ROWS, measure_row), "blobs": measure_blobs}

if __name__ == "__main__":
    doc = benchmarks.laplacian_kmodes.__doc__
    parser = SystemParser("laplacian_kmodes", doc, list(STEPS), quick=("digits", "blobs"))
    parser.add("--limit", default=120.0, help="seconds for spectral clustering")
    run_steps("laplacian_kmodes", parser.read(), STEPS)
