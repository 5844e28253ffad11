"""Total variation clustering on nearest-neighbor graphs, with and without labels, against methods for graphs.

    python -m benchmarks.total_variation [--data optdigits,mnist] [--draws 10] [--trials 30] [--threads 2]
                                         [--only coterie] [--labels 0,1,0.1] [--quick]

For each graph and number of labels (0: none, 1, 2, ...: so many of each class, else the share of them that is known):
purity, accuracy on the rows without a label, the energy (P) of the clusters, and seconds. Unsupervised figures are
those of the trial with the lowest energy. The graphs are in the data folder (`graphs/*.npz`, `20news_graph.npz`) or
made here: of 4moons (drawn anew), mnist-upright, whose digits lean no more, snippets (embeddings of short texts), and
of webkb4, from term counts, without the documents that have none.
"""
