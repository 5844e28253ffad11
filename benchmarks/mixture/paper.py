"""The figures and tables of Hirschberger, Forster and Lücke."""

from benchmarks.harness.papers import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    key="mixture",
    title="Large Scale Clustering with Variational EM for Gaussian Mixture Models",
    authors="Hirschberger, Forster and Lücke (2019, 2022)",
    introduction="",
    items=(),
)
