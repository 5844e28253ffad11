"""Benchmarks: one module per system, each measures coterie and its peers in one run.

``python -m benchmarks.machine`` prints the limits of this machine, ``python -m benchmarks.kmeans`` compares
k-means with other packages. Tables go to the terminal and, with the same numbers as JSON, to
``benchmarks/results``.
"""
