"""Where the centroids of two half moons go as gamma grows, and how many are left."""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import coterie

X, y = make_moons(120, noise=0.06, random_state=0)
path = coterie.ConvexClusterPath(n_neighbors=8).fit(X)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), width_ratios=(3, 2))
for row, label in zip(path.centroids_path_.transpose(1, 0, 2), path.labels_at(2)):
    left.plot(*row.T, color=f"C{label}", lw=0.7)
left.scatter(*X.T, s=10, c=[f"C{label}" for label in path.labels_at(2)])
left.set(title="paths of the centroids", xticks=[], yticks=[])
right.plot(path.gammas_[1:], path.n_clusters_path_[1:], drawstyle="steps-post")
right.set(xscale="log", yscale="log", xlabel="gamma", ylabel="clusters", title="number of clusters")
