"""Laplacian K-modes: ``python -m benchmarks.laplacian_kmodes``."""
