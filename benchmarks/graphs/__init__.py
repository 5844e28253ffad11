"""Graphs of nearest neighbors: exact and approximate search against libraries.

    python -m benchmarks.graphs [--rows mnist,blobs] [--repeats 3] [--threads 2] [--only coterie,faiss] [--quick]

For each data set the time to the 10 nearest neighbors of all rows, index included, and which share of the true ones
was found (recall, over 1,000 rows).
"""
