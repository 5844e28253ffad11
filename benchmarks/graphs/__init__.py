"""Graphs of nearest neighbours: ``python -m benchmarks.graphs``."""
