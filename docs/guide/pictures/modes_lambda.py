"""The weight of the graph: with too little of it rows go to the nearest mode; and rows between join what is two."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import coterie

random = np.random.default_rng(0)
X, _ = make_moons(400, noise=0.05, random_state=0)
strewn = np.concatenate([X, random.uniform((-1.5, -1), (2.5, 1.5), (150, 2))])

fits = {
    "graph weight 0.02": (X, 0.02),
    "default graph weight": (X, "auto"),
    "default, with noise between": (strewn, "auto"),
}
figure, all_axes = plt.subplots(1, 3, figsize=(11, 2.9), sharex=True, sharey=True)
for axes, (title, (rows, lam)) in zip(all_axes, fits.items()):
    labels = coterie.LaplacianKModes(2, graph_weight=lam, random_state=0).fit_predict(rows)
    axes.scatter(*rows.T, s=7, c=labels, cmap="tab10", vmax=9)
    axes.set(title=title, xticks=[], yticks=[])
