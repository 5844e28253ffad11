"""Benchmarks: a module or folder per system that measures coterie and its peers; what they share is in `harness`."""
