"""
Cluster text vectors by cosine distance
=======================================

The length of a text vector depends on the length of the text. ``metric="cosine"`` ignores it.
"""

import matplotlib.pyplot as plt
import numpy as np

import coterie

# %%
# Five topics; vectors of a topic have similar directions and lengths from 0.1 to 10.
random = np.random.default_rng(0)
topics = random.normal(size=(5, 50))
y = random.integers(5, size=3_000)
X = topics[y] + 0.8 * random.normal(size=(3_000, 50))
X *= 10 ** random.uniform(-1, 1, size=(3_000, 1))

accuracies = {}
for metric in ("euclidean", "cosine"):
    model = coterie.KMeans(5, metric=metric, random_state=0).fit(X)
    accuracies[metric] = coterie.metrics.clustering_accuracy(y, model.labels_)

# %%
# Euclidean distances separate long vectors from short ones, cosine distances separate topics.
figure, axes = plt.subplots(figsize=(5, 2.2), layout="constrained")
bars = axes.barh(list(accuracies), list(accuracies.values()))
axes.bar_label(bars, fmt="%.2f", padding=3)
axes.set(xlim=(0, 1.1), xlabel="accuracy of the clusters")
