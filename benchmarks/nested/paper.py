"""The figures and tables of Newling and Fleuret (2016)."""

from benchmarks.harness.papers import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    key="nested",
    title="Nested Mini-Batch K-Means",
    authors="Newling and Fleuret (2016)",
    introduction="",
    items=(),
)
