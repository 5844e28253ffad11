"""Laplacian K-modes against k-means and spectral clustering: quality, seconds and memory.

    python -m benchmarks.laplacian_kmodes [--rows mnist,pendigits] [--repeats 3] [--threads 2] [--limit 120]
                                          [--only SLK] [--quick]

For each data set ten starts of each method on one graph of 5 nearest neighbors. Row blobs: a million rows in 100
clusters against the search for neighbors alone.
"""
