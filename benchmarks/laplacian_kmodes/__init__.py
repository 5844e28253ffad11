"""Laplacian K-modes against k-means and spectral clustering: quality, seconds, memory, and what a start decides.

    python -m benchmarks.laplacian_kmodes [--rows mnist,pendigits] [--repeats 3] [--seeds 10] [--threads 2]
                                          [--limit 120] [--only SLK] [--quick]

For each data set ten starts of each method on one graph of 5 nearest neighbors, then single starts over seeds and
values of lambda (--seeds 0: none). The other rows: what tells good clusters from bad ones over lambdas and starts
without labels (lambda), a graph of the authors (gan), the rate of the update of the memberships (update), and a
million rows in 100 clusters against the search for neighbors alone (blobs).
Ziko, Granger and Ben Ayed, Scalable Laplacian K-modes, 2018.
"""
