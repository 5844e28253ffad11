"""Truncated mixtures: ``python -m benchmarks.mixture``."""
