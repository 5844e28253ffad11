"""Total variation clustering: ``python -m benchmarks.total_variation``."""
