"""K-means against scikit-learn, scikit-learn-intelex, faiss and superkmeans, in one interleaved run.

    python -m benchmarks.kmeans [--rows a,c] [--repeats 3] [--threads 2] [--only auto,faiss] [--quick]

Rows a to d are whole fits, e is one assignment of all rows, f is memory, g and k are seeding, h to j are clusters of
bounded sizes, beside k-means-constrained.
"""
