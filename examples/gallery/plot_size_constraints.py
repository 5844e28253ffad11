"""
Cluster with size constraints
=============================

k-means with a minimum and maximum cluster size, on data of varying density: each cluster serves about as many rows.
"""

import matplotlib.pyplot as plt
import numpy as np

import coterie

# %%
# A dense, a less dense and a sparse region.
random = np.random.default_rng(0)
X = np.concatenate(
    [
        random.normal(scale=0.5, size=(1200, 2)),
        random.normal(loc=(4, 2), scale=0.3, size=(300, 2)),
        random.uniform(-4, 7, size=(300, 2)),
    ]
)

# %%
# Nine clusters without constraints, and nine clusters of 190 to 210 rows.
plain = coterie.KMeans(9, random_state=0).fit(X)
bounded = coterie.SizeConstrainedKMeans(9, size_min=190, size_max=210, random_state=0).fit(X)
print("sizes as they come:", np.sort(np.bincount(plain.labels_)))
print("sizes within the constraints:", np.sort(np.bincount(bounded.labels_)))

# %%
# The gap bounds how much lower the inertia of any other assignment within the constraints could be.
print("largest gap of an iteration:", bounded.history_.gap.max())

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), sharex=True, sharey=True)
for axis, model, title in zip(axes, (plain, bounded), ("as they come", "of 190 to 210 rows")):
    axis.scatter(*X.T, c=model.labels_, s=4, cmap="tab10")
    axis.plot(*model.cluster_centers_.T, "k+", markersize=9)
    axis.set_title(title)
figure.tight_layout()
