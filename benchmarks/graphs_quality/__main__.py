"""Run what is not there yet, print the page, and write it if asked."""

import argparse
from functools import partial
from itertools import product

import benchmarks.graphs_quality
from benchmarks.graphs_quality.contenders import CONTENDERS, GRAPH_METHODS, Cell, run_cell, warm_up
from benchmarks.graphs_quality.page import MOST_ROWS, losses, written_page
from benchmarks.harness.contenders import selected
from benchmarks.harness.data.quality_sets import SETS, prepared
from benchmarks.harness.measuring import Processes, limit_threads
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import DOCS, RESULTS, Results, write_parts

# The page that this command writes, and the one that has a table of it.
PAGE, GUIDE = DOCS / "benchmarks" / "graphs_quality.md", DOCS / "start" / "which_method.md"
QUICK_ROWS, QUICK_SETS = 200, ("iris", "moons")


def measure(options: argparse.Namespace, results: Results) -> None:
    """Run all methods on all sets, those cells that are not there yet."""
    methods = selected(CONTENDERS, options, print)
    process = Processes(kept=True)

    def run(name: str, method: str, seed: int) -> Cell:
        data = process.run(prepared, name, options.most_rows, results.folder / "rows")
        process.run(warm_up, method)
        return process.run_within(options.limit, run_cell, method, data, seed)

    for name, method, seed in product(options.rows, methods, range(options.repeats)):
        if SETS[name].is_here and (not SETS[name].is_graph or method in GRAPH_METHODS):
            results.made(name, method, seed, partial(run, name, method, seed))
    process.close()


if __name__ == "__main__":
    parser = SystemParser(
        "graphs_quality", benchmarks.graphs_quality.__doc__, list(SETS), quick=QUICK_SETS, rows_option="--sets",
        rounds=("--seeds", 1),
    )  # fmt: skip
    parser.add("--limit", default=300.0, help="seconds after which a cell is given up")
    parser.add("--most-rows", default=MOST_ROWS, quick=QUICK_ROWS, help="drawn of larger sets")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name}, table of {GUIDE.name}")
    options = parser.read()
    limit_threads(1)
    results = Results(RESULTS / f"graphs_quality-{options.most_rows}")
    measure(options, results)
    page = written_page(results, options.most_rows)
    print(page)
    if options.page:
        PAGE.write_text(page)
        name = "written by python -m benchmarks.graphs_quality --page"
        write_parts(GUIDE, {name: f"\n{losses(results)}\n"})
