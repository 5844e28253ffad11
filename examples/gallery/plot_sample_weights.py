"""
Use sample weights
==================

``sample_weight`` counts a row several times, in the seeding and in the means. Here rows are towns weighted by their
inhabitants.
"""

import matplotlib.pyplot as plt
import numpy as np

import coterie

random = np.random.default_rng(4)
towns = random.uniform(0, 100, size=(400, 2))
people = random.pareto(1.1, 400) * 3_000 + 500

figure, both = plt.subplots(1, 2, figsize=(9, 4.2), sharex=True, sharey=True, layout="constrained")
for axes, (title, weights) in zip(both, {"every town counts the same": None, "people count": people}.items()):
    model = coterie.KMeans(5, n_init=5, random_state=0).fit(towns, sample_weight=weights)
    axes.scatter(*towns.T, s=people / 400, c=model.labels_, cmap="tab10", vmax=9, alpha=0.6)
    axes.scatter(*model.cluster_centers_.T, s=120, marker="X", color="black", edgecolor="white")
    axes.set(title=title, xticks=[], yticks=[])
    ways = np.linalg.norm(towns - model.cluster_centers_[model.labels_], axis=1)
    print(f"{title}: root mean square way of a person {np.sqrt(np.average(ways**2, weights=people)):.1f}")
