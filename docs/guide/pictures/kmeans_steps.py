"""The first steps of Lloyd's loop on four blobs, with the cells of the centroids."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import coterie

X, _ = make_blobs(400, centers=[(0, 0), (4, 0), (0, 4), (4, 4)], cluster_std=0.8, random_state=0)
start = X[[0, 3, 5, 9]]
grid = np.stack(np.meshgrid(np.linspace(-3, 7, 250), np.linspace(-3, 7, 250)), axis=-1)

seen = [start]
coterie.KMeans(4, init=start, callback=lambda progress: seen.append(progress.centers.copy())).fit(X)

figure, all_axes = plt.subplots(1, 4, figsize=(11, 3), sharex=True, sharey=True)
for axes, step in zip(all_axes, (0, 1, 3, len(seen) - 1)):
    centers = seen[step]
    distances = ((grid[:, :, None] - centers) ** 2).sum(-1)
    axes.contourf(*grid.transpose(2, 0, 1), distances.argmin(-1), levels=3, cmap="Pastel2")
    axes.scatter(*X.T, s=3, color="0.35")
    axes.scatter(*centers.T, s=90, marker="X", color="tab:red", edgecolor="white")
    axes.set(title="initial centers" if step == 0 else f"iteration {step}", xticks=[], yticks=[])
