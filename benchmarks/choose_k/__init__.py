"""Accuracy of `choose_k` on data with a known number of clusters, and without clusters.

    python -m benchmarks.choose_k [--rows known,none,named,huge] [--threads 2] [--quick]

Row known: twenty generated data sets, of 2 to 60 clusters in 2 to 200 columns, equal and unequal sizes, with noise.
Row none: ten without clusters. Row named: digits, half moons, rings. Row huge: 1,000,000 x 32, k from 2 to 100, with
all curves. Seeds and shapes are other ones than those that the rule was made with.
"""
