"""Three sets that k-means cuts where nobody would."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_moons

import coterie

random = np.random.default_rng(0)
moons, _ = make_moons(600, noise=0.06, random_state=0)
wide = np.concatenate([random.normal((0, 0), 2.2, (700, 2)), random.normal((6, 0), 0.35, (100, 2))])
blobs, _ = make_blobs(600, centers=[(0, 0), (1.6, 0), (8, 0), (9.6, 0)], cluster_std=0.35, random_state=0)

sets = {
    "not convex": (moons, coterie.KMeans(2, random_state=0)),
    "different widths": (wide, coterie.KMeans(2, random_state=0)),
    "bad initialization": (blobs, coterie.KMeans(4, init=[(-1, 0), (0, 0), (2, 0), (9, 0)])),
}
figure, all_axes = plt.subplots(1, 3, figsize=(11, 3.3))
for axes, (title, (X, model)) in zip(all_axes, sets.items()):
    axes.scatter(*X.T, s=5, c=model.fit_predict(X), cmap="tab10", vmax=9)
    axes.scatter(*model.cluster_centers_.T, s=90, marker="X", color="black", edgecolor="white")
    axes.set(title=title, xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")
