"""The figures and tables of Chi and Lange (2015)."""

from benchmarks.harness.papers import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    key="convex",
    title="Splitting Methods for Convex Clustering",
    authors="Chi and Lange (2015)",
    introduction="",
    items=(),
)
