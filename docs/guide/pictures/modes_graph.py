"""Half moons: the graph of nearest neighbors, the clusters that it makes, and the row that is the mode of each."""

import matplotlib.pyplot as plt
from matplotlib.collections import LineCollection
from sklearn.datasets import make_moons

import coterie

X, _ = make_moons(400, noise=0.05, random_state=0)
model = coterie.LaplacianKModes(2, random_state=0).fit(X)
graph = model.affinity_matrix_.tocoo()

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.4), sharex=True, sharey=True)
left.add_collection(LineCollection(X[list(zip(*graph.coords))], color="0.6", lw=0.6))
left.scatter(*X.T, s=6, color="0.2")
left.set(title="graph of five nearest neighbors", xticks=[], yticks=[])
right.scatter(*X.T, s=10, c=model.labels_, cmap="tab10", vmax=9)
right.scatter(*X[model.mode_indices_].T, s=160, marker="*", color="black", edgecolor="white")
right.set(title="clusters and their modes")
