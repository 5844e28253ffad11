"""
Plot a path of convex clustering
================================

One fit returns every number of clusters. Two half moons fuse into two clusters.
"""

from sklearn.datasets import make_moons

import coterie
from coterie.plotting import plot_path

X, y = make_moons(150, noise=0.06, random_state=0)
path = coterie.ConvexClusterPath(n_neighbors=10).fit(X)
axes = plot_path(path)

# %%
# The certificate of each solution is its duality gap: the largest distance from the minimum.
print("largest gap, relative to the objective:", (path.dual_gaps_[1:] / path.objectives_[1:]).max())

# %%
# Cut the path at two clusters.
labels = path.labels_at(2)
print("accuracy:", coterie.metrics.clustering_accuracy(y, labels))
