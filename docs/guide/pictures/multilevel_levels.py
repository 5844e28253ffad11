"""Half moons: nodes of the coarsest graph, and the clusters that they are merged to."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import coterie
from coterie.multilevel.solver import CoarseGraph, aggregation_levels

X, _ = make_moons(1500, noise=0.07, random_state=0)
model = coterie.MultilevelGraphClustering(2).fit(X)
levels, nodes_of = aggregation_levels(CoarseGraph(model.affinity_matrix_), 2)
nodes = np.arange(len(X))
for step in nodes_of:
    nodes = step[nodes]
shown = {f"{levels[-1].n_nodes} nodes of the coarsest graph": nodes % 20, "2 clusters": model.labels_}
figure, all_axes = plt.subplots(1, 2, figsize=(9, 3.2), sharex=True, sharey=True)
for axes, (title, labels) in zip(all_axes, shown.items()):
    axes.scatter(*X.T, s=5, c=labels, cmap="tab20" if labels.max() > 9 else "tab10")
    axes.set(title=title, xticks=[], yticks=[])
