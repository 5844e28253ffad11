"""
Build a certified hierarchy
===========================

The path of convex clustering as a dendrogram: the teeth of 27 mammals, and the order in which their centroids fuse.
"""

import coterie
from coterie.plotting import plot_path_dendrogram

mammals = coterie.datasets.load_mammals()
path = coterie.ConvexClusterPath(n_neighbors=5).fit(mammals.data)
axes = plot_path_dendrogram(path, names=mammals.target_names if "target_names" in mammals else None)
