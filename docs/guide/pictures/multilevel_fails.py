"""Clusters of very unlike sizes that touch: the large one is divided."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import coterie

X, y = make_blobs([900, 45], centers=np.array([(0.0, 0.0), (2.6, 0.0)]), cluster_std=0.6, random_state=0)
fits = {
    "true clusters": y,
    "MultilevelGraphClustering(2)": coterie.MultilevelGraphClustering(2).fit_predict(X),
}
figure, all_axes = plt.subplots(1, 2, figsize=(7.4, 3.3), sharex=True, sharey=True)
for axes, (title, labels) in zip(all_axes, fits.items()):
    axes.scatter(*X.T, s=6, c=labels, cmap="tab10", vmax=9)
    axes.set(title=title, xticks=[], yticks=[])
