"""The figures and tables of Ziko, Granger and Ben Ayed (2018)."""

from benchmarks.harness.papers import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    key="laplacian_kmodes",
    title="Scalable Laplacian K-modes",
    authors="Ziko, Granger and Ben Ayed (2018)",
    introduction="",
    items=(),
)
