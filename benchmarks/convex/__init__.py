"""Convex clustering: ``python -m benchmarks.convex``."""
