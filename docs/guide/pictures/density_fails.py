"""Clusters that overlap, and clusters of many columns."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import coterie

overlapping, _ = make_blobs(900, centers=[(0, 0), (2.4, 0), (1.2, 2.1)], cluster_std=0.8, random_state=0)
wide, classes = make_blobs(900, 50, centers=3, center_box=(-4, 4), cluster_std=4.5, random_state=1)
plane = np.linalg.svd(wide - wide.mean(axis=0), full_matrices=False)
plane = plane.U[:, :2] * plane.S[:2]

sets = {
    "three clusters that overlap": (overlapping, overlapping, {"space": "rows"}),
    "50 columns, distances of rows": (wide, plane, {"space": "rows"}),
    "50 columns, diffused rows": (wide, plane, {"space": "diffused"}),
}
figure, all_axes = plt.subplots(1, 3, figsize=(11, 3.5))
for axes, (title, (X, shown, options)) in zip(all_axes, sets.items()):
    model = coterie.DensityClustering(**options).fit(X)
    inside = model.labels_ >= 0
    axes.scatter(*shown[~inside].T, s=5, color="0.75")
    axes.scatter(*shown[inside].T, s=5, c=model.labels_[inside], cmap="tab10", vmax=9)
    axes.set(
        title=f"{title}\n{model.n_clusters_} clusters, {1 - model.coverage_:.0%} noise", xticks=[], yticks=[]
    )
