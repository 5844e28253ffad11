"""One table of quality: our methods and their peers on every labeled set, told the number of classes alone.

    python -m benchmarks.graphs_quality [--sets iris,mnist] [--only SLK,Leiden] [--skip EVoC] [--seeds 1]
                                        [--most-rows 5000] [--limit 300] [--page] [--quick]

Sets of many kinds, real and generated, times k-means, mixtures, Laplacian K-modes (SLK-BO, SLK-MS), total variation,
and of others k-means, spectral clustering, Ward, HDBSCAN, Leiden, Genie and EVoC: accuracy, NMI, ARI, clusters found,
processor seconds on one thread, and how far each method is behind the best of each set in the mean. Every cell is a
file of its own in the folder of results: a run that was ended goes on where it was. --page writes the page of
docs/benchmarks from what is there. leidenalg and igraph are under the GPL, genieclust under the AGPL, so that no extra
installs them: `pip install leidenalg igraph genieclust evoc` adds their columns.
"""
