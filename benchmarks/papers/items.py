"""All items of all papers, their commands, and where their results lie."""

from __future__ import annotations

import shlex
from pathlib import Path

from benchmarks.convex.paper import PAPER as CONVEX
from benchmarks.harness.papers import Item, Paper
from benchmarks.harness.reporting import RESULTS
from benchmarks.laplacian_kmodes.paper import PAPER as LAPLACIAN_KMODES
from benchmarks.mixture.paper import PAPER as MIXTURE
from benchmarks.nested.paper import PAPER as NESTED
from benchmarks.total_variation.paper import PAPER as TOTAL_VARIATION

__all__ = ["ITEMS", "PAPERS", "command", "stem_of"]

PAPERS: dict[str, Paper] = {
    paper.key: paper for paper in (NESTED, MIXTURE, LAPLACIAN_KMODES, TOTAL_VARIATION, CONVEX)
}
ITEMS: dict[str, tuple[Paper, Item]] = {
    f"{paper.key}-{item.name}": (paper, item) for paper in PAPERS.values() for item in paper.items
}


def command(full: str, *options: str) -> str:
    """Return the command line that makes an item."""
    return shlex.join(["python", "-m", "benchmarks.papers", full, *options])


def stem_of(full: str, quick: bool = False) -> Path:
    """Return the path of an item's results, without extension; a later run takes the place of an earlier one."""
    return RESULTS / ("papers-quick" if quick else "papers") / full
