"""K-means against scikit-learn, scikit-learn-intelex, faiss and superkmeans, in one interleaved run.

    python -m benchmarks.kmeans [--rows mnist,a] [--repeats 3] [--threads 1] [--only faiss] [--quick]

Rows with names of data sets are whole fits with the defaults of each package, a to d exact fits from the same initial
centers, e is one assignment of all rows, f is memory, g and k are seeding, h to j are clusters of bounded sizes, beside
k-means-constrained.
"""
