"""
Compare five methods on four shapes
===================================

Each method is given the number of clusters only. k-means finds compact clusters; graph methods need gaps between
clusters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.preprocessing import scale

import coterie

random = np.random.default_rng(0)
tilted, _ = make_blobs(500, centers=3, random_state=170)
sets = {
    "moons": (make_moons(500, noise=0.06, random_state=0)[0], 2),
    "rings": (make_circles(500, noise=0.04, factor=0.5, random_state=0)[0], 2),
    "tilted": (tilted @ [[0.6, -0.6], [-0.4, 0.8]], 3),
    "unlike sizes": (
        np.concatenate([random.normal((0, 0), 1.5, (450, 2)), random.normal((6, 0), 0.4, (50, 2))]),
        2,
    ),
}
methods = {
    "k-means": lambda X, k: coterie.KMeans(k, random_state=0).fit(X).labels_,
    "mixture": lambda X, k: (
        coterie.TruncatedGaussianMixture(k, covariance_type="diag", random_state=0).fit(X).labels_
    ),
    "Laplacian K-modes": lambda X, k: coterie.LaplacianKModes(k, random_state=0).fit(X).labels_,
    "total variation": lambda X, k: coterie.TotalVariationClustering(k).fit(X).labels_,
    "convex": lambda X, k: coterie.ConvexClusterPath(n_neighbors=10, tol=1e-3).fit(X).labels_at(k),
}

# %%
figure, grid = plt.subplots(len(sets), len(methods), figsize=(10, 8), layout="constrained")
for row, (X, k) in zip(grid, sets.values()):
    X = scale(X)
    for axes, (name, method) in zip(row, methods.items()):
        axes.scatter(*X.T, s=3, c=method(X, k), cmap="tab10", vmax=9)
        axes.set(xticks=[], yticks=[])
        if axes in grid[0]:
            axes.set_title(name)
for axes, name in zip(grid[:, 0], sets):
    axes.set_ylabel(name)
