"""Mixtures with very many components against k-means, on all rows and on lightweight coresets, as in the papers.

    python -m benchmarks.mixture [--rows mnist,aug90] [--seeds 3] [--heavy-seeds 1] [--threads 2] [--budget 600]
                                 [--only vc-GMM,LWCS] [--skip scikit-learn] [--quick]
    python -m benchmarks.mixture [--scaling] [--estep] [--seeding] [--huge] [--huge-gb 20] [--folder FOLDER]
                                 [--plot PATH] [--rows ...]

Without options all rows but blobs64-8192 are run, with a table of what labels for all rows cost at the end. With
one of --scaling (seconds of an iteration against the number of components), --estep (rate of the kernels), --seeding
(initial centers) and --huge (a coreset of a generated file), only these are run, and the rows that --rows names.
Hirschberger, Forster and Lücke, A variational EM acceleration for efficient clustering at very large scales, 2022.
"""
