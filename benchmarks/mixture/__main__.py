"""Run the benchmark of mixtures."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import benchmarks.mixture
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser, above_zero, at_least
from benchmarks.mixture.benchmark import MixtureBenchmark
from benchmarks.mixture.estep import measure_estep
from benchmarks.mixture.factors import measure_factors
from benchmarks.mixture.huge import measure_huge
from benchmarks.mixture.rows import measure_row
from benchmarks.mixture.scaling import measure_scaling
from benchmarks.mixture.seedings import measure_seedings
from benchmarks.mixture.settings import ON_DEMAND, QUICK, ROWS

PARTS = {
    "scaling": measure_scaling,
    "estep": measure_estep,
    "seeding": measure_seedings,
    "huge": measure_huge,
    "factors": measure_factors,
}


def parser() -> SystemParser:
    """Return what reads the command line."""
    usual = [key for key in ROWS if key not in ON_DEMAND]
    parser = SystemParser(
        "mixture", benchmarks.mixture.__doc__, list(ROWS), usual=usual, quick=QUICK, rounds=("--seeds", 3)
    )
    parser.add("--heavy-seeds", type=at_least(1), default=1, help="fits of each that takes long")
    parser.add("--budget", type=above_zero, default=600.0, help="seconds a fit may take")
    add = parser.add_argument
    add("--scaling", action="store_true", help="seconds of an iteration against the number of components")
    add("--estep", action="store_true", help="the kernels, against the machine's sgemm rate")
    add("--seeding", action="store_true", help="initial centers: AFK-MC2 against greedy k-means++")
    add("--huge", action="store_true", help="a coreset of a generated file")
    add("--factors", action="store_true", help="factor analyzers: held-out likelihood, scaling")
    parser.add("--huge-gb", type=above_zero, default=20.0, quick=0.1, help="size of that file in GB")
    add("--plot", type=Path, help="the picture of --scaling (default: beside the JSON file)")
    return parser


def read_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line; with a part, no rows are run but those that are named."""
    reader = parser()
    options = reader.parse_args(arguments)
    parts = [part for part in PARTS if getattr(options, part)]
    if parts:
        options.rows = [*(options.rows or []), *parts]
    return reader.complete(options)


if __name__ == "__main__":
    run_steps("mixture", read_options(), dict.fromkeys(ROWS, measure_row) | PARTS, MixtureBenchmark)
