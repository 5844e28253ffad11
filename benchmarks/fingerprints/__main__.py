"""The run: all cases with each instruction set that is asked for, and what differs from another run."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.fingerprints import __doc__ as PURPOSE
from benchmarks.fingerprints.convex import convex_cases
from benchmarks.fingerprints.dask import dask_cases
from benchmarks.fingerprints.density import density_cases
from benchmarks.fingerprints.kmeans import kmeans_cases, mini_batch_cases, nested_cases
from benchmarks.fingerprints.laplacian_kmodes import laplacian_cases
from benchmarks.fingerprints.mixture import mixture_cases
from benchmarks.fingerprints.models import model_cases, picture_cases
from benchmarks.fingerprints.results import fingerprint
from benchmarks.fingerprints.runs import Case, Cases
from benchmarks.fingerprints.steps import coreset_cases, graph_cases, measure_cases, seeding_cases
from benchmarks.fingerprints.storages import storage_cases
from benchmarks.fingerprints.stress import LOAD, differences_under_stress, stressed
from benchmarks.fingerprints.total_variation import total_variation_cases
from coterie._kernels import available_instruction_sets, use_instruction_set

GROUPS: dict[str, Callable[[], Cases]] = {
    "k-means": kmeans_cases,
    "nested": nested_cases,
    "mini-batch": mini_batch_cases,
    "mixture": mixture_cases,
    "laplacian": laplacian_cases,
    "total variation": total_variation_cases,
    "convex": convex_cases,
    "density": density_cases,
    "rows": storage_cases,
    "graphs": graph_cases,
    "seeding": seeding_cases,
    "coresets": coreset_cases,
    "measures": measure_cases,
    "dask": dask_cases,
    "models": model_cases,
    "pictures": picture_cases,
}

NAME_WIDTH = 64
FAILED = "failed"


def main() -> int:
    """Print the fingerprint of each case; return 1 if one failed or differs from the file to compare with."""
    options = read_options()
    warnings.simplefilter("ignore")
    if options.stress:
        wrong = differences_under_stress(partial(stressed, load=options.load))
        say(*wrong, f"{len(wrong)} wrong under stress")
        return 1 if wrong else 0
    found: dict[str, str] = {}
    with threadpool_limits(1, user_api="blas"):
        for instruction_set in options.instruction_sets:
            began = time.perf_counter()
            for name, hash_ in fingerprints(instruction_set, options.groups):
                found[name] = hash_
                print(line_of(name, hash_), flush=True)
            say(f"{instruction_set}: {time.perf_counter() - began:.0f} s")
    if options.out:
        options.out.write_text("".join(f"{line_of(*item)}\n" for item in found.items()))
    wrong = [f"{name}: {hash_}" for name, hash_ in found.items() if hash_.startswith(FAILED)]
    if options.compare:
        wrong += differences(found, read_lines(options))
    say(*wrong, f"{len(found)} cases, {len(wrong)} wrong")
    return 1 if wrong else 0


def read_options() -> argparse.Namespace:
    """Return the options of the command line, with `instruction_sets` in words."""
    available = available_instruction_sets()
    parser = argparse.ArgumentParser(description=PURPOSE.splitlines()[0])
    parser.add_argument("--instruction-set", default=available[0], choices=[*available, "all"])
    parser.add_argument("--out", type=Path, help="write the lines to this file too")
    parser.add_argument("--compare", type=Path, help="a file that --out wrote: list what differs from it")
    parser.add_argument(
        "--compare-set", help="whose lines of that file to compare with, if not the same one's"
    )
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(GROUPS), help="all by default")
    parser.add_argument("--stress", action="store_true", help="instead: the same bits in every setting")
    parser.add_argument("--load", type=int, default=LOAD, help="busy processes beside --stress")
    options = parser.parse_args()
    options.instruction_sets = available if options.instruction_set == "all" else [options.instruction_set]
    return options


def fingerprints(instruction_set: str, groups: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield name and fingerprint of each case of some groups, computed with one instruction set."""
    use_instruction_set(instruction_set)
    for group in groups:
        for name, case in GROUPS[group]().items():
            yield f"{instruction_set}: {group}: {name}", attempted(case)


def attempted(case: Case) -> str:
    """Return the fingerprint of a case, or the kind of its error, which is printed."""
    try:
        return fingerprint(case())
    except Exception as error:
        traceback.print_exc()
        return f"{FAILED}-{type(error).__name__}"


def line_of(name: str, hash_: str) -> str:
    """Return what is printed of a case."""
    return f"{name:<{NAME_WIDTH}} {hash_}"


def read_lines(options: argparse.Namespace) -> dict[str, str]:
    """Return name and fingerprint of each chosen case in the file to compare with; names are those that it has here."""
    wanted = {}
    for line in options.compare.read_text().splitlines():
        name, hash_ = line.rsplit(maxsplit=1)
        instruction_set, group, case = name.rstrip().split(": ", 2)
        for here in options.instruction_sets:
            if group in options.groups and instruction_set == (options.compare_set or here):
                wanted[f"{here}: {group}: {case}"] = hash_
    return wanted


def differences(found: dict[str, str], wanted: dict[str, str]) -> list[str]:
    """Return a line for each case that differs, is missing or is new."""
    names = [name for name in wanted | found if found.get(name) != wanted.get(name)]
    return [
        f"{name}: {wanted.get(name, 'nothing')} before, {found.get(name, 'nothing')} now" for name in names
    ]


def say(*lines: str) -> None:
    """Print what is no fingerprint."""
    print(*lines, sep="\n", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
