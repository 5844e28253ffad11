"""K-means: ``python -m benchmarks.kmeans``."""
