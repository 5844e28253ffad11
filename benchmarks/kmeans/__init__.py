"""Whole fits of k-means against scikit-learn, faiss and superkmeans, in one interleaved run.

    python -m benchmarks.kmeans [--rows mnist] [--repeats 3] [--threads 1] [--only faiss] [--quick]

Rows are data sets, fitted with the defaults of each package.
"""
