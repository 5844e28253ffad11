"""
Cut a hierarchy at any number of clusters
=========================================

``BisectingKMeans`` splits one cluster after the other; ``labels_at`` cuts the hierarchy at any number. k-means must
be fitted for each.
"""

import matplotlib.pyplot as plt
import numpy as np

import coterie

random = np.random.default_rng(0)
centers = random.normal(scale=5, size=(25, 2))
X = centers[random.integers(25, size=3_000)] + random.normal(scale=0.6, size=(3_000, 2))
tree = coterie.BisectingKMeans(32, random_state=0).fit(X)

# %%
figure, all_axes = plt.subplots(1, 3, figsize=(10, 3.3), sharex=True, sharey=True, layout="constrained")
for axes, n_clusters in zip(all_axes, (2, 8, 32)):
    axes.scatter(*X.T, s=3, c=tree.labels_at(n_clusters), cmap="tab20")
    axes.set(title=f"labels_at({n_clusters})", xticks=[], yticks=[])


# %%
def inertia(labels):
    """Return the sum of squared distances to the means of the clusters."""
    groups = (X[labels == label] for label in np.unique(labels))
    return sum(((group - group.mean(axis=0)) ** 2).sum() for group in groups)


numbers = [2, 4, 8, 16, 25, 32]
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(numbers, [inertia(tree.labels_at(n)) for n in numbers], marker="o", label="one tree")
fits = [coterie.KMeans(n, n_init=3, random_state=0).fit(X).inertia_ for n in numbers]
axes.plot(numbers, fits, marker="o", label="k-means, a fit for each")
axes.set(xlabel="clusters", ylabel="inertia", yscale="log", xticks=numbers)
axes.legend()
