"""
Add a norm to convex clustering
===============================

Convex clustering takes any norm that has a value and a projection onto the ball of its dual. Here differences in the
second column cost three times as much, so centroids agree in it first.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import coterie


class PricedColumns:
    """The sum of the absolute values, each column at its own price."""

    def __init__(self, prices):
        self.prices = np.asarray(prices, dtype=float)

    def value(self, vectors):
        """Return the norm of each row."""
        return np.abs(vectors) @ self.prices

    def dual_projection(self, vectors, radii):
        """Project each row on the ball of the dual norm with its radius."""
        allowed = radii[:, None] * self.prices
        return np.clip(vectors, -allowed, allowed)

    def prox(self, vectors, sigmas):
        """Return the proximal map, which is what the projection leaves."""
        return vectors - self.dual_projection(vectors, sigmas)


# %%
X, _ = make_moons(60, noise=0.05, random_state=0)
figure, both = plt.subplots(1, 2, figsize=(9, 3), sharex=True, sharey=True, layout="constrained")
for axes, (name, norm) in zip(both, {"Euclidean": "l2", "priced columns": PricedColumns([1, 3])}.items()):
    path = coterie.ConvexClusterPath(norm=norm, n_gammas=25, tol=1e-4).fit(X)
    for centroids in path.centroids_path_.transpose(1, 2, 0):
        axes.plot(*centroids, color="0.6", lw=0.8)
    axes.scatter(*X.T, s=12, c=path.labels_at(2), cmap="tab10", vmax=9)
    axes.set(title=name, xticks=[], yticks=[])
    print(name, "largest relative gap:", (path.dual_gaps_[1:] / path.objectives_[1:]).max())
