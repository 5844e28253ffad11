"""Benchmarks: a module or folder per system that measures coterie and its peers; what they share is in `harness`.

``python -m benchmarks.machine`` prints the limits of this machine, ``python -m benchmarks.kmeans`` compares
k-means with other packages. Tables go to the terminal and, with the same numbers as JSON, to
``benchmarks/results``. See README.md.
"""
