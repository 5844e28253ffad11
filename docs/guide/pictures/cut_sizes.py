"""Clusters of very unlike sizes: the balance of the cut divides the large one."""

import matplotlib.pyplot as plt
import numpy as np

import coterie

random = np.random.default_rng(0)
X = np.concatenate([random.normal((0, 0), 1.3, (900, 2)), random.normal((5.2, 0), 0.4, (45, 2))])
y = np.repeat([0, 1], (900, 45))

fits = {"true clusters": None, "equal sizes": [0.5, 0.5], "class_priors [0.95, 0.05]": [0.95, 0.05]}
figure, all_axes = plt.subplots(1, 3, figsize=(11, 3.3), sharex=True, sharey=True)
for axes, (title, priors) in zip(all_axes, fits.items()):
    labels = y
    if priors is not None:
        labels = coterie.TotalVariationClustering(2, class_priors=priors).fit_predict(X)
    axes.scatter(*X.T, s=6, c=labels, cmap="tab10", vmax=9)
    axes.set(title=title, xticks=[], yticks=[])
