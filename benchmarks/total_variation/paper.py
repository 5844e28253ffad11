"""The figures and tables of Bresson, Laurent, Uminsky and von Brecht (2013)."""

from benchmarks.harness.papers import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    key="total_variation",
    title="Multiclass Total Variation Clustering",
    authors="Bresson, Laurent, Uminsky and von Brecht (2013)",
    introduction="",
    items=(),
)
