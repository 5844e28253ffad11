"""Run the benchmark of nested mini-batch k-means."""

from pathlib import Path

import benchmarks.nested
from benchmarks.harness.benchmark import Benchmark, run_steps
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import seconds_cell
from benchmarks.nested.contenders import CURVES, DEFAULT_START, K_MEANS_PLUS_PLUS, SUPERKMEANS_ITERATIONS
from benchmarks.nested.curves import LEVELS, CurveRow, draw, measure_curves

CURVE_ROWS = {
    row.data: row
    for row in (
        CurveRow("infmnist", 400_000, 20_000),
        CurveRow("patches", 960_000, 40_000, needs="cifar10_12k.npz"),
        CurveRow("rcv1", 23_613, 4_000, needs="rcv1_27k.npz", sparse=True),
        CurveRow("blobs", 1_000_000, 20_000, n_clusters=1000, start=K_MEANS_PLUS_PLUS),
    )
}


def measure_curve(benchmark: Benchmark, key: str) -> None:
    """Record all contenders on a data set."""
    row = CURVE_ROWS[key].for_options(benchmark)
    # Where all begin with k-means++, that is what nested batches do, too.
    left_out = DEFAULT_START if row.start == K_MEANS_PLUS_PLUS else ""
    contenders = {name: contender for name, contender in CURVES.items() if name != left_out}
    title = f"{key}. {row.title}"
    found = measure_curves(benchmark, title, row, contenders, benchmark.options.budget)
    if found is None or not found[1]:
        return
    curves, summaries = found
    benchmark.kept.append(curves)
    columns = {
        f"seconds to {100 * level:g}%": lambda s, level=level: curves.time_cell(s["name"], level)
        for level in LEVELS
    }
    own = {name: "*" * (not contender.takes_centers) for name, contender in CURVES.items()}
    columns["final excess"] = lambda s: curves.excess_cell(s["name"]) + own[s["name"]]
    benchmark.table(title, columns | {"seconds in all": seconds_cell}, summaries)
    benchmark.say(f"E* = {curves.best_energy:.6g}")


def finish(benchmark: Benchmark) -> None:
    """Say what the tables of the curves mean, and draw them."""
    if benchmark.kept:
        benchmark.say(
            "Seconds to: median (range) over the seeds until the energy of the held-out rows is within this excess",
            "over E*, the lowest of all fits of the run; never: in fewer than half of the seeds. Final excess: mean",
            "and standard deviation; * the package draws its own initial centroids. superkmeans reports no progress,",
            f"so each point is a separate fit ({', '.join(map(str, SUPERKMEANS_ITERATIONS))} iterations).",
        )
        benchmark.draw("curves", draw(benchmark.kept))


def parser() -> SystemParser:
    parser = SystemParser("nested", benchmarks.nested.__doc__, list(CURVE_ROWS), rounds=("--seeds", 5))
    parser.add("--budget", default=30.0, quick=0.2, help="seconds of each fit")
    parser.add("--plot", type=Path, help="the picture (default: beside the JSON file)")
    return parser


if __name__ == "__main__":
    run_steps("nested", parser().read(), dict.fromkeys(CURVE_ROWS, measure_curve), finish)
