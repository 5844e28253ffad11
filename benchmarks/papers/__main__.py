"""List the figures and tables of the papers, make those that are named, or put what was made into the pages."""

import argparse
import sys
import traceback

import benchmarks.papers
from benchmarks.harness.benchmark import PaperRun, begun
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import Report, command_line
from benchmarks.papers.pages import ITEMS, PAPERS, listing, stem_of, write_pages


def parser() -> SystemParser:
    parser = SystemParser("papers", benchmarks.papers.__doc__, list(ITEMS), usual=[], rounds=None)
    parser.add_argument("names", nargs="*", metavar="NAME", help="items, or papers for all of theirs")
    parser.add_argument("--all", action="store_true", help="make every item")
    parser.add("--seeds", type=int, help="repeats of each fit (default: the paper's)")
    parser.add("--limit", type=float, help="seconds for a slow contender on a data set (default: the item's)")
    parser.add("--gb", type=float, help="size of a file that exceeds memory (default: a tenth more)")
    parser.add_argument("--pages", action="store_true", help="put what full runs made into docs/papers")
    return parser


def read_options() -> argparse.Namespace:
    """Read the command line; `names` become items."""
    reader = parser()
    options = reader.read()
    names = [*options.rows, *(list(PAPERS) if options.all else options.names)]
    unknown = [name for name in names if name not in ITEMS and name not in PAPERS]
    if unknown:
        reader.error(f"no {', '.join(unknown)}; `python -m benchmarks.papers` lists what there is")
    options.items = [full for full in ITEMS if {full, full.partition("-")[0]} & set(names)]
    return options


def make(full: str, options: argparse.Namespace) -> bool:
    """Make one item; return whether that went well, and say it if not."""
    report = Report(full, command_line("papers"), stem_of(full, options.quick))
    report.data |= {"item": full, "is_whole": False}
    try:
        with begun(options, report, PaperRun) as run:
            ITEMS[full].make(run)
            report.data["is_whole"] = True
    except Exception:
        traceback.print_exc()
        print(f"{full}: failed", file=sys.stderr)
        return False
    return True


def main() -> None:
    options = read_options()
    if not options.items and not options.pages:
        print(listing())
    failed = [full for full in options.items if not make(full, options)]
    if options.pages:
        write_pages()
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
