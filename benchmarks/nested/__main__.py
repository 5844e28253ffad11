"""Run the benchmark of nested mini-batch k-means, or draw its results again."""

import argparse
from pathlib import Path

import benchmarks.nested
from benchmarks.harness.benchmark import run_steps
from benchmarks.harness.options import SystemParser, above_zero
from benchmarks.nested.benchmark import NestedBenchmark
from benchmarks.nested.curve_rows import measure_curve
from benchmarks.nested.memory import measure_memory
from benchmarks.nested.one_pass import measure_pass
from benchmarks.nested.picture import redraw
from benchmarks.nested.rows import CURVE_ROWS

STEPS = {**dict.fromkeys(CURVE_ROWS, measure_curve), "m": measure_memory, "p": measure_pass}


def parser() -> SystemParser:
    """Return what reads the command line."""
    # Row m takes the rows of row a, and row b shows other curves of images.
    quick = [key for key in STEPS if key != "a"]
    parser = SystemParser(
        "nested", benchmarks.nested.__doc__, list(STEPS), quick=quick, rounds=("--seeds", 5)
    )
    parser.add("--budget", type=above_zero, default=30.0, quick=0.2, help="seconds of each fit")
    parser.add_argument("--plot", type=Path, help="the picture (default: beside the JSON file)")
    parser.add_argument("--redraw", type=Path, nargs="+", help="draw these JSON files instead of running")
    return parser


def read_options() -> argparse.Namespace:
    """Read the command line."""
    reader = parser()
    options = reader.read()
    if options.redraw and not options.plot:
        reader.error("--redraw needs --plot")
    return options


def main() -> None:
    """Run the rows that were asked for, or draw what was saved."""
    options = read_options()
    if options.redraw:
        redraw(options.redraw, options.plot)
    else:
        run_steps("nested", options, STEPS, NestedBenchmark)


if __name__ == "__main__":
    main()
