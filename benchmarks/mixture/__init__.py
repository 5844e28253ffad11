"""Mixtures with very many components against k-means, on all rows and on lightweight coresets, as in the papers.

    python -m benchmarks.mixture [--rows mnist,aug90] [--seeds 3] [--threads 2] [--budget 600]
                                 [--only vc-GMM,LWCS] [--skip scikit-learn] [--quick]

All data sets are run, each with a table of what labels for all rows cost. Row scaling is the seconds of an
iteration against the number of components, row factors mixtures of factor analyzers.
"""
