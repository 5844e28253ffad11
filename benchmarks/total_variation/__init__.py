"""Total variation clustering on nearest-neighbor graphs, with and without labels, against methods for graphs.

`python -m benchmarks.papers total_variation` makes its tables. The graphs are in the data folder (`graphs/*.npz`,
`20news_graph.npz`) or made here: of 4moons (drawn anew), mnist-upright, whose digits lean no more, snippets (embeddings
of short texts), and of webkb4, from term counts, without the documents that have none.
"""
