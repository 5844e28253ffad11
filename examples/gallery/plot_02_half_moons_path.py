"""
The path of convex clustering on two half moons
===============================================

Each row has a centroid of its own; as the penalty gamma grows, centroids move together and fuse. One convex problem for
each gamma, no starts and no number of clusters.
"""

from sklearn.datasets import make_moons

import coterie
from coterie.plotting import plot_path

X, y = make_moons(150, noise=0.06, random_state=0)
path = coterie.ConvexClusterPath(n_neighbors=10).fit(X)
axes = plot_path(path)

# %%
# Each solution has a certificate: the duality gap says how far above the minimum it can be at most.
print("largest gap, relative to the objective:", (path.dual_gaps_[1:] / path.objectives_[1:]).max())

# %%
# Two clusters are two moons.
labels = path.labels_at(2)
print("accuracy:", coterie.metrics.clustering_accuracy(y, labels))
