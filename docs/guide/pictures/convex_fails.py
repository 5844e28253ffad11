"""Two clouds with rows between them: on the way to two clusters there are one and crumbs."""

import matplotlib.pyplot as plt
import numpy as np

import coterie

random = np.random.default_rng(0)
apart = np.concatenate([random.normal((x, 0), 0.5, (100, 2)) for x in (0, 4)])
touching = np.concatenate([random.normal((x, 0), 0.7, (100, 2)) for x in (0, 2.4)])

figure, all_axes = plt.subplots(1, 2, figsize=(11, 3.2))
for axes, (title, X) in zip(all_axes, {"apart": apart, "touching": touching}.items()):
    path = coterie.ConvexClusterPath(n_neighbors=8, tol=1e-3).fit(X)
    labels = path.labels_at(2)
    sizes = np.sort(np.bincount(labels))[::-1]
    axes.scatter(*X.T, s=12, c=labels, cmap="tab10", vmax=9)
    axes.set(title=f"{title}: two clusters of {sizes[0]} and {sizes[1]} rows", xticks=[], yticks=[])
