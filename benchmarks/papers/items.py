"""All items of all papers, their commands, and where their results lie."""

from __future__ import annotations

import shlex
from pathlib import Path

from benchmarks.convex.paper import ITEMS as CONVEX
from benchmarks.harness.papers import Item
from benchmarks.harness.reporting import RESULTS
from benchmarks.laplacian_kmodes.paper import ITEMS as LAPLACIAN_KMODES
from benchmarks.mixture.paper import ITEMS as MIXTURE
from benchmarks.nested.paper import ITEMS as NESTED
from benchmarks.total_variation.paper import ITEMS as TOTAL_VARIATION

# By the names of the folders of benchmarks and of the pages.
PAPERS: dict[str, dict[str, Item]] = {
    "nested": NESTED, "mixture": MIXTURE, "laplacian_kmodes": LAPLACIAN_KMODES, "total_variation": TOTAL_VARIATION,
    "convex": CONVEX,
}  # fmt: skip
ITEMS = {f"{paper}-{name}": item for paper, items in PAPERS.items() for name, item in items.items()}


def command(full: str, *options: str) -> str:
    """Return the command line that makes an item."""
    return shlex.join(["python", "-m", "benchmarks.papers", full, *options])


def stem_of(full: str, quick: bool = False) -> Path:
    """Return the path of an item's results, without extension; a later run takes the place of an earlier one."""
    return RESULTS / ("papers-quick" if quick else "papers") / full
