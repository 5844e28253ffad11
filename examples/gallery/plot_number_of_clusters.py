"""
Estimate the number of clusters
===============================

``coterie.choose_k`` counts the modes of the density that are more prominent than those of data without clusters. The
answer is a number or "no clusters". Six other criteria are plotted for comparison.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import coterie

random = np.random.default_rng(0)
centers = random.uniform(-20, 20, (7, 2))
sets = {
    "seven blobs": centers[random.integers(7, size=700)] + random.normal(size=(700, 2)),
    "two half moons": make_moons(600, noise=0.06, random_state=0)[0],
    "one Gaussian": random.normal(size=(600, 2)),
}

# %%
# Half moons are two clusters of any shape; one Gaussian has no clusters.
found = {name: coterie.choose_k(X, (2, 12), random_state=0) for name, X in sets.items()}
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for ax, (name, choice) in zip(axes, found.items()):
    ax.plot(*sets[name].T, ".", markersize=3)
    answer = "none" if choice.n_clusters is None else f"k = {choice.n_clusters}"
    ax.set(xticks=[], yticks=[], aspect="equal", title=f"{name}: {answer}")
print(found["one Gaussian"])

# %%
# The criteria on the half moons: BIC splits them, the convex path and the density criterion find both.
figure = found["two half moons"].plot()
