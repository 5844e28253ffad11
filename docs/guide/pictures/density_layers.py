"""Two layers of one fit, with noise in gray."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import coterie

random = np.random.default_rng(0)
centers = np.concatenate([np.array(at) + [(-1, 0), (1, 0), (0, 1.6)] for at in ((0, 0), (9, 1), (4, 9))])
X = make_blobs(1350, centers=centers, cluster_std=0.33, random_state=0)[0]
X = np.concatenate([X, random.uniform(X.min(axis=0) - 1, X.max(axis=0) + 1, (60, 2))])
model = coterie.DensityClustering(space="rows").fit(X)

figure, all_axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True)
for axes, n_clusters in zip(all_axes, (9, 3)):
    labels = model.layers_at(n_clusters)
    axes.scatter(*X[labels < 0].T, s=5, color="0.75")
    axes.scatter(*X[labels >= 0].T, s=5, c=labels[labels >= 0], cmap="tab10", vmax=9)
    axes.set(title=f"{labels.max() + 1} clusters, {np.mean(labels < 0):.0%} noise", xticks=[], yticks=[])
    axes.set_aspect("equal")
