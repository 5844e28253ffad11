"""Mixtures with very many components against k-means, on all rows and on lightweight coresets, as in the papers.

    python -m benchmarks.mixture [--rows mnist,aug90] [--seeds 3] [--threads 2] [--budget 600]
                                 [--only vc-GMM,LWCS] [--skip scikit-learn] [--quick]
    python -m benchmarks.mixture --rows scaling,factors

By default all data sets are run, with a table of what labels for all rows cost at the end. Row scaling
is the seconds of an iteration against the number of components, row factors mixtures of factor analyzers.
"""
