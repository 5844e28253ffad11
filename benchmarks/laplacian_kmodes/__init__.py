"""Laplacian K-modes against k-means and spectral clustering: quality, seconds and memory.

    python -m benchmarks.laplacian_kmodes [--rows mnist,pendigits] [--repeats 3] [--seeds 10] [--threads 2]
                                          [--limit 120] [--only SLK] [--quick]

For each data set ten starts of each method on one graph of 5 nearest neighbors. The other rows: what tells good
clusters from bad ones over lambdas and starts without labels (lambda, --seeds starts), and a million rows in 100
clusters against the search for neighbors alone (blobs).
Ziko, Granger and Ben Ayed, Scalable Laplacian K-modes, 2018.
"""
