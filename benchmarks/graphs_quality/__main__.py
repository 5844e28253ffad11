"""Run what is not there yet, print the tables, and write the page if asked."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from datetime import datetime
from itertools import product
from pathlib import Path

import benchmarks.graphs_quality
from benchmarks.graphs_quality.contenders import CONTENDERS, GRAPH_METHODS
from benchmarks.graphs_quality.page import GUIDE, MOST_ROWS, PAGE, tables, with_table, written_page
from benchmarks.graphs_quality.runs import Cell, run_cell, warm_up
from benchmarks.harness.data.quality_sets import SETS, prepared
from benchmarks.harness.options import SystemParser, above_zero, at_least
from benchmarks.harness.processes import KeptProcess, limit_threads
from benchmarks.harness.reporting import RESULTS, machine_facts
from benchmarks.harness.results import FAILED, Results

QUICK_ROWS, QUICK_SETS = 200, ("iris", "moons")


def parser() -> SystemParser:
    parser = SystemParser(
        "graphs_quality",
        benchmarks.graphs_quality.__doc__,
        list(SETS),
        quick=QUICK_SETS,
        rows_option="--sets",
        rounds=("--seeds", 1),
    )
    parser.add("--limit", default=300, type=above_zero, help="seconds after which a cell is given up")
    parser.add(
        "--most-rows", default=MOST_ROWS, quick=QUICK_ROWS, type=at_least(10), help="drawn of larger sets"
    )
    parser.add("--draw", default=0, type=at_least(0), help="which rows are drawn of larger sets: the seed")
    parser.add_argument("--again", action="store_true", help="also run what is there")
    parser.add_argument(
        "--page",
        action="store_true",
        help=f"write {PAGE.name} of what is there, and the table of {GUIDE.name}; only of draw 0",
    )
    parser.add_argument("--results", type=Path, help="folder of the cells (default: in benchmarks/results)")
    return parser


def results_of(options: argparse.Namespace) -> Results:
    """Return the cells of these many rows, of this draw."""
    of_draw = f"-draw-{options.draw}" if options.draw else ""
    return Results(options.results or RESULTS / f"graphs_quality-{options.most_rows}{of_draw}")


def chosen(options: argparse.Namespace) -> list[str]:
    """Return the methods that --only and --skip leave and that are installed; name those that are not."""
    named = [name for name in CONTENDERS if not options.only or any(word in name for word in options.only)]
    named = [name for name in named if not any(word in name for word in options.skip)]
    missing = [name for name in named if not CONTENDERS[name].installed]
    if missing:
        print(f"Skipped, not installed: {', '.join(missing)}", file=sys.stderr)
    return [name for name in named if name not in missing]


def measure(options: argparse.Namespace, results: Results) -> None:
    """Run all methods on all sets, those cells that are not there yet."""
    names = [name for name in options.rows if SETS[name].is_here]
    for absent in (name for name in options.rows if not SETS[name].is_here):
        print(f"{absent}: {SETS[absent].file} is not in COTERIE_DATA", file=sys.stderr)
    facts = {"machine": machine_facts(), "limit": options.limit, "date": f"{datetime.now():%Y-%m-%d}"}
    methods = chosen(options)
    with closing(KeptProcess()) as process:
        for name, method, seed in product(names, methods, range(options.repeats)):
            if SETS[name].is_graph and method not in GRAPH_METHODS:
                continue
            if options.again or results.read(name, method, seed) is None:
                cell = _measured(process, method, name, seed, options, results.folder / "rows") | facts
                results.keep(name, method, seed, cell)
                print(f"{name}, {method}: {_shown(cell)}", file=sys.stderr, flush=True)


def _measured(
    process: KeptProcess, method: str, name: str, seed: int, options: argparse.Namespace, rows: Path
) -> Cell:
    data = process.run(prepared, name, options.most_rows, rows, options.draw)
    try:
        process.run(warm_up, method)
        return process.run_within(options.limit, run_cell, method, data, seed)
    except TimeoutError as error:
        return {FAILED: str(error)}
    except Exception as error:  # a peer's failure is a result
        return {FAILED: f"{type(error).__name__}: {error}".splitlines()[0]}


def _shown(cell: Cell) -> str:
    if FAILED in cell:
        return cell[FAILED]
    return f"{cell['accuracy']:.3f} / {cell['nmi']:.3f}, {cell['cpu_seconds']:.1f} s"


def main() -> None:
    """Do what was asked for."""
    reader = parser()
    options = reader.read()
    if options.page and options.draw:
        reader.error("--page shows draw 0")
    limit_threads(1)
    results = results_of(options)
    measure(options, results)
    print("\n".join(tables(results, options.most_rows)))
    if options.page:
        PAGE.write_text(written_page(results, options.most_rows))
        GUIDE.write_text(with_table(GUIDE.read_text(), results))
        print(f"Written to {PAGE.name} and {GUIDE.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
