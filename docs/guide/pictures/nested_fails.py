"""A group so rare that the first batch misses it."""

import matplotlib.pyplot as plt
import numpy as np

import coterie

random = np.random.default_rng(1)
X = random.normal(size=(60_000, 2)) + 6 * random.integers(2, size=(60_000, 1))
X[:60] = random.normal((0, 40), 0.5, (60, 2))

models = {
    "nested, first batch of 500 rows": coterie.NestedMiniBatchKMeans(3, batch_size=500, random_state=1),
    "exact k-means": coterie.KMeans(3, random_state=1),
}
figure, all_axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True, sharey=True)
for axes, (name, model) in zip(all_axes, models.items()):
    labels = model.fit_predict(X)
    axes.scatter(*X[:4_000].T, s=4, c=labels[:4_000], cmap="tab10", vmax=9)
    axes.scatter(*model.cluster_centers_.T, s=90, marker="X", color="black", edgecolor="white")
    axes.set(title=f"{name}: inertia {model.inertia_:,.0f}", xticks=[], yticks=[])
