"""Nested mini-batch k-means: ``python -m benchmarks.nested``."""
